//! Faults that pass: a platform that cannot be reached is asked again, visibly; a question that only a person can answer makes
//! the change stuck.

use std::future::Future;
use std::time::Duration;

use pintle_journal::change_log::ChangeLog;
use pintle_journal::journal::{JournalError, Receipt};
use pintle_lifecycle::ids::StepId;
use pintle_lifecycle::record::{Event, Level};
use pintle_platform::PlatformError;

/// First and longest pause before a platform that could not be reached is asked again.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(30));

/// Pauses before a platform is asked again, each twice the one before, up to the longest.
pub fn pauses() -> impl Iterator<Item = Duration> {
    let (first, longest) = PAUSES;
    std::iter::successors(Some(first), move |pause| Some((*pause * 2).min(longest)))
}

/// Why nobody asks any more.
#[derive(Debug, Clone)]
pub enum Impatience {
    /// The change waits for a person; the journal says for what.
    Stuck,
    /// The journal cannot go on.
    Journal(JournalError),
}

/// Asks the platform for a step until it can be reached, with growing pauses and a line in the step's log for each.
///
/// # Errors
/// [`Impatience`], where asking is over without an answer.
pub async fn patiently<T, F>(
    log: &ChangeLog,
    step: &StepId,
    attempt: u32,
    mut ask: impl FnMut() -> F,
) -> Result<Result<T, PlatformError>, Impatience>
where
    F: Future<Output = Result<T, PlatformError>>,
{
    let mut pauses = pauses();
    loop {
        match ask().await {
            Err(PlatformError::Unavailable(message)) => {
                // The low bits of the clock are jitter enough to keep changes apart.
                let jitter = u32::try_from(log.now().up % 64).unwrap_or(0);
                let pause = pauses.next().unwrap_or(PAUSES.1);
                let wait = pause + pause * jitter / 256;
                let message = format!("{message}; trying again in {} ms", wait.as_millis());
                tracing::warn!(%step, message);
                let level = Level::Warn;
                let line =
                    Event::StepLog { step: step.clone(), attempt, line: None, level, message, fields: Vec::new() };
                drop(record(log, line)?);
                log.clock().sleep(wait).await;
            }
            Err(PlatformError::Unknown(question)) => {
                let stuck = Event::ChangeStuck { step: step.clone(), question };
                record(log, stuck)?.await.map_err(Impatience::Journal)?;
                return Err(Impatience::Stuck);
            }
            answer => return Ok(answer),
        }
    }
}

fn record(log: &ChangeLog, event: Event) -> Result<Receipt, Impatience> {
    log.record(event).map_err(|broken| Impatience::Journal(JournalError::Damaged { problem: broken.to_string() }))
}
