//! From documents and facts to the frozen plan of a change: which kind of change it is, what runs in which order, and what is
//! applied. Everything that is wrong with the documents is told at once, and then nothing is planned.

mod again;
mod check;
mod content;
mod hooks;
mod phases;
mod render;
mod values;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::document::driver::ComponentSpec;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::document::lifecycle::{HookSpec, check_hooks};
use crate::document::release::HookSkip;
use crate::document::{DriverDocument, Manifest, Problems, ReleaseDocument};
use crate::ending::ChangeState;
use crate::hook::{DeclaredHook, HookPhase};
use crate::ids::{ChangeKey, ReleaseKey};
use crate::json::Json;
use crate::plan::{
    ChangeKind, Component, Deletion, DriverRef, Health, Limits, Plan, ReadyWhen, Render as Rendered, Target, Workload,
};
use crate::template::{Render, RenderError};
use crate::view::ReleaseView;

pub use again::{Again, Refused, plan_again};
pub use hooks::Skips;

use content::Content;
use hooks::Specs;
use values::Seen;

/// What a plan is made of.
#[derive(Debug)]
pub struct PlanInput<'a> {
    /// What was found while the documents were read. Planning goes on with what could be read, so that all problems are told.
    pub problems: Problems,
    pub release: &'a ReleaseDocument,
    /// None for a release without a driver, or where driver.yml could not be read.
    pub driver: Option<&'a DriverDocument>,
    /// Hooks of the file that the release's `lifecycle` names.
    pub lifecycle: &'a [HookSpec],
    /// In document order.
    pub manifests: &'a [Manifest],
    /// By file, as locations name them: the module, or why it is refused.
    pub modules: &'a BTreeMap<String, Result<Module, String>>,
    /// The caller's tenant, where the release names none.
    pub tenant: &'a str,
    pub folders: Folders,
    /// The release as its changes left it.
    pub view: Option<&'a ReleaseView>,
    /// What is applied now, whole.
    pub former: Option<&'a Rendered>,
    /// The plan of the release's newest change.
    pub last_plan: Option<&'a Plan>,
    /// 16 hex digits, for a release that is new.
    pub fresh_uid: &'a str,
    /// Hooks that are left out of this change.
    pub skip_hooks: &'a [HookSkip],
}

/// Absolute folders.
#[derive(Debug, Clone)]
pub struct Folders {
    /// Where the release document is: its paths are relative to it.
    pub release: PathBuf,
    /// Where driver.yml is; none without a driver.
    pub driver: Option<PathBuf>,
    /// Where images are looked up.
    pub images: PathBuf,
}

/// A module that was looked at and admitted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Module {
    /// sha256, 64 hex digits.
    pub digest: String,
    /// Version of `pintle:hooks` that it wants.
    pub wit: String,
    /// Names of its actions, from `describe`.
    pub actions: Vec<String>,
    /// Those of them that it can undo.
    pub undoes: Vec<String>,
}

/// What planning comes to.
#[derive(Debug, Clone, PartialEq)]
pub enum Planned {
    Change(Box<Plan>),
    /// There is nothing to do, or nothing that a new change would do.
    Nothing {
        reason: String,
        /// The change that a person has to look at instead: it is open, or did not succeed with this very plan.
        change: Option<ChangeKey>,
    },
}

/// Why nothing could be planned.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PlanError {
    /// Everything that is wrong with the documents.
    #[error(transparent)]
    Problems(#[from] Problems),
    #[error(transparent)]
    Render(#[from] RenderError),
    /// A hook that shall be left out is not there.
    #[error("no hook of the release is {0}")]
    NoHook(HookSkip),
    /// Of a hook that was declared with an earlier change.
    #[error("the {phase} hook {name}: {problem}")]
    Hook { phase: HookPhase, name: String, problem: String },
}

/// Plans the change that brings the release to its document.
///
/// # Errors
/// Everything that is wrong with the documents, or that nothing can render templates now.
pub async fn plan(input: &PlanInput<'_>, templates: &dyn Render) -> Result<Planned, PlanError> {
    let mut problems = Problems::default();
    check::documents(input, &mut problems);
    let specs = specs(input);
    check_hooks(specs.iter().copied(), input.release.spec.driver.is_some(), &mut problems);
    let modules = check::modules(input, &specs, &mut problems);
    let mut all = input.problems.clone();
    all.extend(problems);
    all.check()?;
    let live = input.view.filter(|view| !view.deleted);
    if let Some(open) = live.and_then(|view| view.open.clone()) {
        return Ok(Planned::Nothing { reason: format!("the change {open} is open"), change: Some(open) });
    }
    let target = target(input, live);
    let content = Content::of(input, &target, templates).await?;
    let render = render::of(input, &content, input.view.map_or(1, |view| view.generation + 1));
    let module = |file: &str| modules.get(file).copied();
    let specs = Specs::of(specs, &target.namespace, module);
    let Some((kind, reason)) = kind(input, live, &render, &specs.declared) else {
        let reason = "version, driver, content and hooks are as they were applied".to_owned();
        return Ok(Planned::Nothing { reason, change: None });
    };
    let mut plan = assemble(input, live, (target, render, &content), (kind, reason), &modules);
    let mut problems = Problems::default();
    plan.hooks = {
        let values = values_of(&plan);
        let release: Vec<HookSkip> = plan.skips.clone();
        let skips = Skips { release: &release, asked: input.skip_hooks };
        skips.check(&specs.declared)?;
        specs.open(kind, skips, &values, templates, &mut problems).await?
    };
    problems.check()?;
    plan.declared = specs.declared;
    if let Some(change) = tried(input, live, &plan) {
        let reason = format!("the change {change} had this very plan and did not succeed");
        return Ok(Planned::Nothing { reason, change: Some(change) });
    }
    if input.release.spec.hold {
        let reason = format!("the release is held (`spec.hold`): the {kind} waits until it is not");
        return Ok(Planned::Nothing { reason, change: None });
    }
    Ok(Planned::Change(Box::new(plan)))
}

/// Hooks of the driver, then those of the release.
fn specs<'a>(input: &PlanInput<'a>) -> Vec<&'a HookSpec> {
    let of_driver = input.driver.map(|driver| driver.spec.lifecycle.as_slice()).unwrap_or_default();
    of_driver.iter().chain(&input.release.lifecycle).chain(input.lifecycle).collect()
}

