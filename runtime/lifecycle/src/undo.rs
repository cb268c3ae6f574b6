//! What it takes to take a change back: for each step that started, newest first, the action's own undo with all of its effects, or calls
//! that are derived from what its intents found. A step for which there is neither needs a person before anything is undone.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::call::{Answer, Call};
use crate::history::{Attempt, CallHistory, History, StepHistory};
use crate::hook::{HookPhase, HookWork};
use crate::ids::StepId;
use crate::plan::OnFailure;
use crate::record::StepKind;

/// The name of the step in which another one is undone, inside of it.
pub const UNDO: &str = "undo";

/// How a step is undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Undoing {
    /// The guest's `undo` gets all effects of the action, as a JSON list, newest first.
    Guest { effects_json: String },
    /// These calls, in order.
    Derived(Vec<DerivedCall>),
    /// The objects of a hook are as they were found, or deleted where there was nothing.
    Objects,
}

/// A call that takes back another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DerivedCall {
    pub call: Call,
    /// Replicas that the effect left, by component, and that it found: where there are others, somebody changed them since.
    pub left: BTreeMap<String, (u32, u32)>,
}

/// A step to undo, and how; or why only a person can tell.
pub type Item = (StepId, Result<Undoing, String>);

/// All that is to be undone, newest first.
#[must_use]
pub fn items(history: &History) -> Vec<Item> {
    let mut items: Vec<Item> = Vec::new();
    let mut restores = false;
    let steps: Vec<(&StepId, &StepHistory)> = history.steps().collect();
    for (id, step) in steps.into_iter().rev() {
        // Hooks of syncFailed go on beside everything: what they do is no part of what is taken back.
        let is_beside = history.plan.hook(id).is_some_and(|hook| hook.phase == HookPhase::SyncFailed);
        if is_of_undo(id) || is_beside {
            continue;
        }
        let undoing = match step.kind {
            StepKind::Action => of_action(history, id, step),
            // What an action applied is undone with the action.
            StepKind::Apply | StepKind::Remove if !is_of_call(history, id) && !restores => {
                restores = true;
                Some(Ok(Undoing::Derived(vec![restore()])))
            }
            StepKind::Hook => of_hook(history, id, step),
            _ => None,
        };
        items.extend(undoing.map(|undoing| (id.clone(), undoing)));
    }
    items
}

/// How one step is undone; none where nothing of it is left to undo.
#[must_use]
pub fn of(history: &History, step: &StepId) -> Option<Result<Undoing, String>> {
    items(history).into_iter().find(|(id, _)| id == step).map(|(_, undoing)| undoing)
}

/// The step that ended well after which a change only goes forward, with its title.
#[must_use]
pub fn pivot(history: &History) -> Option<&str> {
    let is_pivot = |id: &StepId| {
        history.plan.hook(id).map_or_else(
            || history.plan.action(id).is_some_and(|action| action.pivot),
            |hook| hook.pivot && hook.phase != HookPhase::SyncFailed,
        )
    };
    let passed = history.steps().filter(|(id, _)| !is_of_undo(id) && is_pivot(id));
    let mut passed = passed.filter(|(_, step)| step.ending().is_some_and(|ending| ending.word() == "Succeeded"));
    passed.next().map(|(_, step)| step.title.as_str())
}

/// Whether a failure of that step shall take the change back.
#[must_use]
pub fn is_wanted_after(history: &History, step: &StepId) -> bool {
    let on_failure = history.plan.hook(step).map(|hook| hook.on_failure);
    let on_failure = on_failure.or_else(|| history.plan.action(step).map(|action| action.on_failure));
    on_failure == Some(OnFailure::Undo)
}

/// Whether a step undoes another one, or is inside of one that does.
#[must_use]
pub fn is_of_undo(step: &StepId) -> bool {
    step.as_str().split('/').skip(1).any(|name| name == UNDO)
}

