//! Whether a replay is like what was recorded: the calls one by one, the ending by its kind and words, the log line by line. Pure.

use pintle_lifecycle::call::Call;
use pintle_lifecycle::ending::Ending;
use pintle_lifecycle::history::CallHistory;
use pintle_lifecycle::record::Level;

/// What came of a replay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    pub behaviour: Behaviour,
    /// Calls that the module made as they were recorded, from the first on.
    pub calls: u32,
    /// How the attempt had ended; none where it was cut off, or runs still.
    pub recorded: Option<Ending>,
    /// The first line of the log that is another one. A log is no behaviour.
    pub other_line: Option<OtherLine>,
    /// What the module logged this time.
    pub lines: Vec<Line>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Behaviour {
    /// The same calls and the same ending.
    Same,
    /// The attempt was cut before the module was done; up to there it is the same.
    SameAsFar,
    Differs(Difference),
}

/// The first thing that is not as it was recorded. Ordinals count from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    Call {
        ordinal: u32,
        journal: Box<Call>,
        module: Box<Call>,
    },
    /// The module asks for a call where the attempt had ended.
    OneMore {
        ordinal: u32,
        module: Box<Call>,
    },
    /// The module ended before a recorded call.
    Missing {
        ordinal: u32,
        journal: Box<Call>,
        module: Ending,
    },
    Ending {
        journal: Ending,
        module: Ending,
    },
    /// The module has nothing to enter there, in words.
    NoEntry(String),
}

/// A line that the module logs in another way than it was recorded, the first one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherLine {
    /// From 0, among the lines of the attempt.
    pub number: u32,
    /// None where the journal has no more.
    pub journal: Option<Line>,
    /// None where the module logs no more.
    pub module: Option<Line>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    pub level: Level,
    pub message: String,
    pub fields: Vec<(String, String)>,
}

/// What the journal has of an attempt.
#[derive(Debug)]
pub(crate) struct Recorded {
    pub calls: Vec<CallHistory>,
    pub ending: Option<Ending>,
    /// Those of the guest.
    pub lines: Vec<Line>,
}

/// What a guest did in a replay.
#[derive(Debug, Default)]
pub(crate) struct Played {
    /// Calls as they were recorded.
    pub calls: u32,
    pub lines: Vec<Line>,
    pub halt: Option<Halt>,
}

/// Why the guest was stopped in a call.
#[derive(Debug)]
pub(crate) enum Halt {
    /// Another call is recorded.
    Other(Call),
    /// No further call is recorded.
    Beyond(Call),
    /// The call is recorded, its outcome is not.
    Open,
}

impl Recorded {
    /// The verdict on what a guest did, and how it ended unless it was stopped.
    pub(crate) fn verdict(&self, played: Played, ended: Option<Ending>) -> Verdict {
        let Played { calls, lines, halt } = played;
        let behaviour = self.behaviour(calls, halt, ended);
        Verdict {
            other_line: self.other_line(&behaviour, &lines),
            recorded: self.ending.clone(),
            behaviour,
            calls,
            lines,
        }
    }

    /// The verdict on a module that cannot be entered.
    pub(crate) fn without_entry(&self, problem: String) -> Verdict {
        Verdict {
            behaviour: Behaviour::Differs(Difference::NoEntry(problem)),
            calls: 0,
            recorded: self.ending.clone(),
            other_line: None,
            lines: Vec::new(),
        }
    }

    fn behaviour(&self, calls: u32, halt: Option<Halt>, ended: Option<Ending>) -> Behaviour {
        let next = self.calls.get(calls as usize).map(|made| Box::new(made.call.clone()));
        let ordinal = calls;
        Behaviour::Differs(match (halt, next, ended) {
            (Some(Halt::Other(call)), Some(journal), _) => {
                Difference::Call { ordinal, journal, module: Box::new(call) }
            }
            (Some(Halt::Beyond(call)), _, _) if !self.is_cut() => {
                Difference::OneMore { ordinal, module: Box::new(call) }
            }
            (None, Some(journal), Some(module)) => Difference::Missing { ordinal, journal, module },
            (None, None, Some(module)) => match &self.ending {
                Some(journal) if alike(journal, &module) => return Behaviour::Same,
                Some(journal) if !self.is_cut() => Difference::Ending { journal: journal.clone(), module },
                _ => return Behaviour::SameAsFar,
            },
            _ => return Behaviour::SameAsFar,
        })
    }

