//! What a change does next: a pure function of its history, and the only path by which a change goes on, fresh or recovered.
//!
//! It is level-triggered: it says what ought to be recorded now and what ought to be running now. Whoever drives a change
//! records the one and starts of the other what is not running yet.

mod hooks;
mod leaf;
mod sync;
mod undo;

use crate::call::Call;
use crate::ending::{ChangeState, Ending};
use crate::history::{History, StepHistory};
use crate::hook::{Group, HookPhase, HookStarted};
use crate::ids::StepId;
use crate::plan::{ActionPlan, Mode, Node, OnFailure, RenderRef, Retry};
use crate::record::{Event, StepKind};
use crate::stamp::Stamp;
use crate::undo::{is_wanted_after, pivot};

pub use hooks::resource;

use leaf::Leaf;
use sync::{bring, sync, synced, syncs_of_open_calls};

/// One thing to record, or to keep running.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Record the start of an attempt; not before the delay has passed.
    Start {
        step: StepId,
        attempt: u32,
        parent: Option<StepId>,
        kind: StepKind,
        title: String,
        hook: Option<Box<HookStarted>>,
        delay: Option<Delay>,
    },
    /// Keep this attempt running. It ends itself with a record of its end.
    Run { step: StepId, attempt: u32, work: Work },
    /// Stop this attempt, if it runs, and record it as cancelled.
    Stop { step: StepId, attempt: u32 },
    /// Record that the change is taken back from here on.
    Undo { reason: String },
    /// Record that nothing goes on until a person decides.
    Stuck { step: StepId, question: String },
    /// Record the end of a step that holds others.
    Finish { step: StepId, attempt: u32, ending: Ending },
    /// Record the end of the change.
    Close { state: ChangeState, message: String },
    /// Record that the hooks have ended that went on after the end of the change.
    EndHooks,
}

/// Work of a step that holds no others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Work {
    Action,
    Apply(RenderRef),
    Remove,
    /// The workload or the objects of a hook.
    Hook,
    /// The deletion of what a hook left.
    Cleanup,
    /// Waits until what was applied is healthy.
    Health,
    /// Takes back what another step did.
    Undo,
}

/// `ms` milliseconds after a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delay {
    pub after: Stamp,
    pub ms: u64,
}

/// How far a node is.
enum Progress {
    Done,
    Failed(Ending),
    Going(Vec<Decision>),
}

/// How far the sync is that a call started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SyncProgress {
    Going,
    Done,
    Failed(Ending),
}

/// What ought to happen now. Empty where the change waits for its turn or for a person, or has ended.
#[must_use]
pub fn decide(history: &History) -> Vec<Decision> {
    if history.cancel && history.finished.is_none() {
        return cancel(history);
    }
    let mut decisions = match &history.undo {
        _ if history.finished.is_some() || history.stuck.is_some() || history.waiting => Vec::new(),
        Some(reason) => undo::decide(history, reason),
        None => forward(history),
    };
    if history.hooks_ended {
        return decisions;
    }
    match hooks::going_on(history) {
        Some(others) if others.is_empty() && history.finished.is_some() => decisions.push(Decision::EndHooks),
        others => {
            for decision in others.unwrap_or_default() {
                if !decisions.contains(&decision) {
                    decisions.push(decision);
                }
            }
        }
    }
    decisions
}

fn forward(history: &History) -> Vec<Decision> {
    for node in history.plan.phases.iter().flat_map(|phase| &phase.nodes) {
        let progress = match progress(history, node) {
            // A hook of postSync changes nothing of the sync, and yet the change fails where it says so.
            Progress::Done if !matches!(node, Node::Hooks { .. } | Node::Remove { .. }) => after_sync(history),
            progress => progress,
        };
        match progress {
            Progress::Done => {}
            Progress::Failed(ending) => return vec![give_up(history, node, &ending)],
            Progress::Going(decisions) => return decisions,
        }
    }
    vec![Decision::Close { state: ChangeState::Succeeded, message: String::new() }]
}

/// The end of the change, or of its way forward.
fn give_up(history: &History, node: &Node, ending: &Ending) -> Decision {
    let (step, message) = failure(history, node, ending);
    let is_wanted = *ending != Ending::Superseded && step.is_some_and(|step| is_wanted_after(history, &step));
    match pivot(history) {
        None if is_wanted => Decision::Undo { reason: message },
        Some(pivot) if is_wanted => Decision::Close {
            state: ChangeState::Failed,
            message: format!("{message}; it is not taken back: after `{pivot}` a change only goes forward"),
        },
        _ => Decision::Close { state: failed_state(ending), message },
    }
}

