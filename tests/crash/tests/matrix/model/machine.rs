//! The real thing: journal, queue, simulated platform and Pintles that die. The queue does on a journal in memory what `Pintle` does on
//! its store.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pintle_journal::change_log::ChangeLog;
use pintle_journal::journal::Journal;
use pintle_lifecycle::ending::ChangeState;
use pintle_lifecycle::hook::HookPhase;
use pintle_lifecycle::json::Json;
use pintle_lifecycle::plan::{ChangeKind, Plan};
use pintle_lifecycle::record::{Event, Verb};
use pintle_platform::PlatformError;
use pintle_platform::simulated::{Fault, HookScript, HookStart, JobScript, JobStart, Method};

use super::course::Change;
use super::making::{self, Known};
use super::ops::{HookSpec, Outcome, Trouble};
use crate::kills::Waiting;
use crate::rig::{Life, Rig};
use crate::{guests, plans};

pub struct Machine {
    pub rig: Rig,
    scripts: Arc<Mutex<Scripts>>,
    /// Events of hooks before the newest change ran last.
    pub events_before: usize,
}

/// What is scripted for the change that runs.
#[derive(Default)]
struct Scripts {
    change: u64,
    hooks: BTreeMap<(String, String), HookSpec>,
    /// Starts in this change.
    started: BTreeMap<(String, String), u32>,
    job_fails: [bool; 2],
    jobs: usize,
}

/// How a drive came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drove {
    Ended(ChangeState),
    /// Its Pintle died and there is no other.
    Paused,
}

impl Machine {
    pub fn new(waiting: Waiting) -> Self {
        let mut rig = Rig::new(&guests().sandbox);
        waiting.set(&mut rig);
        let scripts: Arc<Mutex<Scripts>> = Arc::default();
        let of_hooks = Arc::clone(&scripts);
        rig.world.script_hooks(move |start| of_hooks.lock().unwrap_or_else(PoisonError::into_inner).hook(start));
        let of_jobs = Arc::clone(&scripts);
        rig.world.script_jobs(move |start| of_jobs.lock().unwrap_or_else(PoisonError::into_inner).job(start));
        Self { rig, scripts, events_before: 0 }
    }

    /// Opens a change, whether it waited or not.
    pub async fn open(&mut self, change: &Change, skip: Option<HookPhase>, uid: u64) -> Result<(), String> {
        let plan = Arc::new(self.plan(change, skip, uid, false).await?);
        let opened = Event::ChangeOpened { plan, by: "model".to_owned() };
        let key = plans::change(change.number);
        if self.rig.journal.change(&key).await.map_err(words)?.is_some() {
            return self.record(change.number, opened).await;
        }
        self.create(change.number, opened).await
    }

    /// Lets a change wait, and supersedes what waited, where this Pintle does not die before.
    pub async fn queue(
        &mut self,
        change: &Change,
        skip: Option<HookPhase>,
        uid: u64,
        dies: bool,
    ) -> Result<(), String> {
        let plan = Arc::new(self.plan(change, skip, uid, true).await?);
        let queued = Event::ChangeQueued { plan, request: Json::default(), by: "model".to_owned() };
        self.create(change.number, queued).await?;
        if dies { Ok(()) } else { self.supersede(change.number).await }
    }

    /// Ends all changes that wait but one.
    pub async fn supersede(&mut self, but: u64) -> Result<(), String> {
        for view in self.rig.journal.changes(pintle_journal::journal::ChangeQuery::default()).await.map_err(words)? {
            if view.state == ChangeState::Waiting && view.key.number != but {
                self.close(view.key.number, ChangeState::Superseded).await?;
            }
        }
        Ok(())
    }

    pub async fn close(&mut self, number: u64, state: ChangeState) -> Result<(), String> {
        self.record(number, Event::ChangeFinished { state, message: "it is not done".to_owned() }).await
    }

    pub async fn ask(&mut self, number: u64, verb: Verb) -> Result<(), String> {
        self.record(number, Event::Asked { verb, by: "model".to_owned() }).await
    }

    async fn create(&self, number: u64, event: Event) -> Result<(), String> {
        let (journal, clock) = (self.rig.shared_journal(), self.rig.shared_clock());
        let (_log, receipt) = ChangeLog::create(journal, clock, plans::change(number), event).map_err(words)?;
        receipt.await.map_err(words)
    }

    async fn record(&self, number: u64, event: Event) -> Result<(), String> {
        let log = self.rig.recovered(&plans::change(number)).await;
        log.record(event).map_err(words)?.await.map_err(words)
    }

