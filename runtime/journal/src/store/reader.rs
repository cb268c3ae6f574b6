//! Reading a store that another process may be writing: walks through the log as far as it is acknowledged, without the lock and
//! without the index.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use pintle_lifecycle::ids::{ChangeKey, ReleaseKey};
use pintle_lifecycle::record::Record;
use pintle_lifecycle::view::{ChangeView, ReleaseView};

use super::lock;
use super::options::OpenError;
use super::replay::lost;
use crate::journal::{ChangeQuery, Journal, JournalError, Receipt};
use crate::log::places::Places;
use crate::log::position::{Place, Position};
use crate::log::recover::{Limits, go_on, gone};
use crate::log::scan::{Group, Scan};
use crate::log::{LogError, acked, io_error, segment};
use crate::views::{Views, state_value};

const READ_ONLY: &str = "it is open for reading only";

/// A store that is only read. Each read sees what was acknowledged when it began; the first one walks through the whole log.
#[derive(Debug, Clone)]
pub struct Reader {
    store: Arc<Reading>,
}

#[derive(Debug)]
struct Reading {
    places: Places,
    seen: Mutex<Seen>,
}

#[derive(Debug)]
struct Seen {
    tail: Tail,
    views: Views<Place>,
}

/// A walk through the acknowledged log that goes on where it stopped.
#[derive(Debug)]
pub(crate) struct Tail {
    dir: PathBuf,
    scan: Option<Scan>,
}

impl Reader {
    /// Opens the store in `dir`, whoever else has it. Blocks: reads all of its log.
    ///
    /// # Errors
    /// Where there is no store, or it is damaged or newer.
    pub fn open(dir: &Path) -> Result<Self, OpenError> {
        let mut seen = Seen { tail: Tail::new(dir)?, views: Views::default() };
        seen.catch_up()?;
        let places = Places::new(&dir.join("log"));
        Ok(Self { store: Arc::new(Reading { places, seen: Mutex::new(seen) }) })
    }

    async fn read<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Views<Place>, &Places) -> Result<T, JournalError> + Send + 'static,
    ) -> Result<T, JournalError> {
        let store = Arc::clone(&self.store);
        let looked = tokio::task::spawn_blocking(move || {
            // A panic leaves the views as of some group: whole.
            let mut seen = store.seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.catch_up()?;
            look(&seen.views, &store.places)
        });
        let looked = looked.await;
        looked.unwrap_or_else(|error| Err(JournalError::Damaged { problem: format!("reading it failed: {error}") }))
    }
}

impl Seen {
    fn catch_up(&mut self) -> Result<(), LogError> {
        let Self { tail, views } = self;
        let dir = tail.dir.join("log");
        tail.advance(|group| {
            for (place, frame) in group.records() {
                let (path, offset) = (|| segment::path(&dir, place.at.segment), place.at.offset);
                let record = frame.record().map_err(|source| LogError::Record { path: path(), offset, source })?;
                views.take(&record, place).map_err(|error| LogError::Damaged {
                    path: path(),
                    offset,
                    problem: error.to_string(),
                })?;
            }
            Ok(())
        })
    }
}

impl Tail {
    /// Starts at the beginning of the log of the store in `dir`.
    ///
    /// # Errors
    /// [`OpenError::Missing`] where there is no store.
    pub(crate) fn new(dir: &Path) -> Result<Self, OpenError> {
        must_be_there(dir)?;
        Ok(Self { dir: dir.to_owned(), scan: None })
    }

