//! The log: the truth of a store. Append-only segments of groups of records; one write and one sync make a group durable.
//!
//! records → group → segment → acknowledged

pub(crate) mod acked;
pub(crate) mod append;
pub(crate) mod disk;
pub(crate) mod frame;
pub(crate) mod places;
pub(crate) mod position;
pub(crate) mod recover;
pub(crate) mod scan;
pub(crate) mod segment;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pintle_lifecycle::record::RecordError;
use rustix::io::Errno;

use crate::journal::JournalError;

/// Version of the segments that this build writes, and the newest that it reads.
pub(crate) const FORMAT: u32 = 1;

/// What keeps the log from being read or written.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    #[error("cannot {action} {}", path.display())]
    Io {
        action: &'static str,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// Bytes that were synced are not what was written.
    #[error("{} is damaged at byte {offset}: {problem}; run `pintle check-store`", path.display())]
    Damaged { path: PathBuf, offset: u32, problem: String },
    #[error(
        "{} is of format {found}, this Pintle reads up to {reads}: a newer Pintle wrote it; use that version or a later one",
        path.display()
    )]
    Newer { path: PathBuf, found: u64, reads: u64 },
    #[error("the record at byte {offset} of {} cannot be read", path.display())]
    Record {
        path: PathBuf,
        offset: u32,
        #[source]
        source: RecordError,
    },
}

/// Says what was done to which file when it failed.
pub(crate) fn io_error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> LogError + use<> {
    let path = path.to_owned();
    move |source| LogError::Io { action, path, source }
}

impl LogError {
    /// What is wrong, without where.
    pub(crate) fn problem(&self) -> String {
        match self {
            Self::Io { source, .. } => source.to_string(),
            Self::Damaged { problem, .. } => problem.clone(),
            Self::Newer { found, .. } => format!("a newer Pintle wrote it: format {found}"),
            Self::Record { source, .. } => match std::error::Error::source(source) {
                Some(cause) => format!("{source}: {cause}"),
                None => source.to_string(),
            },
        }
    }

    /// What helps; none where the error itself says all there is to say.
    #[must_use]
    pub fn cure(&self) -> Option<&'static str> {
        match self {
            Self::Io { source, .. } => of_disk(source),
            Self::Damaged { path, .. } if path.file_name().is_some_and(|name| name == "acked") => Some(acked::CURE),
            Self::Newer { .. } | Self::Record { source: RecordError::Newer { .. }, .. } => {
                Some("use the Pintle that wrote it, or a later one")
            }
            Self::Damaged { .. } | Self::Record { .. } => Some(
                "put the file back from a copy of the store; without one, `pintle export` still writes out every record before \
                 this byte",
            ),
        }
    }

    /// The error with its causes, in one line.
    pub(crate) fn line(&self) -> String {
        let mut line = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            line.push_str(": ");
            line.push_str(&error.to_string());
            cause = error.source();
        }
        if let (Self::Io { .. }, Some(cure)) = (self, self.cure()) {
            line.push_str("; ");
            line.push_str(cure);
        }
        line
    }
}

/// What helps where a disk or its file system fails.
fn of_disk(error: &io::Error) -> Option<&'static str> {
    match (error.kind(), Errno::from_io_error(error)) {
        (io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded, _) => {
            Some("free some space there, then start Pintle again: what was acknowledged is safe")
        }
        (io::ErrorKind::ReadOnlyFilesystem, _) => Some(
            "mount the file system for writing, then start Pintle again; after an error of the disk the kernel makes it read-only by \
             itself, and `dmesg` says so",
        ),
        (io::ErrorKind::PermissionDenied, _) => {
            Some("run Pintle as the owner of the store, or give its owner the permissions on the folder back")
        }
        (_, Some(Errno::IO)) => Some(
            "the disk fails: `dmesg` says more; save a copy of the store, and start Pintle again on a sound disk: it says whether \
             something is missing",
        ),
        _ => None,
    }
}

impl From<LogError> for JournalError {
    /// What a reader of the log gets.
    fn from(error: LogError) -> Self {
        let line = error.line();
        match error {
            LogError::Io { source, .. } => Self::Read(Arc::new(io::Error::new(source.kind(), line))),
            LogError::Damaged { .. } => Self::Damaged { problem: line },
            LogError::Newer { .. } => Self::Read(Arc::new(io::Error::other(line))),
            LogError::Record { path, offset, source } => {
                Self::Record { change: format!("{} at byte {offset}", path.display()), source: Arc::new(source) }
            }
        }
    }
}
