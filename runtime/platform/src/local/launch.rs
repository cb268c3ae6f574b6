//! What a shim runs and how it ended: the two files that Pintle and a shim tell each other by.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use pintle_lifecycle::call::{JobResult, Output};
use pintle_lifecycle::hook::HookKind;
use pintle_lifecycle::json::Json;
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
/// Written by Pintle when a hook that was created fenced may run.
pub(super) const LIFTED: &str = "lifted.json";
/// Written by Pintle when a hook shall be deleted: it does not start any more.
pub(super) const DELETED: &str = "deleted.json";
/// Held by the shim while it lives.
pub(super) const LOCK: &str = "lock";
/// What a shim has to say about itself.
pub(super) const SHIM_LOG: &str = "shim.log";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Launch {
    /// The effect that a Job was started by, or the digest of what a replica runs: who has the same adopts.
    pub(super) key: String,
    /// The program and its arguments; empty where a Pod says what to run.
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
    /// Runs instead of `command`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) pod: Option<Pod>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) hook: Option<HookNote>,
}

/// Containers that are processes here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Pod {
    /// One after the other, each has to end well.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) init: Vec<Container>,
    /// Side by side, after those.
    pub(super) containers: Vec<Container>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Container {
    /// Unique in the Pod, and a label.
    pub(super) name: String,
    pub(super) command: Vec<String>,
    pub(super) env: BTreeMap<String, String>,
    pub(super) working_dir: PathBuf,
}

/// The workload of a hook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct HookNote {
    /// 16 hex digits.
    pub(super) uid: String,
    /// Whether it waits for [`LIFTED`].
    pub(super) fenced: bool,
    /// Whether its author wants it not to run.
    pub(super) suspended: bool,
    pub(super) kind: HookKind,
    pub(super) namespace: String,
    pub(super) name: String,
    /// Milliseconds since 1970.
    pub(super) created_ms: u64,
    /// The manifest.
    pub(super) object: Json,
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
    /// Those of a Pod that were started last, `process` among them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) containers: Vec<StartedContainer>,
    /// How this try failed, while the next one is waited for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) failed: Option<Outcome>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StartedContainer {
    pub(super) name: String,
    pub(super) process: Identity,
}

/// How a try ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Outcome {
    /// The container of a Pod that failed, the first where several did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) container: Option<String>,
    pub(super) exit: Exit,
}

/// How an instance ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Ended {
    pub(super) exit: Exit,
    /// The container of a Pod that `exit` is of, where it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) container: Option<String>,
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

impl Launch {
    /// Whether nothing holds it back in its folder.
    pub(super) fn may_run(&self, dir: &Path) -> bool {
        let is_lifted = |hook: &HookNote| !hook.fenced || dir.join(LIFTED).exists();
        let may_run = |hook: &HookNote| !hook.suspended && is_lifted(hook) && !dir.join(DELETED).exists();
        self.hook.as_ref().is_none_or(may_run)
    }
}

impl Pod {
    pub(super) fn all(&self) -> impl Iterator<Item = &Container> {
        self.init.iter().chain(&self.containers)
    }

    /// Names of the containers, those together that run side by side.
    pub(super) fn stages(&self) -> Vec<Vec<&str>> {
        let mut stages: Vec<Vec<&str>> = self.init.iter().map(|container| vec![container.name.as_str()]).collect();
        stages.push(self.containers.iter().map(|container| container.name.as_str()).collect());
        stages
    }
}

impl Started {
    /// Those whose groups are the instance's.
    pub(super) fn leaders(&self) -> Vec<Identity> {
        let containers = self.containers.iter().map(|container| container.process.clone());
        let leaders: Vec<Identity> = containers.collect();
        if leaders.is_empty() { vec![self.process.clone()] } else { leaders }
    }
}

impl Outcome {
    pub(super) fn is_good(&self) -> bool {
        self.exit == Exit::Code { code: 0 }
    }
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
            (None, exit) => write_outcome(f, self.container.as_deref(), exit),
        }?;
        if self.attempts > 1 { write!(f, ", after {} tries", self.attempts) } else { Ok(()) }
    }
}

/// For a person: `container migrate: exit code 3`.
impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_outcome(f, self.container.as_deref(), &self.exit)
    }
}

fn write_outcome(f: &mut fmt::Formatter<'_>, container: Option<&str>, exit: &Exit) -> fmt::Result {
    match container {
        Some(name) => write!(f, "container {name}: {exit}"),
        None => write!(f, "{exit}"),
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
    fn what_was_written_before_there_were_pods_is_read_and_written_as_ever() {
        let launch =
            r#"{"key":"k","command":["true"],"env":{},"workingDir":"/","graceMs":5,"retries":1,"retryWaitMs":7}"#;
        let started = r#"{"process":{"pid":7,"start":8,"boot":"b"},"upMs":9,"attempt":2}"#;
        let ended = r#"{"exit":{"is":"code","code":4},"attempts":2,"atMs":5}"#;
        let again = |text: serde_json::Result<String>, former: &str| assert_eq!(text.unwrap(), former);
        again(serde_json::to_string(&serde_json::from_str::<Launch>(launch).unwrap()), launch);
        again(serde_json::to_string(&serde_json::from_str::<Started>(started).unwrap()), started);
        let read: Ended = serde_json::from_str(ended).unwrap();
        again(serde_json::to_string(&read), ended);
        assert_eq!(read.to_string(), "exit code 4, after 2 tries");
        assert_eq!(serde_json::from_str::<Started>(started).unwrap().leaders().len(), 1);
    }

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
