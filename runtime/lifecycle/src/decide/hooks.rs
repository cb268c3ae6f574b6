//! The hooks of a phase: groups by weight, what runs beside what, and what is cleaned up when.

use super::leaf::Leaf;
use super::{Decision, Progress, Work};
use crate::ending::Ending;
use crate::history::History;
use crate::hook::{CleanupAt, Group, Hook, HookPhase, HookStarted, HookWork, workload_name};
use crate::ids::StepId;
use crate::plan::{OnFailure, Retry};
use crate::record::StepKind;

/// How far the hooks of a phase are. `within` is the step they nest in, `may_start` whether a hook may start yet.
pub(super) fn phase(
    history: &History,
    phase: HookPhase,
    within: Option<&StepId>,
    may_start: impl Fn(&Hook) -> bool,
) -> Progress {
    for group in Group::of(&history.plan.hooks, phase) {
        match self::group(history, &group, within, &may_start) {
            Progress::Done => {}
            other => return other,
        }
    }
    let at_end = |hook: &Hook, _: Option<&Ending>| hook.cleanup.at == CleanupAt::PhaseEnd;
    let all = Group::of(&history.plan.hooks, phase).flat_map(|group| group.hooks);
    cleanup(history, all, at_end)
}

/// Hooks of syncFailed that were started go on beside everything else, also when the change has ended. None where none was started;
/// empty where all have ended.
pub(super) fn going_on(history: &History) -> Option<Vec<Decision>> {
    let mut all = Group::of(&history.plan.hooks, HookPhase::SyncFailed).flat_map(|group| group.hooks);
    let begun = all.find_map(|hook| history.hook_step(hook))?;
    match phase(history, HookPhase::SyncFailed, begun.within_phase().as_ref(), |_| true) {
        Progress::Going(decisions) => Some(decisions),
        Progress::Done | Progress::Failed(_) => Some(Vec::new()),
    }
}

/// The starts of the first group of syncFailed, where it is due and not begun.
pub(super) fn begin_sync_failed(history: &History, within: &StepId) -> Vec<Decision> {
    let Some(group) = Group::of(&history.plan.hooks, HookPhase::SyncFailed).next() else { return Vec::new() };
    if group.hooks.iter().any(|hook| history.hook_step(hook).is_some()) {
        return Vec::new();
    }
    match self::group(history, &group, Some(within), |_| true) {
        Progress::Going(decisions) => decisions,
        Progress::Done | Progress::Failed(_) => Vec::new(),
    }
}

/// The hook of a phase that makes the change fail, with how it ended.
pub(super) fn failed(history: &History, phase: HookPhase) -> Option<(&Hook, &Ending)> {
    let all = Group::of(&history.plan.hooks, phase).flat_map(|group| group.hooks);
    all.filter(|hook| hook.on_failure != OnFailure::Continue).find_map(|hook| {
        let ending = history.step(history.hook_step(hook)?)?.ending()?;
        let is_skipped = history.hook_step(hook).is_some_and(|step| history.skipped.contains(step));
        (!ending.is_good() && !is_skipped).then_some((hook, ending))
    })
}

fn group(history: &History, group: &Group<'_>, within: Option<&StepId>, may_start: impl Fn(&Hook) -> bool) -> Progress {
    let (mut going, mut waits, mut failed) = (Vec::new(), false, None);
    let mut objects_are_there = true;
    for hook in group.hooks {
        // What Jobs and Pods of the group need is there before they are.
        let lacks_objects = !hook.makes_objects() && !objects_are_there;
        let is_new = history.hook_step(hook).is_none();
        if lacks_objects || (is_new && (failed.is_some() || !may_start(hook))) {
            waits = true;
            continue;
        }
        match one(history, hook, within) {
            Progress::Going(decisions) => {
                objects_are_there &= !hook.makes_objects();
                waits |= decisions.is_empty();
                going.extend(decisions);
            }
            Progress::Failed(Ending::Superseded) => return Progress::Failed(Ending::Superseded),
            Progress::Failed(ending) if stops(hook) => failed = failed.or(Some(ending)),
            Progress::Done | Progress::Failed(_) => {}
        }
    }
    match failed {
        _ if !going.is_empty() => Progress::Going(going),
        Some(ending) => match cleanup(history, group.hooks, |hook, _| hook.cleanup.even_on_fail) {
            Progress::Going(decisions) => Progress::Going(decisions),
            Progress::Done | Progress::Failed(_) => Progress::Failed(ending),
        },
        None if waits => Progress::Going(Vec::new()),
        None => cleanup(history, group.hooks, |hook, _| hook.cleanup.at == CleanupAt::Group),
    }
}

