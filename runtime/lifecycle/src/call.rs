//! Host calls of an action as values: what was asked, what was answered, and how a call whose outcome is unknown is resolved.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::ids::StepId;

/// One host call of an action, with its arguments. Constants of the change and log lines are not calls: they have no ordinal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Call {
    #[serde(rename = "components.stop")]
    Stop { components: Vec<String> },
    #[serde(rename = "components.start")]
    Start { components: Vec<String> },
    #[serde(rename = "components.images")]
    Images { component: String },
    #[serde(rename = "components.status")]
    Status { component: String },
    #[serde(rename = "components.wait-ready")]
    WaitReady { components: Vec<String>, timeout_ms: u64 },
    #[serde(rename = "releases.set-version")]
    SetVersion { target: String },
    #[serde(rename = "releases.sync")]
    Sync,
    /// Back to what was applied when the change opened, without any hook. No guest can ask for it: it undoes the two above.
    #[serde(rename = "releases.restore")]
    Restore,
    #[serde(rename = "jobs.run")]
    JobRun { spec: JobSpec },
    #[serde(rename = "jobs.start")]
    JobStart { spec: JobSpec },
    #[serde(rename = "jobs.wait-any")]
    JobWaitAny { ids: Vec<String> },
    #[serde(rename = "jobs.cancel")]
    JobCancel { id: String },
    #[serde(rename = "durable.now")]
    Now,
    #[serde(rename = "durable.random")]
    Random { len: u32 },
    #[serde(rename = "durable.sleep")]
    Sleep { ms: u64 },
    #[serde(rename = "state.get")]
    StateGet { key: String },
    #[serde(rename = "state.put")]
    StatePut { key: String, value: Bytes },
    #[serde(rename = "state.delete")]
    StateDelete { key: String },
}

/// A Job as an action asks for it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct JobSpec {
    pub image: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// In order; a later value of the same name wins.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<(String, String)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env_from_component: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// How often a failed process or Pod is tried again.
    pub retries: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod_template_json: Option<String>,
    pub api_token: bool,
}

/// How a Job ended.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct JobResult {
    pub id: String,
    pub succeeded: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The end of its output: whole lines, at most 200 and 64 KiB.
    #[serde(skip_serializing_if = "Output::is_empty")]
    pub output: Output,
    /// Why it failed, for a person; empty when it succeeded.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// The kept end of what a workload printed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Output {
    pub text: String,
    /// Whether the start was dropped.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

/// Bytes that are base16 text in JSON, so that a record stays readable.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Bytes(pub Vec<u8>);

/// What a call answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Answer {
    Nothing,
    /// `components.stop`: the replicas each component had before it was first stopped. Only those that this call stopped.
    Stopped {
        former: BTreeMap<String, u32>,
    },
    /// `components.start`: the replicas each component has now.
    Started {
        replicas: BTreeMap<String, u32>,
    },
    Images {
        images: Vec<String>,
    },
    Status {
        desired: u32,
        running: u32,
        ready: u32,
    },
    /// `releases.*`: false where it had that render already.
    Synced {
        changed: bool,
    },
    /// `jobs.start`.
    JobStarted {
        id: String,
    },
    /// `jobs.run` and `jobs.wait-any`. A failed Job is an answer here; `jobs.run` makes it the error `failed` for the guest.
    Job {
        result: JobResult,
    },
    Time {
        ms: u64,
    },
    Random {
        bytes: Bytes,
    },
    Value {
        value: Option<Bytes>,
    },
}

/// Why a call was not done: a code of the WIT and words for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct CallError {
    pub code: Code,
    pub message: String,
}

/// Error codes of the WIT. Strings there, because they may grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Code {
    Denied,
    Invalid,
    NotFound,
    Conflict,
    Superseded,
    TimedOut,
    Failed,
    Unavailable,
    Cancelled,
}

/// How a call relates to the journal and to the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Only looks: no intent; repeated where the outcome is not known.
    Read,
    /// Lives in the journal itself: no intent, applied with its outcome.
    Journal,
    /// Has an effect under a key: an intent before it; repeated with the same key.
    Keyed,
}

