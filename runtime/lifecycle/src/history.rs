//! A change as its records tell it: a fold over the journal, the same for a running and for a recovered change.

mod asked;
mod effects;
mod hooks;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::call::{Answer, Call, CallError};
use crate::ending::{ChangeState, Ending};
use crate::hook::{Hook, HookPhase, HookRef};
use crate::ids::{ChangeKey, StepId};
use crate::json::Json;
use crate::plan::{Component, LeftJob, Plan, Render, RenderRef, Stopped};
use crate::record::{Event, PreImage, Record, StepKind};
use crate::stamp::Stamp;

/// What is known of a change.
#[derive(Debug, Clone)]
pub struct History {
    pub key: ChangeKey,
    pub plan: Arc<Plan>,
    pub by: String,
    pub opened: Stamp,
    /// Number of the next record.
    pub next: u64,
    /// What is applied now; none before the setup's first apply.
    pub applied: Option<RenderRef>,
    /// Components that are stopped now.
    pub stopped: BTreeMap<String, Stopped>,
    /// The newest Job that an action started and that still exists.
    pub left_job: Option<LeftJob>,
    /// Whether its turn has not come yet: its plan is what it would have done when it came.
    pub waiting: bool,
    pub cancel: bool,
    /// Why the change is taken back, once it is.
    pub undo: Option<String>,
    /// Steps that a person let the change go on without.
    pub skipped: BTreeSet<StepId>,
    /// Why a person is needed, and where.
    pub stuck: Option<(StepId, String)>,
    pub finished: Option<Finished>,
    /// Whether the hooks of syncFailed have ended for which the change did not wait.
    pub hooks_ended: bool,
    steps: BTreeMap<StepId, StepHistory>,
    order: Vec<StepId>,
    /// Where each hook that was started has its step: it runs once, whichever sync came to it first.
    hooks: BTreeMap<(HookPhase, String), StepId>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    pub state: ChangeState,
    pub message: String,
    pub at: Stamp,
}

/// A step that was started.
#[derive(Debug, Clone)]
pub struct StepHistory {
    pub kind: StepKind,
    pub parent: Option<StepId>,
    pub title: String,
    pub attempts: Vec<Attempt>,
    /// Attempts that a person allowed beyond the plan's own.
    pub allowed: u32,
}

/// One try of a step. Its number is its place, from 1.
#[derive(Debug, Clone)]
pub struct Attempt {
    pub started: Stamp,
    pub finished: Option<(Stamp, Ending)>,
    /// In order of their ordinals, from 0.
    pub calls: Vec<CallHistory>,
    /// How many lines the action has logged.
    pub lines: u32,
    /// The workload of a hook, and when it was known to be there.
    pub workload: Option<Box<(Stamp, HookRef)>>,
    /// How it will have ended once its workload is deleted.
    pub judged: Option<Box<Ending>>,
    /// What was there of the objects of a hook.
    pub found: Option<Box<Vec<Option<Json>>>>,
}

/// A call with its intent, its outcome, or both.
#[derive(Debug, Clone)]
pub struct CallHistory {
    pub call: Call,
    pub intent: Option<Intent>,
    pub outcome: Option<Outcome>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Intent {
    pub at: Stamp,
    pub key: String,
    pub pre: PreImage,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    pub at: Stamp,
    pub result: Result<Answer, CallError>,
    pub note: Option<String>,
}

/// Records that make no sense together.
#[derive(Debug, thiserror::Error)]
#[error("record {seq} of {change} does not fit what came before: {problem}")]
pub struct BrokenHistory {
    pub change: ChangeKey,
    pub seq: u64,
    pub problem: String,
}

impl History {
    /// The change that `record` opens.
    ///
    /// # Errors
    /// Where the record is not the first of a change.
    pub fn open(record: &Record) -> Result<Self, BrokenHistory> {
        match &record.event {
            Event::ChangeOpened { plan, by } | Event::ChangeQueued { plan, by, .. } if record.seq == 0 => Ok(Self {
                key: record.change.clone(),
                by: by.clone(),
                opened: record.at,
                next: 1,
                applied: plan.former.as_ref().map(|render| render.reference.clone()),
                stopped: plan.stopped.clone(),
                left_job: plan.left_job.clone(),
                plan: Arc::clone(plan),
                waiting: matches!(record.event, Event::ChangeQueued { .. }),
                cancel: false,
                undo: None,
                skipped: BTreeSet::new(),
                stuck: None,
                finished: None,
                hooks_ended: false,
                steps: BTreeMap::new(),
                order: Vec::new(),
                hooks: BTreeMap::new(),
            }),
            _ => Err(broken(record, "a change starts with its plan")),
        }
    }

