//! What `pintle replay -o json` prints. Fields may be added; none is renamed or left out, and what is not there is null.

use pintle_sandbox::{Behaviour, Difference, Module, Verdict};
use serde::Serialize;

use super::said;

#[derive(Debug, Serialize)]
pub struct Replay {
    pub change: String,
    /// Whether nothing differs that counts.
    pub same: bool,
    pub attempts: Vec<Replayed>,
}

/// An attempt, run again.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Replayed {
    pub number: usize,
    pub step: String,
    pub attempt: u32,
    /// sha256 of the module that ran it.
    pub recorded_module: String,
    /// sha256 of the module that was run now.
    pub module: String,
    /// `same`, `sameAsRecorded` or `differs`.
    pub verdict: &'static str,
    /// How many calls were the same, from the first on.
    pub calls: u32,
    /// How it had ended, one word; null where it had not.
    pub recorded: Option<&'static str>,
    pub difference: Option<Differs>,
    pub log_difference: Option<LogDiffers>,
    /// What the module logged this time.
    pub log: Vec<LogLine>,
}

#[derive(Debug, Serialize)]
pub struct Differs {
    /// `call`, `oneMore`, `missing`, `ending` or `noEntry`.
    pub kind: &'static str,
    /// Of the call, from 0, as in the ids of steps; null where it is none.
    pub ordinal: Option<u32>,
    /// The call or the ending that the journal has.
    pub journal: Option<String>,
    /// The call or the ending of the module.
    pub module: Option<String>,
    /// In words.
    pub message: String,
}

#[derive(Debug, Serialize)]
pub struct LogDiffers {
    /// From 0.
    pub line: u32,
    pub journal: Option<String>,
    pub module: Option<String>,
}

#[derive(Debug, Serialize)]
pub struct LogLine {
    pub level: &'static str,
    pub message: String,
    pub fields: serde_json::Map<String, serde_json::Value>,
}

impl Replayed {
    #[must_use]
    pub fn of(number: usize, replay: &pintle_sandbox::Replay, module: &Module, verdict: Verdict) -> Self {
        let (word, difference) = match &verdict.behaviour {
            Behaviour::Same => ("same", None),
            Behaviour::SameAsFar => ("sameAsRecorded", None),
            Behaviour::Differs(difference) => ("differs", Some(Differs::of(difference, &verdict))),
        };
        let log_difference = verdict.other_line.as_ref().map(|other| LogDiffers {
            line: other.number,
            journal: other.journal.as_ref().map(said::whole_line),
            module: other.module.as_ref().map(said::whole_line),
        });
        let lines = verdict.lines.into_iter().map(|line| LogLine {
            level: line.level.as_str(),
            message: line.message,
            fields: line.fields.into_iter().map(|(name, value)| (name, value.into())).collect(),
        });
        Self {
            number,
            step: replay.step.to_string(),
            attempt: replay.attempt,
            recorded_module: replay.module.clone(),
            module: module.digest.clone(),
            verdict: word,
            calls: verdict.calls,
            recorded: verdict.recorded.as_ref().map(pintle_lifecycle::ending::Ending::word),
            difference,
            log_difference,
            log: lines.collect(),
        }
    }
}

impl Differs {
    fn of(difference: &Difference, verdict: &Verdict) -> Self {
        let recorded = verdict.recorded.as_ref();
        let (kind, ordinal, journal, module) = match difference {
            Difference::Call { ordinal, journal, module } => {
                ("call", Some(*ordinal), Some(said::whole(journal)), Some(said::whole(module)))
            }
            Difference::OneMore { ordinal, module } => {
                ("oneMore", Some(*ordinal), recorded.map(said::ending), Some(said::whole(module)))
            }
            Difference::Missing { ordinal, journal, module } => {
                ("missing", Some(*ordinal), Some(said::whole(journal)), Some(said::ending(module)))
            }
            Difference::Ending { journal, module } => {
                ("ending", None, Some(said::ending(journal)), Some(said::ending(module)))
            }
            Difference::NoEntry(_) => ("noEntry", None, recorded.map(said::ending), None),
        };
        Self { kind, ordinal, journal, module, message: said::differs(difference, recorded) }
    }
}
