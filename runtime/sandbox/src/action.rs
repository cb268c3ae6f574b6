//! Running an action: stays of its guest, one after another, until it ends, its time is over or nobody wants it any more.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use pintle_journal::change_log::ChangeLog;
use pintle_journal::journal::JournalError;
use pintle_lifecycle::call::{Answer, Call};
use pintle_lifecycle::digest;
use pintle_lifecycle::ending::Ending;
use pintle_lifecycle::history::History;
use pintle_lifecycle::ids::StepId;
use pintle_lifecycle::undo::{self, DerivedCall, Undoing, is_of_undo};
use pintle_platform::Platform;

use crate::attempt::Attempt;
use crate::derived;
use crate::effect::job_id;
use crate::gate::Gate;
use crate::guest::{Entry, Finish};
use crate::host::Stop;
use crate::limits::Budget;
use crate::rest::Rest;
use crate::sandbox::Sandbox;

/// One attempt of an action, to be run by whoever drives its change.
pub struct Action {
    sandbox: Sandbox,
    attempt: Arc<Attempt>,
    residency: Duration,
    budget: Arc<Budget>,
    rest_after: Option<Duration>,
    way: Way,
}

/// What is run.
#[derive(Debug)]
pub(crate) enum Way {
    Guest {
        module: String,
        entry: Entry,
    },
    /// Calls of the host itself.
    Derived(Vec<DerivedCall>),
}

/// Whether an intent goes before each effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Intents {
    #[default]
    Recorded,
    /// Effects have no intent, and a new key each time. The negative control of crash tests, which must find what then happens
    /// twice.
    LeftOut,
}

/// How a run of an attempt came back.
#[derive(Debug)]
pub enum End {
    /// The attempt ended so; not recorded yet.
    Ended(Ending),
    /// The change waits for a person; the journal says for what.
    Stuck,
    /// The journal cannot go on.
    Journal(JournalError),
    /// It only waits, and may be dropped until then: see [`Action::resting`].
    Resting(Rest),
}

impl Action {
    /// The attempt of that step, or of the undo of an action or of a sync; none where the history has no such attempt.
    ///
    /// A guest that waits for longer than `residency` leaves memory and is replayed when its answer is there.
    #[must_use]
    pub fn new(
        sandbox: Sandbox,
        log: Arc<ChangeLog>,
        platform: Arc<dyn Platform>,
        step: &StepId,
        number: u32,
        residency: Duration,
        intents: Intents,
    ) -> Option<Self> {
        let way = log.look(|history| way(history, step))?;
        let attempt = Arc::new(Attempt::of(log, platform, step, number, intents)?);
        let budget = Arc::new(Budget::new(&attempt.plan().limits));
        Some(Self { sandbox, attempt, residency, budget, rest_after: None, way })
    }

    /// The same, but a run comes back with [`End::Resting`] where the guest has left memory and what it waits for has not come
    /// for as long again, or guests wait for a place in memory. What an earlier run in this process has left of its `budget` goes on.
    #[must_use]
    pub fn resting(self, budget: Option<Arc<Budget>>) -> Self {
        Self { budget: budget.unwrap_or(self.budget), rest_after: Some(self.residency), ..self }
    }

    /// Runs to the end of the attempt. Dropping the future stops the guest and whatever waits for it, and leaves the world as
    /// it is: a later run goes on from the journal.
    pub async fn run(&self) -> End {
        let time_left = self.attempt.time_left();
        tokio::select! {
            biased;
            end = async { match &self.way {
                Way::Guest { module, entry } => self.stays(module, entry).await,
                Way::Derived(calls) => self.derived(calls).await,
            } } => end,
            () = self.attempt.log().clock().sleep(time_left) => Box::pin(self.time_out()).await,
        }
    }

    /// The host's own calls: there is no guest, so there are no stays.
    async fn derived(&self, calls: &[DerivedCall]) -> End {
        let gate = Arc::new(Gate::enter(Arc::clone(&self.attempt)));
        let mut effects = pin!(self.attempt.effects());
        tokio::select! {
            biased;
            finish = derived::run(&gate, &self.attempt, calls) => match finish {
                Ok(ending) => ended(&gate, ending),
                Err(stop) => stopped(stop),
            },
            stop = &mut effects => stopped(stop),
        }
    }

    async fn stays(&self, module: &str, entry: &Entry) -> End {
        let module = match self.sandbox.module(module).await {
            Ok(module) => module,
            Err(error) => return End::Ended(Ending::failed(error.to_string())),
        };
        let mut effects = pin!(self.attempt.effects());
        loop {
            let gate = Arc::new(Gate::enter(Arc::clone(&self.attempt)));
            let entry = entry.clone();
            // What is waited for while the guest is in memory has places of its own, which are given back while it is out.
            let stay = Box::pin(self.sandbox.run(&module, entry, gate.clone(), Arc::clone(&self.budget), self.seed()));
            tokio::select! {
                biased;
                finish = stay => match finish {
                    Finish::NoRoom(problem) => match Box::pin(self.attempt.wait_for_room(&problem)).await {
                        Ok(()) => continue,
                        Err(stop) => return stopped(stop),
                    },
                    Finish::Ending(ending) => return ended(&gate, ending),
                    Finish::Stopped(stop) => return stopped(stop),
                },
                stop = &mut effects => return stopped(stop),
                () = Box::pin(self.attempt.waited(self.residency, || self.sandbox.crowded())) => {}
            }
            tokio::select! {
                biased;
                stop = &mut effects => return stopped(stop),
                () = self.attempt.idle() => {}
                rest = self.rest() => return End::Resting(rest),
            }
        }
    }

