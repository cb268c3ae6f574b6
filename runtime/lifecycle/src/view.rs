//! What lists and planning need of changes and releases without reading whole histories: small folds over the records, kept by
//! the journal's index. They are derived, so a lost index makes the same views again.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::call::{Answer, Call};
use crate::ending::{ChangeState, Ending};
use crate::hook::HookPhase;
use crate::ids::{ChangeKey, ReleaseKey, StepId};
use crate::plan::{ChangeKind, DriverRef, LeftJob, Plan, RenderRef, Stopped};
use crate::record::{Event, Record, StepKind, Verb};
use crate::stamp::Stamp;
use crate::status::Lifecycle;

/// A change in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChangeView {
    pub key: ChangeKey,
    pub kind: ChangeKind,
    pub state: ChangeState,
    pub from_version: Option<String>,
    pub to_version: String,
    pub generation: u64,
    pub by: String,
    pub opened: Stamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished: Option<Stamp>,
    /// Why it failed or is stuck; empty else.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Records so far.
    pub records: u64,
    /// Whether hooks of syncFailed run that the change did not wait for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hooks_run: bool,
    /// Fields that a newer Pintle wrote; kept when the view is rewritten.
    #[serde(flatten)]
    pub extra: serde_json::Map<String, serde_json::Value>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "what serde asks for")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A release as its changes left it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReleaseView {
    pub key: ReleaseKey,
    pub uid: String,
    pub cluster: String,
    pub namespace: String,
    pub driver: Option<DriverRef>,
    /// Number of the newest change, one that waits for its turn included.
    pub changes: u64,
    /// Number of the newest change whose turn has come; 0 where no change ever waited.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub begun: u64,
    /// The change that waits for its turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<ChangeKey>,
    /// The change that is open, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open: Option<ChangeKey>,
    /// Number of the change that kind and state are of; 0 where that is the newest one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub last: u64,
    /// Kind and state of the newest change that is no test: a test leaves the release as it was.
    pub last_kind: ChangeKind,
    pub last_state: ChangeState,
    /// Count of accepted documents.
    pub generation: u64,
    /// Count of successful renders.
    pub revision: u64,
    /// What is applied; none before the first apply and after the removal.
    pub applied: Option<RenderRef>,
    /// The change that applied it; its plan holds the whole render, as target or as former.
    pub applied_by: Option<ChangeKey>,
    /// The step that removes what is applied, while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removal: Option<StepId>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub stopped: BTreeMap<String, Stopped>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_job: Option<LeftJob>,
    /// The last run of each hook.
    #[serde(default, skip_serializing_if = "Lifecycle::is_empty")]
    pub lifecycle: Lifecycle,
    /// Whether a delete has removed it. The view stays as its history.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deleted: bool,
    #[serde(flatten)]
    pub extra: serde_json::Map<String, serde_json::Value>,
}

impl ChangeView {
    /// The view of a change that `record` opens; none for other records.
    #[must_use]
    pub fn open(record: &Record) -> Option<Self> {
        let (plan, by, state) = match &record.event {
            Event::ChangeOpened { plan, by } => (plan, by, ChangeState::Running),
            Event::ChangeQueued { plan, by, .. } => (plan, by, ChangeState::Waiting),
            _ => return None,
        };
        Some(Self {
            key: record.change.clone(),
            kind: plan.kind,
            state,
            from_version: plan.from_version.clone(),
            to_version: plan.to_version.clone(),
            generation: plan.generation,
            by: by.clone(),
            opened: record.at,
            finished: None,
            message: String::new(),
            records: 1,
            hooks_run: false,
            extra: serde_json::Map::new(),
        })
    }

