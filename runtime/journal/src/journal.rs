//! What a journal is to the rest of Pintle: ordered durable appends, and reads of what was acknowledged. The trait names no
//! store, and its one rule of ownership (a record number is written once) is what a shared database can keep as well.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use async_trait::async_trait;
use pintle_lifecycle::ids::{ChangeKey, ReleaseKey};
use pintle_lifecycle::record::{Record, RecordError};
use pintle_lifecycle::view::{ChangeView, ReleaseView};
use tokio::sync::oneshot;

/// Durable records of changes. A read sees everything that was acknowledged before it.
#[async_trait]
pub trait Journal: Send + Sync + 'static {
    /// Queues records of one change, in order, behind everything queued before. They are durable once the receipt says so; all
    /// of them or, after a crash before that, the first few or none.
    ///
    /// Each record's `seq` must be the next of its change, else [`JournalError::Superseded`]. No records at all are durable when
    /// everything queued before is.
    fn append(&self, records: Vec<Record>) -> Receipt;

    /// All acknowledged records of a change, in order; empty where there is no such change.
    async fn records(&self, change: &ChangeKey) -> Result<Vec<Record>, JournalError>;

    async fn change(&self, change: &ChangeKey) -> Result<Option<ChangeView>, JournalError>;

    /// Changes, newest first.
    async fn changes(&self, query: ChangeQuery) -> Result<Vec<ChangeView>, JournalError>;

    /// The changes that have not ended, in the order in which they were opened.
    async fn open_changes(&self) -> Result<Vec<ChangeKey>, JournalError>;

    async fn release(&self, release: &ReleaseKey) -> Result<Option<ReleaseView>, JournalError>;

    /// Releases by key, the deleted ones included.
    async fn releases(&self) -> Result<Vec<ReleaseView>, JournalError>;

    /// A value of the key-value state of the release with this uid.
    async fn state(&self, uid: &str, key: &str) -> Result<Option<Vec<u8>>, JournalError>;

    /// Why nothing can be written any more; none while all is well.
    fn trouble(&self) -> Option<String>;
}

/// Which changes to list.
#[derive(Debug, Clone, Default)]
pub struct ChangeQuery {
    /// Of this release only.
    pub release: Option<ReleaseKey>,
    /// Those that have not ended only.
    pub open: bool,
    /// At most so many; 0: all.
    pub limit: usize,
}

/// The promise of an append: resolves when the records are durable, or with why they are not.
///
/// A journal may leave records lying for some milliseconds until somebody waits for them, so that they share a sync with others.
/// Where few wait, whoever waits may write them itself: the first poll then blocks for as long as a quick sync takes.
#[derive(Debug)]
pub struct Receipt {
    state: ReceiptState,
    hurry: Option<Hurry>,
}

/// Tells a journal that somebody waits for an append.
#[derive(Debug, Clone)]
pub struct Hurry {
    journal: Arc<dyn Hurried>,
    append: u64,
}

/// A journal that can be told which of its appends somebody waits for.
pub trait Hurried: std::fmt::Debug + Send + Sync {
    /// Somebody waits for this append and, with it, for all before it.
    fn hurry(&self, append: u64);
}

#[derive(Debug)]
enum ReceiptState {
    Ready(Option<Result<(), JournalError>>),
    Waiting(oneshot::Receiver<Result<(), JournalError>>),
}

/// What keeps a journal from doing what it was asked.
#[derive(Debug, Clone, thiserror::Error)]
pub enum JournalError {
    /// Another Pintle wrote this record first: it owns the change now.
    #[error("record {seq} of {change} is written already: another Pintle goes on with this change")]
    Superseded { change: ChangeKey, seq: u64 },
    /// The records do not make a change, whoever wrote before: the first one opens it, no other does.
    #[error("record {seq} of {change} does not fit: {problem}")]
    Unfit { change: ChangeKey, seq: u64, problem: &'static str },
    #[error("record {seq} of {change} is {bytes} bytes long; at most {limit} can be stored")]
    TooLarge { change: ChangeKey, seq: u64, bytes: usize, limit: usize },
    /// The disk is nearly full: changes that run may end, new ones may not open. Nothing was written.
    #[error(
        "no room for a new change: {free} bytes are free in {dir}, {wanted} are wanted; changes that run go on: free some space"
    )]
    NoRoom { dir: String, free: u64, wanted: u64 },
    /// The store cannot write. Final for this process.
    #[error("the store cannot write: {0}")]
    Write(String),
    #[error("the store cannot be read: {0}")]
    Read(#[source] Arc<std::io::Error>),
    /// What was read is not what was written.
    #[error("the store is damaged: {problem}")]
    Damaged { problem: String },
    #[error("a record of {change} cannot be read")]
    Record {
        change: String,
        #[source]
        source: Arc<RecordError>,
    },
    #[error("the journal was closed")]
    Closed,
}

impl Hurry {
    /// For the append of that number of `journal`.
    #[must_use]
    pub fn new(journal: Arc<dyn Hurried>, append: u64) -> Self {
        Self { journal, append }
    }
}

impl Receipt {
    /// A receipt that is resolved already.
    #[must_use]
    pub fn ready(result: Result<(), JournalError>) -> Self {
        Self { state: ReceiptState::Ready(Some(result)), hurry: None }
    }

    /// A receipt and what resolves it. Dropping the sender resolves it with [`JournalError::Closed`].
    #[must_use]
    pub fn waiting() -> (oneshot::Sender<Result<(), JournalError>>, Self) {
        let (sender, receiver) = oneshot::channel();
        (sender, Self { state: ReceiptState::Waiting(receiver), hurry: None })
    }

    /// The same, with whom to tell when somebody begins to wait for it.
    #[must_use]
    pub fn with_hurry(self, hurry: Option<Hurry>) -> Self {
        Self { hurry, ..self }
    }

    /// Takes out whom to tell: waiting for the receipt then hurries nobody.
    pub fn take_hurry(&mut self) -> Option<Hurry> {
        self.hurry.take()
    }
}

impl Future for Receipt {
    type Output = Result<(), JournalError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if let Some(hurry) = self.hurry.take() {
            hurry.journal.hurry(hurry.append);
        }
        match &mut self.state {
            ReceiptState::Ready(result) => Poll::Ready(result.take().unwrap_or(Ok(()))),
            ReceiptState::Waiting(receiver) => {
                Pin::new(receiver).poll(context).map(|answer| answer.unwrap_or(Err(JournalError::Closed)))
            }
        }
    }
}
