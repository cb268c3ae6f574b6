//! How a store is opened, and what opening it found.

use std::path::PathBuf;

use serde::Serialize;

use crate::index::IndexError;
use crate::log::LogError;
use crate::log::recover::TornTail;

/// How a store is opened. The defaults are right everywhere but in tests.
#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// What this process does, for whoever finds the store in use: `pintle up release.yml`.
    pub what: String,
    /// A segment of the log is closed before it grows beyond so many bytes.
    pub segment_bytes: u32,
    /// The log takes its place on the disk in pieces of so many bytes.
    pub allocate_bytes: u32,
    /// Kept in reserve on the disk, so that changes that run can end when it is full.
    pub ballast_bytes: u64,
    /// With fewer bytes free no new change is opened.
    pub watermark_bytes: u64,
    /// Logs with fewer bytes of records get along without an index on the disk: reading them is quicker than opening one.
    pub index_from_bytes: usize,
    pub acknowledge: Acknowledge,
}

/// When records are acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Acknowledge {
    /// When they are durable.
    #[default]
    WhenDurable,
    /// Before they are written, one group late: loses records at every crash. The negative control of crash tests, which must
    /// find the loss.
    BeforeWrite,
    /// When they are written and not yet synced: loses records when the power goes. The negative control of power cuts.
    WithoutSync,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            what: "pintle".to_owned(),
            segment_bytes: 64 << 20,
            allocate_bytes: 4 << 20,
            ballast_bytes: 8 << 20,
            watermark_bytes: 64 << 20,
            index_from_bytes: 1 << 20,
            acknowledge: Acknowledge::WhenDurable,
        }
    }
}

/// What was found and done when a store was opened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OpenReport {
    pub index: IndexState,
    /// Records that were taken from the log, since the index had them not.
    pub replayed: u64,
    /// What the end of the last process left half written: cut off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub torn: Option<TornTail>,
    /// Whether the log has records and nothing says how far it was acknowledged: nobody can say whether its end is missing.
    pub acked_missing: bool,
    /// Whether the ballast was given up because the disk is full.
    pub ballast_released: bool,
}

/// Where the views of a store come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "is", rename_all = "camelCase")]
pub enum IndexState {
    /// The log is short: they are kept in memory.
    InMemory,
    /// The index was there and fits the log.
    Ready,
    /// There was none and the log is long enough for one.
    Made,
    /// It could not be trusted: it was moved away, and the views were made again from the log.
    Remade { why: String, moved_to: PathBuf },
}

/// Why a store cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("the store {} is in use by process {pid} ({what}): wait until it has ended, or end it", dir.display())]
    InUse {
        dir: PathBuf,
        pid: u32,
        what: String,
        /// Milliseconds since 1970.
        since: u64,
    },
    #[error(
        "the store {} cannot be written: look at the permissions of the folder and whether its file system is mounted read-only",
        dir.display()
    )]
    NotWritable {
        dir: PathBuf,
        #[source]
        source: LogError,
    },
    #[error("there is no store in {}", dir.display())]
    Missing { dir: PathBuf },
    #[error(transparent)]
    Log(#[from] LogError),
    #[error("the index of the store cannot be made; its records are safe in the log: see whether the disk is full")]
    Index(#[from] IndexError),
}

impl OpenError {
    /// What helps, where the error does not say it itself.
    #[must_use]
    pub fn cure(&self) -> Option<&'static str> {
        match self {
            Self::Log(error) => error.cure(),
            _ => None,
        }
    }
}
