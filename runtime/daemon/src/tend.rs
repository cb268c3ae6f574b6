//! Tending many changes: one that only waits is let go of, all but what wakes it, and taken up from the journal when that comes. A
//! crash does the same to it, so nothing new can go wrong with it.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::Aborted;
use futures_util::stream::StreamExt;
use pintle_journal::change_log::ChangeLog;
use pintle_journal::clock::Clock;
use pintle_lifecycle::ending::ChangeState;

use crate::drive::{Budgets, DriveError, Driven, Driver, Works};

impl Driver {
    /// Drives a change until it has ended or needs a person, like [`Driver::drive`]. While all that it does is to wait for Jobs or
    /// for time to pass, it takes next to no memory. Dropping the future leaves the change to a later drive.
    ///
    /// Nobody else may record in the change meanwhile: whoever wants to drops this future and tends the change anew.
    ///
    /// # Errors
    /// Where the journal cannot go on, or Pintle itself went wrong.
    pub async fn tend(&self, mut log: Arc<ChangeLog>) -> Result<ChangeState, DriveError> {
        let (journal, clock) = (Arc::clone(log.journal()), Arc::clone(log.clock()));
        let change = log.look(|history| history.key.clone());
        let mut budgets = Budgets::new();
        loop {
            // Boxed, so that it takes no room while the change rests.
            let driven = Box::pin(self.drive_on(log, Some(std::mem::take(&mut budgets)))).await?;
            match driven {
                Driven::Ended(state) => return Ok(state),
                Driven::Resting(works, resting, delay) => {
                    rest(works, delay, &*clock).await;
                    budgets = resting;
                }
            }
            let recovered = Box::pin(ChangeLog::recover(Arc::clone(&journal), Arc::clone(&clock), &change)).await?;
            log = Arc::new(recovered);
        }
    }
}

/// Waits until something wakes.
async fn rest(mut works: Works, delay: Option<Duration>, clock: &dyn Clock) {
    // Work that was stopped before is not what it waits for.
    let woken = async { while let Some(Err(Aborted)) = works.next().await {} };
    match delay {
        None => woken.await,
        Some(delay) => tokio::select! {
            () = woken => {}
            () = clock.sleep(delay) => {}
        },
    }
}