    /// Shows `visit` each group that was acknowledged since the last time.
    ///
    /// # Errors
    /// Where the log is damaged or cannot be read, or `visit` fails.
    pub(crate) fn advance<E: From<LogError>>(
        &mut self,
        mut visit: impl FnMut(&Group<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let log = self.dir.join("log");
        let (limits, problem) = readable(&self.dir)?;
        let Some(first) = segment::list(&log)?.first().copied() else {
            return gone(&log, limits.at_least).or_else(|| lost(&self.dir)).map_or(Ok(()), |error| Err(error.into()));
        };
        let mut scan = match self.scan.take() {
            Some(scan) => scan,
            None => Scan::open(&log, first)?,
        };
        scan.forget();
        let went_on = go_on(&log, &mut scan, limits, &mut visit);
        self.scan = Some(scan);
        went_on?;
        problem.map_or(Ok(()), |problem| Err(problem.into()))
    }
}

/// Says where there is no store, or where it cannot be told whether there is one.
///
/// # Errors
/// [`OpenError::Missing`], or why the folder cannot be looked into.
pub(crate) fn must_be_there(dir: &Path) -> Result<(), OpenError> {
    let log = dir.join("log");
    match log.metadata() {
        Ok(metadata) if metadata.is_dir() => Ok(()),
        Err(error) if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Err(io_error("look at", &log)(error).into())
        }
        // What is left of a store tells that it had one.
        _ => match gone(&log, acked::read(&dir.join("acked"))?).or_else(|| lost(dir)) {
            Some(error) => Err(error.into()),
            None => Err(OpenError::Missing { dir: dir.to_owned() }),
        },
    }
}

/// How far the log of the store in `dir` may be read, and what is to be said after that.
///
/// # Errors
/// Where the lock or the file `acked` cannot be read.
fn readable(dir: &Path) -> Result<(Limits, Option<LogError>), LogError> {
    let held = lock::holder(dir)?.is_some();
    let (acked, problem) = match acked::read(&dir.join("acked")) {
        Ok(acked) => (acked, None),
        // Whoever has nothing but the log gets all of it first.
        Err(error @ LogError::Damaged { .. }) => (None, Some(error)),
        Err(error) => return Err(error),
    };
    // Where nobody writes, everything that is whole counts: the next start will say so too.
    let at_most = held.then(|| acked.unwrap_or(Position { segment: 0, offset: 0 }));
    Ok((Limits { at_least: acked, at_most }, problem))
}

#[async_trait]
impl Journal for Reader {
    fn append(&self, _: Vec<Record>) -> Receipt {
        Receipt::ready(Err(JournalError::Write(READ_ONLY.to_owned())))
    }

    async fn records(&self, change: &ChangeKey) -> Result<Vec<Record>, JournalError> {
        let change = change.clone();
        self.read(move |views, places| views.records(&change).iter().map(|place| Ok(places.record(*place)?)).collect())
            .await
    }

    async fn change(&self, change: &ChangeKey) -> Result<Option<ChangeView>, JournalError> {
        let change = change.clone();
        self.read(move |views, _| Ok(views.change(&change).cloned())).await
    }

    async fn changes(&self, query: ChangeQuery) -> Result<Vec<ChangeView>, JournalError> {
        self.read(move |views, _| Ok(views.changes(&query))).await
    }

    async fn open_changes(&self) -> Result<Vec<ChangeKey>, JournalError> {
        self.read(|views, _| Ok(views.open_changes())).await
    }

    async fn release(&self, release: &ReleaseKey) -> Result<Option<ReleaseView>, JournalError> {
        let release = release.clone();
        self.read(move |views, _| Ok(views.release(&release).cloned())).await
    }

    async fn releases(&self) -> Result<Vec<ReleaseView>, JournalError> {
        self.read(|views, _| Ok(views.releases().into_iter().cloned().collect())).await
    }

    async fn state(&self, uid: &str, key: &str) -> Result<Option<Vec<u8>>, JournalError> {
        let (uid, key) = (uid.to_owned(), key.to_owned());
        self.read(move |views, places| {
            let Some(place) = views.state(&uid, &key) else { return Ok(None) };
            Ok(state_value(&places.record(*place)?).map(<[u8]>::to_vec))
        })
        .await
    }

    fn trouble(&self) -> Option<String> {
        Some(READ_ONLY.to_owned())
    }
}
