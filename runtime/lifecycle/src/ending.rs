//! How steps and changes end.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::call::Output;
use crate::plan::RenderRef;

/// How an attempt of a step ended. Every case is visible to people as such.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Ending {
    Succeeded {
        /// What is applied since, where the step was an apply; absent for the removal of a release and everything else.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        applied: Option<RenderRef>,
    },
    /// The action returned an error, or the apply failed.
    Failed {
        message: String,
        #[serde(skip_serializing_if = "Output::is_empty", default)]
        output: Output,
        /// Of the workload, where it had one.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        exit_code: Option<i32>,
    },
    /// The module crashed: a panic, an uncaught exception, an illegal instruction.
    Trapped {
        kind: String,
        /// The first line that the module logged at level ERROR or its panic message; empty where there was none.
        message: String,
        /// Function names, innermost first.
        backtrace: Vec<String>,
    },
    OutOfMemory {
        limit_bytes: u64,
    },
    CpuBudget {
        limit_ms: u64,
    },
    TimedOut {
        message: String,
        #[serde(skip_serializing_if = "Output::is_empty", default)]
        output: Output,
    },
    /// A call had no grant and the action did not go on without it.
    Denied {
        message: String,
    },
    CallLimit {
        limit: u64,
    },
    /// The replay asked for another call than the one recorded.
    Nondeterministic {
        expected: String,
        got: String,
    },
    Cancelled,
    Superseded,
    Skipped {
        reason: String,
    },
}

impl Ending {
    #[must_use]
    pub fn succeeded() -> Self {
        Self::Succeeded { applied: None }
    }

    pub fn failed(message: impl Into<String>) -> Self {
        Self::Failed { message: message.into(), output: Output::default(), exit_code: None }
    }

    #[must_use]
    pub fn is_good(&self) -> bool {
        matches!(self, Self::Succeeded { .. } | Self::Skipped { .. })
    }

    /// Whether the action's own `retry` may try again: never after an ending that would come again, or that a person asked for.
    #[must_use]
    pub fn may_retry(&self) -> bool {
        matches!(self, Self::Failed { .. } | Self::TimedOut { .. } | Self::OutOfMemory { .. } | Self::CpuBudget { .. })
    }

    /// One word, as people see it.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Succeeded { .. } => "Succeeded",
            Self::Failed { .. } => "Failed",
            Self::Trapped { .. } => "Trapped",
            Self::OutOfMemory { .. } => "OutOfMemory",
            Self::CpuBudget { .. } => "CpuBudget",
            Self::TimedOut { .. } => "TimedOut",
            Self::Denied { .. } => "Denied",
            Self::CallLimit { .. } => "CallLimit",
            Self::Nondeterministic { .. } => "Nondeterministic",
            Self::Cancelled => "Cancelled",
            Self::Superseded => "Superseded",
            Self::Skipped { .. } => "Skipped",
        }
    }
}

impl fmt::Display for Ending {
    /// The word and what a person needs beside it, on one line but for a backtrace.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())?;
        match self {
            Self::Succeeded { .. } | Self::Cancelled | Self::Superseded => Ok(()),
            Self::Failed { message, .. } | Self::TimedOut { message, .. } | Self::Denied { message } => {
                write!(f, ": {message}")
            }
            Self::Trapped { kind, message, backtrace } => {
                write!(f, ": {kind}")?;
                if !message.is_empty() {
                    write!(f, ": {message}")?;
                }
                if backtrace.is_empty() { Ok(()) } else { write!(f, " (in {})", backtrace.join(" < ")) }
            }
            Self::OutOfMemory { limit_bytes } => write!(f, ": the module wanted more than {limit_bytes} bytes"),
            Self::CpuBudget { limit_ms } => write!(f, ": the module used its {limit_ms} ms of CPU time"),
            Self::CallLimit { limit } => write!(f, ": the module made more than {limit} calls"),
            Self::Nondeterministic { expected, got } => {
                write!(f, ": the journal has {expected}, the module asked for {got}")
            }
            Self::Skipped { reason } => write!(f, ": {reason}"),
        }
    }
}

/// Where a change stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ChangeState {
    Waiting,
    Running,
    /// Needs a person.
    Stuck,
    Succeeded,
    Failed,
    Cancelled,
    Superseded,
    Undone,
}

impl ChangeState {
    /// Whether nothing more happens by itself and the release is free for the next change.
    #[must_use]
    pub fn is_final(self) -> bool {
        !matches!(self, Self::Waiting | Self::Running | Self::Stuck)
    }
}

impl fmt::Display for ChangeState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}
