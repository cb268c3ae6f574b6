//! Finding the end of a log: walk from a known group to where the groups stop, and tell a torn tail, which a crash leaves, from
//! damage, which loses records.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::LogError;
use super::position::Position;
use super::scan::{Bad, Group, Scan, Step};
use super::segment::{self, StoreId};

/// A group that the index has taken in, and where it lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Known {
    pub at: Position,
    pub number: u64,
}

/// Where a log ends.
#[derive(Debug)]
pub(crate) struct LogEnd {
    pub store: StoreId,
    pub end: Position,
    pub next_group: u64,
    pub torn: Option<TornTail>,
}

/// The part of a group that was being written when the machine or the process died. No record of it was acknowledged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TornTail {
    pub segment: PathBuf,
    /// The log ends here now.
    pub offset: u32,
    /// Bytes that were cut off.
    pub bytes: u32,
    pub problem: &'static str,
}

/// Walks through the log, from the group after `known` or from its start, and shows `visit` each group. None where the log has
/// no segment, or `known` is not one of its groups.
///
/// # Errors
/// Where a segment cannot be read or is damaged, or `visit` fails.
pub(crate) fn walk<E: From<LogError>>(
    dir: &Path,
    known: Option<Known>,
    acked: Option<Position>,
    mut visit: impl FnMut(&Group<'_>) -> Result<(), E>,
) -> Result<Option<LogEnd>, E> {
    let segments = segment::list(dir)?;
    let (Some(&first), Some(&last)) = (segments.first(), segments.last()) else {
        return gone(dir, acked).map_or(Ok(None), |error| Err(error.into()));
    };
    let start = known.map_or(first, |known| known.at.segment);
    if !(first..=last).contains(&start) {
        return Ok(None);
    }
    let mut scan = Scan::open(dir, start)?;
    if let Some(known) = known {
        scan.seek(known.at.offset, known.number);
        if !matches!(scan.step()?, Step::Group(_)) {
            return Ok(None);
        }
    }
    let torn = go_on(dir, &mut scan, Limits { at_least: acked, at_most: None }, &mut visit)?;
    let torn = torn.map(|bad| TornTail {
        segment: scan.path.clone(),
        offset: bad.start,
        bytes: bad.bytes,
        problem: bad.problem,
    });
    Ok(Some(LogEnd { store: scan.header.store, end: scan.position(), next_group: scan.next_number(), torn }))
}

/// How far a walk goes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// A log that ends before has lost something.
    pub at_least: Option<Position>,
    /// What lies behind may be half written: another process is at it.
    pub at_most: Option<Position>,
}

/// Walks on from where `scan` stands, to the end of the log or its limit. Returns what is torn there.
///
/// # Errors
/// Where a segment cannot be read or is damaged, or `visit` fails.
pub(crate) fn go_on<E: From<LogError>>(
    dir: &Path,
    scan: &mut Scan,
    limits: Limits,
    visit: &mut impl FnMut(&Group<'_>) -> Result<(), E>,
) -> Result<Option<Bad>, E> {
    loop {
        if limits.at_most.is_some_and(|limit| scan.position() >= limit) {
            return Ok(None);
        }
        let bad = match scan.step()? {
            Step::Group(group) => {
                visit(&group)?;
                continue;
            }
            Step::End => None,
            Step::Bad(bad) => Some(bad),
        };
        let is_last = !segment::path(dir, scan.header.number + 1).exists();
        let too_short = limits.at_least.filter(|least| is_last && scan.position() < *least);
        match (&bad, too_short) {
            (Some(bad), too_short) if !is_last || bad.later.is_some() || too_short.is_some() => {
                return Err(damaged(&scan.path, bad).into());
            }
            (None, Some(acked)) => return Err(cut_short(scan, acked).into()),
            _ if is_last => return Ok(bad),
            _ => {}
        }
        let next = Scan::open(dir, scan.header.number + 1)?;
        check_link(scan, &next)?;
        *scan = next;
    }
}

/// Whether `next` is the segment that was started when the one of `scan` ended where its walk did.
///
/// # Errors
/// Where it is not.
pub(crate) fn check_link(scan: &Scan, next: &Scan) -> Result<(), LogError> {
    let problem = if next.header.store != scan.header.store {
        "the segment is of another store than the one before it"
    } else if next.header.previous_end != scan.position().offset || next.header.first_group != scan.next_number() {
        "the segment does not start where the one before it ends: records are missing between them"
    } else {
        return Ok(());
    };
    Err(LogError::Damaged { path: next.path.clone(), offset: 0, problem: problem.to_owned() })
}

pub(crate) fn damaged(path: &Path, bad: &Bad) -> LogError {
    let behind = bad.later.map_or_else(String::new, |(later, _)| format!("; sound records follow from byte {later}"));
    LogError::Damaged { path: path.to_owned(), offset: bad.offset, problem: format!("{}{behind}", bad.problem) }
}

pub(crate) fn cut_short(scan: &Scan, acked: Position) -> LogError {
    LogError::Damaged {
        path: scan.path.clone(),
        offset: scan.position().offset,
        problem: format!(
            "the log ends here, but records up to {acked} were acknowledged; where it was put back from a copy on purpose, \
             remove the file `acked` beside it"
        ),
    }
}

/// The error of a log without segments, where records of it were acknowledged.
pub(crate) fn gone(dir: &Path, acked: Option<Position>) -> Option<LogError> {
    acked.filter(|acked| acked.offset > segment::SEGMENT_HEADER).map(|acked| missing(dir, acked))
}

fn missing(dir: &Path, acked: Position) -> LogError {
    LogError::Damaged {
        path: dir.to_owned(),
        offset: 0,
        problem: format!("the log has no segment, but records up to {acked} were acknowledged"),
    }
}