/// What templates and conditions of the plan's hooks see.
fn values_of(plan: &Plan) -> Value {
    values::of_hooks(&Seen {
        target: &plan.target,
        values: &plan.values.value(),
        kind: plan.kind,
        from_version: plan.from_version.as_deref(),
        to_version: &plan.to_version,
        render: &plan.render.reference,
    })
}

/// The kind of change that leads to `render`, and why; none where there is nothing to do.
fn kind(
    input: &PlanInput<'_>,
    live: Option<&ReleaseView>,
    render: &Rendered,
    declared: &[DeclaredHook],
) -> Option<(ChangeKind, String)> {
    let Some(view) = live else { return Some((ChangeKind::Setup, "the release is new".into())) };
    let last = view.last();
    let unfinished = unfinished(view);
    if view.revision == 0 {
        return Some((ChangeKind::Setup, "the release was never set up to the end".into()));
    }
    if unfinished && matches!(view.last_kind, ChangeKind::Upgrade | ChangeKind::Rollback) {
        return Some((ChangeKind::Upgrade, format!("the {} {last} did not succeed", view.last_kind)));
    }
    let applied = view.applied.as_ref();
    let (version, to) = (applied.map_or("none", |applied| &applied.version), &render.reference.version);
    if version != to {
        return Some((ChangeKind::Upgrade, format!("the application goes from {version} to {to}")));
    }
    let (from, to) = (shown(view.driver.as_ref()), shown(driver_ref(input).as_ref()));
    if from != to {
        return Some((ChangeKind::Upgrade, format!("the driver goes from {from} to {to}")));
    }
    if applied.is_none_or(|applied| applied.digest != render.reference.digest) {
        return Some((ChangeKind::Update, "the versions are the same, the content differs".into()));
    }
    if let Some(last_plan) = input.last_plan.filter(|_| !unfinished) {
        if last_plan.values != Json::from(&input.release.spec.values) {
            return Some((ChangeKind::Update, "the values differ".into()));
        }
        if last_plan.declared != declared {
            return Some((ChangeKind::Update, "the hooks differ".into()));
        }
    }
    unfinished.then(|| (ChangeKind::Update, format!("the {} {last} did not succeed", view.last_kind)))
}

/// Whether the release's newest change left it somewhere on the way.
fn unfinished(view: &ReleaseView) -> bool {
    // What was taken back is as it was before.
    !matches!(view.last_state, ChangeState::Succeeded | ChangeState::Undone)
}

/// The newest change, where it did not succeed and `plan` would only do the same again: that is what `retry` is for.
fn tried(input: &PlanInput<'_>, live: Option<&ReleaseView>, plan: &Plan) -> Option<ChangeKey> {
    let view = live.filter(|view| unfinished(view))?;
    let last = input.last_plan?;
    let same = last.render.reference.digest == plan.render.reference.digest
        && last.to_version == plan.to_version
        && last.driver == plan.driver
        && last.components == plan.components
        && last.phases == plan.phases
        && last.declared == plan.declared
        && skipped(last) == skipped(plan)
        && last.on_delete == plan.on_delete
        && last.permissions == plan.permissions
        && last.limits == plan.limits
        && last.values == plan.values;
    same.then(|| view.last())
}

fn shown(driver: Option<&DriverRef>) -> String {
    driver.map_or_else(|| "none".to_owned(), |driver| format!("{} {}", driver.name, driver.version))
}

