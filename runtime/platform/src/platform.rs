//! What a platform is to the rest of Pintle: effects under a key, each safe to repeat with the same key, and looks at the world.

use std::collections::BTreeSet;
use std::time::Duration;

use async_trait::async_trait;
use pintle_lifecycle::call::{JobResult, JobSpec, Output};
use pintle_lifecycle::hook::{HookKind, HookRef};
use pintle_lifecycle::json::Json;
use pintle_lifecycle::plan::{Render, Target, Workload};

/// Where releases live.
///
/// A method that takes a `key` has its effect at most once for that key: called again with it (after a crash), it adopts what is
/// there, or finishes what was begun. Dropping a future of a method stops the waiting and leaves the effect as far as it is.
#[async_trait]
pub trait Platform: Send + Sync + 'static {
    /// Brings the release to `render`, one replica at a time, waits until everything is ready and prunes what is gone.
    /// Workloads in `held` stay at zero and count as healthy.
    async fn apply(
        &self,
        key: &str,
        target: &Target,
        render: &Render,
        held: &BTreeSet<Workload>,
    ) -> Result<(), PlatformError>;

    /// Stops and removes everything of the release, the Jobs that actions left included.
    async fn remove(&self, key: &str, target: &Target) -> Result<(), PlatformError>;

    /// Brings a workload to `replicas` and waits: at 0 until all of it is gone, else until all are ready.
    async fn scale(&self, key: &str, target: &Target, workload: &Workload, replicas: u32) -> Result<(), PlatformError>;

    async fn status(&self, target: &Target, workload: &Workload) -> Result<Status, PlatformError>;

    /// Waits until all replicas asked for are ready. Without a bound: the caller has one. Replicas that the platform lost, and
    /// that did not end by themselves, come back.
    async fn wait_ready(&self, target: &Target, workload: &Workload) -> Result<(), PlatformError>;

    /// Images of the regular containers, as applied, in declaration order.
    async fn images(&self, target: &Target, workload: &Workload) -> Result<Vec<String>, PlatformError>;

    /// Starts a Job named `id`; where one of this `key` is there, adopts it.
    async fn start_job(&self, key: &str, target: &Target, id: &str, job: &Job) -> Result<(), PlatformError>;

    /// Waits for the end of a Job and tells how it ended.
    async fn wait_job(&self, target: &Target, id: &str) -> Result<JobResult, PlatformError>;

    /// Whether a Job has ended; none where there is no such Job.
    async fn job_ended(&self, target: &Target, id: &str) -> Result<Option<bool>, PlatformError>;

    /// Ends a Job that still runs and waits until it is gone. Its result stays known. Without effect on one that has ended.
    async fn stop_job(&self, key: &str, target: &Target, id: &str) -> Result<(), PlatformError>;

    /// Deletes an ended Job with what it left. Without effect where there is none.
    async fn delete_job(&self, key: &str, target: &Target, id: &str) -> Result<(), PlatformError>;

    /// The object of a workload as it is, with its `status`: `replicas` that exist and `readyReplicas` at least.
    async fn observe(&self, target: &Target, workload: &Workload) -> Result<serde_json::Value, PlatformError>;

    /// Creates the workload of a hook, fenced where `hook` says so: it is there and does not run. One of this key is adopted,
    /// whatever became of it; another one of that name is `Conflict`.
    async fn create_hook(&self, key: &str, target: &Target, hook: &HookWorkload) -> Result<HookRef, PlatformError>;

    /// Lets a workload run that was created fenced; one that its author suspended stays so. Without effect on one that runs or has
    /// ended; `NotFound` where it is gone.
    async fn lift_hook(&self, key: &str, target: &Target, hook: &HookRef) -> Result<(), PlatformError>;

    /// Waits for the end of a hook's workload and tells how it ended. One that is gone before it was seen to end has failed for the
    /// reason `DeletedBeforeResult`. Output of init containers counts, the failing container first.
    async fn wait_hook(&self, target: &Target, hook: &HookRef) -> Result<JobResult, PlatformError>;

    /// What a hook's workload is at, and its output so far, for whoever waited too long: `container migrate still runs`.
    async fn look_at_hook(&self, target: &Target, hook: &HookRef) -> Result<HookLook, PlatformError>;

    /// Ends what runs of a hook's workload and deletes it; where `wait`, returns when it is really gone, else when the deletion is
    /// accepted. Without effect where it is gone.
    async fn delete_hook(&self, key: &str, target: &Target, hook: &HookRef, wait: bool) -> Result<(), PlatformError>;

    /// The workloads of hooks of the release that are there, by their labels, oldest first.
    async fn hooks(&self, target: &Target) -> Result<Vec<FoundHook>, PlatformError>;

    /// What is there of the objects that hooks made, for each of these by kind and name; none where nothing is.
    async fn find_objects(&self, target: &Target, objects: &[Json]) -> Result<Vec<Option<Json>>, PlatformError>;

    /// Creates or changes the objects of a hook; those that are there and were not made by it are `Conflict`.
    async fn put_objects(&self, key: &str, target: &Target, objects: &[Json]) -> Result<(), PlatformError>;

    /// Deletes objects of a hook. Without effect on those that are gone.
    async fn delete_objects(&self, key: &str, target: &Target, objects: &[Json]) -> Result<(), PlatformError>;
}

/// The workload of a hook, to be created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookWorkload {
    pub kind: HookKind,
    pub namespace: String,
    pub name: String,
    /// The whole manifest, with name and labels.
    pub object: Json,
    /// Whether it shall not run before [`Platform::lift_hook`].
    pub fenced: bool,
}

/// What the workload of a hook is at.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HookLook {
    /// For a person, on one line; empty where nothing is known.
    pub waits_for: String,
    pub output: Output,
}

/// The workload of a hook that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundHook {
    pub hook: HookRef,
    /// As in its labels.
    pub phase: String,
    pub name: String,
    pub change: String,
    /// Milliseconds since 1970.
    pub created_ms: u64,
    pub ended: bool,
}

/// A Job, ready to run: the image chosen, the environment copied, the time known.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Job {
    pub spec: JobSpec,
    /// The workload whose container's environment is copied first, from `spec.env_from_component`.
    pub env_from: Option<Workload>,
    /// Set over what was copied, before `spec.env`: the release's env of the new configuration.
    pub env: std::collections::BTreeMap<String, String>,
    /// Names to leave out of what is copied: what the former configuration had set and the new one does not.
    pub unset: BTreeSet<String>,
    /// The Job is ended when it has run for so long (activeDeadlineSeconds).
    pub deadline: Option<Duration>,
}

/// Replicas of a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Status {
    /// Asked for; 0 while stopped.
    pub desired: u32,
    /// Existing.
    pub running: u32,
    pub ready: u32,
}

/// Why a platform did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlatformError {
    /// The request itself is wrong: asking again changes nothing.
    #[error("{0}")]
    Invalid(String),
    #[error("{0}")]
    NotFound(String),
    /// Something else has that name.
    #[error("{0}")]
    Conflict(String),
    /// It was tried and did not work: a process that ends at once, a readiness that never comes.
    #[error("{0}")]
    Failed(String),
    #[error("{0}")]
    TimedOut(String),
    /// The platform cannot be reached or the machine is out of something: the same call may work later.
    #[error("{0}")]
    Unavailable(String),
    /// Whether the effect happened cannot be told. A person must look; the text is the question.
    #[error("{0}")]
    Unknown(String),
}