    /// The change that `records` tell.
    ///
    /// # Errors
    /// Where there are none, or they do not fit together.
    pub fn of<'a>(records: impl IntoIterator<Item = &'a Record>) -> Option<Result<Self, BrokenHistory>> {
        let mut records = records.into_iter();
        let mut history = match Self::open(records.next()?) {
            Ok(history) => history,
            Err(error) => return Some(Err(error)),
        };
        for record in records {
            if let Err(error) = history.apply(record) {
                return Some(Err(error));
            }
        }
        Some(Ok(history))
    }

    /// Takes in the next record.
    ///
    /// # Errors
    /// Where it is not the next one or names a step or call that was not started.
    pub fn apply(&mut self, record: &Record) -> Result<(), BrokenHistory> {
        if record.change != self.key || record.seq != self.next {
            return Err(broken(record, &format!("expected record {} of {}", self.next, self.key)));
        }
        self.take(record).map_err(|problem| broken(record, &problem))?;
        self.next += 1;
        Ok(())
    }

    fn take(&mut self, record: &Record) -> Result<(), String> {
        match &record.event {
            Event::ChangeOpened { plan, .. } if self.waiting => self.begin(plan),
            Event::ChangeOpened { .. } | Event::ChangeQueued { .. } => return Err("the change is open already".into()),
            Event::StepStarted { step, attempt, parent, kind, title, .. } => {
                let started = self.start(step, *kind, parent.as_ref(), title);
                if started.attempts.len() + 1 != *attempt as usize {
                    return Err(format!("attempt {attempt} of {step} after {} attempts", started.attempts.len()));
                }
                push_exact(&mut started.attempts, Attempt::begun(record.at));
            }
            Event::HookCreated { .. } | Event::ObjectsFound { .. } | Event::HookJudged { .. } => {
                self.take_hook(record)?;
            }
            Event::StepFinished { step, attempt, ending } => {
                let tried = self.attempt_mut(step, *attempt)?;
                if tried.finished.is_some() {
                    return Err(format!("attempt {attempt} of {step} has ended already"));
                }
                tried.finished = Some((record.at, ending.clone()));
                self.step_ended(step, ending);
            }
            Event::CallIntent { step, attempt, ordinal, call, key, pre } => {
                let calls = &mut self.attempt_mut(step, *attempt)?.calls;
                if calls.len() != *ordinal as usize {
                    return Err(format!("call {ordinal} of {step} after {} calls", calls.len()));
                }
                let intent = Intent { at: record.at, key: key.clone(), pre: pre.clone() };
                push_exact(calls, CallHistory { call: call.clone(), intent: Some(intent), outcome: None });
                self.take_over(call);
            }
            Event::CallOutcome { step, attempt, ordinal, call, outcome, note } => {
                let outcome = Outcome { at: record.at, result: outcome.clone(), note: note.clone() };
                self.take_outcome(step, *attempt, *ordinal, call.as_ref(), &outcome)?;
            }
            Event::StepLog { step, attempt, line, .. } => {
                let attempt = self.attempt_mut(step, *attempt)?;
                attempt.lines = line.map_or(attempt.lines, |line| line.saturating_add(1));
            }
            Event::Asked { verb, .. } => self.ask(*verb),
            Event::UndoBegan { reason } => self.undo = Some(reason.clone()),
            Event::ChangeStuck { step, question } => self.stuck = Some((step.clone(), question.clone())),
            Event::HooksEnded => self.hooks_ended = true,
            Event::ChangeFinished { state, message } => {
                self.finished = Some(Finished { state: *state, message: message.clone(), at: record.at });
            }
        }
        Ok(())
    }

    /// Its turn has come.
    fn begin(&mut self, plan: &Arc<Plan>) {
        self.waiting = false;
        self.applied = plan.former.as_ref().map(|render| render.reference.clone());
        self.stopped.clone_from(&plan.stopped);
        self.left_job.clone_from(&plan.left_job);
        self.plan = Arc::clone(plan);
    }

