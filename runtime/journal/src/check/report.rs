//! What a check of a store found.

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;

use crate::store::Holder;

/// What a check of a store found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckReport {
    pub dir: PathBuf,
    /// Who writes the store now: then only what is acknowledged was checked, and the index was not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder: Option<Holder>,
    pub segments: u64,
    pub groups: u64,
    pub records: u64,
    pub changes: u64,
    /// Bytes of the log, without what it holds ready.
    pub bytes: u64,
    pub index: IndexCheck,
    pub findings: Vec<Finding>,
}

/// What became of the check of the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum IndexCheck {
    /// There is none: the log is short, or the next start makes it.
    None,
    /// Each of its entries was compared with the log.
    Compared,
    /// The findings say why not.
    NotCompared,
}

/// One thing that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    pub severity: Severity,
    /// The segment or other file.
    pub file: PathBuf,
    /// Byte in the file, where it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<u32>,
    pub what: String,
    pub cure: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Severity {
    /// Nothing is lost, and the next start puts it right by itself.
    Note,
    /// Nothing is lost, but somebody has to do something before Pintle can write as it should.
    Warning,
    /// Records cannot be read or do not fit together, or reads of the index are wrong.
    Damage,
}

impl CheckReport {
    /// Whether everything that was acknowledged is there.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.findings.iter().all(|finding| finding.severity != Severity::Damage)
    }
}

impl fmt::Display for Finding {
    /// Two lines: what is wrong where, and the cure.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(offset) = self.offset {
            write!(f, ", byte {offset}")?;
        }
        write!(f, ": {}\n  cure: {}", self.what, self.cure)
    }
}
