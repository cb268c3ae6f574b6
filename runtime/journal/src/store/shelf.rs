//! The views that reads look at: in memory while the log is short, in the index later.

use std::sync::{RwLock, RwLockReadGuard};

use pintle_lifecycle::ids::{ChangeKey, ReleaseKey};
use pintle_lifecycle::view::{ChangeView, ReleaseView};

use crate::index::open::guarded;
use crate::index::{Index, IndexError};
use crate::journal::ChangeQuery;
use crate::log::position::Place;
use crate::views::Views;

#[derive(Debug)]
pub(crate) enum Shelf {
    Memory(Views<Place>),
    Index(Index),
}

impl Shelf {
    pub(crate) fn places(&self, change: &ChangeKey) -> Result<Vec<Place>, IndexError> {
        match self {
            Self::Memory(views) => Ok(views.records(change).to_vec()),
            Self::Index(index) => guarded(|| index.places(change)),
        }
    }

    pub(crate) fn change(&self, change: &ChangeKey) -> Result<Option<ChangeView>, IndexError> {
        match self {
            Self::Memory(views) => Ok(views.change(change).cloned()),
            Self::Index(index) => Ok(guarded(|| index.change(change))?.map(|indexed| indexed.fold.view)),
        }
    }

    pub(crate) fn changes(&self, query: &ChangeQuery) -> Result<Vec<ChangeView>, IndexError> {
        match self {
            Self::Memory(views) => Ok(views.changes(query)),
            Self::Index(index) => guarded(|| index.changes(query)),
        }
    }

    pub(crate) fn release(&self, release: &ReleaseKey) -> Result<Option<ReleaseView>, IndexError> {
        match self {
            Self::Memory(views) => Ok(views.release(release).cloned()),
            Self::Index(index) => guarded(|| index.release(release)),
        }
    }

    pub(crate) fn releases(&self) -> Result<Vec<ReleaseView>, IndexError> {
        match self {
            Self::Memory(views) => Ok(views.releases().into_iter().cloned().collect()),
            Self::Index(index) => guarded(|| index.releases()),
        }
    }

    /// Where the record lies that put a value of a release's state.
    pub(crate) fn state(&self, uid: &str, key: &str) -> Result<Option<Place>, IndexError> {
        match self {
            Self::Memory(views) => Ok(views.state(uid, key).copied()),
            Self::Index(index) => guarded(|| index.state(uid, key)),
        }
    }
}

/// Looks at the shelf. A writer that panicked has left it whole: it is changed record by record, or replaced.
pub(crate) fn read(shelf: &RwLock<Shelf>) -> RwLockReadGuard<'_, Shelf> {
    shelf.read().unwrap_or_else(std::sync::PoisonError::into_inner)
}