    fn start(&mut self, id: &StepId, kind: StepKind, parent: Option<&StepId>, title: &str) -> &mut StepHistory {
        if !self.steps.contains_key(id) {
            self.order.push(id.clone());
            if let Some(hook) = self.plan.hook(id) {
                self.hooks.insert((hook.phase, hook.name.clone()), id.clone());
            }
        }
        self.steps.entry(id.clone()).or_insert_with(|| StepHistory {
            kind,
            parent: parent.cloned(),
            title: title.to_owned(),
            attempts: Vec::new(),
            allowed: 0,
        })
    }

    fn attempt_mut(&mut self, step: &StepId, attempt: u32) -> Result<&mut Attempt, String> {
        let place = (attempt as usize).checked_sub(1);
        self.steps
            .get_mut(step)
            .and_then(|step| step.attempts.get_mut(place?))
            .ok_or_else(|| format!("attempt {attempt} of {step} was not started"))
    }

    #[must_use]
    pub fn step(&self, id: &StepId) -> Option<&StepHistory> {
        self.steps.get(id)
    }

    /// Steps in the order in which they first started.
    pub fn steps(&self) -> impl Iterator<Item = (&StepId, &StepHistory)> {
        self.order.iter().map(|id| (id, &self.steps[id]))
    }

    /// Steps below that one, in the order of their names.
    pub fn steps_inside(&self, id: &StepId) -> impl Iterator<Item = (&StepId, &StepHistory)> {
        let inside = format!("{id}/");
        let first = StepId::root(&inside);
        self.steps.range(first..).take_while(move |(id, _)| id.as_str().starts_with(&inside))
    }

    /// The step of a hook that was started.
    #[must_use]
    pub fn hook_step(&self, hook: &Hook) -> Option<&StepId> {
        self.hooks.get(&(hook.phase, hook.name.clone()))
    }

    #[must_use]
    pub fn attempt(&self, step: &StepId, attempt: u32) -> Option<&Attempt> {
        self.steps.get(step)?.attempts.get((attempt as usize).checked_sub(1)?)
    }

    #[must_use]
    pub fn state(&self) -> ChangeState {
        match (&self.finished, &self.stuck) {
            (Some(finished), _) => finished.state,
            (None, Some(_)) => ChangeState::Stuck,
            (None, None) if self.waiting => ChangeState::Waiting,
            (None, None) => ChangeState::Running,
        }
    }

    /// The frozen render of a version: the target's, or the one that was applied when the change opened.
    #[must_use]
    pub fn render_of(&self, version: &str) -> Option<&Render> {
        let target = Some(&self.plan.render).filter(|render| render.reference.version == version);
        target.or(self.plan.former.as_ref().filter(|render| render.reference.version == version))
    }

    /// Whether the plan's render is what is applied.
    #[must_use]
    pub fn is_applied(&self) -> bool {
        self.applied.as_ref() == Some(&self.plan.render.reference)
    }

    /// Components that a sync keeps at zero: those that this change stopped. What an earlier change left stopped is lifted.
    pub fn held(&self) -> impl Iterator<Item = &Component> {
        let me = self.key.to_string();
        self.plan
            .components
            .iter()
            .filter(move |c| self.stopped.get(&c.name).is_some_and(|stopped| stopped.since == me))
    }
}

/// A first element gets no more room than it takes: most steps have one attempt, and very many changes wait in their first call.
fn push_exact<T>(list: &mut Vec<T>, element: T) {
    if list.is_empty() {
        list.reserve_exact(1);
    }
    list.push(element);
}

impl StepHistory {
    #[must_use]
    pub fn last(&self) -> Option<&Attempt> {
        self.attempts.last()
    }

    #[must_use]
    pub fn attempt_number(&self) -> u32 {
        u32::try_from(self.attempts.len()).unwrap_or(u32::MAX)
    }

    /// How the last attempt ended; none while it runs.
    #[must_use]
    pub fn ending(&self) -> Option<&Ending> {
        self.last()?.finished.as_ref().map(|(_, ending)| ending)
    }
}

fn broken(record: &Record, problem: &str) -> BrokenHistory {
    BrokenHistory { change: record.change.clone(), seq: record.seq, problem: problem.to_owned() }
}