    /// Takes in the next record of the change.
    pub fn apply(&mut self, record: &Record) {
        self.records = record.seq + 1;
        match &record.event {
            // Its turn has come.
            Event::ChangeOpened { plan, .. } => {
                self.kind = plan.kind;
                self.state = ChangeState::Running;
                self.from_version.clone_from(&plan.from_version);
                self.to_version.clone_from(&plan.to_version);
                self.generation = plan.generation;
            }
            Event::ChangeStuck { question, .. } => {
                self.state = ChangeState::Stuck;
                self.message.clone_from(question);
            }
            Event::Asked { .. } => {
                self.state = ChangeState::Running;
                self.finished = None;
                self.message.clear();
            }
            Event::ChangeFinished { state, message } => {
                self.state = *state;
                self.message.clone_from(message);
                self.finished = Some(record.at);
            }
            Event::StepStarted { step, .. } => {
                self.hooks_run |= HookPhase::of_step(step).is_some_and(|(phase, _)| phase == HookPhase::SyncFailed);
            }
            Event::HooksEnded => self.hooks_run = false,
            _ => {}
        }
    }

    /// Whether something is still to be done for it.
    #[must_use]
    pub fn is_open(&self) -> bool {
        !self.state.is_final() || self.hooks_run
    }
}

impl ReleaseView {
    /// The view after `record`, of any change of the release; `None` as long as no change was opened.
    #[must_use]
    pub fn after(view: Option<Self>, record: &Record) -> Option<Self> {
        let mut view = match (&record.event, view) {
            (Event::ChangeOpened { plan, .. }, view) => return Some(Self::opened(view, record, plan)),
            // Only a release that is there can be busy.
            (Event::ChangeQueued { .. }, view) => {
                let view = view?;
                let changes = view.changes.max(record.change.number);
                let begun = view.newest().number;
                return Some(Self { changes, begun, waiting: Some(record.change.clone()), ..view });
            }
            (_, view) => view?,
        };
        view.take(record);
        Some(view)
    }

    fn opened(view: Option<Self>, record: &Record, plan: &Plan) -> Self {
        let kept = view.filter(|view| view.uid == plan.target.uid);
        let is_test = plan.kind == ChangeKind::Test;
        Self {
            key: plan.target.release.clone(),
            uid: plan.target.uid.clone(),
            cluster: plan.target.cluster.clone(),
            namespace: plan.target.namespace.clone(),
            driver: plan.driver.clone(),
            changes: kept.as_ref().map_or(0, |view| view.changes).max(record.change.number),
            begun: record.change.number,
            waiting: kept.as_ref().and_then(|view| view.waiting.clone()).filter(|waiting| *waiting != record.change),
            open: Some(record.change.clone()),
            last: kept.as_ref().filter(|_| is_test).map_or(0, |view| view.last().number),
            last_kind: kept.as_ref().filter(|_| is_test).map_or(plan.kind, |view| view.last_kind),
            last_state: kept.as_ref().filter(|_| is_test).map_or(ChangeState::Running, |view| view.last_state),
            generation: plan.generation,
            revision: kept.as_ref().map_or(0, |view| view.revision),
            applied: kept.as_ref().and_then(|view| view.applied.clone()),
            applied_by: kept.as_ref().and_then(|view| view.applied_by.clone()),
            removal: None,
            stopped: kept.as_ref().map(|view| view.stopped.clone()).unwrap_or_default(),
            left_job: kept.as_ref().and_then(|view| view.left_job.clone()),
            lifecycle: kept.as_ref().map(|view| view.lifecycle.clone()).unwrap_or_default(),
            deleted: false,
            extra: kept.map(|view| view.extra).unwrap_or_default(),
        }
    }

    /// The newest change whose turn has come.
    #[must_use]
    pub fn newest(&self) -> ChangeKey {
        self.key.change(if self.begun == 0 { self.changes } else { self.begun })
    }

    /// The newest change whose turn has come and that is no test.
    #[must_use]
    pub fn last(&self) -> ChangeKey {
        if self.last == 0 { self.newest() } else { self.key.change(self.last) }
    }

    /// Whether the newest change is a test.
    fn is_tested(&self) -> bool {
        self.last != 0
    }