    /// Whether something other than the module brought the end. How much CPU time it takes is another thing each time.
    fn is_cut(&self) -> bool {
        matches!(
            self.ending,
            None | Some(
                Ending::Cancelled
                    | Ending::Superseded
                    | Ending::TimedOut { .. }
                    | Ending::CpuBudget { .. }
                    | Ending::Nondeterministic { .. }
                    | Ending::Skipped { .. }
            )
        )
    }

    fn other_line(&self, behaviour: &Behaviour, played: &[Line]) -> Option<OtherLine> {
        let both = self.lines.len().min(played.len());
        let compared = match behaviour {
            // Which line was the last is a matter of time.
            _ if matches!(self.ending, Some(Ending::CpuBudget { .. })) => both,
            Behaviour::Same => self.lines.len().max(played.len()),
            // The last lines before a death may be lost.
            Behaviour::SameAsFar => self.lines.len(),
            Behaviour::Differs(_) => both,
        };
        let place = (0..compared).find(|place| match (self.lines.get(*place), played.get(*place)) {
            (Some(journal), Some(module)) => !journal.says_the_same(module),
            _ => true,
        })?;
        Some(OtherLine {
            number: u32::try_from(place).unwrap_or(u32::MAX),
            journal: self.lines.get(place).cloned(),
            module: played.get(place).cloned(),
        })
    }
}

impl Line {
    /// By level and message.
    fn says_the_same(&self, other: &Self) -> bool {
        self.level == other.level && without_place(&self.message) == without_place(&other.message)
    }
}

/// Whether two endings are the same for whoever wrote the action: kind and message. A backtrace is another one with each build.
fn alike(journal: &Ending, module: &Ending) -> bool {
    match (journal, module) {
        (Ending::Failed { message: one, .. }, Ending::Failed { message: other, .. })
        | (Ending::Denied { message: one }, Ending::Denied { message: other }) => one == other,
        (
            Ending::Trapped { kind: one_kind, message: one, .. },
            Ending::Trapped { kind: other_kind, message: other, .. },
        ) => one_kind == other_kind && without_place(one) == without_place(other),
        _ => journal.word() == module.word(),
    }
}

/// The words of a Rust panic without the line that says where in the source it was; any other text as it is.
fn without_place(message: &str) -> &str {
    match message.split_once('\n') {
        Some((place, words)) if place.starts_with("thread '") && place.contains(" panicked at ") => words,
        _ => message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trapped(message: &str, backtrace: &str) -> Ending {
        Ending::Trapped { kind: "panic".into(), message: message.into(), backtrace: vec![backtrace.into()] }
    }

    #[test]
    fn a_panic_is_the_same_wherever_it_is_in_the_source() {
        let old = trapped("thread '<unnamed>' panicked at src/lib.rs:7:5:\nthe roof is on fire", "upgrade");
        let moved = trapped("thread '<unnamed>' panicked at src/core.rs:90:1:\nthe roof is on fire", "core::upgrade");
        assert!(alike(&old, &moved));
        assert!(!alike(&old, &trapped("thread '<unnamed>' panicked at src/lib.rs:7:5:\nthe roof leaks", "upgrade")));
    }

    #[test]
    fn an_ending_is_known_by_its_kind_and_its_words() {
        assert!(!alike(&Ending::failed("no luck"), &Ending::failed("no money")));
        assert!(!alike(&Ending::failed("no luck"), &Ending::Denied { message: "no luck".into() }));
        let output = pintle_lifecycle::call::Output { text: "no such table".into(), cut: false };
        let with_output = Ending::Failed { message: "no luck".into(), output, exit_code: Some(1) };
        assert!(alike(&with_output, &Ending::failed("no luck")));
    }
}
