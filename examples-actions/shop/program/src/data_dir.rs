//! The data directory: everything that the shop's processes share lies in it, under the names given here.

use std::{
    fs::{self, File, OpenOptions},
    path::{Path, PathBuf},
};

use crate::error::ShopError;

/// A path, and the names of what lies under it.
pub struct DataDir(PathBuf);

impl DataDir {
    /// A directory that is only looked at: it may be absent.
    pub fn at(path: &Path) -> Self {
        Self(path.to_owned())
    }

    /// Makes the directory when it is not there.
    ///
    /// # Errors
    /// `File` when it cannot be made.
    pub fn make(path: &Path) -> Result<Self, ShopError> {
        fs::create_dir_all(path).map_err(ShopError::file("make the data directory", path))?;
        Ok(Self::at(path))
    }

    pub fn database(&self) -> PathBuf {
        self.0.join("shop.db")
    }

    /// What is locked for the moment in which a process opens the database.
    pub fn open_lock(&self) -> Result<LockFile, ShopError> {
        LockFile::open(self.0.join("open.lock"))
    }

    /// What every worker locks shared, and a migration exclusively.
    pub fn workers_lock(&self) -> Result<LockFile, ShopError> {
        LockFile::open(self.0.join("workers.lock"))
    }

    /// Where a worker says that it is ready, unless it is told another place.
    pub fn worker_ready(&self) -> PathBuf {
        self.0.join("worker.ready")
    }
}

/// A file that exists to be locked. Its lock ends with the `file`, or with the process.
pub struct LockFile {
    pub file: File,
    pub path: PathBuf,
}

impl LockFile {
    fn open(path: PathBuf) -> Result<Self, ShopError> {
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(ShopError::file("open", &path))?;
        Ok(Self { file, path })
    }
}