    /// The view as if its open change, of that plan, had succeeded: what a change that waits behind it may expect.
    pub fn assume_success(&mut self, plan: &Plan) {
        let Some(open) = self.open.take() else { return };
        if plan.kind == ChangeKind::Test {
            return;
        }
        self.last_kind = plan.kind;
        self.last_state = ChangeState::Succeeded;
        self.generation = self.generation.max(plan.generation);
        self.driver.clone_from(&plan.driver);
        if plan.kind != ChangeKind::Delete {
            self.applied = Some(plan.render.reference.clone());
            self.applied_by = Some(open);
        }
        self.succeed();
    }

    fn take(&mut self, record: &Record) {
        self.lifecycle.take(record);
        // What becomes of a change that waits, or of what an earlier one left running, says nothing of the newest one.
        let is_taken_up = record.change == self.last() && matches!(record.event, Event::Asked { .. });
        if record.change != self.newest() && is_taken_up && self.open.is_none() {
            // A test came after it, and a person goes on with it all the same.
            (self.begun, self.last) = (record.change.number, 0);
        } else if record.change != self.newest() {
            if self.waiting.as_ref() == Some(&record.change) && matches!(record.event, Event::ChangeFinished { .. }) {
                self.waiting = None;
            }
            return;
        }
        match &record.event {
            Event::StepFinished { ending: Ending::Succeeded { applied: Some(applied) }, .. } => {
                let change = record.change.to_string();
                self.applied = Some(applied.clone());
                self.applied_by = Some(record.change.clone());
                // A sync lifts what an earlier change left stopped.
                self.stopped.retain(|_, stopped| stopped.since == change);
            }
            Event::StepStarted { step, kind: StepKind::Remove, .. } => self.removal = Some(step.clone()),
            Event::StepFinished { step, ending, .. } if self.removal.as_ref() == Some(step) => {
                self.removal = None;
                if matches!(ending, Ending::Succeeded { .. }) {
                    self.remove();
                }
            }
            // What an earlier change left stopped and this one stops too is held through this one's syncs.
            Event::CallIntent { call: Call::Stop { components }, .. } => {
                for component in components {
                    if let Some(stopped) = self.stopped.get_mut(component) {
                        stopped.since = record.change.to_string();
                    }
                }
            }
            Event::CallOutcome { outcome: Ok(answer), call, .. } => {
                self.take_answer(&record.change.to_string(), answer, call.is_none());
            }
            Event::ChangeStuck { .. } if !self.is_tested() => self.last_state = ChangeState::Stuck,
            Event::Asked { verb, .. } => {
                if !self.is_tested() {
                    self.last_state = ChangeState::Running;
                }
                if *verb != Verb::Cancel {
                    self.open = Some(record.change.clone());
                }
            }
            Event::ChangeFinished { state, .. } => {
                self.open = None;
                if !self.is_tested() {
                    self.last_state = *state;
                    if *state == ChangeState::Succeeded {
                        self.succeed();
                    }
                }
            }
            _ => {}
        }
    }

    fn succeed(&mut self) {
        match self.last_kind {
            ChangeKind::Delete => {
                self.deleted = true;
                self.remove();
            }
            ChangeKind::Test => {}
            ChangeKind::Setup | ChangeKind::Upgrade | ChangeKind::Update | ChangeKind::Rollback => self.revision += 1,
        }
    }

    fn remove(&mut self) {
        self.applied = None;
        self.applied_by = None;
        self.stopped.clear();
        self.left_job = None;
    }

    fn take_answer(&mut self, change: &str, answer: &Answer, had_intent: bool) {
        let left = |id: &String| Some(LeftJob { id: id.clone(), change: change.to_owned() });
        match answer {
            Answer::Stopped { former } => {
                for (component, replicas) in former {
                    let stopped = || Stopped { former: *replicas, since: change.to_owned() };
                    self.stopped.entry(component.clone()).or_insert_with(stopped);
                }
            }
            Answer::Started { replicas } => self.stopped.retain(|component, _| !replicas.contains_key(component)),
            // Without an intent it is the answer of `jobs.wait-any`, which starts nothing.
            Answer::Job { result } if had_intent => self.left_job = left(&result.id),
            Answer::JobStarted { id } => self.left_job = left(id),
            _ => {}
        }
    }
}
