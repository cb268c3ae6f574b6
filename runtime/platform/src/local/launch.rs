//! What a shim runs and how it ended: the two files that Pintle and a shim tell each other by.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::PathBuf;

use pintle_lifecycle::call::{JobResult, Output};
use serde::{Deserialize, Serialize};

use super::process::Identity;

/// Written by Pintle before a shim starts, and never changed: what to run.
pub(super) const LAUNCH: &str = "launch.json";
/// Written by a shim when it has the lock: who it is.
pub(super) const SHIM: &str = "shim.json";
/// Written by a shim before its process may run: from here on it may have run.
pub(super) const PROCESS: &str = "process.json";
/// Written once at the end.
pub(super) const EXIT: &str = "exit.json";
/// Held by the shim while it lives.
pub(super) const LOCK: &str = "lock";
/// What a shim has to say about itself.
pub(super) const SHIM_LOG: &str = "shim.log";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Launch {
    /// The effect that a Job was started by, or the digest of what a replica runs: who has the same adopts.
    pub(super) key: String,
    /// The program and its arguments; never empty.
    pub(super) command: Vec<String>,
    /// The whole environment.
    pub(super) env: BTreeMap<String, String>,
    pub(super) working_dir: PathBuf,
    /// Between SIGTERM and SIGKILL.
    pub(super) grace_ms: u64,
    /// From the start of the first try.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) deadline_ms: Option<u64>,
    #[serde(default)]
    pub(super) retries: u32,
    /// Before the second try; doubles with each.
    #[serde(default)]
    pub(super) retry_wait_ms: u64,
}

/// The shim that has an instance, or had it last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Holder {
    pub(super) shim: Identity,
    /// As it was told: the mark of its processes.
    pub(super) dir: PathBuf,
}

/// The process that runs, or ran last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Started {
    pub(super) process: Identity,
    /// Milliseconds since boot.
    pub(super) up_ms: u64,
    /// 1, 2, …
    pub(super) attempt: u32,
}

/// How an instance ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Ended {
    pub(super) exit: Exit,
    /// What ended it, where it did not end by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) by: Option<By>,
    pub(super) attempts: u32,
    /// Milliseconds since 1970.
    pub(super) at_ms: u64,
    /// Bytes that the process printed and that could not be written.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) output_lost: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "camelCase")]
pub(super) enum Exit {
    Code {
        code: i32,
    },
    Signal {
        signal: i32,
    },
    /// The shim died before it could tell.
    Lost {
        why: String,
    },
    NeverRan,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(super) enum By {
    Stop,
    Deadline { after_ms: u64 },
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "what serde asks for")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The line in which a shim tells why it cannot start: the number of the error, 0 where it has none, and words. The disk may be
/// full, so it goes through a pipe. An empty line says that it has started.
pub(super) fn trouble_line(error: &io::Error) -> String {
    format!("{} {}", error.raw_os_error().unwrap_or(0), error.to_string().replace('\n', " "))
}

/// What [`trouble_line`] says; none where it is another line.
pub(super) fn trouble_in(line: &str) -> Option<io::Error> {
    let (number, words) = line.split_once(' ')?;
    let kind = match number.parse().ok()? {
        0 => io::ErrorKind::Other,
        number => io::Error::from_raw_os_error(number).kind(),
    };
    Some(io::Error::new(kind, words))
}

impl Ended {
    pub(super) fn succeeded(&self) -> bool {
        self.exit == Exit::Code { code: 0 } && self.by.is_none()
    }

    pub(super) fn is_lost(&self) -> bool {
        matches!(self.exit, Exit::Lost { .. })
    }

    pub(super) fn job_result(&self, id: &str, output: Output) -> JobResult {
        JobResult {
            id: id.to_owned(),
            succeeded: self.succeeded(),
            exit_code: match self.exit {
                Exit::Code { code } => Some(code),
                _ => None,
            },
            output,
            reason: if self.succeeded() { String::new() } else { self.to_string() },
        }
    }
}

/// For a person: `exit code 4`, `deadline of 30 s passed`.
impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.by, &self.exit) {
            (Some(By::Deadline { after_ms }), _) => {
                let (seconds, rest) = (after_ms / 1_000, after_ms % 1_000);
                match (seconds, rest) {
                    (_, 0) => write!(f, "deadline of {seconds} s passed"),
                    _ => write!(f, "deadline of {after_ms} ms passed"),
                }
            }
            (Some(By::Stop), Exit::NeverRan) => f.write_str("stopped before it ran"),
            (Some(By::Stop), exit) => write!(f, "stopped ({exit})"),
            (None, exit) => exit.fmt(f),
        }?;
        if self.attempts > 1 { write!(f, ", after {} tries", self.attempts) } else { Ok(()) }
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code { code } => write!(f, "exit code {code}"),
            Self::Signal { signal } => write!(f, "killed by signal {signal}"),
            Self::Lost { why } => write!(f, "Lost: {why}"),
            Self::NeverRan => f.write_str("never ran"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shim_tells_its_trouble_in_a_line() {
        let told = trouble_in(&trouble_line(&io::Error::from(io::ErrorKind::StorageFull))).unwrap();
        assert_eq!(told.kind(), io::ErrorKind::Other);
        let full = io::Error::from_raw_os_error(28);
        let told = trouble_in(&trouble_line(&full)).unwrap();
        assert_eq!((told.kind(), told.to_string()), (io::ErrorKind::StorageFull, full.to_string()));
        assert!(trouble_in("").is_none());
    }
}
