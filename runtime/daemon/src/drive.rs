//! Drives one change: asks `decide` what ought to happen, records what is to be recorded, keeps running what is to run, and
//! asks again at each new record that may change the answer. A recovered change goes the same way from its history.

use std::any::Any;
use std::collections::{BTreeSet, HashMap};
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{AbortHandle, Aborted, FutureExt, abortable};
use futures_util::stream::{FuturesUnordered, StreamExt};
use pintle_journal::change_log::ChangeLog;
use pintle_journal::journal::{JournalError, Receipt};
use pintle_lifecycle::decide::{Decision, Work, decide};
use pintle_lifecycle::ending::{ChangeState, Ending};
use pintle_lifecycle::hook::Hook;
use pintle_lifecycle::ids::StepId;
use pintle_lifecycle::record::{Event, StepKind};
use pintle_platform::Platform;
use pintle_sandbox::{Action, Budget, End, Intents, Rest, Sandbox};

use crate::{health, hook, sync};

/// What drives changes: one for a process, shared by all its changes.
#[derive(Clone)]
pub struct Driver {
    pub platform: Arc<dyn Platform>,
    pub sandbox: Sandbox,
    /// How long a guest may wait in memory for the answer of a call.
    pub residency: Duration,
    pub intents: Intents,
}

/// Why a change cannot be driven on. Its journal is whole; a later run goes on.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A record that does not fit the history: a defect of Pintle.
    #[error(transparent)]
    Broken(#[from] pintle_lifecycle::history::BrokenHistory),
    /// A change that rested cannot be taken up again.
    #[error(transparent)]
    Recover(#[from] pintle_journal::change_log::OpenError),
    #[error("a step's work ended without an end: {0}")]
    Crashed(String),
}

/// How a piece of work came back.
pub(crate) enum WorkEnd {
    Ended(Ending),
    Stuck,
    Resting(Rest),
    /// What it rested for has come.
    Woken,
    Journal(JournalError),
}

/// A step and its attempt.
pub(crate) type Place = (StepId, u32);

/// What is left of the bounds of actions that rest.
pub(crate) type Budgets = HashMap<Place, Arc<Budget>>;

/// How a piece of work came back: aborted, panicked, or with its end.
type Came = Result<Result<(Place, WorkEnd), Box<dyn Any + Send>>, Aborted>;

pub(crate) type Works = FuturesUnordered<Pin<Box<dyn Future<Output = Came> + Send>>>;

/// What a drive came to.
pub(crate) enum Driven {
    Ended(ChangeState),
    /// All its work rests: the change goes on when some of it wakes, or after this much time.
    Resting(Works, Budgets, Option<Duration>),
}

/// One drive of one change.
struct Drive<'a> {
    driver: &'a Driver,
    log: Arc<ChangeLog>,
    running: HashMap<Place, AbortHandle>,
    /// Whether actions that only wait may rest.
    rests: bool,
    /// Of those that rest now, or rested before they were taken up here.
    resting: Budgets,
    /// Polled with the change itself: a change is one task, and what it waits for wakes no other thread.
    work: Works,
    /// The newest record; once it is durable, all before it are.
    last: Option<Receipt>,
}

/// What a round of decisions came to.
enum Round {
    /// Something was recorded: decide again.
    Again,
    /// Nothing to do before something happens, or this much time has passed.
    Wait(Option<Duration>),
    Ended(ChangeState),
}

impl Driver {
    /// Drives a change until it has ended or needs a person. Dropping the future leaves the change to a later drive.
    ///
    /// # Errors
    /// Where the journal cannot go on, or Pintle itself went wrong.
    pub async fn drive(&self, log: Arc<ChangeLog>) -> Result<ChangeState, DriveError> {
        match self.drive_on(log, None).await? {
            Driven::Ended(state) => Ok(state),
            Driven::Resting(..) => Err(DriveError::Crashed("it rests and was not asked to".to_owned())),
        }
    }

    /// Drives a change until it has ended or needs a person; where there are budgets of actions that rested, or an empty map of
    /// them, also until it rests.
    pub(crate) async fn drive_on(&self, log: Arc<ChangeLog>, rests: Option<Budgets>) -> Result<Driven, DriveError> {
        let mut drive = Drive {
            driver: self,
            log,
            running: HashMap::new(),
            rests: rests.is_some(),
            resting: rests.unwrap_or_default(),
            work: FuturesUnordered::new(),
            last: None,
        };
        let mut records = drive.log.decisive();
        loop {
            records.borrow_and_update();
            let delay = match drive.round().await? {
                Round::Again => continue,
                Round::Ended(state) => return Ok(Driven::Ended(state)),
                Round::Wait(delay) if drive.only_rests() => {
                    drive.all_durable().await?;
                    return Ok(Driven::Resting(drive.work, drive.resting, delay));
                }
                Round::Wait(delay) => delay,
            };
            let clock = Arc::clone(drive.log.clock());
            tokio::select! {
                _ = records.changed() => {}
                Some(came) = drive.work.next(), if !drive.work.is_empty() => drive.ended(came)?,
                () = async { match delay {
                    Some(delay) => clock.sleep(delay).await,
                    None => std::future::pending().await,
                } } => {}
            }
        }
    }
}

