//! Conditions of a release: what is applied, how its newest change stands, what its hooks sum up to.

use pintle_lifecycle::ending::ChangeState;
use pintle_lifecycle::hook::HookPhase;
use pintle_lifecycle::plan::Plan;
use pintle_lifecycle::status::{ConditionStatus, HookEntry, HookState};
use pintle_lifecycle::view::{ChangeView, ReleaseView};
use serde::Serialize;

#[derive(Debug, Serialize)]
pub(super) struct Condition {
    #[serde(rename = "type")]
    pub name: &'static str,
    pub status: ConditionStatus,
    /// One word.
    pub reason: String,
    pub message: String,
}

/// The conditions of a release; `plan` and `newest` are of its newest change.
pub(super) fn conditions(view: &ReleaseView, plan: &Plan, newest: Option<&ChangeView>) -> Vec<Condition> {
    vec![applied(view, plan), change_succeeded(view, newest), lifecycle_succeeded(view)]
}

fn applied(view: &ReleaseView, plan: &Plan) -> Condition {
    let change = view.newest();
    let condition =
        |status, reason: &str, message| Condition { name: "Applied", status, reason: reason.to_owned(), message };
    let not = |reason, message| condition(ConditionStatus::False, reason, message);
    match (&view.applied, waits_for(view)) {
        _ if view.deleted => not("Deleted", format!("deleted by {change}")),
        (_, Some(hook)) => {
            not("WaitingForHook", format!("{change} applies nothing while the preSync hook {} runs", hook.name))
        }
        (None, None) => not("NothingApplied", "nothing is applied yet".to_owned()),
        (Some(applied), None) if *applied == plan.render.reference => {
            condition(ConditionStatus::True, "Applied", format!("version {}", applied.version))
        }
        (Some(applied), None) => {
            let message = format!("version {} is applied, {change} brings {}", applied.version, plan.to_version);
            not("OtherApplied", message)
        }
    }
}

/// The preSync hook that the open change waits for.
fn waits_for(view: &ReleaseView) -> Option<&HookEntry> {
    view.open.as_ref()?;
    let (_, entries) = view.lifecycle.phases().find(|(phase, _)| *phase == HookPhase::PreSync)?;
    entries.iter().find(|entry| entry.state == HookState::Running && entry.generation == view.generation)
}

fn change_succeeded(view: &ReleaseView, newest: Option<&ChangeView>) -> Condition {
    let status = match view.last_state {
        ChangeState::Succeeded => ConditionStatus::True,
        state if state.is_final() => ConditionStatus::False,
        _ => ConditionStatus::Unknown,
    };
    let why = newest.and_then(|newest| newest.message.lines().next()).map(|line| format!(": {line}"));
    let (kind, change, why) = (view.last_kind, view.newest(), why.unwrap_or_default());
    Condition {
        name: "ChangeSucceeded",
        status,
        reason: view.last_state.to_string(),
        message: format!("the {kind} {change} is {}{why}", view.last_state),
    }
}

fn lifecycle_succeeded(view: &ReleaseView) -> Condition {
    let status = view.lifecycle.succeeded();
    let of_interest = |state| match status {
        ConditionStatus::Unknown => state == HookState::Running,
        _ => matches!(state, HookState::Failed | HookState::TimedOut),
    };
    let told = view.lifecycle.phases().flat_map(|(phase, entries)| {
        let told = entries.iter().filter(move |entry| of_interest(entry.state));
        told.map(move |entry| format!("the {phase} hook {} of {} is {}", entry.name, entry.change, entry.state))
    });
    let told = told.collect::<Vec<_>>().join(", ");
    let (reason, message) = match status {
        ConditionStatus::Unknown => ("HookRunning", told),
        ConditionStatus::False => ("HookFailed", told),
        ConditionStatus::True if view.lifecycle.is_empty() => ("NoHooks", "no hook has run".to_owned()),
        ConditionStatus::True => ("HooksSucceeded", "the last run of each hook succeeded".to_owned()),
    };
    Condition { name: "LifecycleSucceeded", status, reason: reason.to_owned(), message }
}
