//! The views that reads look at: in memory while the log is short; later in the index, and before it what the index has not
//! taken in yet.

use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use pintle_lifecycle::ids::{ChangeKey, ReleaseKey};
use pintle_lifecycle::view::{ChangeView, ReleaseView};

use crate::index::fold::{IndexFold, Near};
use crate::index::open::guarded;
use crate::index::{Index, IndexError};
use crate::journal::ChangeQuery;
use crate::log::position::Place;
use crate::views::Views;

/// The views of a store. The writer adds, everybody else looks.
#[derive(Debug)]
pub(crate) struct Shelf {
    kept: RwLock<Kept>,
    /// What is newer than the index, and what was looked at lately. Not used while the views are in memory.
    fold: Mutex<IndexFold>,
}

/// Where views are kept.
#[derive(Debug)]
pub(crate) enum Kept {
    Memory(Views<Place>),
    Index(Index),
}

// Locks: a writer that panicked has left both whole, since they are changed record by record, or replaced.
impl Shelf {
    pub(crate) fn new(kept: Kept) -> Self {
        Self { kept: RwLock::new(kept), fold: Mutex::default() }
    }

    pub(crate) fn kept(&self) -> RwLockReadGuard<'_, Kept> {
        self.kept.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn kept_mut(&self) -> RwLockWriteGuard<'_, Kept> {
        self.kept.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn fold(&self) -> MutexGuard<'_, IndexFold> {
        self.fold.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn near<T>(&self, memory: impl FnOnce(&Views<Place>) -> T, fold: impl FnOnce(&IndexFold) -> Near<T>) -> Near<T> {
        match &*self.kept() {
            Kept::Memory(views) => Near::Known(memory(views)),
            Kept::Index(_) => fold(&self.fold()),
        }
    }

    /// What is far: views in memory are never.
    fn far<T: Default>(&self, look: impl FnOnce(&Index) -> Result<T, IndexError>) -> Result<T, IndexError> {
        match &*self.kept() {
            Kept::Memory(_) => Ok(T::default()),
            Kept::Index(index) => guarded(|| look(index)),
        }
    }

    pub(crate) fn near_change(&self, change: &ChangeKey) -> Near<Option<ChangeView>> {
        self.near(|views| views.change(change).cloned(), |fold| fold.change(change))
    }

    pub(crate) fn far_change(&self, change: &ChangeKey) -> Result<Option<ChangeView>, IndexError> {
        self.far(|index| Ok(index.change(change)?.map(|indexed| indexed.fold.view)))
    }

    pub(crate) fn near_release(&self, release: &ReleaseKey) -> Near<Option<ReleaseView>> {
        self.near(|views| views.release(release).cloned(), |fold| fold.release(release))
    }

    pub(crate) fn far_release(&self, release: &ReleaseKey) -> Result<Option<ReleaseView>, IndexError> {
        self.far(|index| index.release(release))
    }

    /// Where the records of a change lie.
    pub(crate) fn places(&self, change: &ChangeKey) -> Result<Vec<Place>, IndexError> {
        match &*self.kept() {
            Kept::Memory(views) => Ok(views.records(change).to_vec()),
            Kept::Index(index) => {
                let fresh = self.fold().fresh(change);
                let mut places = guarded(|| index.places(change))?;
                if let Some((first, fresh)) = fresh {
                    // The index may have taken the fresh ones in meanwhile.
                    places.truncate(usize::try_from(first).unwrap_or(usize::MAX));
                    places.extend(fresh);
                }
                Ok(places)
            }
        }
    }

    /// Where the record lies that put a value of a release's state.
    pub(crate) fn state(&self, uid: &str, key: &str) -> Result<Option<Place>, IndexError> {
        match &*self.kept() {
            Kept::Memory(views) => Ok(views.state(uid, key).copied()),
            Kept::Index(index) => {
                let fresh = self.fold().state(uid, key);
                match fresh {
                    Near::Known(place) => Ok(place),
                    Near::Far => guarded(|| index.state(uid, key)),
                }
            }
        }
    }

    /// Those that the index has taken in.
    pub(crate) fn changes(&self, query: &ChangeQuery) -> Result<Vec<ChangeView>, IndexError> {
        match &*self.kept() {
            Kept::Memory(views) => Ok(views.changes(query)),
            Kept::Index(index) => guarded(|| index.changes(query)),
        }
    }

    /// Those that the index has taken in.
    pub(crate) fn open_changes(&self) -> Result<Vec<ChangeKey>, IndexError> {
        match &*self.kept() {
            Kept::Memory(views) => Ok(views.open_changes()),
            Kept::Index(index) => guarded(|| index.open_changes()),
        }
    }

    /// Those that the index has taken in.
    pub(crate) fn releases(&self) -> Result<Vec<ReleaseView>, IndexError> {
        match &*self.kept() {
            Kept::Memory(views) => Ok(views.releases().into_iter().cloned().collect()),
            Kept::Index(index) => guarded(|| index.releases()),
        }
    }
}
