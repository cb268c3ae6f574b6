//! The steps of a change as people read them: nested where one starts another, an attempt for each try, with what a failed Job
//! printed. A pure view of the history, for `pintle steps` and every API.

mod calls;
mod nesting;
mod text;

use serde::{Serialize, Serializer};

use crate::call::Output;
use crate::ending::{ChangeState, Ending};
use crate::history::{Attempt, History, StepHistory};
use crate::ids::StepId;
use crate::plan::ChangeKind;
use crate::record::StepKind;
use crate::stamp::Stamp;
use nesting::Nesting;

pub use text::{Style, elapsed};

/// A change with its steps.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ChangeTree {
    /// `shop-12`.
    pub change: String,
    pub kind: ChangeKind,
    pub state: ChangeState,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_version: Option<String>,
    pub to_version: String,
    /// Why it failed or is stuck; empty else.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    pub steps: Vec<StepNode>,
}

/// One try of a step, or a call that is shown as one.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StepNode {
    pub id: StepId,
    pub kind: NodeKind,
    pub title: String,
    /// One word: Running, Succeeded, Failed, …
    pub state: &'static str,
    /// "the upgrade hook", for what nests in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_by: Option<String>,
    pub attempt: u32,
    /// Whether a later attempt of the same step follows.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub tried_again: bool,
    /// None where only the end of a call is recorded.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "rfc3339")]
    pub started: Option<Stamp>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "rfc3339")]
    pub finished: Option<Stamp>,
    /// What went wrong, or what else is to be known; empty else.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The end of what a failed workload printed.
    #[serde(skip_serializing_if = "Output::is_empty")]
    pub output: Output,
    /// Lines about the step: "deleted the Job shop-3-…".
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<StepNode>,
}

/// What kind of work a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum NodeKind {
    Mode,
    Action,
    Sync,
    Apply,
    Remove,
    Hook,
    Cleanup,
    Health,
    Undo,
    /// A call of an action.
    Call,
}

impl ChangeTree {
    #[must_use]
    pub fn of(history: &History) -> Self {
        let nesting = Nesting::of(history);
        let message = match (&history.finished, &history.stuck) {
            (Some(finished), _) => finished.message.clone(),
            (None, Some((_, question))) => question.clone(),
            (None, None) => String::new(),
        };
        Self {
            change: history.key.to_string(),
            kind: history.plan.kind,
            state: history.state(),
            from_version: history.plan.from_version.clone(),
            to_version: history.plan.to_version.clone(),
            message,
            steps: nesting.roots().flat_map(|id| attempts(history, &nesting, id)).collect(),
        }
    }
}

impl From<StepKind> for NodeKind {
    fn from(kind: StepKind) -> Self {
        match kind {
            StepKind::Mode => Self::Mode,
            StepKind::Action => Self::Action,
            StepKind::Sync => Self::Sync,
            StepKind::Apply => Self::Apply,
            StepKind::Remove => Self::Remove,
            StepKind::Hook => Self::Hook,
            StepKind::Cleanup => Self::Cleanup,
            StepKind::Health => Self::Health,
            StepKind::Undo => Self::Undo,
        }
    }
}

/// A node for each attempt of a step.
fn attempts(history: &History, nesting: &Nesting, id: &StepId) -> Vec<StepNode> {
    let Some(step) = history.step(id) else { return Vec::new() };
    let last = step.attempts.len();
    let node = |(place, attempt)| node(history, nesting, id, step, place, attempt, place + 1 == last);
    step.attempts.iter().enumerate().map(node).collect()
}

fn node(
    history: &History,
    nesting: &Nesting,
    id: &StepId,
    step: &StepHistory,
    place: usize,
    attempt: &Attempt,
    is_last: bool,
) -> StepNode {
    let number = u32::try_from(place + 1).unwrap_or(u32::MAX);
    let ending = attempt.finished.as_ref().map(|(_, ending)| ending);
    let mut children = calls::nodes(history, nesting, id, number, attempt);
    if is_last {
        children.extend(nested(history, nesting, nesting.inside(id)));
    }
    StepNode {
        id: id.clone(),
        kind: step.kind.into(),
        title: step.title.clone(),
        state: ending.map_or(waiting_word(history, id), Ending::word),
        started_by: started_by(history, id),
        attempt: number,
        tried_again: !is_last,
        started: Some(attempt.started),
        finished: attempt.finished.as_ref().map(|(at, _)| *at),
        message: ending.map(detail).unwrap_or_default(),
        output: output(ending),
        notes: Vec::new(),
        children,
    }
}

/// Nodes of steps that nest directly in a step or call.
fn nested(history: &History, nesting: &Nesting, steps: &[StepId]) -> Vec<StepNode> {
    steps.iter().flat_map(|inner| attempts(history, nesting, inner)).collect()
}

fn waiting_word(history: &History, id: &StepId) -> &'static str {
    match &history.stuck {
        Some((stuck, _)) if stuck == id => "Stuck",
        _ => "Running",
    }
}

/// The words after the ending's own.
fn detail(ending: &Ending) -> String {
    let text = ending.to_string();
    let rest = text.strip_prefix(ending.word()).unwrap_or(&text);
    rest.strip_prefix(": ").unwrap_or(rest).trim().to_owned()
}

fn output(ending: Option<&Ending>) -> Output {
    match ending {
        Some(Ending::Failed { output, .. } | Ending::TimedOut { output, .. }) => output.clone(),
        _ => Output::default(),
    }
}

/// Who starts what is inside a mode; none for the mode itself and what is in no mode.
fn started_by(history: &History, id: &StepId) -> Option<String> {
    let inside = |mode: &StepId| id.as_str().strip_prefix(mode.as_str()).is_some_and(|rest| rest.starts_with('/'));
    history.plan.modes().find(|mode| inside(&mode.step)).map(|mode| mode.starter.clone())
}

#[expect(clippy::ref_option, reason = "serde passes a reference to the field")]
fn rfc3339<S: Serializer>(stamp: &Option<Stamp>, serializer: S) -> Result<S::Ok, S::Error> {
    stamp.map(|stamp| stamp.rfc3339()).serialize(serializer)
}
