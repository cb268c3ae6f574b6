//! What a test lets go wrong, and where: the n-th call of a method, counted over the whole life of the world.

use std::fmt;
use std::time::Duration;

use crate::platform::PlatformError;

/// A method of the platform.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Method {
    Apply,
    Remove,
    Scale,
    Status,
    WaitReady,
    Images,
    Observe,
    StartJob,
    WaitJob,
    JobEnded,
    StopJob,
    DeleteJob,
    CreateHook,
    LiftHook,
    WaitHook,
    LookAtHook,
    DeleteHook,
    Hooks,
    FindObjects,
    PutObjects,
    DeleteObjects,
}

/// What happens at a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// The call fails and has no effect.
    Error(PlatformError),
    /// The call has its effect and yet fails: the answer was lost on the way.
    ErrorAfter(PlatformError),
    /// The call takes so long before it begins, in tokio's time.
    Delay(Duration),
    /// Pintle dies before the effect: the call and all later ones of this [`super::Simulated`] never return.
    DieBefore,
    /// Pintle dies when the effect has begun: an apply has reached half of its workloads, a Job is there and does not run yet; a
    /// hook's workload is there, fenced, or running where it has no fence; its fence is not lifted; its deletion is accepted and it
    /// is not gone before it is deleted again; half of the objects of a hook are there, or gone.
    DieAmid,
    /// Pintle dies after the effect, before anybody knows of it.
    DieAfter,
}

impl Method {
    pub const ALL: [Self; 21] = [
        Self::Apply,
        Self::Remove,
        Self::Scale,
        Self::Status,
        Self::WaitReady,
        Self::Images,
        Self::Observe,
        Self::StartJob,
        Self::WaitJob,
        Self::JobEnded,
        Self::StopJob,
        Self::DeleteJob,
        Self::CreateHook,
        Self::LiftHook,
        Self::WaitHook,
        Self::LookAtHook,
        Self::DeleteHook,
        Self::Hooks,
        Self::FindObjects,
        Self::PutObjects,
        Self::DeleteObjects,
    ];

    /// The name in the trait.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Apply => "apply",
            Self::Remove => "remove",
            Self::Scale => "scale",
            Self::Status => "status",
            Self::WaitReady => "wait_ready",
            Self::Images => "images",
            Self::Observe => "observe",
            Self::StartJob => "start_job",
            Self::WaitJob => "wait_job",
            Self::JobEnded => "job_ended",
            Self::StopJob => "stop_job",
            Self::DeleteJob => "delete_job",
            Self::CreateHook => "create_hook",
            Self::LiftHook => "lift_hook",
            Self::WaitHook => "wait_hook",
            Self::LookAtHook => "look_at_hook",
            Self::DeleteHook => "delete_hook",
            Self::Hooks => "hooks",
            Self::FindObjects => "find_objects",
            Self::PutObjects => "put_objects",
            Self::DeleteObjects => "delete_objects",
        }
    }

    /// Whether it takes a key and changes the world.
    #[must_use]
    pub fn has_effect(self) -> bool {
        !matches!(
            self,
            Self::Status
                | Self::WaitReady
                | Self::Images
                | Self::Observe
                | Self::FindObjects
                | Self::WaitJob
                | Self::JobEnded
                | Self::WaitHook
                | Self::LookAtHook
                | Self::Hooks
        )
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
