//! What the journal keeps of a change: one record for each thing that happened, versioned and self-describing (JSON), so that a
//! newer Pintle reads older records and an older one refuses newer records in clear words.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::call::{Answer, Call, CallError};
use crate::ending::{ChangeState, Ending};
use crate::hook::{HookRef, HookStarted};
use crate::ids::{ChangeKey, StepId};
use crate::json::Json;
use crate::plan::Plan;
use crate::stamp::Stamp;

/// Version of the records that this build writes, and the newest that it reads.
pub const FORMAT: u32 = 2;

/// One thing that happened in a change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Format: see [`FORMAT`].
    pub v: u32,
    pub change: ChangeKey,
    /// 0, 1, 2, … within the change. A second record with the same number is refused: whoever wrote first owns the change.
    pub seq: u64,
    pub at: Stamp,
    pub event: Event,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Event {
    ChangeOpened {
        plan: Arc<Plan>,
        /// Who asked: a user's name.
        by: String,
    },
    /// A change waits for its turn. What it will do is planned when that comes, from `request`; `plan` is what it would do if it had
    /// come now.
    ChangeQueued {
        plan: Arc<Plan>,
        request: Json,
        by: String,
    },
    StepStarted {
        step: StepId,
        attempt: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent: Option<StepId>,
        kind: StepKind,
        title: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hook: Option<Box<HookStarted>>,
    },
    /// The workload of a hook is there, and did not run before this record was durable, where it was created fenced.
    HookCreated {
        step: StepId,
        attempt: u32,
        workload: HookRef,
    },
    /// What was there of the objects that a hook is about to put: what it takes to take them back.
    ObjectsFound {
        step: StepId,
        attempt: u32,
        found: Vec<Option<Json>>,
    },
    /// What was seen of a workload before it is deleted: the end of the step that goes on.
    HookJudged {
        step: StepId,
        attempt: u32,
        ending: Ending,
    },
    StepFinished {
        step: StepId,
        attempt: u32,
        ending: Ending,
    },
    /// A call is about to have its effect, under this key.
    CallIntent {
        step: StepId,
        attempt: u32,
        ordinal: u32,
        call: Call,
        key: String,
        /// What the effect needs to be taken back, or repeated exactly: the state that was found.
        #[serde(default, skip_serializing_if = "PreImage::is_empty")]
        pre: PreImage,
    },
    CallOutcome {
        step: StepId,
        attempt: u32,
        ordinal: u32,
        /// The call, where it had no intent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<Call>,
        outcome: Result<Answer, CallError>,
        /// A line for the step: "deleted the Job shop-3-…".
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    /// A line that an action logged, or that Pintle has to say about the step.
    StepLog {
        step: StepId,
        attempt: u32,
        /// Number of the line among those that the action logged in this attempt, from 0; none for Pintle's own words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        line: Option<u32>,
        level: Level,
        message: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        fields: Vec<(String, String)>,
    },
    /// A person asked for it.
    Asked {
        verb: Verb,
        by: String,
    },
    /// The change is taken back from here on.
    UndoBegan {
        reason: String,
    },
    /// Nothing goes on until a person decides.
    ChangeStuck {
        step: StepId,
        question: String,
    },
    ChangeFinished {
        state: ChangeState,
        message: String,
    },
    /// The hooks of syncFailed that went on after the end of the change have ended.
    HooksEnded,
}

/// What kind of work a step is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StepKind {
    /// A mode of a driver's hook; holds actions.
    Mode,
    Action,
    /// Holds the steps of a sync.
    Sync,
    Apply,
    Remove,
    /// A hook of a phase, but for those that are actions.
    Hook,
    /// The deletion of what a hook left.
    Cleanup,
    /// Waits until everything that was applied is healthy.
    Health,
    /// Takes back what another step did.
    Undo,
}

/// State that was found before an effect.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PreImage {
    /// Replicas by component: of a stop those that were found, of a start those to reach.
    #[serde(skip_serializing_if = "std::collections::BTreeMap::is_empty")]
    pub replicas: std::collections::BTreeMap<String, u32>,
    /// The version that was applied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// An ended Job of an earlier action, to be deleted first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_job: Option<String>,
}

/// Verbs for changes that run, failed or are stuck.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Verb {
    /// A new attempt of the failed step, with the same plan.
    Retry,
    /// Stops the action and its Jobs and undoes nothing.
    Cancel,
    /// Takes the change back.
    Undo,
    /// Goes on as if the failed step, or the one that waits for a person, had done what it should.
    Skip,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    Trace,
    Debug,
    Info,
    Warn,
    Error,
}

/// A record that this build cannot read.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    #[error(
        "the record is of format {found}, this Pintle reads up to {FORMAT}: a newer Pintle wrote it; use that version or a later one"
    )]
    Newer { found: u64 },
    #[error("the record is no JSON of a known shape")]
    Malformed(#[source] serde_json::Error),
}

impl Record {
    /// Reads a record, and refuses one that a newer Pintle wrote before it looks at the rest.
    ///
    /// # Errors
    /// [`RecordError::Newer`], or [`RecordError::Malformed`] where the bytes are no record.
    pub fn from_json(bytes: &[u8]) -> Result<Self, RecordError> {
        #[derive(Deserialize)]
        struct Format {
            v: u64,
        }
        let format: Format = serde_json::from_slice(bytes).map_err(RecordError::Malformed)?;
        if format.v > u64::from(FORMAT) {
            return Err(RecordError::Newer { found: format.v });
        }
        serde_json::from_slice(bytes).map_err(RecordError::Malformed)
    }

    /// The stored form: JSON without line breaks.
    ///
    /// # Panics
    /// Never: keys of maps in records are strings.
    #[must_use]
    pub fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("records have string keys only")
    }
}

impl Verb {
    /// As at the command line.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Retry => "retry",
            Self::Cancel => "cancel",
            Self::Undo => "undo",
            Self::Skip => "skip",
        }
    }
}

impl PreImage {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Level {
    /// As in the WIT; none for another word.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "trace" => Self::Trace,
            "debug" => Self::Debug,
            "info" => Self::Info,
            "warn" => Self::Warn,
            "error" => Self::Error,
            _ => return None,
        })
    }

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Trace => "TRACE",
            Self::Debug => "DEBUG",
            Self::Info => "INFO",
            Self::Warn => "WARN",
            Self::Error => "ERROR",
        }
    }
}
