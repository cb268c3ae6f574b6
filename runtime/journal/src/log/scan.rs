//! Walking through a segment, group by group, and what was found where the walk cannot go on.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::frame::{Frame, GROUP_HEADER, GROUP_MAGIC, GroupHeader, MAX_GROUP};
use super::position::{Place, Position};
use super::segment::{SEGMENT_HEADER, SegmentHeader};
use super::{LogError, io_error, segment};

/// How much is read at once.
const WINDOW: usize = 1 << 20;

/// A walk through one segment.
#[derive(Debug)]
pub(crate) struct Scan {
    pub path: PathBuf,
    pub header: SegmentHeader,
    file: File,
    /// Where the next group starts.
    at: u32,
    /// The number that it must have.
    next: u64,
    window: Vec<u8>,
    /// Where the window starts in the file.
    base: u64,
}

/// What comes next in a segment.
pub(crate) enum Step<'a> {
    Group(Group<'a>),
    /// Nothing but zeros, or the end of the file.
    End,
    Bad(Bad),
}

/// A sound group.
pub(crate) struct Group<'a> {
    pub number: u64,
    /// Of its header.
    pub at: Position,
    /// First byte behind it.
    pub end: Position,
    frames: &'a [u8],
}

/// Bytes that are no group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bad {
    /// Where the group starts.
    pub start: u32,
    /// Where it stops to make sense.
    pub offset: u32,
    pub problem: &'static str,
    /// Where a sound group behind it starts, and its number: then this is no torn tail, since the next group is written only after the one before was synced.
    pub later: Option<(u32, u64)>,
    /// Bytes from `start` that are not the zeros of the unused rest.
    pub bytes: u32,
}

impl Scan {
    /// Starts a walk at the first group of segment `number`.
    ///
    /// # Errors
    /// Where the file cannot be opened or its header is not sound.
    pub(crate) fn open(dir: &Path, number: u32) -> Result<Self, LogError> {
        let path = segment::path(dir, number);
        let file = File::open(&path).map_err(io_error("open", &path))?;
        let header = SegmentHeader::read(&file, &path, number)?;
        Ok(Self { path, header, file, at: SEGMENT_HEADER, next: header.first_group, window: Vec::new(), base: 0 })
    }

    /// Goes to a known group.
    pub(crate) fn seek(&mut self, offset: u32, number: u64) {
        self.at = offset.max(SEGMENT_HEADER);
        self.next = number;
    }

    /// Forgets what was read ahead: another process may have written it since.
    pub(crate) fn forget(&mut self) {
        self.window.clear();
    }

    /// Where the next group starts, or would.
    pub(crate) fn position(&self) -> Position {
        Position { segment: self.header.number, offset: self.at }
    }

    /// The number of the next group.
    pub(crate) fn next_number(&self) -> u64 {
        self.next
    }

    /// Takes the next group. After [`Step::Bad`] the walk stands where it was.
    ///
    /// # Errors
    /// Where the file cannot be read.
    pub(crate) fn step(&mut self) -> Result<Step<'_>, LogError> {
        let (start, next) = (self.at, self.next);
        let header = GroupHeader::decode(self.bytes(start, GROUP_HEADER as usize)?);
        let Some(header) = header.filter(|header| header.number == next && next < MAX_GROUP) else {
            return self.no_group(start, "there is no group of records");
        };
        let behind = start + GROUP_HEADER;
        let frames = self.bytes(behind, header.bytes as usize)?;
        if let Err((offset, problem)) = check_frames(frames, &header) {
            return self.no_group(behind + offset, problem);
        }
        let segment = self.header.number;
        let at = Position { segment, offset: start };
        let end = Position { segment, offset: behind + header.bytes };
        self.at = end.offset;
        self.next += 1;
        let first = usize::try_from(u64::from(behind) - self.base).unwrap_or_default();
        let frames = &self.window[first..first + header.bytes as usize];
        Ok(Step::Group(Group { number: header.number, at, end, frames }))
    }

    /// Bytes of the file, fewer where it ends.
    fn bytes(&mut self, offset: u32, len: usize) -> Result<&[u8], LogError> {
        let offset = u64::from(offset);
        let have = self.base..self.base + self.window.len() as u64;
        if !(have.start <= offset && offset + len as u64 <= have.end) {
            self.base = offset;
            self.window =
                read_up_to(&self.file, offset, len.max(WINDOW)).map_err(|error| io_error("read", &self.path)(error))?;
        }
        let first = usize::try_from(offset - self.base).unwrap_or(usize::MAX).min(self.window.len());
        Ok(&self.window[first..self.window.len().min(first + len)])
    }

    fn no_group(&self, offset: u32, problem: &'static str) -> Result<Step<'_>, LogError> {
        let start = u64::from(self.at);
        let rest = self.file.metadata().and_then(|metadata| {
            let len = metadata.len().saturating_sub(start);
            read_up_to(&self.file, start, usize::try_from(len).unwrap_or(usize::MAX))
        });
        let rest = rest.map_err(io_error("read", &self.path))?;
        let used = rest.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        if used == 0 {
            return Ok(Step::End);
        }
        let later = find_group(&rest[1..used], self.next);
        let later = later.map(|(found, number)| (self.at + 1 + to_u32(found), number));
        Ok(Step::Bad(Bad { start: self.at, offset, problem, later, bytes: to_u32(used) }))
    }
}

impl<'a> Group<'a> {
    /// The records, in order.
    pub(crate) fn records(&self) -> impl Iterator<Item = (Place, Frame<'a>)> {
        let mut frames = self.frames;
        let mut at = Position { offset: self.at.offset + GROUP_HEADER, ..self.at };
        std::iter::from_fn(move || {
            // They were found to be sound when the group was taken.
            let frame = Frame::decode(frames).ok()?;
            frames = &frames[frame.len()..];
            let place = Place { at, len: to_u32(frame.payload.len()) };
            at.offset += to_u32(frame.len());
            Some((place, frame))
        })
    }
}

/// Where and why the frames of a group are not what its header says.
fn check_frames(frames: &[u8], header: &GroupHeader) -> Result<(), (u32, &'static str)> {
    let mut at = 0;
    for _ in 0..header.records {
        let frame = Frame::decode(&frames[at..]).map_err(|problem| (to_u32(at), problem))?;
        at += frame.len();
    }
    if at == header.bytes as usize { Ok(()) } else { Err((to_u32(at), "the group has other bytes than its records")) }
}

/// Where a sound header of a group with at least this number starts, and the number that it has.
fn find_group(bytes: &[u8], number: u64) -> Option<(usize, u64)> {
    let mut starts = bytes.windows(GROUP_HEADER as usize).enumerate();
    starts.find_map(|(start, bytes)| {
        let header = bytes.starts_with(&GROUP_MAGIC).then(|| GroupHeader::decode(bytes)).flatten()?;
        (header.number >= number).then_some((start, header.number))
    })
}

fn read_up_to(file: &File, offset: u64, len: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; len];
    let mut read = 0;
    while read < len {
        match file.read_at(&mut bytes[read..], offset + read as u64) {
            Ok(0) => break,
            Ok(count) => read += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(read);
    Ok(bytes)
}

/// Segments are far shorter than 4 GiB: their size is bounded when a store is opened.
fn to_u32(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}