/// The hooks of postSync that were begun, after what began them: one may have failed, or be tried again.
fn after_sync(history: &History) -> Progress {
    let mut all = Group::of(&history.plan.hooks, HookPhase::PostSync).flat_map(|group| group.hooks);
    let Some(begun) = all.find_map(|hook| history.hook_step(hook)) else { return Progress::Done };
    hooks::phase(history, HookPhase::PostSync, begun.within_phase().as_ref(), |_| true)
}

/// Whether a record of `event` may change what [`decide`] says. Lines and most calls, of which a change has very many, do not.
#[must_use]
pub fn concerns(event: &Event) -> bool {
    match event {
        Event::StepLog { .. } | Event::CallOutcome { .. } => false,
        Event::CallIntent { call, .. } => matches!(call, Call::SetVersion { .. } | Call::Sync | Call::Restore),
        _ => true,
    }
}

/// How far the sync is that call `ordinal` of an action's attempt started.
#[must_use]
pub fn sync_progress(history: &History, action: &StepId, attempt: u32, ordinal: u32) -> SyncProgress {
    let calls = history.attempt(action, attempt).map(|attempt| attempt.calls.as_slice()).unwrap_or_default();
    let Some(synced) = calls.get(ordinal as usize).and_then(|made| synced(history, &made.call)) else {
        return SyncProgress::Done;
    };
    match bring(history, &action.call(attempt, ordinal), &synced) {
        Progress::Done => SyncProgress::Done,
        Progress::Failed(ending) => SyncProgress::Failed(ending),
        Progress::Going(_) => SyncProgress::Going,
    }
}

fn cancel(history: &History) -> Vec<Decision> {
    let open = |kind: fn(StepKind) -> bool| {
        history
            .steps()
            .filter(move |(_, step)| kind(step.kind) && step.ending().is_none())
            .map(|(id, step)| (id.clone(), step.attempt_number()))
    };
    let holds = |kind| matches!(kind, StepKind::Mode | StepKind::Sync);
    let stops: Vec<Decision> = open(|kind| !matches!(kind, StepKind::Mode | StepKind::Sync))
        .map(|(step, attempt)| Decision::Stop { step, attempt })
        .collect();
    if !stops.is_empty() {
        return stops;
    }
    let mut ends: Vec<Decision> =
        open(holds).map(|(step, attempt)| Decision::Finish { step, attempt, ending: Ending::Cancelled }).collect();
    ends.reverse();
    ends.push(Decision::Close { state: ChangeState::Cancelled, message: String::new() });
    ends
}

fn failed_state(ending: &Ending) -> ChangeState {
    match ending {
        Ending::Superseded => ChangeState::Superseded,
        _ => ChangeState::Failed,
    }
}

/// The step of a failed node that made it fail, where there is one, and with its title the reason of the change.
fn failure(history: &History, node: &Node, ending: &Ending) -> (Option<StepId>, String) {
    let failed = |step: &StepId| {
        let known = history.step(step).filter(|_| !history.skipped.contains(step))?;
        let ending = known.ending().filter(|ending| !ending.is_good())?;
        Some((Some(step.clone()), format!("{}: {ending}", known.title)))
    };
    let of_hooks = HookPhase::ALL.into_iter().filter(|phase| *phase != HookPhase::SyncFailed);
    let mut of_hooks = of_hooks.filter_map(|phase| hooks::failed(history, phase));
    if let Some((hook, ending)) = of_hooks.next() {
        return (history.hook_step(hook).cloned(), format!("{}: {ending}", hook.title()));
    }
    let of_sync = |within: &StepId| failed(&within.child("apply")).or_else(|| failed(&within.child("health")));
    let leaf = match node {
        Node::Remove { step } => failed(step),
        Node::Hooks { .. } => None,
        Node::Sync { step } => of_sync(step),
        Node::Mode(mode) => mode
            .actions
            .iter()
            .filter(|action| action.on_failure != OnFailure::Continue)
            .find_map(|action| failed(&action.step))
            .or_else(|| of_sync(&mode.step.child("sync"))),
    };
    leaf.unwrap_or_else(|| (None, ending.to_string()))
}

fn progress(history: &History, node: &Node) -> Progress {
    match node {
        Node::Mode(mode) => mode_progress(history, mode),
        Node::Hooks { phase } => hooks::phase(history, *phase, None, |_| true),
        Node::Sync { step } => {
            let started = history.step(step);
            held_progress(started, step, "Sync", StepKind::Sync, || sync(history, step, &history.plan.render.reference))
        }
        Node::Remove { step } => Leaf {
            step,
            parent: None,
            kind: StepKind::Remove,
            title: "Remove the release",
            retry: Retry::default(),
            work: Work::Remove,
        }
        .progress(history),
    }
}

