//! How far the log is acknowledged, in a file of its own: a second process reads no further, and a log that ends before it has
//! lost something. The file is written after each sync and never synced itself, so after a power cut it may tell of less, be
//! empty, or not be there: then nobody can say whether the log ends too early, which is told.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::frame::u32_at;
use super::position::Position;
use super::{LogError, io_error};

const MAGIC: [u8; 4] = *b"ACK1";
const BYTES: usize = 16;

/// The file, open for writing.
#[derive(Debug)]
pub(crate) struct Acked {
    file: File,
    path: PathBuf,
    /// Whether a write failed: said once, since only second processes that read are the worse for it.
    failed: bool,
}

impl Acked {
    pub(crate) fn open(path: PathBuf) -> Result<Self, LogError> {
        let file = File::options().write(true).create(true).truncate(false).open(&path);
        let file = file.map_err(io_error("open", &path))?;
        // Zeros that a power cut left may be more than what is written over them.
        if file.metadata().map_err(io_error("look at", &path))?.len() > BYTES as u64 {
            file.set_len(BYTES as u64).map_err(io_error("cut", &path))?;
        }
        Ok(Self { file, path, failed: false })
    }

    /// Everything before `end` is acknowledged.
    pub(crate) fn set(&mut self, end: Position) {
        let mut bytes = [0; BYTES];
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4..8].copy_from_slice(&end.segment.to_le_bytes());
        bytes[8..12].copy_from_slice(&end.offset.to_le_bytes());
        let crc = crc32fast::hash(&bytes[..12]);
        bytes[12..].copy_from_slice(&crc.to_le_bytes());
        if let Err(error) = self.file.write_all_at(&bytes, 0)
            && !std::mem::replace(&mut self.failed, true)
        {
            let path = self.path.display();
            tracing::warn!(%error, %path, "cannot tell other processes how far the store is written; they see older records");
        }
    }
}

/// What helps where the file makes no sense.
pub(crate) const CURE: &str = "`pintle export` writes out what the log has; where that is everything, remove the file while no \
                               Pintle runs: the next start then takes the log as it is";

/// How far the log is acknowledged as far as is known; none where the file is not there, or as empty as a power cut leaves it.
///
/// # Errors
/// [`LogError::Damaged`] where it has something else than Pintle writes: the end of the log may be missing, and it does not tell.
/// And where it is there and cannot be read.
pub(crate) fn read(path: &Path) -> Result<Option<Position>, LogError> {
    // A write may be seen half done; it takes no time, so the next look sees it whole.
    for _ in 0..100 {
        let bytes = match std::fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(io_error("read", path)(error)),
        };
        if let Some(position) = decode(&bytes) {
            return Ok(Some(position));
        }
        if bytes.iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        if bytes.len() != BYTES {
            break;
        }
        std::thread::yield_now();
    }
    let problem = "the file makes no sense, so nobody can say whether the end of the log is missing".to_owned();
    Err(LogError::Damaged { path: path.to_owned(), offset: 0, problem })
}

fn decode(bytes: &[u8]) -> Option<Position> {
    let sound = bytes.len() == BYTES && bytes[..4] == MAGIC && u32_at(bytes, 12)? == crc32fast::hash(&bytes[..12]);
    sound.then_some(Position { segment: u32_at(bytes, 4)?, offset: u32_at(bytes, 8)? })
}
