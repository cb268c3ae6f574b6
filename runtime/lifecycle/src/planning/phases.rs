//! Phases of a change: the modes of a driver's hook around the sync or the removal, with the titles that people know.

use std::collections::BTreeMap;

use super::Module;
use crate::document::DriverDocument;
use crate::document::driver::{ActionSpec, HookName, ModeName};
use crate::hook::HookPhase;
use crate::ids::StepId;
use crate::json::Json;
use crate::plan::{ActionPlan, ChangeKind, Mode, Node, Phase};

/// The phases of a change of that kind, in order. Hooks of phases that are in no sync are named wherever they may be.
pub(super) fn of(kind: ChangeKind, driver: Option<&DriverDocument>, modules: &BTreeMap<&str, &Module>) -> Vec<Phase> {
    let hook = match kind {
        ChangeKind::Setup => HookName::Setup,
        ChangeKind::Upgrade => HookName::Upgrade,
        ChangeKind::Rollback => HookName::Rollback,
        ChangeKind::Delete => HookName::Delete,
        ChangeKind::Test => return of_test(driver, modules),
        ChangeKind::Update => {
            return vec![Phase { name: "sync".into(), nodes: vec![Node::Sync { step: StepId::root("sync") }] }];
        }
    };
    let mode = |mode: ModeName| mode_of(hook, Some(mode), driver, modules);
    let with_actions = |mode: Mode| (!mode.actions.is_empty()).then_some(Node::Mode(mode));
    let hooks = |phase| (kind == ChangeKind::Delete).then_some(Node::Hooks { phase });
    let core = match kind {
        ChangeKind::Delete => Node::Remove { step: StepId::root("remove") },
        // The core phase of an upgrade always records a step.
        ChangeKind::Upgrade => Node::Mode(mode(ModeName::Core)),
        _ => with_actions(mode(ModeName::Core)).unwrap_or_else(|| Node::Sync { step: StepId::root("sync") }),
    };
    let phases = [
        (format!("pre{}", capital(hook)), vec![with_actions(mode(ModeName::Pre)), hooks(HookPhase::PreDelete)]),
        (hook.to_string(), vec![Some(core)]),
        (format!("post{}", capital(hook)), vec![with_actions(mode(ModeName::Post)), hooks(HookPhase::PostDelete)]),
    ];
    let phase =
        |(name, nodes): (String, Vec<Option<Node>>)| Phase { name, nodes: nodes.into_iter().flatten().collect() };
    phases.into_iter().map(phase).filter(|phase| !phase.nodes.is_empty()).collect()
}

fn of_test(driver: Option<&DriverDocument>, modules: &BTreeMap<&str, &Module>) -> Vec<Phase> {
    let mode = mode_of(HookName::Test, None, driver, modules);
    let actions = (!mode.actions.is_empty()).then_some(Node::Mode(mode));
    let nodes = actions.into_iter().chain([Node::Hooks { phase: HookPhase::Test }]).collect();
    vec![Phase { name: "test".into(), nodes }]
}

/// `test` has no modes.
fn mode_of(
    hook: HookName,
    mode: Option<ModeName>,
    driver: Option<&DriverDocument>,
    modules: &BTreeMap<&str, &Module>,
) -> Mode {
    let shown = match mode {
        Some(mode @ (ModeName::Pre | ModeName::Post)) => format!("the {hook} {mode}-hook"),
        Some(ModeName::Core) | None => format!("the {hook} hook"),
    };
    // Not `test` alone, which steps of hooks of that phase begin with.
    let step = StepId::root(&mode.map_or_else(|| format!("{hook}-actions"), |mode| format!("{hook}-{mode}")));
    let specs = driver.into_iter().flat_map(|driver| driver.actions_of(hook, mode));
    Mode {
        title: format!("Run {shown}"),
        starter: shown,
        actions: specs.filter_map(|spec| action(spec, &step, modules)).collect(),
        syncs: mode == Some(ModeName::Core),
        step,
    }
}

fn action(spec: &ActionSpec, mode: &StepId, modules: &BTreeMap<&str, &Module>) -> Option<ActionPlan> {
    let module = modules.get(spec.location.file.as_str())?;
    Some(ActionPlan {
        step: mode.child(&spec.step_name()),
        name: spec.name.clone(),
        description: spec.description.clone(),
        module: module.digest.clone(),
        export: spec.location.export.clone(),
        wit: module.wit.clone(),
        has_undo: module.undoes.contains(&spec.location.export),
        timeout_ms: spec.timeout_ms,
        on_failure: spec.on_failure,
        retry: spec.retry,
        pivot: spec.pivot,
        args: Json::default(),
    })
}

fn capital(hook: HookName) -> String {
    let word = hook.to_string();
    let (first, rest) = word.split_at(1);
    first.to_uppercase() + rest
}
