//! A journal in memory, for tests on virtual time: it answers at once, and it can die after any record and be opened again with
//! what it had stored, so that a crash matrix is a loop.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use pintle_lifecycle::ids::{ChangeKey, ReleaseKey};
use pintle_lifecycle::record::Record;
use pintle_lifecycle::view::{ChangeView, ReleaseView};
use tokio::sync::{oneshot, watch};

use crate::journal::{ChangeQuery, Journal, JournalError, Receipt};
use crate::views::{Views, check_append, state_value};

/// A journal in memory. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct MemoryJournal {
    machine: Arc<Machine>,
}

#[derive(Debug, Default)]
struct Machine {
    stored: Mutex<Stored>,
    dead: watch::Sender<bool>,
}

#[derive(Debug, Default)]
struct Stored {
    records: Vec<Arc<Record>>,
    views: Views<Arc<Record>>,
    stop: Option<Stop>,
    /// Receipts that never resolve.
    parked: Vec<oneshot::Sender<Result<(), JournalError>>>,
}

/// When the machine dies.
#[derive(Debug, Clone, Copy)]
struct Stop {
    records: usize,
    /// Whether the last record is acknowledged.
    acknowledged: bool,
}

impl MemoryJournal {
    /// An empty journal that does not die.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A journal that has `records` already.
    ///
    /// # Errors
    /// Where they are not in the order of their changes.
    pub fn of(records: impl IntoIterator<Item = Record>) -> Result<Self, JournalError> {
        let journal = Self::new();
        {
            let mut stored = journal.stored();
            for record in records {
                stored.store(Arc::new(record))?;
            }
        }
        Ok(journal)
    }

    /// Lets the machine die when a record beyond the first `records` is appended: those are stored and acknowledged, and what
    /// follows from them still happens; the record beyond them is lost and its receipt never resolves.
    ///
    /// Counts all records, those from before a restart included.
    pub fn stop_after(&self, records: usize) {
        self.stored().stop = Some(Stop { records, acknowledged: true });
    }

    /// Lets the machine die as soon as it has stored `records` records: the last of them is there after a restart, but was never
    /// acknowledged.
    pub fn stop_at(&self, records: usize) {
        self.stored().stop = Some(Stop { records, acknowledged: false });
    }

    /// Waits until the machine has died. From then on no append and no read resolves.
    pub async fn died(&self) {
        let mut dead = self.machine.dead.subscribe();
        if dead.wait_for(|dead| *dead).await.is_err() {
            // The sender lives in `self`.
            std::future::pending::<()>().await;
        }
    }

    #[must_use]
    pub fn is_dead(&self) -> bool {
        *self.machine.dead.borrow()
    }

    /// The journal as the next start finds it: all that was stored, alive. Later appends to either are not seen by the other.
    #[must_use]
    pub fn survivors(&self) -> Self {
        let stored = self.stored();
        let survivors =
            Stored { records: stored.records.clone(), views: stored.views.clone(), stop: None, parked: Vec::new() };
        Self { machine: Arc::new(Machine { stored: Mutex::new(survivors), dead: watch::Sender::new(false) }) }
    }

    /// Everything stored, in the order of appends, dead or alive.
    #[must_use]
    pub fn stored_records(&self) -> Vec<Arc<Record>> {
        self.stored().records.clone()
    }

    /// How many records are stored.
    #[must_use]
    pub fn len(&self) -> usize {
        self.stored().records.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn stored(&self) -> MutexGuard<'_, Stored> {
        // A panic of a test elsewhere does not matter here: each append checks before it changes anything.
        self.machine.stored.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn alive(&self) {
        if self.is_dead() {
            std::future::pending::<()>().await;
        }
    }
}

impl Stored {
    fn store(&mut self, record: Arc<Record>) -> Result<(), JournalError> {
        self.views.take(&record, Arc::clone(&record))?;
        self.records.push(record);
        Ok(())
    }

    fn park(&mut self) -> Receipt {
        let (sender, receipt) = Receipt::waiting();
        self.parked.push(sender);
        receipt
    }
}

#[async_trait]
impl Journal for MemoryJournal {
    fn append(&self, records: Vec<Record>) -> Receipt {
        let mut stored = self.stored();
        if self.is_dead() {
            return stored.park();
        }
        if let Some(first) = records.first()
            && let Err(error) = check_append(stored.views.next(&first.change), &records)
        {
            return Receipt::ready(Err(error));
        }
        let (wanted, stop) = (records.len(), stored.stop);
        let room = stop.map_or(usize::MAX, |stop| stop.records.saturating_sub(stored.records.len()));
        for record in records.into_iter().take(room) {
            if let Err(error) = stored.store(Arc::new(record)) {
                return Receipt::ready(Err(error));
            }
        }
        if !stop.is_some_and(|stop| wanted > room || (wanted == room && !stop.acknowledged)) {
            return Receipt::ready(Ok(()));
        }
        let receipt = stored.park();
        drop(stored);
        self.machine.dead.send_replace(true);
        receipt
    }

    async fn records(&self, change: &ChangeKey) -> Result<Vec<Record>, JournalError> {
        self.alive().await;
        Ok(self.stored().views.records(change).iter().map(|record| Record::clone(record)).collect())
    }

    async fn change(&self, change: &ChangeKey) -> Result<Option<ChangeView>, JournalError> {
        self.alive().await;
        Ok(self.stored().views.change(change).cloned())
    }

    async fn changes(&self, query: ChangeQuery) -> Result<Vec<ChangeView>, JournalError> {
        self.alive().await;
        Ok(self.stored().views.changes(&query))
    }

    async fn open_changes(&self) -> Result<Vec<ChangeKey>, JournalError> {
        self.alive().await;
        Ok(self.stored().views.open_changes())
    }

    async fn release(&self, release: &ReleaseKey) -> Result<Option<ReleaseView>, JournalError> {
        self.alive().await;
        Ok(self.stored().views.release(release).cloned())
    }

    async fn releases(&self) -> Result<Vec<ReleaseView>, JournalError> {
        self.alive().await;
        Ok(self.stored().views.releases().into_iter().cloned().collect())
    }

    async fn state(&self, uid: &str, key: &str) -> Result<Option<Vec<u8>>, JournalError> {
        self.alive().await;
        Ok(self.stored().views.state(uid, key).and_then(|record| state_value(record)).map(<[u8]>::to_vec))
    }

    fn trouble(&self) -> Option<String> {
        None
    }
}