    async fn plan(&self, change: &Change, skip: Option<HookPhase>, uid: u64, later: bool) -> Result<Plan, String> {
        let view = self.rig.journal.release(&plans::release()).await.map_err(words)?;
        let known = match view {
            None => None,
            Some(mut view) => {
                let last = Plan::clone(&self.rig.history(&view.last()).await.plan);
                if later {
                    let open = view.open.clone().ok_or("a change waits and none is open")?;
                    view.assume_success(&self.rig.history(&open).await.plan.clone());
                }
                Some(Known { view, last })
            }
        };
        if !matches!(change.kind, ChangeKind::Rollback | ChangeKind::Delete | ChangeKind::Test) {
            return Ok(making::document(change, known.as_ref(), uid));
        }
        let to = match change.back_to {
            Some(to) => Some(Plan::clone(&self.rig.history(&plans::change(to)).await.plan)),
            None => None,
        };
        let known = known.ok_or("there is no release, and the reference has one")?;
        making::again(change, &known, to.as_ref(), skip).await
    }

    /// A change is to run by these scripts: it begins, or goes on after a verb.
    pub fn script(&mut self, change: &Change) {
        self.events_before = self.rig.world.hook_order().len();
        let mut scripts = self.scripts.lock().unwrap_or_else(PoisonError::into_inner);
        if scripts.change != change.number {
            let job_fails = change.action.as_ref().map(|action| action.job_fails).unwrap_or_default();
            let hooks = making::scripted(&change.spec);
            *scripts = Scripts { change: change.number, hooks, job_fails, ..Scripts::default() };
        }
    }

    /// Drives a change until it ends, or its Pintle dies for good.
    pub async fn drive(&mut self, number: u64, trouble: &Trouble) -> Result<Drove, String> {
        let key = plans::change(number);
        self.rig.deaths = 0;
        let armed = self.arm(trouble);
        let ended = loop {
            if matches!(trouble, Trouble::DieAfterEach) {
                self.rig.journal.stop_after(self.rig.journal.len() + 1);
            }
            let log = Arc::new(self.rig.recovered(&key).await);
            match self.rig.live(log).await {
                Life::Ended(state) => break Drove::Ended(state),
                Life::Failed(error) => return Err(format!("the drive of {key} failed: {error}")),
                Life::Died => {
                    self.rig.restart();
                    let state = self.rig.history(&key).await.state();
                    if matches!(trouble, Trouble::Pause { .. }) && state == ChangeState::Running {
                        break Drove::Paused;
                    }
                }
            }
        };
        self.rig.journal.stop_after(usize::MAX);
        if let Some(at) = armed {
            self.rig.world.script_fault(at.0, at.1, Fault::Delay(Duration::ZERO));
        }
        if matches!(ended, Drove::Ended(_)) {
            self.rig.replay(&key).await;
        }
        Ok(ended)
    }

    fn arm(&self, trouble: &Trouble) -> Option<(Method, u32)> {
        let records = self.rig.journal.len();
        let world = &self.rig.world;
        let (method, nth, fault) = match trouble {
            Trouble::None | Trouble::DieAfterEach => return None,
            Trouble::DieAfter { records: more, lost: true } | Trouble::Pause { records: more } => {
                self.rig.journal.stop_after(records + more);
                return None;
            }
            Trouble::DieAfter { records: more, lost: false } => {
                self.rig.journal.stop_at(records + more + 1);
                return None;
            }
            Trouble::DieAt { method, nth, place } => {
                let fault = [Fault::DieBefore, Fault::DieAmid, Fault::DieAfter][usize::from(*place)].clone();
                (*method, *nth, fault)
            }
            Trouble::ApplyFails => {
                (Method::Apply, 1, Fault::Error(PlatformError::Failed("it did not come up".to_owned())))
            }
            Trouble::Unavailable { method, nth } => {
                (*method, *nth, Fault::Error(PlatformError::Unavailable("no route".to_owned())))
            }
            Trouble::Fails { method, nth } => {
                (*method, *nth, Fault::Error(PlatformError::Failed("it did not work".to_owned())))
            }
        };
        let at = (method, world.calls(method) + nth);
        world.script_fault(at.0, at.1, fault);
        Some(at)
    }
}

impl Scripts {
    fn hook(&mut self, start: &HookStart<'_>) -> HookScript {
        let key = (start.phase.to_owned(), start.name.to_owned());
        let started = self.started.entry(key.clone()).or_default();
        *started += 1;
        let result = self.hooks.get(&key).map_or(Outcome::Succeeds, |hook| hook.result(*started));
        // Hooks of a group end one after another.
        let runs = Duration::from_millis(300 + 400 * u64::from(start.name.as_bytes().last().copied().unwrap_or(0) % 4));
        match result {
            Outcome::Succeeds => HookScript::lasting(runs),
            Outcome::Fails => HookScript { runs, ..HookScript::fails(3, "no such table\n") },
            Outcome::Never => HookScript::never("it waits"),
        }
    }

    fn job(&mut self, start: &JobStart<'_>) -> JobScript {
        if start.job.spec.command.first().is_none_or(|command| command != "migrate") {
            return JobScript::default();
        }
        self.jobs += 1;
        if self.job_fails[usize::from(self.jobs > 1)] {
            return JobScript::fails(4, "no such table\n");
        }
        JobScript::lasting(Duration::from_millis(700))
    }
}

fn words(error: impl std::fmt::Display) -> String {
    error.to_string()
}
