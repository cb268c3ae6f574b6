//! The one door between an action and the world: number → replay, or grant → intent → effect → outcome.
//!
//! A gate serves one stay of a guest in memory. What must outlive the stay (the effect that a call waits for) the attempt carries
//! out beside it; its outcome comes back through the history, where a guest that left and came again finds it by replay.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use pintle_lifecycle::call::{Answer, Call, CallError, Class, Code, effect_key};
use pintle_lifecycle::ending::Ending;
use pintle_lifecycle::history::{CallHistory, History};
use pintle_lifecycle::ids::StepId;
use pintle_lifecycle::record::{Event, Level};

use crate::action::Intents;
use crate::attempt::Attempt;
use crate::effect;
use crate::host::{Facts, Host, Stop};
use crate::intent::{self, Prepared};

/// What one stay of a guest reaches.
pub(crate) struct Gate {
    attempt: Arc<Attempt>,
    /// Ordinal of the next call.
    next: AtomicU32,
    /// Number of the next log line.
    line: AtomicU32,
    /// Calls that were recorded when the stay began: up to here this is a replay.
    recorded: u32,
    /// Lines that were recorded when the stay began: they are not logged again.
    lines: u32,
    /// Made when the guest first asks.
    facts: OnceLock<Facts>,
}

/// What the history has for a call.
enum Found {
    /// Nothing: the guest is ahead of the journal.
    Nothing,
    /// An intent, or nothing but a place, without an outcome.
    Open(Box<CallHistory>),
    Answered(Result<Answer, CallError>),
    /// Another call.
    Other(String),
}

impl Gate {
    pub(crate) fn enter(attempt: Arc<Attempt>) -> Self {
        let (recorded, lines) = attempt.look(|made| (count(made.calls.len()), made.lines));
        Self { attempt, next: AtomicU32::new(0), line: AtomicU32::new(0), recorded, lines, facts: OnceLock::new() }
    }

    /// The recorded call that the guest, which has ended, never made.
    pub(crate) fn unconsumed(&self) -> Option<Ending> {
        let next = self.next.load(Ordering::Relaxed);
        self.attempt.look(|made| {
            made.calls.get(next as usize).map(|recorded| Ending::Nondeterministic {
                expected: recorded.call.shown(),
                got: "the end of the action".to_owned(),
            })
        })
    }

    fn find(&self, ordinal: u32, call: &Call) -> Found {
        self.attempt.look(|made| match made.calls.get(ordinal as usize) {
            None => Found::Nothing,
            Some(recorded) if recorded.call != *call => Found::Other(recorded.call.shown()),
            Some(CallHistory { outcome: Some(outcome), .. }) => Found::Answered(outcome.result.clone()),
            Some(open) => Found::Open(Box::new(open.clone())),
        })
    }

    /// A call of the host itself, which needs no grant.
    pub(crate) async fn derived(&self, call: Call) -> Result<Result<Answer, CallError>, Stop> {
        self.pass(call, false).await
    }

    /// A call comes through; `granted` says whether a grant is asked for.
    async fn pass(&self, call: Call, granted: bool) -> Result<Result<Answer, CallError>, Stop> {
        let ordinal = self.next.fetch_add(1, Ordering::Relaxed);
        let limit = self.attempt.plan().limits.calls;
        if u64::from(ordinal) >= limit {
            return Err(Stop::Ending(Box::new(Ending::CallLimit { limit })));
        }
        match self.find(ordinal, &call) {
            Found::Answered(answer) => Ok(answer),
            Found::Other(expected) => {
                Err(Stop::Ending(Box::new(Ending::Nondeterministic { expected, got: call.shown() })))
            }
            Found::Open(open) => {
                let effect = match open.intent {
                    Some(intent) => effect::Effect::Keyed { call, key: intent.key, pre: intent.pre },
                    None => effect::Effect::Look(call),
                };
                Ok(self.attempt.effect(ordinal, effect).await)
            }
            Found::Nothing => match granted.then(|| self.attempt.plan().permissions.check(&call)) {
                Some(Err(denied)) => self.answer(ordinal, call, Err(denied)),
                Some(Ok(())) | None => self.fresh(ordinal, call).await,
            },
        }
    }

