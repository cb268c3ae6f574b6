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
use pintle_lifecycle::ids::StepId;
use pintle_lifecycle::record::Event;
use pintle_platform::Platform;
use pintle_sandbox::{Action, End, Intents, Sandbox};

use crate::sync;

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
    #[error("a step's work ended without an end: {0}")]
    Crashed(String),
}

/// How a piece of work came back.
pub(crate) enum WorkEnd {
    Ended(Ending),
    Stuck,
    Journal(JournalError),
}

type Place = (StepId, u32);

/// How a piece of work came back: aborted, panicked, or with its end.
type Came = Result<Result<(Place, WorkEnd), Box<dyn Any + Send>>, Aborted>;

/// One drive of one change.
struct Drive<'a> {
    driver: &'a Driver,
    log: Arc<ChangeLog>,
    running: HashMap<Place, AbortHandle>,
    /// Polled with the change itself: a change is one task, and what it waits for wakes no other thread.
    work: FuturesUnordered<Pin<Box<dyn Future<Output = Came> + Send>>>,
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
        let mut drive = Drive { driver: self, log, running: HashMap::new(), work: FuturesUnordered::new(), last: None };
        let mut records = drive.log.decisive();
        loop {
            records.borrow_and_update();
            let delay = match drive.round().await? {
                Round::Again => continue,
                Round::Ended(state) => return Ok(state),
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
                Decision::Start { step, attempt, parent, kind, title, .. } => {
                    self.record(Event::StepStarted { step, attempt, parent, kind, title })?;
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
            Work::Action => self.start(async move {
                let end = match driver.action(log, &step, attempt) {
                    Some(action) => match action.run().await {
                        End::Ended(ending) => WorkEnd::Ended(ending),
                        End::Stuck => WorkEnd::Stuck,
                        End::Journal(error) => WorkEnd::Journal(error),
                    },
                    None => WorkEnd::Ended(Ending::failed(format!("the plan has no action for the step {step}"))),
                };
                (name, end)
            }),
            // The start of these steps is the intent of their effect: it is durable before they act.
            Work::Apply(reference) => {
                self.durable().await?;
                self.start(async move {
                    let end = sync::apply(&log, &*driver.platform, &step, attempt, &reference).await;
                    (name, end)
                })
            }
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

    fn start(&self, work: impl Future<Output = (Place, WorkEnd)> + Send + 'static) -> AbortHandle {
        // A panic leaves the history as of some record: whole.
        let (work, handle) = abortable(AssertUnwindSafe(work).catch_unwind());
        self.work.push(Box::pin(work));
        handle
    }

    /// Ends the work of a step that was cancelled.
    async fn stop(&mut self, step: &StepId, attempt: u32) -> Result<(), DriveError> {
        if let Some(work) = self.running.remove(&(step.clone(), attempt)) {
            work.abort();
        }
        if let Some(action) = self.driver.action(Arc::clone(&self.log), step, attempt) {
            action.cancel().await?;
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
        let (step, attempt) = place;
        match end {
            WorkEnd::Ended(ending) => self.record(Event::StepFinished { step, attempt, ending }),
            WorkEnd::Stuck => Ok(()),
            WorkEnd::Journal(error) => Err(error.into()),
        }
    }

    fn record(&mut self, event: Event) -> Result<(), DriveError> {
        self.last = Some(self.log.record(event)?);
        Ok(())
    }

    /// Waits until everything recorded here is durable.
    async fn durable(&mut self) -> Result<(), DriveError> {
        if let Some(last) = self.last.take() {
            last.await?;
        }
        Ok(())
    }
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
