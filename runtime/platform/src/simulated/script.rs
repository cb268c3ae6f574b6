//! How the things of a simulated world behave: how a Job ends and when, and whether a workload becomes ready.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use pintle_lifecycle::plan::{Target, Workload};

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

type JobRule = dyn Fn(&JobStart<'_>) -> JobScript + Send + Sync;

/// What was scripted. By default Jobs succeed at once and workloads are ready at once.
#[derive(Default)]
pub(super) struct Scripts {
    pub(super) job: Option<Box<JobRule>>,
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

impl fmt::Debug for Scripts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scripts").field("job", &self.job.is_some()).field("readiness", &self.readiness).finish()
    }
}
