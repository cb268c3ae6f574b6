//! `pintle check-store`: reads everything a store has, changes nothing, and says of each thing that is wrong where it is and what
//! helps.

mod index;
mod log;
mod report;

use std::path::Path;

pub use report::{CheckReport, Finding, IndexCheck, Severity};

use crate::log::LogError;
use crate::store::OpenError;
use crate::store::lock;
use crate::store::reader::readable;

/// Checks the store in `dir`: each segment, group, checksum and record, whether the records of each change fit together, and the
/// index against the log. Blocks, and keeps the histories of all changes in memory.
///
/// # Errors
/// Where there is no store, or files cannot be read at all; what is wrong with their content is in the report.
pub fn check_store(dir: &Path) -> Result<CheckReport, OpenError> {
    if !dir.join("log").is_dir() {
        return Err(OpenError::Missing { dir: dir.to_owned() });
    }
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
    let views = log::check(dir, readable(dir)?, &mut report)?;
    index::check(dir, &views, &mut report)?;
    Ok(report)
}

impl CheckReport {
    fn find(&mut self, severity: Severity, file: &Path, offset: Option<u32>, what: impl Into<String>, cure: &str) {
        let (file, what, cure) = (file.to_owned(), what.into(), cure.to_owned());
        self.findings.push(Finding { severity, file, offset, what, cure });
    }

    /// Takes in an error that says where it is. What is no finding but a file that cannot be read is given back.
    fn find_error(&mut self, error: LogError) -> Result<(), LogError> {
        let (what, cure) = (error.problem(), error.cure());
        match (&error, cure) {
            (LogError::Damaged { path, offset, .. } | LogError::Record { path, offset, .. }, Some(cure)) => {
                self.find(Severity::Damage, path, Some(*offset), what, cure);
            }
            (LogError::Newer { path, .. }, Some(cure)) => self.find(Severity::Damage, path, None, what, cure),
            _ => return Err(error),
        }
        Ok(())
    }
}
