//! `pintle check-store`: reads everything a store has, changes nothing, and says of each thing that is wrong where it is and what
//! helps.

mod index;
mod log;
mod place;
mod report;

use std::path::Path;

pub use report::{CheckReport, Finding, IndexCheck, Severity};

use crate::log::position::Position;
use crate::log::recover::Limits;
use crate::log::{LogError, acked};
use crate::store::OpenError;
use crate::store::lock;
use crate::store::reader::must_be_there;

/// Checks the store in `dir`: each segment, group, checksum and record, whether the records of each change fit together, and the
/// index against the log. Blocks, and keeps the histories of all changes in memory.
///
/// # Errors
/// Where there is no store, or files cannot be read at all; what is wrong with their content is in the report.
pub fn check_store(dir: &Path) -> Result<CheckReport, OpenError> {
    let lost = match must_be_there(dir) {
        Err(OpenError::Log(error)) => Some(error),
        there => there.map(|()| None)?,
    };
    let holder = lock::holder(dir)?;
    let mut report = CheckReport {
        dir: dir.to_owned(),
        holder,
        segments: 0,
        groups: 0,
        records: 0,
        changes: 0,
        bytes: 0,
        index: IndexCheck::None,
        findings: Vec::new(),
    };
    if let Some(lost) = lost {
        report.find_error(lost)?;
        return Ok(report);
    }
    let limits = limits(dir, &mut report)?;
    let views = log::check(dir, limits, &mut report)?;
    if limits.at_least.is_none() && report.groups > 0 && report.is_sound() {
        let what = "the file is missing or empty, as after a power cut: whether records at the end of the log are missing cannot \
                    be told; those that are there are whole";
        let cure = "none needed: the next start writes it";
        report.find(Severity::Note, &dir.join("acked"), None, what, cure);
    }
    index::check(dir, &views, &mut report)?;
    place::check(dir, &mut report);
    Ok(report)
}

/// How far the log is checked.
fn limits(dir: &Path, report: &mut CheckReport) -> Result<Limits, LogError> {
    let at_least = match acked::read(&dir.join("acked")) {
        Ok(acked) => acked,
        Err(error) => {
            report.find_error(error)?;
            None
        }
    };
    let at_most = report.holder.is_some().then(|| at_least.unwrap_or(Position { segment: 0, offset: 0 }));
    Ok(Limits { at_least, at_most })
}

impl CheckReport {
    fn find(&mut self, severity: Severity, file: &Path, offset: Option<u32>, what: impl Into<String>, cure: &str) {
        let (file, what, cure) = (file.to_owned(), what.into(), cure.to_owned());
        self.findings.push(Finding { severity, file, offset, what, cure });
    }

    /// Takes in an error that says where it is and what helps. What has no cure is no finding, and given back.
    fn find_error(&mut self, error: LogError) -> Result<(), LogError> {
        let (what, cure) = (error.problem(), error.cure());
        match (&error, cure) {
            (LogError::Damaged { path, offset, .. } | LogError::Record { path, offset, .. }, Some(cure)) => {
                self.find(Severity::Damage, path, Some(*offset), what, cure);
            }
            (LogError::Newer { path, .. }, Some(cure)) => self.find(Severity::Damage, path, None, what, cure),
            (LogError::Io { action, path, .. }, Some(cure)) => {
                self.find(Severity::Damage, path, None, format!("cannot {action} it: {what}"), cure);
            }
            _ => return Err(error),
        }
        Ok(())
    }
}
