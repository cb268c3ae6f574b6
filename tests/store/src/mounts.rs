//! Real file systems for a test, mounted for as long as a value lives. Each case of a suite has mounts of its own, so what a test
//! that dies leaves goes with its process.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A mounted file system.
#[derive(Debug)]
pub struct Mounted {
    folder: PathBuf,
}

impl Mounted {
    /// A file system in memory of so many bytes.
    ///
    /// # Panics
    /// Where it cannot be mounted.
    #[must_use]
    pub fn tmpfs(folder: &Path, bytes: u64) -> Self {
        mount(&["-t", "tmpfs", "-o", &format!("size={bytes},mode=0755"), "pintle-faults"], folder)
            .expect("tmpfs is mounted");
        Self { folder: folder.to_owned() }
    }

    /// The ext4 in a file, over a loop device that goes with the mount.
    ///
    /// # Errors
    /// What `mount` says.
    pub fn ext4(image: &Path, folder: &Path) -> Result<Self, String> {
        mount(&["-t", "ext4", "-o", "loop", &image.display().to_string()], folder)?;
        Ok(Self { folder: folder.to_owned() })
    }

    /// Mounts it again with other options: `ro`, `abort`.
    ///
    /// # Errors
    /// What `mount` says.
    pub fn remount(&self, options: &str) -> Result<(), String> {
        mount(&["-o", &format!("remount,{options}")], &self.folder)
    }

    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        unmount(&self.folder);
    }
}

fn mount(arguments: &[&str], folder: &Path) -> Result<(), String> {
    let output = Command::new("mount").args(arguments).arg(folder).output().map_err(|error| error.to_string())?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

/// Unmounts, now or when the last file in it is closed.
pub(crate) fn unmount(folder: &Path) {
    for arguments in [&[][..], &["--lazy"]] {
        let status = Command::new("umount").args(arguments).arg(folder).stderr(Stdio::null()).status();
        if status.is_ok_and(|status| status.success()) {
            return;
        }
    }
    println!("{} stays mounted until this process ends", folder.display());
}

/// Makes a file with an empty ext4 of so many bytes.
///
/// # Panics
/// Where that fails.
pub fn make_ext4(image: &Path, bytes: u64) {
    let file = std::fs::File::create(image).expect("a file for the file system");
    file.set_len(bytes).expect("a length for the file system");
    let mut make = Command::new("mkfs.ext4");
    // Nothing is made later in the background, and root has no more room than others.
    make.args(["-q", "-F", "-b", "4096", "-m", "0", "-J", "size=4", "-E", "lazy_itable_init=0,lazy_journal_init=0"]);
    let output = make.arg(image).output().expect("mkfs.ext4 starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
