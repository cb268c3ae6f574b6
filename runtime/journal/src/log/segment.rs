//! A segment's file: its name, its header, how it comes into being and how it is closed.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::disk::Disk;
use super::frame::{MAX_GROUP, u32_at};
use super::{FORMAT, LogError, io_error};

/// Bytes of a segment's header.
pub(crate) const SEGMENT_HEADER: u32 = 64;

const MAGIC: [u8; 8] = *b"PINTLOG\0";

/// Tells stores apart: an index of another store is not taken for this one's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StoreId(pub [u8; 16]);

/// What a segment's header says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SegmentHeader {
    pub number: u32,
    pub store: StoreId,
    /// Number of the first group in it.
    pub first_group: u64,
    /// Length of the segment before it; 0 in the first one.
    pub previous_end: u32,
}

impl StoreId {
    /// A new one, from the system's randomness.
    pub(crate) fn random() -> Result<Self, LogError> {
        use std::io::Read;
        let path = Path::new("/dev/urandom");
        let mut id = [0; 16];
        let read = File::open(path).and_then(|mut file| file.read_exact(&mut id));
        read.map_err(io_error("read", path))?;
        Ok(Self(id))
    }

    pub(crate) fn hex(self) -> String {
        format!("{:032x}", u128::from_be_bytes(self.0))
    }
}

impl SegmentHeader {
    fn encode(self) -> [u8; SEGMENT_HEADER as usize] {
        let mut bytes = [0; SEGMENT_HEADER as usize];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&FORMAT.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.number.to_le_bytes());
        bytes[16..32].copy_from_slice(&self.store.0);
        bytes[32..40].copy_from_slice(&self.first_group.to_le_bytes());
        bytes[40..44].copy_from_slice(&self.previous_end.to_le_bytes());
        let crc = crc32fast::hash(&bytes[..60]);
        bytes[60..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// Reads the header of segment `number`.
    ///
    /// # Errors
    /// Where it cannot be read, is damaged, or was written by a newer Pintle.
    pub(crate) fn read(file: &File, path: &Path, number: u32) -> Result<Self, LogError> {
        let damaged = |problem: &str| LogError::Damaged {
            path: path.to_owned(),
            offset: 0,
            problem: format!("the header of the segment {problem}"),
        };
        let mut bytes = [0; SEGMENT_HEADER as usize];
        match file.read_exact_at(&mut bytes, 0) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => return Err(damaged("is cut off")),
            Err(error) => return Err(io_error("read", path)(error)),
        }
        if bytes[..8] != MAGIC {
            return Err(damaged("is none of Pintle's"));
        }
        // Before the checksum: a later format may keep it elsewhere.
        let format = u32_at(&bytes, 8).unwrap_or_default();
        if format > FORMAT {
            return Err(LogError::Newer { path: path.to_owned(), found: u64::from(format), reads: u64::from(FORMAT) });
        }
        if u32_at(&bytes, 60) != Some(crc32fast::hash(&bytes[..60])) {
            return Err(damaged("has a wrong checksum"));
        }
        let mut store = [0; 16];
        store.copy_from_slice(&bytes[16..32]);
        let mut first_group = [0; 8];
        first_group.copy_from_slice(&bytes[32..40]);
        let header = Self {
            number: u32_at(&bytes, 12).unwrap_or_default(),
            store: StoreId(store),
            first_group: u64::from_le_bytes(first_group),
            previous_end: u32_at(&bytes, 40).unwrap_or_default(),
        };
        if header.number != number {
            return Err(damaged("has the number of another segment"));
        }
        if header.first_group > MAX_GROUP { Err(damaged("begins with a group that no log has")) } else { Ok(header) }
    }
}

/// The file of segment `number` in the log's folder.
pub(crate) fn path(dir: &Path, number: u32) -> PathBuf {
    dir.join(format!("{number:08}.seg"))
}

/// Numbers of the segments in the log's folder, ascending.
///
/// # Errors
/// Where the folder cannot be read, or a segment between others is missing.
pub(crate) fn list(dir: &Path) -> Result<Vec<u32>, LogError> {
    let mut numbers = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(io_error("read", dir))? {
        let name = entry.map_err(io_error("read", dir))?.file_name();
        let number = name.to_str().and_then(|name| name.strip_suffix(".seg")?.parse::<u32>().ok());
        numbers.extend(number);
    }
    numbers.sort_unstable();
    match numbers.windows(2).find(|pair| pair[0] + 1 != pair[1]) {
        Some(pair) => Err(LogError::Damaged {
            path: path(dir, pair[0] + 1),
            offset: 0,
            problem: "the segment is missing, but later ones are there".to_owned(),
        }),
        None => Ok(numbers),
    }
}

/// Makes a segment that is whole as soon as it has its name.
///
/// # Errors
/// Where any of it fails; a file without its final name may stay and is removed by the next start.
pub(crate) fn create(disk: &dyn Disk, dir: &Path, header: SegmentHeader, allocate: u32) -> Result<File, LogError> {
    let path = path(dir, header.number);
    let nascent = path.with_extension("new");
    let file = File::options().read(true).write(true).create(true).truncate(true).open(&nascent);
    let file = file.map_err(io_error("create", &nascent))?;
    disk.write(&file, &header.encode(), 0).map_err(io_error("write", &nascent))?;
    disk.allocate(&file, 0, u64::from(allocate)).map_err(io_error("allocate", &nascent))?;
    disk.sync(&file).map_err(io_error("sync", &nascent))?;
    std::fs::rename(&nascent, &path).map_err(io_error("rename", &nascent))?;
    sync_dir(dir)?;
    Ok(file)
}

/// Removes what a crash left of segments that never got their name.
pub(crate) fn remove_nascent(dir: &Path) -> Result<(), LogError> {
    for entry in std::fs::read_dir(dir).map_err(io_error("read", dir))? {
        let path = entry.map_err(io_error("read", dir))?.path();
        if path.extension().is_some_and(|extension| extension == "new") {
            std::fs::remove_file(&path).map_err(io_error("remove", &path))?;
        }
    }
    Ok(())
}

/// Makes the names in a folder durable.
///
/// # Errors
/// Where the folder cannot be opened or synced.
pub(crate) fn sync_dir(dir: &Path) -> Result<(), LogError> {
    File::open(dir).and_then(|dir| dir.sync_all()).map_err(io_error("sync", dir))
}

/// Writes a small file whole or not at all, durably.
///
/// # Errors
/// Where any of it fails.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), LogError> {
    let nascent = path.with_extension("new");
    let written = File::create(&nascent).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    written.map_err(io_error("write", &nascent))?;
    std::fs::rename(&nascent, path).map_err(io_error("rename", &nascent))?;
    path.parent().map_or(Ok(()), sync_dir)
}
