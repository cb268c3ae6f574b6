//! Files that only this user reads, and that are whole or absent: compiled code is trusted when it is read back.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

/// Extension of a file that is being written: `NAME.PID-COUNT.unfinished`.
const UNFINISHED: &str = "unfinished";

/// What could not be done with which file.
#[derive(Debug, thiserror::Error)]
#[error("cannot {what} {}", path.display())]
pub struct FileError {
    what: &'static str,
    path: PathBuf,
    #[source]
    source: io::Error,
}

impl FileError {
    pub(crate) fn new(what: &'static str, path: &Path, source: io::Error) -> Self {
        Self { what, path: path.to_owned(), source }
    }
}

/// Makes the directory, or takes others' access to the one that is there, and removes what a writer that died left in it.
pub(crate) fn private_dir(path: &Path) -> Result<(), FileError> {
    DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(|e| FileError::new("make", path, e))?;
    std::fs::set_permissions(path, Permissions::from_mode(0o700))
        .map_err(|e| FileError::new("take others' access to", path, e))?;
    for entry in path.read_dir().map_err(|e| FileError::new("read", path, e))?.flatten() {
        if writer(&entry.path()).is_some_and(|writer| test_kill_process(writer) == Err(Errno::SRCH)) {
            // Someone else may be quicker.
            drop(std::fs::remove_file(entry.path()));
        }
    }
    Ok(())
}

/// The process that writes this file, if it is an unfinished one.
fn writer(path: &Path) -> Option<Pid> {
    if path.extension()? != UNFINISHED {
        return None;
    }
    let (_, writer) = path.file_stem()?.to_str()?.rsplit_once('.')?;
    let (pid, _) = writer.split_once('-')?;
    Pid::from_raw(pid.parse().ok()?)
}

/// Writes a file that is durable, and complete whenever it is seen under its name.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let unfinished = path.with_extension(format!("{}-{count}.{UNFINISHED}", std::process::id()));
    let written = write_and_sync(&unfinished, bytes)
        .and_then(|()| std::fs::rename(&unfinished, path))
        .and_then(|()| sync_parent(path));
    written.map_err(|error| {
        drop(std::fs::remove_file(&unfinished));
        FileError::new("write", path, error)
    })
}

fn write_and_sync(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn sync_parent(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(parent) => File::open(parent)?.sync_all(),
        None => Ok(()),
    }
}

/// The content; none where there is no such file.
pub(crate) fn read(path: &Path) -> Result<Option<Vec<u8>>, FileError> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(FileError::new("read", path, error)),
    }
}
