//! Running an old attempt again from its journal: the guest is a real one, the world is what was recorded. Nothing else is reached.
//!
//! records → replay → guest on a tape → verdict

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use pintle_lifecycle::call::{Answer, Call, CallError};
use pintle_lifecycle::ending::Ending;
use pintle_lifecycle::history::{BrokenHistory, CallHistory, History};
use pintle_lifecycle::ids::StepId;
use pintle_lifecycle::plan::Limits;
use pintle_lifecycle::record::{Event, Level, Record};

use crate::action::{Way, seed, way};
use crate::attempt::facts;
use crate::guest::{Entry, Finish};
use crate::host::{Facts, Host, Stop};
use crate::limits::Budget;
use crate::module::Module;
use crate::sandbox::Sandbox;
use crate::verdict::{Halt, Line, Played, Recorded, Verdict};

/// An attempt of an action, or of an action's own undo, to be run again.
#[derive(Debug, Clone)]
pub struct Replay {
    pub step: StepId,
    pub attempt: u32,
    /// sha256 of the module that ran it.
    pub module: String,
    entry: Entry,
    facts: Facts,
    limits: Limits,
    seed: [u8; 32],
    recorded: Arc<Recorded>,
}

/// This machine has no room for the guest, in its own words.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub struct NoRoom(pub String);

impl Replay {
    /// All attempts of a change that a guest ran, in the order in which they started.
    ///
    /// # Errors
    /// Where the records do not fit together.
    pub fn all<'a>(records: impl IntoIterator<Item = &'a Record>) -> Result<Vec<Self>, BrokenHistory> {
        let mut records = records.into_iter();
        let Some(first) = records.next() else { return Ok(Vec::new()) };
        let mut history = History::open(first)?;
        let mut started: Vec<(StepId, u32)> = Vec::new();
        let mut lines: BTreeMap<(StepId, u32), Vec<Line>> = BTreeMap::new();
        for record in records {
            history.apply(record)?;
            match &record.event {
                Event::StepStarted { step, attempt, .. } => started.push((step.clone(), *attempt)),
                // Lines without a number are Pintle's own.
                Event::StepLog { step, attempt, line: Some(_), level, message, fields } => {
                    let line = Line { level: *level, message: message.clone(), fields: fields.clone() };
                    lines.entry((step.clone(), *attempt)).or_default().push(line);
                }
                _ => {}
            }
        }
        let replay = |of: (StepId, u32)| {
            let lines = lines.remove(&of).unwrap_or_default();
            Self::of(&history, lines, of.0, of.1)
        };
        Ok(started.into_iter().filter_map(replay).collect())
    }

    /// The attempt; none where no guest ran it.
    fn of(history: &History, lines: Vec<Line>, step: StepId, attempt: u32) -> Option<Self> {
        let Way::Guest { module, entry } = way(history, &step)? else { return None };
        let made = history.attempt(&step, attempt)?;
        let ending = made.finished.as_ref().map(|(_, ending)| ending.clone());
        let args = history.plan.action(&step)?.args.clone();
        Some(Self {
            module,
            entry,
            facts: facts(&history.key.to_string(), &history.plan, &step, &args, attempt),
            limits: history.plan.limits,
            seed: seed(&history.key.stored(), &step, attempt),
            recorded: Arc::new(Recorded { calls: made.calls.clone(), ending, lines }),
            step,
            attempt,
        })
    }

    /// Runs the attempt again with a module: the one that ran it, or another build.
    ///
    /// The bounds are those of the plan. Grants are not asked: what was refused is recorded.
    ///
    /// # Errors
    /// Where the machine has no room for the guest.
    pub async fn run(&self, sandbox: &Sandbox, module: &Module) -> Result<Verdict, NoRoom> {
        if let Some(problem) = missing(&self.entry, module) {
            return Ok(self.recorded.without_entry(problem));
        }
        let tape = Arc::new(Tape {
            facts: self.facts.clone(),
            limit: self.limits.calls,
            recorded: Arc::clone(&self.recorded),
            played: Mutex::default(),
        });
        let budget = Arc::new(Budget::new(&self.limits));
        let host: Arc<dyn Host> = Arc::<Tape>::clone(&tape);
        let ended = match sandbox.run(module, self.entry.clone(), host, budget, self.seed).await {
            Finish::Ending(ending) => Some(ending),
            Finish::Stopped(_) => None,
            Finish::NoRoom(problem) => return Err(NoRoom(problem)),
        };
        let played = std::mem::take(&mut *tape.played());
        Ok(self.recorded.verdict(played, ended))
    }
}

/// Why a module cannot be entered there; none where it can.
fn missing(entry: &Entry, module: &Module) -> Option<String> {
    let (Entry::Run(name) | Entry::Undo { action: name, .. }) = entry;
    match (module.action(name), entry) {
        (None, _) => {
            let known: Vec<&str> = module.actions.iter().map(|action| action.name.as_str()).collect();
            Some(format!("the module has no action `{name}`; it has {}", known.join(", ")))
        }
        (Some(action), Entry::Undo { .. }) if !action.has_undo => {
            Some(format!("the action `{name}` of the module has no undo"))
        }
        _ => None,
    }
}

/// What a guest of a replay reaches: the recorded outcomes, one after another.
struct Tape {
    facts: Facts,
    /// The most calls of an attempt.
    limit: u64,
    recorded: Arc<Recorded>,
    played: Mutex<Played>,
}

impl Tape {
    fn played(&self) -> MutexGuard<'_, Played> {
        self.played.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Host for Tape {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    async fn call(&self, call: Call) -> Result<Result<Answer, CallError>, Stop> {
        let mut played = self.played();
        let place = played.calls as usize;
        if place as u64 >= self.limit {
            return Err(Stop::Ending(Box::new(Ending::CallLimit { limit: self.limit })));
        }
        let halt = match self.recorded.calls.get(place) {
            Some(CallHistory { call: recorded, .. }) if *recorded != call => Halt::Other(call),
            Some(CallHistory { outcome: Some(outcome), .. }) => {
                played.calls += 1;
                return Ok(outcome.result.clone());
            }
            Some(_) => {
                played.calls += 1;
                Halt::Open
            }
            None => Halt::Beyond(call),
        };
        played.halt = Some(halt);
        Err(Stop::Gone)
    }

    fn log(&self, level: Level, message: String, fields: Vec<(String, String)>) -> Result<(), Stop> {
        self.played().lines.push(Line { level, message, fields });
        Ok(())
    }

    /// The bounds are charged as they were in the first run.
    fn replaying(&self) -> bool {
        false
    }
}