    async fn rest(&self) -> Rest {
        let Some(after) = self.rest_after else { return std::future::pending().await };
        let until = Box::pin(self.attempt.rest(after, || self.sandbox.crowded())).await;
        Rest { until, budget: Arc::clone(&self.budget) }
    }

    async fn time_out(&self) -> End {
        let during = self.attempt.look(|made| {
            let open = made.calls.last().filter(|call| call.outcome.is_none());
            open.and_then(|open| open.call.title()).map(|title| format!(", during `{title}`")).unwrap_or_default()
        });
        let limit = self.attempt.limit_ms();
        match self.stop_jobs().await {
            Ok(()) => End::Ended(Ending::TimedOut {
                message: format!("not done after {limit} ms{during}"),
                output: pintle_lifecycle::call::Output::default(),
            }),
            Err(stop) => stopped(stop),
        }
    }

    /// Ends what an attempt that is cancelled leaves running.
    ///
    /// # Errors
    /// Where the journal cannot go on.
    pub async fn cancel(&self) -> Result<(), JournalError> {
        match self.stop_jobs().await {
            Err(Stop::Journal(error)) => Err(error),
            _ => Ok(()),
        }
    }

    /// Ends the Jobs that this attempt started and that still run.
    async fn stop_jobs(&self) -> Result<(), Stop> {
        let keys: Vec<String> = self.attempt.look(|made| {
            let with_key = made.calls.iter().filter_map(|call| Some((call, call.intent.as_ref()?)));
            let jobs = with_key.filter(|(call, _)| match &call.call {
                Call::JobRun { .. } => call.outcome.is_none(),
                Call::JobStart { .. } => {
                    let answer = call.outcome.as_ref().map(|outcome| &outcome.result);
                    matches!(answer, None | Some(Ok(Answer::JobStarted { .. })))
                }
                _ => false,
            });
            jobs.map(|(_, intent)| intent.key.clone()).collect()
        });
        let (platform, target) = (self.attempt.platform(), self.attempt.target());
        for key in keys {
            let id = job_id(&self.attempt, &key);
            let ended = self.attempt.patiently(|| platform.job_ended(target, &id)).await?;
            if let Ok(Some(false)) = ended {
                let key = format!("{key}/stop");
                let stopped = self.attempt.patiently(|| platform.stop_job(&key, target, &id)).await?;
                if let Err(error) = stopped {
                    tracing::warn!(job = id, %error, "a Job could not be stopped");
                }
            }
        }
        Ok(())
    }

    fn seed(&self) -> [u8; 32] {
        let change = self.attempt.log().look(|history| history.key.stored());
        seed(&change, self.attempt.step(), self.attempt.number())
    }
}

/// What WASI randomness of the guest starts from: the same in every stay, and in every replay.
pub(crate) fn seed(change: &str, step: &StepId, attempt: u32) -> [u8; 32] {
    let text = format!("{change}/{step}/{attempt}");
    let hex = digest::sha256(text.as_bytes());
    let mut seed = [0; 32];
    seed.copy_from_slice(&digest::unhex(&hex).expect("a sha256 is hex")[..32]);
    seed
}

/// What the step runs; none where that is no action and no undo of calls.
pub(crate) fn way(history: &History, step: &StepId) -> Option<Way> {
    if !is_of_undo(step) {
        let action = history.plan.action(step)?;
        return Some(Way::Guest { module: action.module.clone(), entry: Entry::Run(action.export.clone()) });
    }
    match undo::of(history, &step.parent()?)?.ok()? {
        Undoing::Derived(calls) => Some(Way::Derived(calls)),
        Undoing::Guest { effects_json } => {
            let action = history.plan.action(step)?;
            let entry = Entry::Undo { action: action.export.clone(), effects_json };
            Some(Way::Guest { module: action.module.clone(), entry })
        }
        Undoing::Objects => None,
    }
}

fn ended(gate: &Gate, ending: Ending) -> End {
    match ending {
        // A budget ends a replay as well as a first run; everything else must have come as far as the journal.
        Ending::OutOfMemory { .. } | Ending::CpuBudget { .. } | Ending::Nondeterministic { .. } => End::Ended(ending),
        ending => End::Ended(gate.unconsumed().unwrap_or(ending)),
    }
}

fn stopped(stop: Stop) -> End {
    match stop {
        Stop::Ending(ending) => End::Ended(*ending),
        Stop::Journal(error) => End::Journal(error),
        Stop::Gone => End::Stuck,
    }
}
