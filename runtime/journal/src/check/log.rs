//! The check of the log. It goes on behind what is damaged, so that one report has everything.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use pintle_lifecycle::history::{BrokenHistory, History};
use pintle_lifecycle::ids::ChangeKey;
use pintle_lifecycle::record::Record;

use super::{CheckReport, Severity};
use crate::log::LogError;
use crate::log::frame::Frame;
use crate::log::position::Place;
use crate::log::recover::{Limits, check_link, cut_short, damaged, gone};
use crate::log::scan::{Scan, Step};
use crate::log::segment;
use crate::store::replay::lost;
use crate::views::Views;

const TORN: &str = "none needed: the next start cuts it off, and nothing in it was acknowledged";

/// Checks the log of the store in `dir` and makes the views that its index must have.
pub(super) fn check(dir: &Path, limits: Limits, report: &mut CheckReport) -> Result<Views<Place>, LogError> {
    let log = dir.join("log");
    let mut records = Records::default();
    let numbers = match segment::list(&log) {
        Ok(numbers) => numbers,
        Err(error) => {
            report.find_error(error)?;
            return Ok(records.views);
        }
    };
    if numbers.is_empty()
        && let Some(error) = gone(&log, limits.at_least).or_else(|| lost(dir))
    {
        report.find_error(error)?;
    }
    let mut before: Option<Scan> = None;
    for &number in &numbers {
        let mut scan = match Scan::open(&log, number) {
            Ok(scan) => scan,
            Err(error) => {
                report.find_error(error)?;
                before = None;
                continue;
            }
        };
        report.segments += 1;
        if let Some(Err(error)) = before.take().map(|before| check_link(&before, &scan)) {
            report.find_error(error)?;
        }
        let is_whole = segment(&mut scan, limits, Some(&number) == numbers.last(), &mut records, report)?;
        report.bytes += u64::from(scan.position().offset);
        before = is_whole.then_some(scan);
    }
    if let (Some(scan), Some(acked)) = (&before, limits.at_least)
        && scan.position() < acked
    {
        report.find_error(cut_short(scan, acked))?;
    }
    report.changes = records.histories.len() as u64;
    Ok(records.views)
}

/// Walks through a segment. Says whether it could to its end.
fn segment(
    scan: &mut Scan,
    limits: Limits,
    is_last: bool,
    records: &mut Records,
    report: &mut CheckReport,
) -> Result<bool, LogError> {
    let path = scan.path.clone();
    loop {
        if limits.at_most.is_some_and(|limit| scan.position() >= limit) {
            return Ok(true);
        }
        let here = scan.position();
        let step = match scan.step() {
            Ok(step) => step,
            Err(error) => {
                report.find_error(error)?;
                return Ok(false);
            }
        };
        let bad = match step {
            Step::End => return Ok(true),
            Step::Bad(bad) => bad,
            Step::Group(group) => {
                report.groups += 1;
                for (place, frame) in group.records() {
                    report.records += 1;
                    records.take(&path, place, frame, report)?;
                }
                continue;
            }
        };
        if is_last && bad.later.is_none() && limits.at_least.is_none_or(|least| here >= least) {
            let what = format!("the last {} bytes are torn: {}", bad.bytes, bad.problem);
            report.find(Severity::Note, &path, Some(bad.start), what, TORN);
            return Ok(true);
        }
        report.find_error(damaged(&path, &bad))?;
        match bad.later {
            Some((offset, number)) => scan.seek(offset, number),
            None => return Ok(false),
        }
    }
}

/// What the records say, taken together.
#[derive(Default)]
struct Records {
    views: Views<Place>,
    histories: HashMap<ChangeKey, History>,
    /// Changes whose records do not fit: one finding each is enough.
    broken: HashSet<ChangeKey>,
}

impl Records {
    fn take(&mut self, path: &Path, place: Place, frame: Frame<'_>, report: &mut CheckReport) -> Result<(), LogError> {
        let offset = place.at.offset;
        let record = match frame.record() {
            Ok(record) => record,
            Err(source) => return report.find_error(LogError::Record { path: path.to_owned(), offset, source }),
        };
        if u32::from(frame.format) != record.v {
            let problem = format!("the record is of format {}, its header says {}", record.v, frame.format);
            report.find_error(LogError::Damaged { path: path.to_owned(), offset, problem })?;
        }
        if self.broken.contains(&record.change) {
            return Ok(());
        }
        let fitted = self.fold(&record).map_err(|broken| broken.to_string());
        let fitted = fitted.and_then(|()| self.views.take(&record, place).map_err(|error| error.to_string()));
        if let Err(problem) = fitted {
            self.broken.insert(record.change.clone());
            report.find_error(LogError::Damaged { path: path.to_owned(), offset, problem })?;
        }
        Ok(())
    }

    fn fold(&mut self, record: &Record) -> Result<(), BrokenHistory> {
        if let Some(history) = self.histories.get_mut(&record.change) {
            return history.apply(record);
        }
        self.histories.insert(record.change.clone(), History::open(record)?);
        Ok(())
    }
}
