//! What a person can do about a change or a release: commands, and what each does.

use pintle_lifecycle::ending::ChangeState;
use pintle_lifecycle::ids::ChangeKey;
use pintle_lifecycle::plan::ChangeKind;
use pintle_lifecycle::view::ReleaseView;
use serde::Serialize;

/// A command that helps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Next {
    pub command: String,
    /// What it does.
    pub does: &'static str,
}

impl Next {
    fn new(command: String, does: &'static str) -> Self {
        Self { command, does }
    }
}

/// Commands that help with a change in that state.
pub(super) fn of_change(change: &ChangeKey, state: ChangeState, is_newest: bool) -> Vec<Next> {
    let retry = || Next::new(format!("pintle retry {change}"), "makes a new attempt of the failed step");
    let cancel = || Next::new(format!("pintle cancel {change}"), "ends it as it is; nothing is undone");
    let skip = || Next::new(format!("pintle skip {change}"), "goes on after that step as if it had succeeded");
    let undo = || Next::new(format!("pintle undo {change}"), "takes back what it did, unless it passed a pivot");
    let mut next = Vec::new();
    match state {
        ChangeState::Running | ChangeState::Waiting => {
            next.extend([Next::new("pintle up".to_owned(), "goes on with it, unless another Pintle does"), cancel()]);
        }
        ChangeState::Stuck => next.extend([retry(), skip(), undo(), cancel()]),
        ChangeState::Failed if is_newest => next.extend([retry(), skip(), undo()]),
        ChangeState::Cancelled | ChangeState::Superseded if is_newest => next.extend([retry(), undo()]),
        _ => {}
    }
    next.push(Next::new(
        format!("pintle steps {change} --output"),
        "shows what it did, with the output of what failed",
    ));
    next
}

/// Commands that help with a release, by its newest change.
pub(super) fn of_release(view: &ReleaseView) -> Vec<Next> {
    let change = view.newest();
    if view.deleted {
        return vec![Next::new("pintle up FILE".to_owned(), "sets up a new release of this name")];
    }
    let mut next = of_change(&change, view.last_state, true);
    let ended_badly = view.open.is_none() && view.last_state != ChangeState::Succeeded;
    let brings = !matches!(view.last_kind, ChangeKind::Delete | ChangeKind::Test);
    if ended_badly && brings {
        next.push(Next::new("pintle up FILE".to_owned(), "brings it to a corrected document"));
        if view.revision > 0 {
            let command = format!("pintle rollback {}", view.key.name);
            next.push(Next::new(command, "goes back to the last revision that succeeded"));
        }
    }
    next
}

/// For a person, the commands lined up.
pub(super) fn text(next: &[Next]) -> String {
    let width = next.iter().map(|next| next.command.len()).max().unwrap_or(0);
    next.iter().map(|Next { command, does }| format!("{command:width$}  {does}\n")).collect()
}
