//! How the things of a simulated world behave: how Jobs and hooks end and when, and whether a workload becomes
//! ready.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use pintle_lifecycle::hook::HookRef;
use pintle_lifecycle::plan::{Target, Workload};
use serde_json::Value;

use super::world::Release;
use crate::platform::Job;

/// A Job at the moment when it starts to run: what its script decides by.
#[derive(Debug)]
pub struct JobStart<'a> {
    pub target: &'a Target,
    pub id: &'a str,
    pub job: &'a Job,
    /// The whole environment: copied, of the release, its own.
    pub env: &'a BTreeMap<String, String>,
    pub release: &'a Release,
}

/// How a Job ends when nobody stops it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct JobScript {
    /// 0 succeeds.
    pub exit_code: i32,
    pub output: String,
    /// In tokio's time. The Job's deadline ends it earlier.
    pub runs: Duration,
    /// The reason of the failure where it is not the exit code: `Lost: …`.
    pub reason: Option<String>,
}

/// The workload of a hook at the moment when it begins to run: what its script decides by.
#[derive(Debug)]
pub struct HookStart<'a> {
    pub target: &'a Target,
    pub hook: &'a HookRef,
    /// As in its labels: `preSync`.
    pub phase: &'a str,
    /// The hook's own name, as in its labels.
    pub name: &'a str,
    pub labels: &'a BTreeMap<String, String>,
    /// Its whole manifest.
    pub object: &'a Value,
    /// None before anything is applied, and after it was removed.
    pub release: Option<&'a Release>,
}

/// How the workload of a hook ends when nobody deletes it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HookScript {
    /// 0 succeeds.
    pub exit_code: i32,
    /// Printed when it begins.
    pub output: String,
    /// In tokio's time; [`Self::NEVER`] where it does not end.
    pub runs: Duration,
    /// The reason of the failure where it is not the exit code: `Evicted`.
    pub reason: Option<String>,
    /// What it is at while it runs; empty: `container <name of the hook> still runs`.
    pub waits_for: String,
}

/// Whether and when a workload that was started becomes ready.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Readiness {
    #[default]
    AtOnce,
    After(Duration),
    Never,
    /// It ends before it is ready, with these words.
    Ends(String),
}

type HookRule = dyn Fn(&HookStart<'_>) -> HookScript + Send + Sync;
type JobRule = dyn Fn(&JobStart<'_>) -> JobScript + Send + Sync;

/// What was scripted. By default Jobs and hooks succeed at once and workloads are ready at once.
#[derive(Default)]
pub(super) struct Scripts {
    pub(super) job: Option<Box<JobRule>>,
    pub(super) hook: Option<Box<HookRule>>,
    pub(super) readiness: BTreeMap<Workload, Readiness>,
}

impl JobScript {
    #[must_use]
    pub fn fails(exit_code: i32, output: impl Into<String>) -> Self {
        Self { exit_code, output: output.into(), ..Self::default() }
    }

    #[must_use]
    pub fn lasting(runs: Duration) -> Self {
        Self { runs, ..Self::default() }
    }
}

impl HookScript {
    /// The time of one that does not end.
    pub const NEVER: Duration = Duration::MAX;

    #[must_use]
    pub fn fails(exit_code: i32, output: impl Into<String>) -> Self {
        Self { exit_code, output: output.into(), ..Self::default() }
    }

    #[must_use]
    pub fn lasting(runs: Duration) -> Self {
        Self { runs, ..Self::default() }
    }

    /// Never ends, and says meanwhile what it waits for: `ImagePullBackOff`.
    #[must_use]
    pub fn never(waits_for: impl Into<String>) -> Self {
        Self { runs: Self::NEVER, waits_for: waits_for.into(), ..Self::default() }
    }

    /// Is lost after that time, as with its node: there is no exit code.
    #[must_use]
    pub fn lost(runs: Duration) -> Self {
        Self { runs, reason: Some("Evicted".to_owned()), ..Self::default() }
    }
}

impl fmt::Debug for Scripts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scripts")
            .field("job", &self.job.is_some())
            .field("hook", &self.hook.is_some())
            .field("readiness", &self.readiness)
            .finish()
    }
}
