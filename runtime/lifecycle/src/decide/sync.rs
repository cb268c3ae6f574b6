//! The steps of a sync: preSync, apply, health and postSync, wherever it happens, and syncFailed where it fails.

use super::leaf::Leaf;
use super::{Decision, Progress, Work, hooks};
use crate::call::Call;
use crate::ending::Ending;
use crate::history::{Attempt, History};
use crate::hook::{Hook, HookPhase, RunAfter};
use crate::ids::StepId;
use crate::plan::{RenderRef, Retry};
use crate::record::StepKind;

/// What a call of `releases` brings about.
pub(super) enum Synced {
    Render(RenderRef),
    /// Nothing was applied before: everything goes.
    Nothing,
}

/// What a call of `releases` brings about; none for other calls.
pub(super) fn synced(history: &History, call: &Call) -> Option<Synced> {
    match call {
        Call::SetVersion { target } => history.render_of(target).map(|render| Synced::Render(render.reference.clone())),
        Call::Sync => Some(Synced::Render(history.plan.render.reference.clone())),
        Call::Restore => Some(match &history.plan.former {
            Some(former) => Synced::Render(former.reference.clone()),
            None => Synced::Nothing,
        }),
        _ => None,
    }
}

pub(super) fn bring(history: &History, within: &StepId, synced: &Synced) -> Progress {
    match synced {
        Synced::Render(render) => sync(history, within, render),
        Synced::Nothing => {
            let step = within.child("remove");
            let leaf = Leaf {
                step: &step,
                parent: Some(within),
                kind: StepKind::Remove,
                title: "Remove the release",
                retry: Retry::default(),
                work: Work::Remove,
            };
            leaf.progress(history)
        }
    }
}

/// What the syncs need that the open calls of a step's last attempt started.
pub(super) fn syncs_of_open_calls(history: &History, step: &StepId) -> Vec<Decision> {
    let Some(started) = history.step(step) else { return Vec::new() };
    let attempt = started.last().filter(|attempt| attempt.finished.is_none());
    attempt.map(|attempt| nested_syncs(history, step, started.attempt_number(), attempt)).unwrap_or_default()
}

fn nested_syncs(history: &History, action: &StepId, number: u32, attempt: &Attempt) -> Vec<Decision> {
    let open = attempt.calls.iter().enumerate().filter(|(_, made)| made.intent.is_some() && made.outcome.is_none());
    open.filter_map(|(ordinal, made)| {
        let ordinal = u32::try_from(ordinal).ok()?;
        let synced = synced(history, &made.call)?;
        match bring(history, &action.call(number, ordinal), &synced) {
            Progress::Going(decisions) => Some(decisions),
            Progress::Done | Progress::Failed(_) => None,
        }
    })
    .flatten()
    .collect()
}

/// The steps of a sync, nested in `within`: hooks come with the plan's own render alone.
pub(super) fn sync(history: &History, within: &StepId, render: &RenderRef) -> Progress {
    let with_hooks = *render == history.plan.render.reference;
    if with_hooks {
        match hooks::phase(history, HookPhase::PreSync, Some(within), |_| true) {
            Progress::Done => {}
            other => return other,
        }
    }
    let step = within.child("apply");
    let applied = Leaf {
        step: &step,
        parent: Some(within),
        kind: StepKind::Apply,
        title: &format!("Apply version {}", render.version),
        retry: Retry::default(),
        work: Work::Apply(render.clone()),
    };
    match applied.progress(history) {
        Progress::Done if with_hooks => after_apply(history, within),
        Progress::Failed(ending) if with_hooks => failed_sync(history, within, ending),
        other => other,
    }
}

/// Health and the hooks of postSync, which change nothing of the result.
fn after_apply(history: &History, within: &StepId) -> Progress {
    let health = health(history, within);
    let may_start = |hook: &Hook| hook.run_after == RunAfter::Applied || matches!(health, Progress::Done);
    let hooks = hooks::phase(history, HookPhase::PostSync, Some(within), may_start);
    match (health, hooks) {
        (Progress::Going(mut decisions), Progress::Going(others)) => {
            decisions.extend(others);
            Progress::Going(decisions)
        }
        (Progress::Failed(_), Progress::Going(others)) if !others.is_empty() => Progress::Going(others),
        (Progress::Failed(ending), _) => failed_sync(history, within, ending),
        (Progress::Done, Progress::Going(decisions)) | (Progress::Going(decisions), _) => Progress::Going(decisions),
        (Progress::Done, Progress::Done | Progress::Failed(_)) => Progress::Done,
    }
}

fn health(history: &History, within: &StepId) -> Progress {
    if history.plan.health.is_none() {
        return Progress::Done;
    }
    let step = within.child("health");
    let leaf = Leaf {
        step: &step,
        parent: Some(within),
        kind: StepKind::Health,
        title: "Wait until all is healthy",
        retry: Retry::default(),
        work: Work::Health,
    };
    leaf.progress(history)
}

/// A sync that failed in its apply stage, once the hooks of syncFailed are started.
fn failed_sync(history: &History, within: &StepId, ending: Ending) -> Progress {
    let starts = hooks::begin_sync_failed(history, within);
    if starts.is_empty() { Progress::Failed(ending) } else { Progress::Going(starts) }
}