/// Whether a failure of the hook ends its phase.
fn stops(hook: &Hook) -> bool {
    hook.phase != HookPhase::SyncFailed && hook.on_failure != OnFailure::Continue
}

fn one(history: &History, hook: &Hook, within: Option<&StepId>) -> Progress {
    let step = history.hook_step(hook).cloned().unwrap_or_else(|| hook.phase.step(within, &hook.name));
    let title = hook.title();
    let (kind, work) = match &hook.work {
        HookWork::Action { .. } => (StepKind::Action, Work::Action),
        HookWork::Workload { .. } | HookWork::Objects { .. } => (StepKind::Hook, Work::Hook),
    };
    if let (Some(reason), Some(started)) = (&hook.skip, history.step(&step)) {
        let attempt = started.attempt_number();
        return match started.ending() {
            Some(_) => Progress::Done,
            None => Progress::Going(vec![Decision::Finish {
                step,
                attempt,
                ending: Ending::Skipped { reason: reason.clone() },
            }]),
        };
    }
    let leaf = Leaf { step: &step, parent: within, kind, title: &title, retry: Retry::default(), work };
    let about = |attempt| hook.skip.is_none().then(|| Box::new(about(history, hook, attempt)));
    leaf.of_hook(history, about)
}

fn about(history: &History, hook: &Hook, attempt: u32) -> HookStarted {
    let (api_version, namespace, resource) = match &hook.work {
        HookWork::Workload { kind, namespace, .. } => {
            (kind.api_version().to_owned(), namespace.clone(), resource(history, hook, attempt))
        }
        HookWork::Objects { .. } | HookWork::Action { .. } => (String::new(), String::new(), String::new()),
    };
    HookStarted {
        phase: hook.phase,
        name: hook.name.clone(),
        source: hook.source,
        kind: hook.work.kind().to_owned(),
        api_version,
        namespace,
        resource,
        render: format!("sha256:{}", history.plan.render.reference.digest),
        generation: history.plan.generation,
        follow_up: hook.follow_up,
    }
}

/// The name of the workload of a hook's attempt.
#[must_use]
pub fn resource(history: &History, hook: &Hook, attempt: u32) -> String {
    let reference = &history.plan.render.reference;
    let of = match hook.phase {
        HookPhase::PreSync | HookPhase::PostSync | HookPhase::SyncFailed => {
            format!("{}/{}", reference.digest, reference.generation)
        }
        HookPhase::PreDelete | HookPhase::PostDelete | HookPhase::Test => history.key.stored(),
    };
    workload_name(&history.plan.target, hook.phase, &hook.name, &of, attempt)
}

/// The deletions of what hooks left, of those that are to be cleaned now.
fn cleanup<'a>(
    history: &History,
    hooks: impl IntoIterator<Item = &'a Hook>,
    is_now: impl Fn(&Hook, Option<&Ending>) -> bool,
) -> Progress {
    let mut going = Vec::new();
    for hook in hooks {
        let Some(step) = history.hook_step(hook) else { continue };
        let Some(ending) = history.step(step).and_then(|step| step.ending()) else { continue };
        let ran = !matches!(ending, Ending::Skipped { .. } | Ending::Cancelled);
        if !ran || !is_now(hook, Some(ending)) || !hook.cleans(ending.is_good()) {
            continue;
        }
        let step = step.clone();
        let inside = step.child("cleanup");
        let leaf = Leaf {
            step: &inside,
            parent: Some(&step),
            kind: StepKind::Cleanup,
            title: &format!("Clean up after the {} hook {}", hook.phase, hook.name),
            retry: Retry::default(),
            work: Work::Cleanup,
        };
        if let Progress::Going(decisions) = leaf.progress(history) {
            going.extend(decisions);
        }
    }
    if going.is_empty() { Progress::Done } else { Progress::Going(going) }
}
