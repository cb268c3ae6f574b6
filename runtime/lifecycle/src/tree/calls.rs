//! Calls of an action as nodes: "Stop task-worker", "Run the Job `shop db migrate`".

use super::nesting::Nesting;
use super::{NodeKind, StepNode, nested, started_by};
use crate::call::{Answer, Call, Code, Output};
use crate::ending::Ending;
use crate::history::{Attempt, CallHistory, History};
use crate::ids::StepId;

/// What a call's end says to people.
struct Told {
    state: &'static str,
    message: String,
    output: Output,
}

/// Nodes of the calls of an attempt that have a title, in order.
pub(super) fn nodes(
    history: &History,
    nesting: &Nesting,
    action: &StepId,
    number: u32,
    attempt: &Attempt,
) -> Vec<StepNode> {
    let node = |(ordinal, made): (u32, &CallHistory)| {
        let title = made.call.title()?;
        let id = action.call(number, ordinal);
        let Told { state, message, output } = told(made, attempt);
        Some(StepNode {
            kind: NodeKind::Call,
            title,
            state,
            started_by: started_by(history, action),
            attempt: number,
            tried_again: false,
            started: made.intent.as_ref().map(|intent| intent.at),
            finished: made.outcome.as_ref().map(|outcome| outcome.at),
            message,
            output,
            notes: made.outcome.iter().filter_map(|outcome| outcome.note.clone()).collect(),
            children: nested(history, nesting, nesting.inside_call(&id)),
            id,
        })
    };
    (0..).zip(&attempt.calls).filter_map(node).collect()
}

fn told(made: &CallHistory, attempt: &Attempt) -> Told {
    let Some(outcome) = &made.outcome else { return unanswered(attempt) };
    match &outcome.result {
        Err(error) => Told { state: word(error.code), message: error.message.clone(), output: Output::default() },
        Ok(Answer::Job { result }) if !result.succeeded => {
            // To wait for a Job that fails is no failure of the wait.
            let ran = matches!(made.call, Call::JobRun { .. });
            let message =
                if ran { result.reason.clone() } else { format!("the Job {} failed: {}", result.id, result.reason) };
            Told { state: if ran { "Failed" } else { "Succeeded" }, message, output: result.output.clone() }
        }
        Ok(answer) => {
            let message = match answer {
                Answer::Synced { changed: false } => "unchanged: it has that version already",
                _ => "",
            };
            Told { state: "Succeeded", message: message.to_owned(), output: Output::default() }
        }
    }
}

/// A call without an outcome runs as long as its attempt does, and shares its end where that says what became of it.
fn unanswered(attempt: &Attempt) -> Told {
    let state = match attempt.finished.as_ref().map(|(_, ending)| ending) {
        None => "Running",
        Some(ending @ (Ending::Cancelled | Ending::Superseded | Ending::TimedOut { .. })) => ending.word(),
        Some(_) => "Unknown",
    };
    Told { state, message: String::new(), output: Output::default() }
}

fn word(code: Code) -> &'static str {
    match code {
        Code::Denied => "Denied",
        Code::Superseded => "Superseded",
        Code::TimedOut => "TimedOut",
        Code::Cancelled => "Cancelled",
        Code::Invalid | Code::NotFound | Code::Conflict | Code::Failed | Code::Unavailable => "Failed",
    }
}
