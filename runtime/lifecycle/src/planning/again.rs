//! Plans that are made from earlier plans alone, and need none of the documents and files: a delete, a test, a rollback.

use std::collections::BTreeSet;

use super::hooks::{Skips, reopen};
use super::{PlanError, values_of};
use crate::document::release::HookSkip;
use crate::ids::ChangeKey;
use crate::plan::{ChangeKind, Component, Node, Plan, Render as Rendered, RenderRef};
use crate::template::Render;
use crate::view::ReleaseView;

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub enum Again<'a> {
    Delete,
    Test,
    /// Back to what the change of this plan brought.
    Rollback(&'a Plan),
}

/// Why it is not done.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Refused {
    #[error("the release {0} is deleted already")]
    Gone(String),
    #[error("the change {0} is open; wait for its end, or cancel it first")]
    Open(ChangeKey),
    #[error("nothing is applied of the release {0}")]
    NothingApplied(String),
    #[error("the release has no test hooks")]
    NoTests,
    #[error(transparent)]
    Plan(#[from] PlanError),
}

/// Plans a change from earlier ones. `last` is the plan of the release's newest change, `asked` are hooks that are left out of this
/// change alone.
///
/// # Errors
/// Where the release is gone, a change of it is open, or there is nothing to do it with.
pub async fn plan_again(
    again: Again<'_>,
    view: &ReleaseView,
    last: &Plan,
    asked: &[HookSkip],
    templates: &dyn Render,
) -> Result<Plan, Refused> {
    if view.deleted {
        return Err(Refused::Gone(view.key.name.clone()));
    }
    if let Some(open) = &view.open {
        return Err(Refused::Open(open.clone()));
    }
    let mut plan = match again {
        Again::Delete => delete(view, last),
        Again::Test => test(view, last)?,
        Again::Rollback(to) => rollback(view, last, to),
    };
    let values = values_of(&plan);
    let skips = Skips { release: &last.skips, asked };
    skips.check(&plan.declared)?;
    plan.hooks = reopen(&plan.declared, plan.kind, skips, &values, templates).await.map_err(Refused::Plan)?;
    // Hooks of a sync come with it.
    for phase in &mut plan.phases {
        let hooks = &plan.hooks;
        phase.nodes.retain(|node| match node {
            Node::Hooks { phase } => hooks.iter().any(|hook| hook.phase == *phase),
            Node::Mode(_) | Node::Sync { .. } | Node::Remove { .. } => true,
        });
    }
    plan.phases.retain(|phase| !phase.nodes.is_empty());
    if matches!(again, Again::Test) && plan.phases.is_empty() {
        return Err(Refused::NoTests);
    }
    Ok(plan)
}

/// What is applied, whole: the newest change brought it or found it.
fn applied(view: &ReleaseView, last: &Plan) -> Option<Rendered> {
    let renders = [Some(&last.render), last.former.as_ref()];
    renders.into_iter().flatten().find(|render| Some(&render.reference) == view.applied.as_ref()).cloned()
}

fn from(kind: ChangeKind, view: &ReleaseView, last: &Plan) -> Plan {
    let applied = applied(view, last);
    let version = view.applied.as_ref().map(|applied| applied.version.clone());
    Plan {
        kind,
        generation: view.generation,
        to_version: version.clone().unwrap_or_else(|| last.to_version.clone()),
        from_version: version,
        render: applied.clone().unwrap_or_else(|| last.render.clone()),
        former: applied,
        stopped: view.stopped.clone(),
        left_job: view.left_job.clone(),
        ..last.clone()
    }
}

fn delete(view: &ReleaseView, last: &Plan) -> Plan {
    let mut phases = last.on_delete.clone();
    if last.deletion.keep_workloads {
        for phase in &mut phases {
            phase.nodes.retain(|node| !matches!(node, Node::Remove { .. }));
        }
    }
    let reason = if last.deletion.keep_workloads {
        "the release shall go, and what it applied shall stay (`keepWorkloads`)"
    } else {
        "the release shall go"
    };
    Plan { phases, reason: reason.into(), ..from(ChangeKind::Delete, view, last) }
}

fn test(view: &ReleaseView, last: &Plan) -> Result<Plan, Refused> {
    if view.applied.is_none() {
        return Err(Refused::NothingApplied(view.key.name.clone()));
    }
    let reason = "a person asked for it".into();
    Ok(Plan { phases: last.on_test.clone(), reason, ..from(ChangeKind::Test, view, last) })
}

fn rollback(view: &ReleaseView, last: &Plan, to: &Plan) -> Plan {
    let generation = view.generation + 1;
    let reference = RenderRef { generation, ..to.render.reference.clone() };
    let former = applied(view, last);
    Plan {
        kind: ChangeKind::Rollback,
        generation,
        from_version: view.applied.as_ref().map(|applied| applied.version.clone()),
        render: Rendered { reference, objects: to.render.objects.clone() },
        former,
        stopped: view.stopped.clone(),
        left_job: view.left_job.clone(),
        components: to.components.iter().map(|component| without_newer_env(component, last)).collect(),
        phases: to.on_rollback.clone(),
        reason: format!("back to what generation {} brought", to.generation),
        ..to.clone()
    }
}

/// What the newest configuration had set and this one does not is left out of what Jobs copy.
fn without_newer_env(component: &Component, last: &Plan) -> Component {
    let newer = last.component(&component.name);
    let names = newer.into_iter().flat_map(|newer| newer.env.keys().chain(&newer.env_gone));
    let gone: BTreeSet<&String> = names.filter(|name| !component.env.contains_key(*name)).collect();
    Component { env_gone: gone.into_iter().cloned().collect(), ..component.clone() }
}
