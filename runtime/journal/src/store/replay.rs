//! From log and index to views: replays what the index has not, or everything where there is no index that fits the log.

use std::path::Path;

use pintle_lifecycle::record::FORMAT;

use super::intake::Intake;
use super::options::{IndexState, OpenError};
use crate::index::fold::FoldError;
use crate::index::{IndexError, open as index};
use crate::log::LogError;
use crate::log::position::{Place, Position};
use crate::log::recover::{Known, LogEnd, walk};
use crate::log::scan::{Group, Scan};
use crate::log::segment::{self, StoreId};

/// A long replay tells how far it is every so many records.
const PROGRESS: u64 = 100_000;

/// What is known of a store before it is written.
pub(crate) struct Recovered {
    /// None where there is no log yet.
    pub end: Option<LogEnd>,
    /// None where there is no log yet.
    pub intake: Option<Intake>,
    pub index: IndexState,
    pub replayed: u64,
}

enum ReplayError {
    Log(LogError),
    /// The records do not fit what came before them, or the index fails.
    Fold(Place, FoldError),
    Index(IndexError),
}

impl From<LogError> for ReplayError {
    fn from(error: LogError) -> Self {
        Self::Log(error)
    }
}

/// Recovers the store in `dir`, whose log is acknowledged up to `acked` at least.
pub(super) fn recover(dir: &Path, index_from: usize, acked: Option<Position>) -> Result<Recovered, OpenError> {
    let log = dir.join("log");
    let Some(first) = segment::list(&log)?.first().copied() else {
        // Says what is missing where there was a log.
        walk::<LogError>(&log, None, acked, |_| Ok(()))?;
        lost(dir).map_or(Ok(()), Err)?;
        return Ok(Recovered { end: None, intake: None, index: IndexState::InMemory, replayed: 0 });
    };
    let id = Scan::open(&log, first)?.header.store;
    let why = match with_index(dir, &log, id, acked)? {
        Ok(Some(recovered)) => return Ok(recovered),
        Ok(None) => None,
        Err(why) => Some(why),
    };
    let moved = match why {
        Some(why) => {
            // Where the log is to blame, the index stays as it is.
            walk::<LogError>(&log, None, acked, |_| Ok(()))?;
            tracing::warn!(dir = %dir.display(), why, "the index cannot be used; making it again from the log");
            Some((why, index::move_away(dir)?))
        }
        None => None,
    };
    let mut replay = Replay { intake: Intake::in_memory(dir, id, index_from), log: &log, records: 0 };
    let end = walk(&log, None, acked, |group| replay.take(group));
    let end = end.and_then(|end| replay.finish().map(|()| end)).map_err(|error| error.into_open(&log))?;
    let index = match moved {
        Some((why, moved_to)) => IndexState::Remade { why, moved_to },
        None if replay.intake.is_in_memory() => IndexState::InMemory,
        None => IndexState::Made,
    };
    Ok(Recovered { end, intake: Some(replay.intake), index, replayed: replay.records })
}

/// The error of a store without a log that once had one: its index is made from it alone.
pub(crate) fn lost(dir: &Path) -> Option<LogError> {
    let index = index::folder(dir);
    index.exists().then(|| LogError::Damaged {
        path: dir.join("log"),
        offset: 0,
        problem: format!("the log has no segment, but {} was made from one", index.display()),
    })
}

/// Recovers by the index in `dir`: none where there is none, or why it cannot be used.
pub(crate) fn with_index(
    dir: &Path,
    log: &Path,
    id: StoreId,
    acked: Option<Position>,
) -> Result<Result<Option<Recovered>, String>, OpenError> {
    let (index, mark) = match index::open(dir, id) {
        Ok(Some(opened)) => opened,
        Ok(None) => return Ok(Ok(None)),
        Err(error) => return Ok(Err(error.to_string())),
    };
    if u32::from(mark.format) > FORMAT {
        let (found, reads) = (u64::from(mark.format), u64::from(FORMAT));
        return Err(LogError::Newer { path: log.to_owned(), found, reads }.into());
    }
    let known = (mark.group > 0).then_some(Known { at: mark.at, number: mark.group });
    let mut replay = Replay { intake: Intake::with_index(dir, id, index, mark), log, records: 0 };
    let end = walk(log, known, acked, |group| replay.take(group));
    match end.and_then(|end| replay.finish().map(|()| end)) {
        Ok(Some(end)) => {
            let (index, replayed) = (IndexState::Ready, replay.records);
            Ok(Ok(Some(Recovered { end: Some(end), intake: Some(replay.intake), index, replayed })))
        }
        Ok(None) => Ok(Err("it is ahead of the log, or of another one".to_owned())),
        Err(ReplayError::Log(error)) => Err(error.into()),
        Err(ReplayError::Fold(_, error)) => Ok(Err(error.to_string())),
        Err(ReplayError::Index(error)) => Ok(Err(error.to_string())),
    }
}

struct Replay<'a> {
    intake: Intake,
    log: &'a Path,
    records: u64,
}

impl Replay<'_> {
    fn take(&mut self, group: &Group<'_>) -> Result<(), ReplayError> {
        let mut records = Vec::new();
        for (place, frame) in group.records() {
            let read = frame.record().map_err(|source| LogError::Record {
                path: segment::path(self.log, place.at.segment),
                offset: place.at.offset,
                source,
            })?;
            records.push((read, place));
        }
        for (record, place) in &records {
            let taken = self.intake.take(group.at, group.number, [(record, *place)]);
            taken.map_err(|error| ReplayError::Fold(*place, error))?;
        }
        let before = self.records / PROGRESS;
        self.records += records.len() as u64;
        if self.records / PROGRESS > before {
            tracing::info!(records = self.records, at = %group.end, "replaying the log");
        }
        self.intake.settle_if_due().map_err(ReplayError::Index)
    }

    fn finish(&mut self) -> Result<(), ReplayError> {
        self.intake.settle().map_err(ReplayError::Index)
    }
}

impl ReplayError {
    /// The error of a replay of the whole log, where no old index can be to blame.
    fn into_open(self, log: &Path) -> OpenError {
        match self {
            Self::Log(error) => error.into(),
            Self::Fold(_, FoldError::Index(error)) | Self::Index(error) => error.into(),
            Self::Fold(place, FoldError::Record(error)) => LogError::Damaged {
                path: segment::path(log, place.at.segment),
                offset: place.at.offset,
                problem: error.to_string(),
            }
            .into(),
        }
    }
}
