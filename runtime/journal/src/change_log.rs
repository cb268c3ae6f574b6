//! The journal of one change that runs: appends records and keeps the fold of them at hand.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pintle_lifecycle::decide::concerns;
use pintle_lifecycle::history::{BrokenHistory, History};
use pintle_lifecycle::ids::ChangeKey;
use pintle_lifecycle::record::{Event, FORMAT, Record};
use pintle_lifecycle::stamp::Stamp;
use tokio::sync::watch;

use crate::clock::Clock;
use crate::journal::{Journal, JournalError, Receipt};

/// A change that runs in this process.
pub struct ChangeLog {
    journal: Arc<dyn Journal>,
    clock: Arc<dyn Clock>,
    history: Mutex<History>,
    /// Number of the next record, for whoever waits for one.
    next: watch::Sender<u64>,
    /// The same, of the last record that may change what is decided.
    decisive: watch::Sender<u64>,
}

/// A change whose records do not make one.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("there is no change {0}")]
    Unknown(ChangeKey),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Broken(#[from] BrokenHistory),
}

impl ChangeLog {
    /// Opens a new change by its first record. The receipt tells when it is durable.
    ///
    /// # Errors
    /// Where `event` does not open a change.
    pub fn create(
        journal: Arc<dyn Journal>,
        clock: Arc<dyn Clock>,
        change: ChangeKey,
        event: Event,
    ) -> Result<(Self, Receipt), BrokenHistory> {
        let record = Record { v: FORMAT, change, seq: 0, at: clock.now(), event };
        let history = History::open(&record)?;
        let receipt = journal.append(vec![record]);
        Ok((Self::of(journal, clock, history), receipt))
    }

    /// Takes a change up again from its records.
    ///
    /// # Errors
    /// Where there is none, or its records cannot be read or do not fit together.
    pub async fn recover(
        journal: Arc<dyn Journal>,
        clock: Arc<dyn Clock>,
        change: &ChangeKey,
    ) -> Result<Self, OpenError> {
        let records = journal.records(change).await?;
        let history = History::of(&records).ok_or_else(|| OpenError::Unknown(change.clone()))??;
        Ok(Self::of(journal, clock, history))
    }

    fn of(journal: Arc<dyn Journal>, clock: Arc<dyn Clock>, history: History) -> Self {
        let (next, decisive) = (watch::Sender::new(history.next), watch::Sender::new(history.next));
        Self { journal, clock, next, decisive, history: Mutex::new(history) }
    }

    /// Appends a record. What it tells is in the history at once; it is durable when the receipt says so.
    ///
    /// # Errors
    /// Where the event does not fit the history: then nothing is appended.
    pub fn record(&self, event: Event) -> Result<Receipt, BrokenHistory> {
        let mut history = self.history();
        let record = Record { v: FORMAT, change: history.key.clone(), seq: history.next, at: self.clock.now(), event };
        history.apply(&record)?;
        // Under the lock, so that the journal sees records in the order of their numbers.
        let is_decisive = concerns(&record.event);
        let receipt = self.journal.append(vec![record]);
        let next = history.next;
        drop(history);
        self.next.send_replace(next);
        if is_decisive {
            self.decisive.send_replace(next);
        }
        Ok(receipt)
    }

    /// Looks at the history.
    pub fn look<T>(&self, look: impl FnOnce(&History) -> T) -> T {
        look(&self.history())
    }

    /// Waits until `look` sees what it waits for.
    pub async fn wait_for<T>(&self, mut look: impl FnMut(&History) -> Option<T>) -> T {
        let mut next = self.next.subscribe();
        loop {
            next.borrow_and_update();
            if let Some(seen) = self.look(&mut look) {
                return seen;
            }
            if next.changed().await.is_err() {
                // The sender lives in `self`.
                std::future::pending::<()>().await;
            }
        }
    }

    /// Tells of new records that may change what is decided.
    #[must_use]
    pub fn decisive(&self) -> watch::Receiver<u64> {
        self.decisive.subscribe()
    }

    #[must_use]
    pub fn now(&self) -> Stamp {
        self.clock.now()
    }

    #[must_use]
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    #[must_use]
    pub fn journal(&self) -> &Arc<dyn Journal> {
        &self.journal
    }

    fn history(&self) -> MutexGuard<'_, History> {
        // The fold is changed only after a record was found to fit, so a panic elsewhere leaves it whole.
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
