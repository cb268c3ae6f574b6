//! Resting: while an action waits for a Job or for time to pass, nothing of its change need be in memory. Whoever drives it drops
//! all of it and takes it up from the journal later, as after a crash.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{FutureExt, select_all};
use pintle_journal::change_log::ChangeLog;
use pintle_lifecycle::plan::Target;
use pintle_lifecycle::stamp::Stamp;
use pintle_platform::Platform;

use crate::limits::Budget;

/// Resolves when a resting action has something to do.
pub type Until = Pin<Box<dyn Future<Output = ()> + Send>>;

/// An attempt that only waits. It is run again when `until` has resolved, or before.
pub struct Rest {
    /// Until something that it waits for has come, or its time is over.
    pub until: Until,
    /// What is left of its bounds, for its next run in this process.
    pub budget: Arc<Budget>,
}

/// One thing that an effect waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Wait {
    /// The end of the Job of that name.
    Job(String),
    /// So many milliseconds since then.
    Time { since: Stamp, ms: u64 },
}

impl std::fmt::Debug for Rest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rest").field("budget", &self.budget).finish_non_exhaustive()
    }
}

/// Until one of `waits` has come, or `time_left` is over. Holds nothing of the change.
pub(crate) fn first_of(
    waits: Vec<Wait>,
    time_left: Duration,
    platform: &Arc<dyn Platform>,
    log: &ChangeLog,
    target: &Target,
) -> Until {
    let mut least = time_left;
    let mut jobs = Vec::new();
    for wait in waits {
        match wait {
            Wait::Time { since, ms } => {
                let left = Duration::from_millis(ms.saturating_sub(log.now().since(&since)));
                least = least.min(left);
            }
            Wait::Job(id) => jobs.push(id),
        }
    }
    let (platform, clock) = (Arc::clone(platform), Arc::clone(log.clock()));
    if jobs.is_empty() {
        return Box::pin(async move { clock.sleep(least).await });
    }
    let target = target.clone();
    Box::pin(async move {
        // Whatever comes, an error too, is looked at again by the run that follows.
        let ended = select_all(jobs.iter().map(|id| platform.wait_job(&target, id))).map(drop);
        tokio::select! {
            () = ended => {}
            () = clock.sleep(least) => {}
        }
    })
}
