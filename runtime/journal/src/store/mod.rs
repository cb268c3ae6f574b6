//! The store on this machine's disk: one process writes it, the log is the truth, and what was acknowledged is on the disk.

pub(crate) mod export;
#[cfg(test)]
mod faults;
pub(crate) mod intake;
pub(crate) mod lock;
mod open;
mod options;
mod queue;
pub(crate) mod reader;
pub(crate) mod replay;
pub(crate) mod room;
pub(crate) mod shelf;
#[cfg(test)]
mod turns;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;

use async_trait::async_trait;
use pintle_lifecycle::ids::{ChangeKey, ReleaseKey};
use pintle_lifecycle::record::Record;
use pintle_lifecycle::view::{ChangeView, ReleaseView};
use tokio::sync::oneshot;

pub use export::{ExportError, export};
pub use lock::Holder;
pub use options::{Acknowledge, IndexState, OpenError, OpenReport, StoreOptions};
pub use reader::Reader;

use crate::index::IndexError;
use crate::index::fold::Near;
use crate::index::open::condemn;
use crate::journal::{ChangeQuery, Hurried, Hurry, Journal, JournalError, Receipt};
use crate::log::frame::{Frame, MAX_RECORD};
use crate::log::places::Places;
use crate::views::state_value;
use lock::StoreLock;
use queue::{Append, Item, Queue};
use room::Room;
use shelf::Shelf;
use writer::Desk;

/// The journal on the disk of this machine. Dropping it writes what is queued and gives the store free.
#[derive(Debug)]
pub struct Store {
    shared: Arc<Shared>,
    writer: Option<JoinHandle<()>>,
    report: OpenReport,
}

/// What the writer and reads have in common. Fields are dropped in order: the lock must be the last.
#[derive(Debug)]
struct Shared {
    dir: PathBuf,
    queue: Queue,
    desk: Desk,
    /// Whether changes are few and the disk quick, as the last group shows: then whoever waits for an append writes it.
    few: AtomicBool,
    shelf: Arc<Shelf>,
    places: Places,
    room: Room,
    acknowledge: Acknowledge,
    /// Why nothing can be written any more.
    trouble: OnceLock<String>,
    index_failure: OnceLock<IndexError>,
    /// Items of the queue, counted from the start, whose records reads can see.
    settled: AtomicU64,
    _lock: StoreLock,
}

impl Store {
    /// Opens the store in `dir`, or makes one there. Blocks: reads the end of the log, and all of it where the index is not fit.
    ///
    /// # Errors
    /// [`OpenError::InUse`] where another process writes it; damage, a newer format, a disk that cannot be written.
    pub fn open(dir: &Path, options: &StoreOptions) -> Result<Self, OpenError> {
        open::open(dir, options, Arc::new(crate::log::disk::RealDisk))
    }

    /// Opens the store in `dir` for reading, whoever else has it. Blocks: reads all of its log.
    ///
    /// # Errors
    /// Where there is no store, or it is damaged or newer.
    pub fn open_for_reading(dir: &Path) -> Result<Reader, OpenError> {
        Reader::open(dir)
    }

    /// What was found and done when it was opened.
    #[must_use]
    pub fn report(&self) -> &OpenReport {
        &self.report
    }

    /// The folder of the store.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.shared.dir
    }

    /// Whether there is room on the disk for a new change. [`Journal::append`] asks the same for each record that opens one.
    ///
    /// # Errors
    /// [`JournalError::NoRoom`] with what is free and what is wanted.
    pub fn room(&self) -> Result<(), JournalError> {
        self.shared.room.check()
    }

    /// Waits until the index has everything that was queued before.
    async fn settle(&self) {
        if self.shared.settled.load(Ordering::Acquire) < self.shared.queue.pushed() {
            let (sender, settled) = oneshot::channel();
            if self.shared.queue.push(Item::Settle(sender)).is_ok() {
                // Where the writer died, what it had settled before can still be read.
                settled.await.unwrap_or_default();
            }
        }
    }

    /// A read sees what was acknowledged: where that is before it was written, it is written now.
    async fn catch_up(&self) {
        if self.shared.acknowledge == Acknowledge::BeforeWrite {
            self.settle().await;
        }
    }

    /// Runs `look` on a thread that may block.
    async fn read<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Shared) -> Result<T, JournalError> + Send + 'static,
    ) -> Result<T, JournalError> {
        let shared = Arc::clone(&self.shared);
        let looked = tokio::task::spawn_blocking(move || look(&shared)).await;
        looked.unwrap_or_else(|error| Err(JournalError::Damaged { problem: format!("reading it failed: {error}") }))
    }

    fn encode(&self, records: &[Record]) -> Result<Vec<u8>, JournalError> {
        let mut frames = Vec::with_capacity(records.len() * 512);
        for record in records {
            if record.seq == 0 {
                self.room()?;
            }
            let payload = record.to_json();
            if payload.len() > MAX_RECORD {
                return Err(JournalError::TooLarge {
                    change: record.change.clone(),
                    seq: record.seq,
                    bytes: payload.len(),
                    limit: MAX_RECORD,
                });
            }
            let format = u16::try_from(record.v).unwrap_or(u16::MAX);
            Frame { format, payload: &payload }.encode(&mut frames);
        }
        Ok(frames)
    }
}

