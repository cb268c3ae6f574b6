//! Reading single records by their place, from any thread.

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use pintle_lifecycle::record::Record;

use super::frame::{FRAME_HEADER, Frame};
use super::position::Place;
use super::{LogError, io_error, segment};

/// So many segments are kept open.
const OPEN: usize = 64;

/// Reads records of a log.
#[derive(Debug)]
pub(crate) struct Places {
    dir: PathBuf,
    files: Mutex<HashMap<u32, Arc<File>>>,
}

impl Places {
    pub(crate) fn new(dir: &Path) -> Self {
        Self { dir: dir.to_owned(), files: Mutex::new(HashMap::new()) }
    }

    /// Reads the record at `place`.
    ///
    /// # Errors
    /// Where the segment cannot be read, the bytes are damaged, or a newer Pintle wrote the record.
    pub(crate) fn record(&self, place: Place) -> Result<Record, LogError> {
        let file = self.file(place.at.segment)?;
        let path = || segment::path(&self.dir, place.at.segment);
        let mut bytes = vec![0; (FRAME_HEADER + place.len) as usize];
        file.read_exact_at(&mut bytes, u64::from(place.at.offset)).map_err(io_error("read", &path()))?;
        let frame = Frame::decode(&bytes).map_err(|problem| LogError::Damaged {
            path: path(),
            offset: place.at.offset,
            problem: problem.to_owned(),
        })?;
        frame.record().map_err(|source| LogError::Record { path: path(), offset: place.at.offset, source })
    }

    fn file(&self, number: u32) -> Result<Arc<File>, LogError> {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = files.get(&number) {
            return Ok(Arc::clone(file));
        }
        let path = segment::path(&self.dir, number);
        let file = Arc::new(File::open(&path).map_err(io_error("open", &path))?);
        if files.len() >= OPEN {
            files.clear();
        }
        files.insert(number, Arc::clone(&file));
        Ok(file)
    }
}
