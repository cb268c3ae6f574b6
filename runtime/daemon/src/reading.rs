//! Looking into the store of a folder, also while another Pintle writes it.

use pintle_journal::journal::Journal;
use pintle_journal::{MemoryJournal, OpenError, Reader};

use crate::error::Error;
use crate::state_dir::StateDir;

/// What the store has, whenever it is asked; nothing where there is none yet.
///
/// # Errors
/// Where it is damaged, newer, or cannot be read.
pub fn open(state: &StateDir) -> Result<Box<dyn Journal>, Error> {
    match Reader::open(state.path()) {
        Ok(reader) => Ok(Box::new(reader)),
        Err(OpenError::Missing { .. }) => Ok(Box::new(MemoryJournal::new())),
        Err(error) => Err(error.into()),
    }
}