fn is_of_call(history: &History, step: &StepId) -> bool {
    let mut around = step.parent();
    while let Some(id) = around {
        if history.plan.action(&id).is_some() {
            return true;
        }
        around = id.parent();
    }
    false
}

fn restore() -> DerivedCall {
    DerivedCall { call: Call::Restore, left: BTreeMap::new() }
}

fn of_hook(history: &History, id: &StepId, step: &StepHistory) -> Option<Result<Undoing, String>> {
    match &history.plan.hook(id)?.work {
        // One that was skipped, or ended before it looked, put nothing.
        HookWork::Objects { .. } => {
            let has_looked = step.attempts.iter().any(|attempt| attempt.found.is_some());
            has_looked.then_some(Ok(Undoing::Objects))
        }
        // What a Job did nobody can derive. Who cannot do without it marks the hook as a pivot, or runs an action with an undo.
        HookWork::Workload { .. } | HookWork::Action { .. } => None,
    }
}

fn of_action(history: &History, id: &StepId, step: &StepHistory) -> Option<Result<Undoing, String>> {
    let newest_first = || step.attempts.iter().enumerate().rev();
    let number = |place: usize| u32::try_from(place).map_or(u32::MAX, |place| place + 1);
    let effects = || newest_first().flat_map(move |(place, attempt)| effects(attempt, number(place)));
    if history.plan.action(id)?.has_undo {
        let list: Vec<Value> = effects().map(|(number, made)| shown(number, made)).collect();
        return Some(Ok(Undoing::Guest { effects_json: Value::from(list).to_string() }));
    }
    let mut derived = Vec::new();
    for (_, made) in effects() {
        match derive(made) {
            Ok(call) => derived.push(call),
            Err(why) => return Some(Err(why)),
        }
    }
    (!derived.is_empty()).then_some(Ok(Undoing::Derived(derived)))
}

/// The calls of an attempt that had an effect, or may have had one, newest first.
fn effects(attempt: &Attempt, number: u32) -> impl Iterator<Item = (u32, &CallHistory)> {
    let acts = |made: &&CallHistory| made.intent.is_some() && !matches!(made.call, Call::Sleep { .. });
    attempt.calls.iter().rev().filter(acts).map(move |made| (number, made))
}

fn shown(attempt: u32, made: &CallHistory) -> Value {
    let outcome = made.outcome.as_ref().map(|outcome| match &outcome.result {
        Ok(answer) => json!({ "ok": answer }),
        Err(error) => json!({ "error": error }),
    });
    let intent = made.intent.as_ref();
    json!({
        "attempt": attempt,
        "call": made.call,
        "key": intent.map(|intent| &intent.key),
        "found": intent.map(|intent| &intent.pre),
        "outcome": outcome,
    })
}

/// The call that takes back what `made` did.
fn derive(made: &CallHistory) -> Result<DerivedCall, String> {
    let found = made.intent.as_ref().map(|intent| intent.pre.replicas.clone()).unwrap_or_default();
    let components = || found.keys().cloned().collect();
    match &made.call {
        Call::Stop { .. } => {
            let left = found.iter().map(|(name, found)| (name.clone(), (0, *found))).collect();
            Ok(DerivedCall { call: Call::Start { components: components() }, left })
        }
        Call::Start { .. } => {
            let left = found.iter().map(|(name, started)| (name.clone(), (*started, 0))).collect();
            Ok(DerivedCall { call: Call::Stop { components: components() }, left })
        }
        Call::SetVersion { .. } | Call::Sync | Call::Restore => Ok(restore()),
        call => {
            let what = call.title().unwrap_or_else(|| call.name().to_owned());
            let known = match made.outcome.as_ref().map(|outcome| &outcome.result) {
                Some(Ok(Answer::Job { result })) if !result.succeeded => ", which failed",
                Some(_) => "",
                None => ", whose end is not known",
            };
            Err(format!("nothing says how `{what}`{known} is taken back, and the action has no undo"))
        }
    }
}
