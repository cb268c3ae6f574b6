//! One process at a time writes a store. The lock is the kernel's, so it ends with the process; what is in the file is for
//! people.

use std::fs::{File, TryLockError};
use std::io::Read;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::options::OpenError;
use crate::clock::{Clock, SystemClock};
use crate::log::{LogError, io_error};

/// How often a lock is tried again that nobody alive seems to hold.
pub(crate) const PATIENCE: u32 = 100;

/// Waits for a process that is being started just now: until it runs its program it has copies of all files of the one that
/// starts it, and their locks with them.
#[expect(clippy::disallowed_methods, reason = "the kernel tells nobody when a copy of a locked file is closed")]
pub(crate) fn wait_for_copies() {
    std::thread::sleep(Duration::from_millis(10));
}

/// Who holds a store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    pub pid: u32,
    /// The command that it runs.
    pub what: String,
    /// Milliseconds since 1970.
    pub since: u64,
}

/// The file that is locked.
pub(crate) fn file(store: &Path) -> PathBuf {
    store.join("lock")
}

/// The lock, held until it is dropped.
#[derive(Debug)]
pub(super) struct StoreLock(File);

impl Drop for StoreLock {
    fn drop(&mut self) {
        // Closing alone would not do: a process that is being started just now has a copy of the file until it runs its program.
        if let Err(error) = self.0.unlock() {
            tracing::debug!(%error, "the lock ends with the process");
        }
    }
}

/// Takes the lock.
///
/// # Errors
/// [`OpenError::InUse`] where another process has it.
pub(super) fn take(store: &Path, what: &str) -> Result<StoreLock, OpenError> {
    let path = file(store);
    let options = File::options().read(true).write(true).create(true).truncate(false).mode(0o600).open(&path);
    let file = options.map_err(io_error("open", &path))?;
    let mut patience = PATIENCE;
    loop {
        match file.try_lock() {
            Ok(()) => break,
            Err(TryLockError::WouldBlock) => {
                let Holder { pid, what, since } = read(&path);
                // Of a process that was killed while it started another one: that one gives the lock free in a moment.
                if patience == 0 || pid == 0 || Path::new("/proc").join(pid.to_string()).exists() {
                    return Err(OpenError::InUse { dir: store.to_owned(), pid, what, since });
                }
                patience -= 1;
                wait_for_copies();
            }
            Err(TryLockError::Error(error)) => return Err(io_error("lock", &path)(error).into()),
        }
    }
    let holder = Holder { pid: std::process::id(), what: what.to_owned(), since: SystemClock::new().now().wall };
    let text = serde_json::to_vec(&holder).expect("a holder has string keys only");
    let written = file.write_all_at(&text, 0).and_then(|()| file.set_len(text.len() as u64));
    written.map_err(io_error("write", &path))?;
    Ok(StoreLock(file))
}

/// Who holds the store now; none where nobody does.
///
/// # Errors
/// Where the lock file is there and cannot be opened.
pub(crate) fn holder(store: &Path) -> Result<Option<Holder>, LogError> {
    let path = file(store);
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(io_error("open", &path)(error)),
    };
    // Held for a moment only, and shared, so that it is in nobody's way but that of a store which opens just now.
    match file.try_lock_shared() {
        Ok(()) => Ok(None),
        Err(TryLockError::WouldBlock) => Ok(Some(read(&path))),
        Err(TryLockError::Error(error)) => Err(io_error("lock", &path)(error)),
    }
}

fn read(path: &Path) -> Holder {
    let mut text = String::new();
    let read = File::open(path).and_then(|mut file| file.read_to_string(&mut text));
    let holder = read.ok().and_then(|_| serde_json::from_str(&text).ok());
    // It took the lock this very moment and has not said yet who it is.
    holder.unwrap_or_else(|| Holder { pid: 0, what: "which is just starting".to_owned(), since: 0 })
}
