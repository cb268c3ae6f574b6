//! Who holds the lock of an instance. A pid in a file, however exact, may be of anybody by now, or in a folder that somebody copied;
//! a lock is held by the one shim, and the kernel says by whom.

use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Whether the process holds the lock of that file. It is ours to look into, or it is no shim of ours.
pub(super) fn holds(pid: i32, lock: &Path) -> io::Result<bool> {
    let wanted = match fs::metadata(lock) {
        Ok(metadata) => identity(&metadata),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    let process = PathBuf::from(format!("/proc/{pid}"));
    let descriptors = match fs::read_dir(process.join("fd")) {
        Ok(descriptors) => descriptors,
        // Where this user may not look: as good as one can tell.
        Err(error) if error.kind() == ErrorKind::PermissionDenied => return Ok(is_shim_of(pid, lock.parent())),
        Err(_) => return Ok(false),
    };
    // Descriptors come and go while the process runs.
    let is_lock = |name: &std::ffi::OsStr| {
        let file = fs::metadata(process.join("fd").join(name));
        let locks = || fs::read_to_string(process.join("fdinfo").join(name)).unwrap_or_default();
        file.is_ok_and(|file| identity(&file) == wanted) && locks().lines().any(is_exclusive)
    };
    Ok(descriptors.flatten().any(|entry| is_lock(&entry.file_name())))
}

/// The folder that a shim was started with; none where the process is no shim.
pub(super) fn folder_of_shim(pid: i32) -> Option<PathBuf> {
    let line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let mut words = line.split(|&byte| byte == 0).map(|word| String::from_utf8_lossy(word).into_owned());
    let folder = words.nth(1).filter(|word| word == "shim").and_then(|_| words.next())?;
    // `shim --exec FOLDER PID` is on its way to be the process.
    (folder != "--exec").then(|| folder.into())
}

fn is_shim_of(pid: i32, folder: Option<&Path>) -> bool {
    folder_of_shim(pid).as_deref().is_some_and(|found| Some(found) == folder)
}

fn identity(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

/// A line of `fdinfo`: `lock:\t1: FLOCK  ADVISORY  WRITE 7 00:1f:42 0 EOF`.
fn is_exclusive(line: &str) -> bool {
    line.starts_with("lock:") && line.contains("FLOCK") && line.contains("WRITE")
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    #[test]
    fn a_lock_is_held_by_whoever_has_it_and_by_nobody_who_only_has_the_file_open() {
        let folder = tempfile::tempdir().unwrap();
        let me = std::process::id().cast_signed();
        let (path, copy) = (folder.path().join("lock"), folder.path().join("copy"));
        assert!(!holds(me, &path).unwrap());
        let lock = File::create(&path).unwrap();
        fs::copy(&path, &copy).unwrap();
        assert!(!holds(me, &path).unwrap());
        lock.lock_shared().unwrap();
        assert!(!holds(me, &path).unwrap());
        lock.lock().unwrap();
        assert!(holds(me, &path).unwrap());
        assert!(!holds(me, &copy).unwrap());
        assert!(!holds(1, &path).unwrap());
        fs::remove_file(&path).unwrap();
        assert!(!holds(me, &path).unwrap());
    }
}
