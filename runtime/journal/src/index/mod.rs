//! The index: views and places of records, for reads that do not walk through the log. It is derived from the log and
//! disposable: whatever is wrong with it, it is moved away and made again. Only this folder names sled.
//!
//! It says where records lie and repeats none of them, so that it stays small and quick beside the log.

pub(crate) mod entry;
#[cfg(test)]
mod faults;
pub(crate) mod fold;
mod keys;
pub(crate) mod open;
mod read;

use std::ops::Deref;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::journal::JournalError;
use crate::log::position::Position;
use crate::store::room::give_up_ballast;

/// An index that is open.
#[derive(Debug)]
pub(crate) struct Index {
    db: Database,
    /// The folder of the store.
    store: PathBuf,
}

/// What sled may write for a batch: its buffers, and for each key about so much.
const BUFFERS: u64 = 1 << 20;
const OF_A_KEY: u64 = 2 << 10;

impl Index {
    /// Gives the ballast up where there may be too little room for a batch of so many keys: an error of sled is final, and changes
    /// that run must be able to end.
    pub(crate) fn make_room(&self, keys: usize) {
        give_up_ballast(&self.store, BUFFERS.saturating_add(OF_A_KEY.saturating_mul(keys as u64)));
    }
}

/// sled writes when it is closed, and panics where the disk fails then: whoever lets go of an index must not end by that.
#[derive(Debug)]
struct Database(Option<sled::Db>);

impl Deref for Database {
    type Target = sled::Db;

    fn deref(&self) -> &sled::Db {
        self.0.as_ref().expect("it is taken out when it is dropped")
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let db = self.0.take();
        if let Err(error) = open::guarded(|| {
            drop(db);
            Ok(())
        }) {
            tracing::warn!(%error, "the index is not closed well; what it lacks is in the log");
        }
    }
}

/// How far the log is taken in: in the same batch as what was taken in last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Mark {
    /// The store whose log it is, as hex digits.
    pub store: String,
    /// Number of the last group that is in the index; 0 where there is none.
    pub group: u64,
    /// Where that group starts.
    pub at: Position,
    /// The newest format of a record that is in the index.
    pub format: u16,
}

/// What is wrong with an index. The cure is always the same: make it again from the log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct IndexError {
    problem: String,
}

impl IndexError {
    pub(crate) fn new(problem: impl Into<String>) -> Self {
        Self { problem: problem.into() }
    }
}

fn json(value: &impl Serialize) -> Result<Vec<u8>, IndexError> {
    serde_json::to_vec(value).map_err(|error| IndexError::new(error.to_string()))
}

impl From<sled::Error> for IndexError {
    fn from(error: sled::Error) -> Self {
        Self::new(error.to_string())
    }
}

impl From<IndexError> for JournalError {
    fn from(error: IndexError) -> Self {
        Self::Damaged {
            problem: format!("its index fails: {error}; the next start makes a new one from the log, nothing is lost"),
        }
    }
}