impl Drive<'_> {
    async fn round(&mut self) -> Result<Round, DriveError> {
        let decisions = self.log.look(decide);
        if decisions.is_empty() {
            // Stuck or ended: whatever runs is not wanted any more.
            self.work.clear();
            self.durable().await?;
            return Ok(Round::Ended(self.log.look(pintle_lifecycle::history::History::state)));
        }
        let mut again = false;
        let mut delay: Option<Duration> = None;
        let mut wanted = BTreeSet::new();
        for decision in decisions {
            match decision {
                Decision::Start { delay: Some(until), .. } if self.left(until) > Duration::ZERO => {
                    let left = self.left(until);
                    delay = Some(delay.map_or(left, |delay| delay.min(left)));
                }
                Decision::Start { step, attempt, parent, kind, title, hook, .. } => {
                    self.record(Event::StepStarted { step, attempt, parent, kind, title, hook })?;
                    again = true;
                }
                Decision::Run { step, attempt, work } => {
                    self.run(&step, attempt, work).await?;
                    wanted.insert((step, attempt));
                }
                Decision::Stop { step, attempt } => {
                    Box::pin(self.stop(&step, attempt)).await?;
                    again = true;
                }
                Decision::Finish { step, attempt, ending } => {
                    self.record(Event::StepFinished { step, attempt, ending })?;
                    again = true;
                }
                Decision::Undo { reason } => {
                    // Recorded before it acts: a crash never flips the direction.
                    self.record(Event::UndoBegan { reason })?;
                    again = true;
                }
                Decision::Stuck { step, question } => {
                    self.record(Event::ChangeStuck { step, question })?;
                    again = true;
                }
                Decision::EndHooks => {
                    self.record(Event::HooksEnded)?;
                    again = true;
                }
                Decision::Close { state, message } => {
                    tracing::info!(change = %self.log.look(|h| h.key.clone()), %state, message, "change ended");
                    self.record(Event::ChangeFinished { state, message })?;
                    again = true;
                }
            }
        }
        if again {
            return Ok(Round::Again);
        }
        self.running.retain(|place, work| {
            wanted.contains(place) || {
                work.abort();
                false
            }
        });
        self.resting.retain(|place, _| wanted.contains(place));
        Ok(Round::Wait(delay))
    }

    fn left(&self, until: pintle_lifecycle::decide::Delay) -> Duration {
        Duration::from_millis(until.ms.saturating_sub(self.log.now().since(&until.after)))
    }

    /// Starts the work of a step, unless it runs already.
    async fn run(&mut self, step: &StepId, attempt: u32, work: Work) -> Result<(), DriveError> {
        let place = (step.clone(), attempt);
        if self.running.contains_key(&place) {
            return Ok(());
        }
        let (driver, log) = (self.driver.clone(), Arc::clone(&self.log));
        let (step, name) = (step.clone(), place.clone());
        let running = match work {
            Work::Undo if undoes_objects(&log, &step) => {
                self.durable().await?;
                let hook = self.hook(&step, attempt);
                self.start(async move { (name, hook.put_back().await) })
            }
            Work::Action | Work::Undo => {
                let (rests, budget) = (self.rests, self.resting.remove(&place));
                self.start(async move {
                    let end = match driver.action(log, &step, attempt) {
                        Some(action) if rests => action.resting(budget).run().await.into(),
                        Some(action) => action.run().await.into(),
                        None => WorkEnd::Ended(Ending::failed(format!("the plan has no action for the step {step}"))),
                    };
                    (name, end)
                })
            }
            // The start of these steps is the intent of their effect: it is durable before they act.
            Work::Apply(reference) => {
                self.durable().await?;
                self.start(async move {
                    let end = sync::apply(&log, &*driver.platform, &step, attempt, &reference).await;
                    (name, end)
                })
            }
            // What is created is known by its name before it is in the journal: the start names it.
            Work::Hook => {
                self.durable().await?;
                let hook = self.hook(&step, attempt);
                self.start(async move { (name, hook.run().await) })
            }
            Work::Cleanup => {
                self.durable().await?;
                let hook = self.hook(&step, attempt);
                self.start(async move { (name, hook.clean_up().await) })
            }
            Work::Health => self.start(async move {
                let end = health::wait(&log, &*driver.platform, &step, attempt).await;
                (name, end)
            }),
            Work::Remove => {
                self.durable().await?;
                self.start(async move {
                    let end = sync::remove(&log, &*driver.platform, &step, attempt).await;
                    (name, end)
                })
            }
        };
        self.running.insert(place, running);
        Ok(())
    }

    fn hook(&self, step: &StepId, attempt: u32) -> hook::Running {
        hook::Running::of(Arc::clone(&self.log), Arc::clone(&self.driver.platform), step, attempt)
    }

    fn start(&self, work: impl Future<Output = (Place, WorkEnd)> + Send + 'static) -> AbortHandle {
        // A panic leaves the history as of some record: whole.
        let (work, handle) = abortable(AssertUnwindSafe(work).catch_unwind());
        self.work.push(Box::pin(work));
        handle
    }

    /// Ends the work of a step that was cancelled.
    async fn stop(&mut self, step: &StepId, attempt: u32) -> Result<(), DriveError> {
        let place = (step.clone(), attempt);
        if let Some(work) = self.running.remove(&place) {
            work.abort();
        }
        self.resting.remove(&place);
        if let Some(action) = self.driver.action(Arc::clone(&self.log), step, attempt) {
            action.cancel().await?;
        } else if self.log.look(|history| history.step(step).is_some_and(|step| step.kind == StepKind::Hook)) {
            self.hook(step, attempt).cancel().await?;
        }
        self.record(Event::StepFinished { step: step.clone(), attempt, ending: Ending::Cancelled })
    }

    fn ended(&mut self, came: Came) -> Result<(), DriveError> {
        let (place, end) = match came {
            Ok(Ok(ended)) => ended,
            Ok(Err(panic)) => return Err(DriveError::Crashed(words(&*panic))),
            Err(Aborted) => return Ok(()),
        };
        // Work that was cancelled meanwhile has its end recorded already.
        if self.running.remove(&place).is_none() {
            return Ok(());
        }
        if let WorkEnd::Resting(rest) = end {
            self.resting.insert(place.clone(), rest.budget);
            let (until, name) = (rest.until, place.clone());
            let resting = self.start(async move {
                until.await;
                (name, WorkEnd::Woken)
            });
            self.running.insert(place, resting);
            return Ok(());
        }
        let (step, attempt) = place;
        match end {
            WorkEnd::Ended(ending) => self.record(Event::StepFinished { step, attempt, ending }),
            // The next round sees to it.
            WorkEnd::Stuck | WorkEnd::Resting(_) | WorkEnd::Woken => Ok(()),
            WorkEnd::Journal(error) => Err(error.into()),
        }
    }

    fn record(&mut self, event: Event) -> Result<(), DriveError> {
        self.last = Some(self.log.record(event)?);
        Ok(())
    }

    fn only_rests(&self) -> bool {
        !self.running.is_empty() && self.running.len() == self.resting.len()
    }

    /// Waits until everything is durable that was recorded of the change, by whomever.
    async fn all_durable(&mut self) -> Result<(), JournalError> {
        self.log.journal().append(Vec::new()).await
    }

    /// Waits until everything recorded here is durable.
    async fn durable(&mut self) -> Result<(), DriveError> {
        if let Some(last) = self.last.take() {
            last.await?;
        }
        Ok(())
    }
}

impl From<End> for WorkEnd {
    fn from(end: End) -> Self {
        match end {
            End::Ended(ending) => Self::Ended(ending),
            End::Stuck => Self::Stuck,
            End::Journal(error) => Self::Journal(error),
            End::Resting(rest) => Self::Resting(rest),
        }
    }
}

/// Whether a step of undo is of a hook that made objects.
fn undoes_objects(log: &ChangeLog, step: &StepId) -> bool {
    let undone = step.parent();
    log.look(|history| undone.is_some_and(|undone| history.plan.hook(&undone).is_some_and(Hook::makes_objects)))
}

/// What a panic said.
fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("it panicked: {}", text.unwrap_or("without words"))
}

impl Driver {
    fn action(&self, log: Arc<ChangeLog>, step: &StepId, attempt: u32) -> Option<Action> {
        Action::new(self.sandbox.clone(), log, Arc::clone(&self.platform), step, attempt, self.residency, self.intents)
    }
}
