//! Everything that is acknowledged, as JSON lines: one record a line, in the order of the log, byte for byte as it is stored.

use std::io::{self, Write};
use std::path::Path;

use super::options::OpenError;
use super::reader::Tail;
use crate::log::LogError;

/// Why a store could not be written out to its end. What was written before is whole.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    #[error(transparent)]
    Store(#[from] OpenError),
    #[error(transparent)]
    Log(#[from] LogError),
    #[error("the export cannot be written")]
    Write(#[from] io::Error),
}

/// Writes all records of the store in `dir`, whoever else has it. Fields that this Pintle does not know are kept, and so are
/// records of a newer one. Returns how many there were.
///
/// # Errors
/// Where the log is damaged: then everything before the damage was written. Or `to` cannot be written.
pub fn export(dir: &Path, to: &mut impl Write) -> Result<u64, ExportError> {
    let mut records = 0;
    Tail::new(dir)?.advance(|group| {
        for (_, frame) in group.records() {
            to.write_all(frame.payload)?;
            to.write_all(b"\n")?;
            records += 1;
        }
        Ok::<_, ExportError>(())
    })?;
    to.flush()?;
    Ok(records)
}
