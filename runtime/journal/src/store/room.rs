//! Room on the disk: on a full one even opening an index fails, so admission stops while there is still some left, and a file
//! is kept only to be given up.

use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::FallocateFlags;

use crate::journal::JournalError;

/// Free space of the file system of a store.
#[derive(Debug)]
pub(crate) struct Room {
    dir: PathBuf,
    watermark: u64,
}

impl Room {
    pub(crate) fn new(dir: &Path, watermark: u64) -> Self {
        Self { dir: dir.to_owned(), watermark }
    }

    /// Whether a new change may open.
    ///
    /// # Errors
    /// [`JournalError::NoRoom`] where less than the watermark is free.
    pub(crate) fn check(&self) -> Result<(), JournalError> {
        match free(&self.dir) {
            Some(free) if free < self.watermark => {
                Err(JournalError::NoRoom { dir: self.dir.display().to_string(), free, wanted: self.watermark })
            }
            // A file system that does not tell is taken to have room: writes will say so if it has none.
            _ => Ok(()),
        }
    }

    /// Gives the ballast up where the disk is full, and makes it again where there is room. Says whether it was given up.
    pub(crate) fn trim(&self, ballast: &Path, bytes: u64) -> bool {
        let Some(free) = free(&self.dir) else { return false };
        if free < bytes && ballast.exists() {
            tracing::warn!(free, dir = %self.dir.display(), "the disk is full; the ballast of the store is given up");
            return std::fs::remove_file(ballast).is_ok();
        }
        if bytes > 0 && free > self.watermark.saturating_add(bytes) && !ballast.exists() {
            make(ballast, bytes);
        }
        false
    }
}

/// Bytes that may still be written to the file system of `dir`; none where it does not tell.
fn free(dir: &Path) -> Option<u64> {
    let stat = rustix::fs::statvfs(dir).ok()?;
    Some(stat.f_bavail.saturating_mul(stat.f_frsize))
}

fn make(ballast: &Path, bytes: u64) {
    let file = File::options().write(true).create(true).truncate(false).mode(0o600).open(ballast);
    let made = file.and_then(|file| Ok(rustix::fs::fallocate(file, FallocateFlags::empty(), 0, bytes)?));
    if let Err(error) = made {
        // A store without a reserve still works.
        tracing::debug!(%error, "no ballast");
        drop(std::fs::remove_file(ballast));
    }
}
