//! Who is at the database: any number of workers, or one migration. Both hold `workers.lock`, a lock that the kernel
//! gives back when its holder dies, however it dies; so a killed worker never blocks a migration.

use std::fs::{File, TryLockError};

use crate::{
    data_dir::{DataDir, LockFile},
    error::ShopError,
};

/// Keeps the lock while it lives.
pub struct Presence {
    _lock: File,
}

impl Presence {
    /// Connects a worker.
    ///
    /// # Errors
    /// `MigrationRuns` while a migration is at the database; `File`.
    pub fn worker(dir: &DataDir) -> Result<Self, ShopError> {
        let LockFile { file, path } = dir.workers_lock()?;
        match file.try_lock_shared() {
            Ok(()) => Ok(Self { _lock: file }),
            Err(TryLockError::WouldBlock) => Err(ShopError::MigrationRuns { place: path }),
            Err(TryLockError::Error(error)) => Err(ShopError::file("lock", path)(error)),
        }
    }

    /// Keeps all workers out; does not wait for those that are connected.
    ///
    /// # Errors
    /// `WorkerConnected`, or `MigrationRuns` where another migration is at the database; `File`.
    pub fn migration(dir: &DataDir) -> Result<Self, ShopError> {
        let LockFile { file, path } = dir.workers_lock()?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _lock: file }),
            // Only workers share the lock: where a share is to be had, it is they who hold it.
            Err(TryLockError::WouldBlock) => match Self::worker(dir) {
                Ok(_) => Err(ShopError::WorkerConnected { place: path }),
                Err(refusal) => Err(refusal),
            },
            Err(TryLockError::Error(error)) => Err(ShopError::file("lock", path)(error)),
        }
    }
}