#[async_trait]
impl Journal for Store {
    /// Blocks for the time of a sync where very much is queued already.
    fn append(&self, records: Vec<Record>) -> Receipt {
        if let Some(trouble) = self.trouble() {
            return Receipt::ready(Err(JournalError::Write(trouble)));
        }
        let frames = match self.encode(&records) {
            Ok(frames) => frames,
            Err(error) => return Receipt::ready(Err(error)),
        };
        let (done, receipt) = Receipt::waiting();
        match self.shared.queue.push(Item::Append(Append { records, frames, done: Some(done) })) {
            Ok(number) => receipt.with_hurry(Some(Hurry::new(Arc::clone(&self.shared) as Arc<dyn Hurried>, number))),
            Err(_) => Receipt::ready(Err(JournalError::Closed)),
        }
    }

    async fn records(&self, change: &ChangeKey) -> Result<Vec<Record>, JournalError> {
        self.catch_up().await;
        let change = change.clone();
        self.read(move |shared| {
            let places = shared.look(|shelf| shelf.places(&change))?;
            places.into_iter().map(|place| Ok(shared.places.record(place)?)).collect()
        })
        .await
    }

    async fn change(&self, change: &ChangeKey) -> Result<Option<ChangeView>, JournalError> {
        self.catch_up().await;
        if let Near::Known(view) = self.shared.look(|shelf| Ok(shelf.near_change(change)))? {
            return Ok(view);
        }
        let change = change.clone();
        self.read(move |shared| shared.look(|shelf| shelf.far_change(&change))).await
    }

    async fn changes(&self, query: ChangeQuery) -> Result<Vec<ChangeView>, JournalError> {
        self.settle().await;
        self.read(move |shared| shared.look(|shelf| shelf.changes(&query))).await
    }

    async fn open_changes(&self) -> Result<Vec<ChangeKey>, JournalError> {
        self.settle().await;
        self.read(|shared| shared.look(Shelf::open_changes)).await
    }

    async fn release(&self, release: &ReleaseKey) -> Result<Option<ReleaseView>, JournalError> {
        self.catch_up().await;
        if let Near::Known(view) = self.shared.look(|shelf| Ok(shelf.near_release(release)))? {
            return Ok(view);
        }
        let release = release.clone();
        self.read(move |shared| shared.look(|shelf| shelf.far_release(&release))).await
    }

    async fn releases(&self) -> Result<Vec<ReleaseView>, JournalError> {
        self.settle().await;
        self.read(|shared| shared.look(Shelf::releases)).await
    }

    async fn state(&self, uid: &str, key: &str) -> Result<Option<Vec<u8>>, JournalError> {
        self.catch_up().await;
        let (uid, key) = (uid.to_owned(), key.to_owned());
        self.read(move |shared| {
            let Some(place) = shared.look(|shelf| shelf.state(&uid, &key))? else { return Ok(None) };
            Ok(state_value(&shared.places.record(place)?).map(<[u8]>::to_vec))
        })
        .await
    }

    fn trouble(&self) -> Option<String> {
        self.shared.trouble()
    }
}

impl Shared {
    fn trouble(&self) -> Option<String> {
        self.trouble.get().cloned()
    }

    /// From now on nothing is written. What was the first trouble stays.
    fn fail(&self, problem: &str) {
        if self.trouble.set(problem.to_owned()).is_ok() {
            tracing::error!(dir = %self.dir.display(), problem, "the store cannot write any more");
        }
    }

    /// From now on the index is not used; the next start makes a new one.
    fn fail_index(&self, error: &IndexError) {
        if self.index_failure.set(error.clone()).is_ok() {
            condemn(&self.dir, &error.to_string());
        }
        self.fail(&JournalError::from(error.clone()).to_string());
    }

    fn index_failed(&self) -> bool {
        self.index_failure.get().is_some()
    }

    /// Looks at the views.
    fn look<T>(&self, look: impl FnOnce(&Shelf) -> Result<T, IndexError>) -> Result<T, JournalError> {
        if let Some(error) = self.index_failure.get() {
            return Err(error.clone().into());
        }
        look(&self.shelf).map_err(|error| {
            self.fail_index(&error);
            error.into()
        })
    }

    fn settled_through(&self, items: u64) {
        self.settled.store(items, Ordering::Release);
    }
}

impl Hurried for Shared {
    fn hurry(&self, append: u64) {
        writer::write_for(self, append);
        self.queue.hurry(append);
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.shared.queue.close();
        if let Some(writer) = self.writer.take() {
            // A panic of it was caught and said already.
            drop(writer.join());
        }
    }
}