impl Call {
    #[must_use]
    pub fn class(&self) -> Class {
        match self {
            Self::Images { .. }
            | Self::Status { .. }
            | Self::WaitReady { .. }
            | Self::JobWaitAny { .. }
            | Self::StateGet { .. } => Class::Read,
            Self::Now | Self::Random { .. } | Self::StatePut { .. } | Self::StateDelete { .. } => Class::Journal,
            // A sleep has no effect, but its intent keeps the moment it began.
            Self::Sleep { .. }
            | Self::Stop { .. }
            | Self::Start { .. }
            | Self::SetVersion { .. }
            | Self::Sync
            | Self::Restore
            | Self::JobRun { .. }
            | Self::JobStart { .. }
            | Self::JobCancel { .. } => Class::Keyed,
        }
    }

    /// The name in the WIT: `components.stop`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Stop { .. } => "components.stop",
            Self::Start { .. } => "components.start",
            Self::Images { .. } => "components.images",
            Self::Status { .. } => "components.status",
            Self::WaitReady { .. } => "components.wait-ready",
            Self::SetVersion { .. } => "releases.set-version",
            Self::Sync => "releases.sync",
            Self::Restore => "releases.restore",
            Self::JobRun { .. } => "jobs.run",
            Self::JobStart { .. } => "jobs.start",
            Self::JobWaitAny { .. } => "jobs.wait-any",
            Self::JobCancel { .. } => "jobs.cancel",
            Self::Now => "durable.now",
            Self::Random { .. } => "durable.random",
            Self::Sleep { .. } => "durable.sleep",
            Self::StateGet { .. } => "state.get",
            Self::StatePut { .. } => "state.put",
            Self::StateDelete { .. } => "state.delete",
        }
    }

    /// What a step of this call is titled; none for calls that are not shown as steps.
    #[must_use]
    pub fn title(&self) -> Option<String> {
        match self {
            Self::Stop { components } => Some(format!("Stop {}", components.join(", "))),
            Self::Start { components } => Some(format!("Start {}", components.join(", "))),
            Self::SetVersion { target } => Some(format!("Set the version to {target}")),
            Self::Sync => Some("Sync".to_owned()),
            Self::Restore => Some("Go back to what was applied before".to_owned()),
            Self::JobRun { spec } => Some(format!("Run the Job `{}`", spec.shown())),
            Self::JobStart { spec } => Some(format!("Start the Job `{}`", spec.shown())),
            Self::JobCancel { id } => Some(format!("Cancel the Job {id}")),
            Self::WaitReady { components, .. } => Some(format!("Wait for {}", components.join(", "))),
            Self::JobWaitAny { .. } => Some("Wait for a Job".to_owned()),
            Self::Sleep { ms } => Some(format!("Sleep {ms} ms")),
            _ => None,
        }
    }

    /// The call in one line, for the two calls of a broken replay.
    #[must_use]
    pub fn shown(&self) -> String {
        let mut value = serde_json::to_value(self).unwrap_or_default();
        if let Some(fields) = value.as_object_mut() {
            fields.remove("name");
        }
        let mut text = format!("{}({value})", self.name());
        if text.len() > 300 {
            text.truncate(text.floor_char_boundary(300));
            text.push('…');
        }
        text
    }

    /// First 16 hex digits of the sha256 of the call with its arguments.
    #[must_use]
    pub fn hash(&self) -> String {
        crate::digest::short(&serde_json::to_vec(self).unwrap_or_default())
    }
}

impl JobSpec {
    /// The command line as people know it.
    #[must_use]
    pub fn shown(&self) -> String {
        let words: Vec<&str> = self.command.iter().chain(&self.args).map(String::as_str).collect();
        if words.is_empty() { self.image.clone() } else { words.join(" ") }
    }
}

impl CallError {
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

impl Code {
    /// As in the WIT.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Denied => "denied",
            Self::Invalid => "invalid",
            Self::NotFound => "not-found",
            Self::Conflict => "conflict",
            Self::Superseded => "superseded",
            Self::TimedOut => "timed-out",
            Self::Failed => "failed",
            Self::Unavailable => "unavailable",
            Self::Cancelled => "cancelled",
        }
    }
}

impl Output {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.text.is_empty() && !self.cut
    }
}

impl From<Bytes> for String {
    fn from(bytes: Bytes) -> Self {
        crate::digest::hex(&bytes.0)
    }
}

impl TryFrom<String> for Bytes {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        crate::digest::unhex(&text).map(Self).ok_or_else(|| format!("`{text}` is no hex text"))
    }
}

/// The key under which the effect of a call happens at most once: change, step, attempt, ordinal and a hash of the arguments.
#[must_use]
pub fn effect_key(change: &str, step: &StepId, attempt: u32, ordinal: u32, call: &Call) -> String {
    format!("{change}/{step}/{attempt}/{ordinal}/{}", call.hash())
}
