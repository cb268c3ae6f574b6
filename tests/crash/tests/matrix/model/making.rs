//! Plans of what the reference says, from what the journal knows of the release: documents by hand, what needs none by the planner.

use std::collections::BTreeMap;

use pintle_lifecycle::document::release::HookSkip;
use pintle_lifecycle::hook::{Cleanup, DeclaredHook, Hook, HookPhase, HookWork, in_order};
use pintle_lifecycle::ids::StepId;
use pintle_lifecycle::plan::{ChangeKind, Node, Phase, Plan, Render as Rendered};
use pintle_lifecycle::planning::{Again, plan_again};
use pintle_lifecycle::template::{Render, RenderError, Rendering};
use pintle_lifecycle::view::ReleaseView;
use serde_json::{Value, json};

use super::course::Change;
use super::ops::{ActionSpec, Guest, HookSpec, Spec};
use crate::{guests, hooks, plans};

/// Longer than all hooks of a sync together that never end.
const PATIENCE_MS: u64 = 24 * 3_600_000;
/// Of each hook.
pub const TIMEOUT_MS: u64 = 30_000;

/// What is known of the release.
pub struct Known {
    pub view: ReleaseView,
    /// Plan of its newest change that is no test.
    pub last: Plan,
}

/// The plan of a change that a document asks for.
pub fn document(change: &Change, known: Option<&Known>, uid: u64) -> Plan {
    let live = known.filter(|known| !known.view.deleted);
    let uid = live.map_or_else(|| format!("{uid:016x}"), |known| known.view.uid.clone());
    let base = plans::setup();
    let former = live.and_then(applied);
    let spec = &change.spec;
    let declared: Vec<(&HookSpec, Hook)> = spec.hooks.iter().map(|spec| (spec, hook(spec, &uid))).collect();
    let off = |phase| change.hooks.iter().any(|hook| hook.phase == phase && hook.off);
    let hooks = declared.iter().filter(|(spec, _)| spec.phase.is_of(change.kind)).map(|(spec, hook)| {
        let planned = change.hooks.iter().find(|planned| planned.phase == spec.phase && planned.name == spec.name);
        let is_off = off(spec.phase) && planned.is_some_and(|planned| planned.off);
        Hook { skip: is_off.then(|| "left out".to_owned()), ..hook.clone() }
    });
    let alone = |phase: HookPhase| Phase { name: phase.to_string(), nodes: vec![Node::Hooks { phase }] };
    let removal = Node::Remove { step: StepId::root("remove") };
    Plan {
        kind: change.kind,
        target: pintle_lifecycle::plan::Target { uid: uid.clone(), ..base.target },
        generation: change.generation,
        from_version: change.former.as_ref().map(|former| former.version.clone()),
        to_version: change.to.version.clone(),
        render: plans::render(&change.to.version, change.to.generation),
        former,
        stopped: live.map(|known| known.view.stopped.clone()).unwrap_or_default(),
        left_job: live.and_then(|known| known.view.left_job.clone()),
        hooks: in_order(hooks.collect()),
        phases: core(change.kind, change.action.as_ref()),
        on_delete: vec![
            alone(HookPhase::PreDelete),
            Phase { name: "delete".to_owned(), nodes: vec![removal] },
            alone(HookPhase::PostDelete),
        ],
        on_test: vec![alone(HookPhase::Test)],
        on_rollback: core(ChangeKind::Rollback, spec.action.as_ref()),
        declared: declared
            .into_iter()
            .map(|(spec, hook)| DeclaredHook {
                hook,
                on: None,
                condition: if spec.off { "false".to_owned() } else { String::new() },
            })
            .collect(),
        ..base
    }
}

/// The plan of a change that is made from earlier ones.
///
/// # Errors
/// Where the planner refuses it, which the reference did not.
pub async fn again(change: &Change, known: &Known, to: Option<&Plan>, skip: Option<HookPhase>) -> Result<Plan, String> {
    let again = match (change.kind, to) {
        (ChangeKind::Rollback, Some(to)) => Again::Rollback(to),
        (ChangeKind::Test, _) => Again::Test,
        _ => Again::Delete,
    };
    let skip: Vec<HookSkip> =
        skip.map(|phase| HookSkip { phase: Some(phase), name: None, weight: None }).into_iter().collect();
    let planned = plan_again(again, &known.view, &known.last, &skip, &NoTemplates).await;
    planned.map_err(|refused| format!("the planner refuses {}, {}: {refused}", change.number, change.kind))
}

fn applied(known: &Known) -> Option<Rendered> {
    let renders = [Some(&known.last.render), known.last.former.as_ref()];
    renders.into_iter().flatten().find(|render| Some(&render.reference) == known.view.applied.as_ref()).cloned()
}

fn core(kind: ChangeKind, action: Option<&ActionSpec>) -> Vec<Phase> {
    let Some(spec) = action else {
        let sync = Node::Sync { step: StepId::root("sync") };
        return vec![Phase { name: kind.to_string(), nodes: vec![sync] }];
    };
    let mut plan = plans::upgrade(&guests().module, spec.guest.name());
    let action = plans::first_action(&mut plan);
    action.on_failure = spec.on_failure;
    action.has_undo = spec.guest == Guest::Breaks;
    action.timeout_ms = Some(PATIENCE_MS);
    plan.phases
}

fn hook(spec: &HookSpec, uid: &str) -> Hook {
    let mut made = hooks::hook(spec.phase, &spec.name, spec.weight);
    if spec.objects {
        let name = format!("{}-{}-{uid}", spec.phase.step_name(), spec.name);
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "b"}});
        made.work = HookWork::Objects { objects: vec![object.into()], ready_when: None };
    }
    Hook {
        timeout_ms: Some(TIMEOUT_MS),
        on_failure: spec.on_failure,
        follow_up: Some(spec.on_failure),
        on_timeout: spec.on_timeout,
        cleanup: Cleanup { policy: spec.cleanup, ..made.cleanup },
        delete_before_creation: spec.delete_before_creation,
        pivot: spec.pivot,
        ..made
    }
}

/// No hook of this test has a template.
struct NoTemplates;

impl Render for NoTemplates {
    fn check<'a>(&'a self, _templates: &'a [&'a str]) -> Rendering<'a, ()> {
        Box::pin(async { Err(RenderError::Values) })
    }

    fn render<'a>(&'a self, _templates: &'a [&'a str], _values: &'a Value) -> Rendering<'a, String> {
        Box::pin(async { Err(RenderError::Values) })
    }
}

/// How the hooks of a change are scripted, by phase and name.
pub fn scripted(spec: &Spec) -> BTreeMap<(String, String), HookSpec> {
    spec.hooks.iter().map(|hook| ((hook.phase.to_string(), hook.name.clone()), hook.clone())).collect()
}
