//! One process at a time writes a store. The lock is the kernel's, so it ends with the process; what is in the file is for
//! people.

use std::fs::{File, TryLockError};
use std::io::Read;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::options::OpenError;
use crate::clock::{Clock, SystemClock};
use crate::log::{LogError, io_error};

/// Who holds a store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    pub pid: u32,
    /// The command that it runs.
    pub what: String,
    /// Milliseconds since 1970.
    pub since: u64,
}

fn file(store: &Path) -> PathBuf {
    store.join("lock")
}

/// Takes the lock, which is held until the file is dropped.
///
/// # Errors
/// [`OpenError::InUse`] where another process has it.
pub(super) fn take(store: &Path, what: &str) -> Result<File, OpenError> {
    let path = file(store);
    let options = File::options().read(true).write(true).create(true).truncate(false).mode(0o600).open(&path);
    let file = options.map_err(io_error("open", &path))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let Holder { pid, what, since } = read(&path);
            return Err(OpenError::InUse { dir: store.to_owned(), pid, what, since });
        }
        Err(TryLockError::Error(error)) => return Err(io_error("lock", &path)(error).into()),
    }
    let holder = Holder { pid: std::process::id(), what: what.to_owned(), since: SystemClock::new().now().wall };
    let text = serde_json::to_vec(&holder).expect("a holder has string keys only");
    let written = file.write_all_at(&text, 0).and_then(|()| file.set_len(text.len() as u64));
    written.map_err(io_error("write", &path))?;
    Ok(file)
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