/// A step that holds others: started, its insides, finished.
fn held_progress(
    started: Option<&StepHistory>,
    step: &StepId,
    title: &str,
    kind: StepKind,
    inside: impl FnOnce() -> Progress,
) -> Progress {
    let Some(started) = started else {
        return Progress::Going(vec![Decision::Start {
            step: step.clone(),
            attempt: 1,
            parent: None,
            kind,
            title: title.to_owned(),
            hook: None,
            delay: None,
        }]);
    };
    match started.ending() {
        Some(ending) if ending.is_good() => return Progress::Done,
        Some(ending) => return Progress::Failed(ending.clone()),
        None => {}
    }
    let ending = match inside() {
        Progress::Going(decisions) => return Progress::Going(decisions),
        Progress::Done => Ending::succeeded(),
        // The step inside says what went wrong; the one around it only that something did.
        Progress::Failed(Ending::Superseded) => Ending::Superseded,
        Progress::Failed(Ending::Failed { message, .. }) => Ending::failed(message),
        Progress::Failed(ending) => Ending::failed(ending.to_string()),
    };
    let attempt = started.attempt_number();
    Progress::Going(vec![Decision::Finish { step: step.clone(), attempt, ending }])
}

fn mode_progress(history: &History, mode: &Mode) -> Progress {
    held_progress(history.step(&mode.step), &mode.step, &mode.title, StepKind::Mode, || {
        for action in &mode.actions {
            match action_progress(history, mode, action) {
                Progress::Done => {}
                Progress::Failed(Ending::Superseded) => return Progress::Failed(Ending::Superseded),
                Progress::Failed(_) if action.on_failure == OnFailure::Continue => {}
                other => return other,
            }
        }
        if mode.syncs { rest_of_sync(history, mode) } else { Progress::Done }
    })
}

/// The sync at the end of a core mode whose actions did not apply the render.
fn rest_of_sync(history: &History, mode: &Mode) -> Progress {
    let within = mode.step.child("sync");
    // Once it was begun here it is gone through to its end, which is behind the apply.
    let is_begun = history.steps_inside(&within).next().is_some();
    if history.is_applied() && !is_begun {
        return Progress::Done;
    }
    sync(history, &within, &history.plan.render.reference)
}

fn action_progress(history: &History, mode: &Mode, action: &ActionPlan) -> Progress {
    let orphans = orphans(history, action);
    if !orphans.is_empty() {
        return Progress::Going(orphans);
    }
    let leaf = Leaf {
        step: &action.step,
        parent: Some(&mode.step),
        kind: StepKind::Action,
        title: &action.name,
        retry: action.retry,
        work: Work::Action,
    };
    let mut progress = leaf.progress(history);
    if let Progress::Going(decisions) = &mut progress {
        decisions.extend(syncs_of_open_calls(history, &action.step));
    }
    progress
}

/// Stops of syncs whose action ended before they did: nothing else goes on beside them.
fn orphans(history: &History, action: &ActionPlan) -> Vec<Decision> {
    let Some(started) = history.step(&action.step) else { return Vec::new() };
    if started.ending().is_none() {
        return Vec::new();
    }
    history
        .steps_inside(&action.step)
        .filter(|(id, step)| step.ending().is_none() && !goes_on(history, id))
        // The change went on without the action: what a person wants tried again is of the sync that came after it.
        .filter(|(id, _)| action.on_failure != OnFailure::Continue || !is_tried_again(history, id))
        .map(|(id, step)| Decision::Stop { step: id.clone(), attempt: step.attempt_number() })
        .collect()
}

/// Whether a step, or the one that it cleans up after, runs because a person wanted another try.
fn is_tried_again(history: &History, step: &StepId) -> bool {
    let again =
        |id: &StepId| history.step(id).is_some_and(|step| step.allowed > 0 && step.allowed == step.attempt_number());
    again(step) || step.parent().is_some_and(|parent| again(&parent))
}

/// Whether a step is of syncFailed, which goes on by itself.
fn goes_on(history: &History, step: &StepId) -> bool {
    let of_hook = |id: &StepId| history.plan.hook(id).is_some_and(|hook| hook.phase == HookPhase::SyncFailed);
    of_hook(step) || step.parent().is_some_and(|parent| of_hook(&parent))
}