fn driver_ref(input: &PlanInput<'_>) -> Option<DriverRef> {
    let metadata = &input.driver?.metadata;
    Some(DriverRef { name: metadata.name.value.clone(), version: metadata.version.value.clone() })
}

fn target(input: &PlanInput<'_>, live: Option<&ReleaseView>) -> Target {
    let spec = &input.release.spec;
    Target {
        release: ReleaseKey {
            tenant: spec.tenant.clone().unwrap_or_else(|| input.tenant.to_owned()),
            name: input.release.metadata.name.value.clone(),
        },
        uid: live.map_or_else(|| input.fresh_uid.to_owned(), |view| view.uid.clone()),
        namespace: input.release.metadata.namespace.value.clone(),
        cluster: spec.cluster.value.clone(),
        images: input.folders.images.to_string_lossy().into_owned(),
    }
}

/// The plan without its hooks.
fn assemble(
    input: &PlanInput<'_>,
    live: Option<&ReleaseView>,
    (target, render, content): (Target, Rendered, &Content<'_>),
    (kind, reason): (ChangeKind, String),
    modules: &BTreeMap<&str, &Module>,
) -> Plan {
    let spec = &input.release.spec;
    let from_version = live.and_then(|view| view.applied.as_ref()).map(|applied| applied.version.clone());
    let path = |path: &PathBuf| path.to_string_lossy().into_owned();
    let phases = |kind| phases::of(kind, input.driver, modules);
    let health = spec.health_assessment.as_ref().map(|health| Health {
        deadline_ms: health.deadline_ms,
        ready_when: health.ready_when.iter().map(ready_when).collect(),
    });
    Plan {
        kind,
        target,
        generation: render.reference.generation,
        from_version: from_version.filter(|_| kind != ChangeKind::Setup),
        to_version: render.reference.version.clone(),
        driver: driver_ref(input),
        components: components(input, live, content),
        render,
        former: live.and(input.former).cloned(),
        stopped: live.map(|view| view.stopped.clone()).unwrap_or_default(),
        left_job: live.and_then(|view| view.left_job.clone()),
        phases: phases(kind),
        hooks: Vec::new(),
        on_delete: phases(ChangeKind::Delete),
        on_test: phases(ChangeKind::Test),
        on_rollback: phases(ChangeKind::Rollback),
        declared: Vec::new(),
        skips: spec.hooks.skip.iter().map(|skip| skip.value.clone()).collect(),
        retention: spec.hooks.retention,
        deletion: Deletion {
            keep_workloads: spec.deletion_policy.keep_workloads,
            block_on_cluster_unreachable: spec.deletion_policy.block_on_cluster_unreachable,
        },
        health,
        permissions: input.driver.map(|driver| driver.spec.permissions.clone()).unwrap_or_default(),
        limits: Limits::default(),
        values: Json::from(&spec.values),
        document: input.release.stored(&input.folders.release).into(),
        driver_dir: input.folders.driver.as_ref().map(path),
        reason,
    }
}

fn ready_when(rule: &crate::document::release::ReadyWhen) -> ReadyWhen {
    ReadyWhen { kind: rule.kind.clone(), api_version: rule.api_version.clone(), expr: rule.expr.value.clone() }
}

/// Hooks that do not run, with why: leaving out other ones is another plan.
fn skipped(plan: &Plan) -> Vec<(&str, Option<&String>)> {
    plan.hooks.iter().map(|hook| (hook.name.as_str(), hook.skip.as_ref())).collect()
}

fn components(input: &PlanInput<'_>, live: Option<&ReleaseView>, content: &Content<'_>) -> Vec<Component> {
    let declared = input.driver.map(|driver| driver.spec.components.as_slice()).unwrap_or_default();
    let component = |(declared, workload): (&ComponentSpec, &Workload)| {
        let set = input.release.spec.components.get(&declared.name);
        let env = set.map(|set| set.env.clone()).unwrap_or_default();
        Component {
            name: declared.name.clone(),
            workload: workload.clone(),
            container: declared.container.as_ref().map(|container| container.value.clone()),
            image: set.and_then(|set| set.image.clone()),
            env_gone: live.map(|view| env_gone(input, view, &declared.name, &env)).unwrap_or_default(),
            env,
        }
    };
    declared.iter().zip(&content.workloads).map(component).collect()
}

/// What the former document had set of a component's env and the new one does not. Where the newest change did not succeed, its
/// own former document may still be what is applied.
fn env_gone(input: &PlanInput<'_>, view: &ReleaseView, name: &str, env: &BTreeMap<String, String>) -> Vec<String> {
    let Some(former) = input.last_plan.and_then(|plan| plan.component(name)) else { return Vec::new() };
    let before: &[String] = if unfinished(view) { &former.env_gone } else { &[] };
    let gone: BTreeSet<&String> = former.env.keys().chain(before).filter(|name| !env.contains_key(*name)).collect();
    gone.into_iter().cloned().collect()
}
