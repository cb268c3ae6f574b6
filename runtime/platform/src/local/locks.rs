//! One at a time for each workload and Job, however many calls of this Pintle act on it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

/// Locks by folder. Those that nobody holds or waits for are forgotten.
#[derive(Debug, Default)]
pub(super) struct Locks {
    locks: Mutex<HashMap<PathBuf, Weak<AsyncMutex<()>>>>,
}

impl Locks {
    pub(super) async fn hold(&self, folder: &Path) -> OwnedMutexGuard<()> {
        self.lock(folder).lock_owned().await
    }

    /// None where another has it.
    pub(super) fn try_hold(&self, folder: &Path) -> Option<OwnedMutexGuard<()>> {
        self.lock(folder).try_lock_owned().ok()
    }

    fn lock(&self, folder: &Path) -> Arc<AsyncMutex<()>> {
        let mut locks = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
        locks.retain(|_, lock| lock.strong_count() > 0);
        if let Some(lock) = locks.get(folder).and_then(Weak::upgrade) {
            return lock;
        }
        let lock = Arc::default();
        locks.insert(folder.to_owned(), Arc::downgrade(&lock));
        lock
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_folder_is_held_by_one_and_forgotten_afterwards() {
        let locks = Locks::default();
        let (a, b) = (Path::new("a"), Path::new("b"));
        let held = locks.hold(a).await;
        assert!(locks.try_hold(a).is_none());
        assert!(locks.try_hold(b).is_some());
        drop(held);
        drop(locks.hold(b).await);
        assert_eq!(locks.locks.lock().unwrap().len(), 1);
    }
}