    /// A call that the journal does not have yet.
    async fn fresh(&self, ordinal: u32, call: Call) -> Result<Result<Answer, CallError>, Stop> {
        match call.class() {
            Class::Journal => self.at_once(ordinal, call).await,
            Class::Read => Ok(self.attempt.effect(ordinal, effect::Effect::Look(call)).await),
            Class::Keyed => match intent::prepare(&self.attempt, &call).await? {
                Prepared::Answer(answer) => self.answer(ordinal, call, answer),
                // The effect of a sync is steps of its own, which the intent starts.
                Prepared::Intent(pre)
                    if self.attempt.intents() == Intents::LeftOut
                        && !matches!(call, Call::SetVersion { .. } | Call::Sync | Call::Restore) =>
                {
                    let mut key = [0; 8];
                    getrandom::fill(&mut key).map_err(|_| Stop::Gone)?;
                    let key = pintle_lifecycle::digest::hex(&key);
                    Ok(self.attempt.effect(ordinal, effect::Effect::Keyed { call, key, pre }).await)
                }
                Prepared::Intent(pre) => {
                    let change = self.attempt.log().look(|history| history.key.stored());
                    let key = effect_key(&change, self.attempt.step(), self.attempt.number(), ordinal, &call);
                    let event = Event::CallIntent {
                        step: self.attempt.step().clone(),
                        attempt: self.attempt.number(),
                        ordinal,
                        call: call.clone(),
                        key: key.clone(),
                        pre: pre.clone(),
                    };
                    // One flush for each effect in a row: the outcome of the call before rides in this one.
                    self.attempt.record(event)?.await.map_err(Stop::Journal)?;
                    Ok(self.attempt.effect(ordinal, effect::Effect::Keyed { call, key, pre }).await)
                }
            },
        }
    }

    /// Calls that live in the journal: applied with their outcome.
    async fn at_once(&self, ordinal: u32, call: Call) -> Result<Result<Answer, CallError>, Stop> {
        let answer = intent::journal_answer(&self.attempt, &call)?;
        let state = matches!(call, Call::StatePut { .. } | Call::StateDelete { .. });
        let event = self.outcome(ordinal, call, answer.clone());
        let receipt = self.attempt.record(event)?;
        if state {
            // A later `state.get` reads what is acknowledged.
            receipt.await.map_err(Stop::Journal)?;
        }
        Ok(answer)
    }

    fn answer(
        &self,
        ordinal: u32,
        call: Call,
        answer: Result<Answer, CallError>,
    ) -> Result<Result<Answer, CallError>, Stop> {
        let event = self.outcome(ordinal, call, answer.clone());
        // Nothing depends on this outcome before the next record, which is behind it in the same log.
        drop(self.attempt.record(event)?);
        Ok(answer)
    }

    fn outcome(&self, ordinal: u32, call: Call, outcome: Result<Answer, CallError>) -> Event {
        Event::CallOutcome {
            step: self.attempt.step().clone(),
            attempt: self.attempt.number(),
            ordinal,
            call: Some(call),
            outcome,
            note: None,
        }
    }
}

#[async_trait]
impl Host for Gate {
    fn facts(&self) -> &Facts {
        self.facts.get_or_init(|| self.attempt.facts())
    }

    async fn call(&self, call: Call) -> Result<Result<Answer, CallError>, Stop> {
        self.pass(call, true).await
    }
    fn log(&self, level: Level, message: String, fields: Vec<(String, String)>) -> Result<(), Stop> {
        let line = self.line.fetch_add(1, Ordering::Relaxed);
        // Lines before a recorded call are in the journal, or were dropped there because the log was full.
        if line < self.lines || self.replaying() {
            return Ok(());
        }
        self.attempt.log_line(line, level, message, fields)
    }

    fn replaying(&self) -> bool {
        self.next.load(Ordering::Relaxed) < self.recorded
    }
}

/// The answer of call `ordinal`, once the history has it.
pub(crate) fn answer_of(
    history: &History,
    step: &StepId,
    attempt: u32,
    ordinal: u32,
) -> Option<Result<Answer, CallError>> {
    let made = history.attempt(step, attempt)?.calls.get(ordinal as usize)?;
    made.outcome.as_ref().map(|outcome| outcome.result.clone())
}

/// The error of a call that names something the release does not have.
pub(crate) fn unknown_component(name: &str, history: &History) -> CallError {
    let known: Vec<&str> = history.plan.components.iter().map(|component| component.name.as_str()).collect();
    CallError::new(
        Code::NotFound,
        format!("the release has no component `{name}`; driver.yml declares: {}", known.join(", ")),
    )
}

pub(crate) fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
