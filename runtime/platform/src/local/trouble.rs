//! What an error of this machine means for whoever waits: one that passes by itself is asked again, one that does not needs a person.

use std::io::{self, ErrorKind};
use std::path::Path;

use rustix::io::Errno;

use crate::platform::PlatformError;

/// The error for what went wrong in a folder.
pub(super) fn trouble(folder: &Path, error: &io::Error) -> PlatformError {
    let shown = folder.display();
    if is_full(error) {
        let free = free(folder).map_or_else(String::new, |free| format!(", {free} bytes are free"));
        return PlatformError::Unavailable(format!(
            "{shown}: {error}{free}: free some space, and it goes on by itself"
        ));
    }
    match cure(folder, error) {
        Some(cure) => PlatformError::Unknown(format!("{shown}: {error}: {cure}")),
        None => PlatformError::Unavailable(format!("{shown}: {error}")),
    }
}

pub(super) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
}

/// What a person has to do; none where it may pass by itself.
fn cure(folder: &Path, error: &io::Error) -> Option<String> {
    let words = match (error.kind(), Errno::from_io_error(error)) {
        (ErrorKind::NotADirectory, _) => {
            let in_place = folder.ancestors().find(|path| path.exists() && !path.is_dir()).unwrap_or(folder);
            return Some(format!("{} has to be a folder: move what is there away", in_place.display()));
        }
        (ErrorKind::PermissionDenied, _) => "give the user who runs Pintle access to it",
        (ErrorKind::ReadOnlyFilesystem, _) => "its file system is read-only: mount it writable",
        (ErrorKind::InvalidData, _) => "the file is damaged: repair it, or remove it if what it tells of is over",
        (_, Some(Errno::LOOP | Errno::NAMETOOLONG)) => "choose another folder for the state",
        (ErrorKind::IsADirectory | ErrorKind::DirectoryNotEmpty, _) => {
            "a folder is where a file has to be: move it away"
        }
        (_, Some(Errno::IO | Errno::NXIO | Errno::NODEV)) => "look at the disk and at the log of the kernel",
        (_, Some(Errno::NOSYS | Errno::OPNOTSUPP | Errno::NOEXEC)) => {
            "choose another file system or folder for the state"
        }
        _ => return None,
    };
    Some(words.to_owned())
}

/// Bytes that may still be written to the file system of a folder, or of the one above it that is there.
fn free(folder: &Path) -> Option<u64> {
    let there = folder.ancestors().find(|path| path.exists())?;
    let stat = rustix::fs::statvfs(there).ok()?;
    Some(stat.f_bavail.saturating_mul(stat.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_passes_is_asked_again_and_what_does_not_says_its_cure() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("run");
        std::fs::write(&file, "").unwrap();
        let of = |errno: Errno| trouble(&file.join("uid"), &io::Error::from(errno));
        for errno in [Errno::AGAIN, Errno::MFILE, Errno::NOMEM, Errno::BUSY, Errno::NOENT, Errno::TXTBSY] {
            assert!(matches!(of(errno), PlatformError::Unavailable(_)), "{errno}");
        }
        let PlatformError::Unavailable(full) = of(Errno::NOSPC) else { panic!("a full disk passes") };
        assert!(full.contains(" bytes are free: free some space"), "{full}");
        for errno in [Errno::ACCESS, Errno::PERM, Errno::ROFS, Errno::IO, Errno::LOOP, Errno::ISDIR, Errno::NAMETOOLONG]
        {
            assert!(matches!(of(errno), PlatformError::Unknown(_)), "{errno}");
        }
        let PlatformError::Unknown(cure) = of(Errno::NOTDIR) else { panic!("a person has to move it") };
        assert!(cure.ends_with(&format!("{} has to be a folder: move what is there away", file.display())), "{cure}");
    }
}
