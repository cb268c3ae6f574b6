//! The writing end of the log. It belongs to one thread.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use rustix::io::Errno;

use super::disk::Disk;
use super::frame::{GROUP_HEADER, GroupHeader};
use super::position::Position;
use super::recover::LogEnd;
use super::segment::{self, SEGMENT_HEADER, SegmentHeader, StoreId};
use super::{LogError, io_error};

/// How a log is laid out on the disk.
#[derive(Clone)]
pub(crate) struct Layout {
    pub dir: PathBuf,
    /// A segment is closed before it grows beyond this.
    pub segment_bytes: u32,
    /// A segment gets its place on the disk in pieces of this size.
    pub allocate_bytes: u32,
    /// Given back to the file system when it has no room left, once.
    pub ballast: PathBuf,
    pub disk: Arc<dyn Disk>,
}

/// The writing end.
pub(crate) struct Log {
    layout: Layout,
    store: StoreId,
    file: File,
    segment: u32,
    /// Where the next group starts.
    at: u32,
    /// Length of the file: zeros from `at` on.
    allocated: u32,
    next_group: u64,
}

/// Frames that are written and synced together.
#[derive(Debug)]
pub(crate) struct GroupBuffer {
    /// Starts with room for the header.
    bytes: Vec<u8>,
    records: u32,
}

impl GroupBuffer {
    pub(crate) fn new() -> Self {
        Self { bytes: vec![0; GROUP_HEADER as usize], records: 0 }
    }

    /// Adds whole frames; says where they start, counted from the start of the group.
    pub(crate) fn push(&mut self, frames: &[u8], records: usize) -> u32 {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(frames);
        self.records += u32::try_from(records).unwrap_or(u32::MAX);
        u32::try_from(start).unwrap_or(u32::MAX)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.records == 0
    }

    /// Makes room for the next group.
    pub(crate) fn clear(&mut self) {
        self.bytes.truncate(GROUP_HEADER as usize);
        // One very long record must not keep its memory for ever.
        self.bytes.shrink_to(8 << 20);
        self.records = 0;
    }
}

impl Log {
    /// Starts a log in an empty folder.
    ///
    /// # Errors
    /// Where the first segment cannot be made.
    pub(crate) fn create(layout: Layout) -> Result<Self, LogError> {
        let store = StoreId::random()?;
        let header = SegmentHeader { number: 1, store, first_group: 1, previous_end: 0 };
        let allocated = layout.allocate_bytes.max(SEGMENT_HEADER);
        let file = segment::create(&*layout.disk, &layout.dir, header, allocated)?;
        Ok(Self { layout, store, file, segment: 1, at: SEGMENT_HEADER, allocated, next_group: 1 })
    }

    /// Goes on with a log at its end. What is torn behind it is cut off. Everything before it is made durable: the process that
    /// wrote it may have died before its sync, unless it was `acked`, which says that the sync was done.
    ///
    /// # Errors
    /// Where the segment cannot be opened, cut or synced.
    pub(crate) fn resume(layout: Layout, end: &LogEnd, acked: Option<Position>) -> Result<Self, LogError> {
        let path = segment::path(&layout.dir, end.end.segment);
        let file = File::options().read(true).write(true).open(&path).map_err(io_error("open", &path))?;
        let at = end.end.offset;
        if end.torn.is_some() {
            file.set_len(u64::from(at)).map_err(io_error("cut", &path))?;
            file.sync_all().map_err(io_error("sync", &path))?;
        }
        let len = file.metadata().map_err(io_error("look at", &path))?.len();
        if acked != Some(end.end) {
            layout.disk.sync(&file).map_err(io_error("sync", &path))?;
            segment::sync_dir(&layout.dir)?;
        }
        Ok(Self {
            layout,
            store: end.store,
            file,
            segment: end.end.segment,
            at,
            // Zeros up to there, or the file would be torn.
            allocated: u32::try_from(len).unwrap_or(at).max(at),
            next_group: end.next_group,
        })
    }

    pub(crate) fn store(&self) -> StoreId {
        self.store
    }

    /// Where the next group starts if it still has room in this segment.
    pub(crate) fn end(&self) -> Position {
        Position { segment: self.segment, offset: self.at }
    }

    /// Number of the last group; 0 where there is none.
    pub(crate) fn last_group(&self) -> u64 {
        self.next_group - 1
    }

    /// Writes a group and makes it durable. Returns where it starts.
    ///
    /// # Errors
    /// Where that fails: then nothing may be appended any more, since it is not known what is on the disk.
    pub(crate) fn append(&mut self, group: &mut GroupBuffer) -> Result<Position, LogError> {
        let len = u32::try_from(group.bytes.len()).unwrap_or(u32::MAX);
        if self.at > SEGMENT_HEADER && self.at.saturating_add(len) > self.layout.segment_bytes {
            self.roll()?;
        }
        self.allocate(len)?;
        let header = GroupHeader { bytes: len - GROUP_HEADER, records: group.records, number: self.next_group };
        group.bytes[..GROUP_HEADER as usize].copy_from_slice(&header.encode());
        let disk = &*self.layout.disk;
        let start = self.end();
        disk.write(&self.file, &group.bytes, u64::from(self.at)).map_err(|error| self.failed("write", error))?;
        disk.sync(&self.file).map_err(|error| self.failed("sync", error))?;
        self.at += len;
        self.next_group += 1;
        Ok(start)
    }

    /// Sees to it that the next `len` bytes have their place on the disk.
    fn allocate(&mut self, len: u32) -> Result<(), LogError> {
        let wanted = self.at.saturating_add(len);
        if wanted <= self.allocated {
            return Ok(());
        }
        let piece = self.layout.allocate_bytes.max(1);
        let target = wanted.div_ceil(piece).saturating_mul(piece);
        let (from, more) = (u64::from(self.allocated), u64::from(target - self.allocated));
        let disk = Arc::clone(&self.layout.disk);
        let mut allocated = disk.allocate(&self.file, from, more);
        if let Err(error) = &allocated
            && Errno::from_io_error(error) == Some(Errno::NOSPC)
            && std::fs::remove_file(&self.layout.ballast).is_ok()
        {
            tracing::warn!("the disk is full; the ballast is given up so that changes that run can end");
            allocated = disk.allocate(&self.file, from, more);
        }
        allocated.map_err(|error| self.failed("allocate", error))?;
        self.allocated = target;
        Ok(())
    }

    /// Closes the segment, which is synced, and starts the next one.
    fn roll(&mut self) -> Result<(), LogError> {
        let closed = self.file.set_len(u64::from(self.at)).and_then(|()| self.file.sync_all());
        closed.map_err(|error| self.failed("close", error))?;
        let header = SegmentHeader {
            number: self.segment + 1,
            store: self.store,
            first_group: self.next_group,
            previous_end: self.at,
        };
        let allocated = self.layout.allocate_bytes.max(SEGMENT_HEADER);
        self.file = segment::create(&*self.layout.disk, &self.layout.dir, header, allocated)?;
        self.segment += 1;
        self.at = SEGMENT_HEADER;
        self.allocated = allocated;
        Ok(())
    }

    fn failed(&self, action: &'static str, error: io::Error) -> LogError {
        io_error(action, &segment::path(&self.layout.dir, self.segment))(error)
    }
}
