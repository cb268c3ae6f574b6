//! Hooks of a plan: what is declared to run in a phase, frozen, rendered and in the order in which it runs.

mod name;
mod order;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::ids::StepId;
use crate::json::Json;
use crate::plan::{ActionPlan, ChangeKind, OnFailure};

pub use name::{FENCE, Labels, workload_name};
pub use order::{Group, in_order};

/// A phase that hooks of a `lifecycle` run in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum HookPhase {
    PreSync,
    PostSync,
    SyncFailed,
    PreDelete,
    PostDelete,
    Test,
}

/// A hook as its change opened with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Hook {
    pub phase: HookPhase,
    /// Unique in its phase.
    pub name: String,
    pub source: HookSource,
    pub weight: i32,
    pub run_after: RunAfter,
    /// From the creation of the workload. None: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    pub on_failure: OnFailure,
    /// As it was written, for the status; none where it was absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follow_up: Option<OnFailure>,
    pub on_timeout: OnTimeout,
    pub cleanup: Cleanup,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub delete_before_creation: bool,
    /// Whether its workload is created so that it does not run before its uid is in the journal.
    pub fenced: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pivot: bool,
    pub work: HookWork,
    /// Why it does not run in this change; none where it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skip: Option<String>,
}

/// A hook as it was declared, with its templates and its condition as they were written: what a later change opens it from, which
/// needs no document for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeclaredHook {
    #[serde(flatten)]
    pub hook: Hook,
    /// The changes that it runs in; none: all that come to its phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<Vec<ChangeKind>>,
    /// In CEL; empty where it always runs.
    #[serde(default, rename = "if", skip_serializing_if = "String::is_empty")]
    pub condition: String,
}

/// The document that declares a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum HookSource {
    Release,
    Driver,
}

/// What a hook runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum HookWork {
    Workload {
        kind: HookKind,
        namespace: String,
        /// The manifest, rendered, without name and without the labels that Pintle adds.
        object: Json,
    },
    /// Objects, rendered, each with its name.
    Objects {
        objects: Vec<Json>,
        /// Of each object by itself, in CEL; none where their kinds say when they are ready.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ready_when: Option<String>,
    },
    Action {
        action: Box<ActionPlan>,
    },
}

/// Kinds of workloads that hooks are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum HookKind {
    Job,
    Pod,
}

/// When a hook of postSync starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum RunAfter {
    #[default]
    Applied,
    Healthy,
}

/// What happens to the workload of a hook whose time is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum OnTimeout {
    /// Its output is collected, it is deleted and waited for.
    Stop,
    Leave,
}

/// When the workload of a hook is deleted after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Cleanup {
    pub policy: CleanupPolicy,
    pub at: CleanupAt,
    /// Whether it is done as well where the phase stops because of a failure.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub even_on_fail: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum CleanupPolicy {
    #[default]
    Never,
    OnSuccess,
    OnFailure,
    OnCompletion,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum CleanupAt {
    /// Once all of its group are finished.
    #[default]
    Group,
    /// Once all groups of the phase are.
    PhaseEnd,
}

/// The workload of a hook where it was created: enough to find this one and no other.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct HookRef {
    pub kind: HookKind,
    pub namespace: String,
    pub name: String,
    /// Of the platform: another workload of the same name has another one.
    pub uid: String,
}

/// What a started step says of its hook, so that lists need no plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HookStarted {
    pub phase: HookPhase,
    pub name: String,
    pub source: HookSource,
    /// Job, Pod, Action or Objects.
    pub kind: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub api_version: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Name of the workload; empty for actions and objects.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub resource: String,
    /// `sha256:…`.
    pub render: String,
    /// That brought the render in.
    pub generation: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follow_up: Option<OnFailure>,
}

impl HookPhase {
    pub const ALL: [Self; 6] =
        [Self::PreSync, Self::PostSync, Self::SyncFailed, Self::PreDelete, Self::PostDelete, Self::Test];

    /// As in documents: `preSync`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::PreSync => "preSync",
            Self::PostSync => "postSync",
            Self::SyncFailed => "syncFailed",
            Self::PreDelete => "preDelete",
            Self::PostDelete => "postDelete",
            Self::Test => "test",
        }
    }

    /// As in ids of steps: `pre-sync`.
    #[must_use]
    pub fn step_name(self) -> &'static str {
        match self {
            Self::PreSync => "pre-sync",
            Self::PostSync => "post-sync",
            Self::SyncFailed => "sync-failed",
            Self::PreDelete => "pre-delete",
            Self::PostDelete => "post-delete",
            Self::Test => "test",
        }
    }

    /// Phase and name of the hook that a step is of: its last two names say so.
    #[must_use]
    pub fn of_step(step: &StepId) -> Option<(Self, &str)> {
        let (rest, name) = step.as_str().rsplit_once('/')?;
        let phase = rest.rsplit_once('/').map_or(rest, |(_, phase)| phase);
        Some((Self::ALL.into_iter().find(|known| known.step_name() == phase)?, name))
    }

    /// The step of a hook of this phase, within a sync or in none.
    #[must_use]
    pub fn step(self, within: Option<&StepId>, hook: &str) -> StepId {
        let phase = self.step_name();
        within.map_or_else(|| StepId::root(phase), |within| within.child(phase)).child(hook)
    }

    /// Whether a change of that kind comes to this phase.
    #[must_use]
    pub fn is_of(self, kind: ChangeKind) -> bool {
        match self {
            Self::PreSync | Self::PostSync | Self::SyncFailed => !matches!(kind, ChangeKind::Delete | ChangeKind::Test),
            Self::PreDelete | Self::PostDelete => kind == ChangeKind::Delete,
            Self::Test => kind == ChangeKind::Test,
        }
    }
}

impl Hook {
    /// What a step of it is titled.
    #[must_use]
    pub fn title(&self) -> String {
        format!("Run the {} hook {}", self.phase, self.name)
    }

    /// Whether its workload is deleted after it ended well or not.
    #[must_use]
    pub fn cleans(&self, succeeded: bool) -> bool {
        let has_workload = !matches!(self.work, HookWork::Action { .. });
        has_workload
            && match self.cleanup.policy {
                CleanupPolicy::Never => false,
                CleanupPolicy::OnSuccess => succeeded,
                CleanupPolicy::OnFailure => !succeeded,
                CleanupPolicy::OnCompletion => true,
            }
    }

    /// Whether it makes objects, which come before the other hooks of its group.
    #[must_use]
    pub fn makes_objects(&self) -> bool {
        matches!(self.work, HookWork::Objects { .. })
    }
}

impl HookWork {
    /// Job, Pod, Action or Objects.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Workload { kind, .. } => kind.as_str(),
            Self::Objects { .. } => "Objects",
            Self::Action { .. } => "Action",
        }
    }
}

impl HookKind {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Job => "Job",
            Self::Pod => "Pod",
        }
    }

    #[must_use]
    pub fn api_version(self) -> &'static str {
        match self {
            Self::Job => "batch/v1",
            Self::Pod => "v1",
        }
    }
}

impl fmt::Display for HookPhase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for HookKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for HookRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.name)
    }
}
