//! Room on the disk: on a full one even opening an index fails, so admission stops while there is still some left, and a file
//! is kept only to be given up.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{AtFlags, FallocateFlags, Mode, OFlags, StatVfs};

use crate::journal::JournalError;

/// Name of the file that is kept in reserve.
pub(super) const BALLAST: &str = "ballast";

/// Free space of the file system of a store, and the reserve in it.
#[derive(Debug)]
pub(crate) struct Room {
    dir: PathBuf,
    /// The same, open, so that each look is short; none where it cannot be opened.
    folder: Option<OwnedFd>,
    watermark: u64,
    /// In `dir`.
    ballast: PathBuf,
    /// 0: there is none.
    ballast_bytes: u64,
    /// It could not be made, so that is not tried again and again.
    no_ballast: AtomicBool,
}

impl Room {
    pub(crate) fn new(dir: &Path, watermark: u64, ballast: &Path, ballast_bytes: u64) -> Self {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::open(dir, flags, Mode::empty()).ok();
        let (dir, ballast, no_ballast) = (dir.to_owned(), ballast.to_owned(), AtomicBool::new(false));
        Self { dir, folder, watermark, ballast, ballast_bytes, no_ballast }
    }

    /// Whether a new change may open. Makes a ballast again that was given up, where there is room for both.
    ///
    /// # Errors
    /// [`JournalError::NoRoom`] where less than the watermark is free.
    pub(crate) fn check(&self) -> Result<(), JournalError> {
        // A file system that does not tell is taken to have room: writes will say so if it has none.
        let Some(free) = self.free() else { return Ok(()) };
        if free < self.watermark {
            return Err(JournalError::NoRoom { dir: self.dir.display().to_string(), free, wanted: self.watermark });
        }
        self.make_ballast(free);
        Ok(())
    }

    /// Gives the ballast up where the disk is full, and makes it where there is room. Says whether it was given up.
    pub(crate) fn trim(&self) -> bool {
        let Some(free) = self.free() else { return false };
        if free < self.ballast_bytes && self.has_ballast() {
            tracing::warn!(free, dir = %self.dir.display(), "the disk is full; the ballast of the store is given up");
            return std::fs::remove_file(&self.ballast).is_ok();
        }
        self.make_ballast(free);
        false
    }

    fn make_ballast(&self, free: u64) {
        let is_wanted = self.ballast_bytes > 0 && free > self.watermark.saturating_add(self.ballast_bytes);
        if is_wanted && !self.no_ballast.load(Ordering::Relaxed) && !self.has_ballast() {
            let made = make(&self.ballast, self.ballast_bytes);
            self.no_ballast.store(!made, Ordering::Relaxed);
        }
    }

    fn free(&self) -> Option<u64> {
        rustix::fs::fstatvfs(self.folder.as_ref()?).ok().map(bytes)
    }

    fn has_ballast(&self) -> bool {
        self.folder.as_ref().is_some_and(|folder| rustix::fs::statat(folder, BALLAST, AtFlags::empty()).is_ok())
    }
}

/// Gives the ballast of the store in `dir` up where less than that is free.
pub(crate) fn give_up_ballast(dir: &Path, below: u64) {
    if free(dir).is_some_and(|free| free < below) && std::fs::remove_file(dir.join(BALLAST)).is_ok() {
        tracing::warn!(dir = %dir.display(), "the disk is full; the ballast is given up so that changes that run can end");
    }
}

/// Bytes that may still be written to the file system of `dir`; none where it does not tell.
fn free(dir: &Path) -> Option<u64> {
    rustix::fs::statvfs(dir).ok().map(bytes)
}

fn bytes(StatVfs { f_bavail, f_frsize, .. }: StatVfs) -> u64 {
    f_bavail.saturating_mul(f_frsize)
}

fn make(ballast: &Path, bytes: u64) -> bool {
    let file = File::options().write(true).create(true).truncate(false).mode(0o600).open(ballast);
    let made = file.and_then(|file| Ok(rustix::fs::fallocate(file, FallocateFlags::empty(), 0, bytes)?));
    if let Err(error) = &made {
        // A store without a reserve still works.
        tracing::debug!(%error, "no ballast");
        drop(std::fs::remove_file(ballast));
    }
    made.is_ok()
}
