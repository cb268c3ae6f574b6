//! What is agreed on for a change: bounds, tries, what a failure means, when it is healthy, what a delete leaves.

use std::fmt;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum OnFailure {
    Continue,
    Fail,
    /// The change fails and is taken back.
    Undo,
}

/// `spec.deletionPolicy` of a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Deletion {
    /// Whether what was applied stays.
    pub keep_workloads: bool,
    /// Whether a deletion waits for a cluster that cannot be reached.
    pub block_on_cluster_unreachable: bool,
}

impl Default for Deletion {
    fn default() -> Self {
        Self { keep_workloads: false, block_on_cluster_unreachable: true }
    }
}

impl Deletion {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "what serde asks for")]
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// `spec.healthAssessment` of a release.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Health {
    /// None: as long as it takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ready_when: Vec<ReadyWhen>,
}

/// When objects of a kind are ready: CEL that sees the `object`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReadyWhen {
    pub kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_version: Option<String>,
    pub expr: String,
}

/// New attempts after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Retry {
    /// All tries, the first included.
    pub attempts: u32,
    pub backoff_ms: u64,
}

/// Bounds of one attempt of an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Limits {
    /// All memories and tables of the instance together.
    pub memory_bytes: u64,
    /// CPU time; waiting and replaying use none of it.
    pub cpu_ms: u64,
    /// Wall time where the action sets no timeout.
    pub wall_ms: u64,
    pub calls: u64,
    /// Of the arguments of one call.
    pub call_bytes: u64,
    pub log_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory_bytes: 64 << 20,
            cpu_ms: 10_000,
            wall_ms: 24 * 3_600_000,
            calls: 10_000,
            call_bytes: 256 << 10,
            log_bytes: 1 << 20,
        }
    }
}

impl Default for Retry {
    fn default() -> Self {
        Self { attempts: 1, backoff_ms: 0 }
    }
}

impl fmt::Display for OnFailure {
    /// As in documents.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}
