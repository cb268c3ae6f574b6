//! The bytes of the log: groups of records. A group is what one sync made durable, so its header is what tells a torn tail from
//! damage: a later group proves that the one before it was synced.
//!
//! All numbers are little-endian. Neither header can be found inside a record by chance or by design: both hold bytes below
//! 0x20, and JSON text has none.

use pintle_lifecycle::record::{FORMAT, Record, RecordError};

/// Bytes of a group's header: magic, length of its frames, number of records, 0, number of the group, 0, CRC-32.
pub(crate) const GROUP_HEADER: u32 = 32;
/// Bytes of a record's header: length, CRC-32 of the rest of the frame and the length, format of the record, 0.
pub(crate) const FRAME_HEADER: u32 = 12;
/// The longest record that is stored.
pub(crate) const MAX_RECORD: usize = 16 << 20;

/// No group has this number or a higher one: more than any log has, and the next number is always one that counts on.
pub(crate) const MAX_GROUP: u64 = 1 << 62;

pub(crate) const GROUP_MAGIC: [u8; 4] = *b"PGRP";

/// What a group's header says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GroupHeader {
    /// Of the frames behind the header.
    pub bytes: u32,
    pub records: u32,
    /// 1, 2, 3, … over the whole log.
    pub number: u64,
}

/// A record as it lies in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Frame<'a> {
    /// Format of the record: its `v`.
    pub format: u16,
    /// The record as JSON.
    pub payload: &'a [u8],
}

impl GroupHeader {
    pub(crate) fn encode(self) -> [u8; GROUP_HEADER as usize] {
        let mut bytes = [0; GROUP_HEADER as usize];
        bytes[..4].copy_from_slice(&GROUP_MAGIC);
        bytes[4..8].copy_from_slice(&self.bytes.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.records.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.number.to_le_bytes());
        let crc = crc32fast::hash(&bytes[..28]);
        bytes[28..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// Reads a header from the start of `bytes`; none where there is no whole one.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let header = bytes.first_chunk::<{ GROUP_HEADER as usize }>()?;
        let whole = header[..4] == GROUP_MAGIC && u32_at(header, 28)? == crc32fast::hash(&header[..28]);
        let number = u64::from_le_bytes(*header[16..].first_chunk()?);
        whole.then_some(Self { bytes: u32_at(header, 4)?, records: u32_at(header, 8)?, number })
    }
}

impl<'a> Frame<'a> {
    /// Appends the frame to `buffer`.
    pub(crate) fn encode(self, buffer: &mut Vec<u8>) {
        let len = u32::try_from(self.payload.len()).expect("records are checked against MAX_RECORD before");
        let mut header = [0; FRAME_HEADER as usize];
        header[..4].copy_from_slice(&len.to_le_bytes());
        header[8..10].copy_from_slice(&self.format.to_le_bytes());
        let crc = checksum(&header, self.payload);
        header[4..8].copy_from_slice(&crc.to_le_bytes());
        buffer.reserve(FRAME_HEADER as usize + self.payload.len());
        buffer.extend_from_slice(&header);
        buffer.extend_from_slice(self.payload);
    }

    /// Reads a frame from the start of `bytes`; what is behind it is ignored.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn decode(bytes: &'a [u8]) -> Result<Self, &'static str> {
        let cut = "the record is cut off";
        let header = bytes.first_chunk::<{ FRAME_HEADER as usize }>().ok_or(cut)?;
        let len = u32_at(header, 0).ok_or(cut)? as usize;
        if len > MAX_RECORD {
            return Err("the length of the record makes no sense");
        }
        let payload = bytes[FRAME_HEADER as usize..].get(..len).ok_or(cut)?;
        if u32_at(header, 4) != Some(checksum(header, payload)) {
            return Err("the checksum of the record is wrong");
        }
        Ok(Self { format: u16::from_le_bytes([header[8], header[9]]), payload })
    }

    /// The record.
    ///
    /// # Errors
    /// Where a newer Pintle wrote it, or it is none.
    pub(crate) fn record(&self) -> Result<Record, RecordError> {
        if u32::from(self.format) > FORMAT {
            return Err(RecordError::Newer { found: u64::from(self.format) });
        }
        let record: Record = serde_json::from_slice(self.payload).map_err(RecordError::Malformed)?;
        if record.v > FORMAT { Err(RecordError::Newer { found: u64::from(record.v) }) } else { Ok(record) }
    }

    /// Bytes of the frame in the log.
    pub(crate) fn len(&self) -> usize {
        FRAME_HEADER as usize + self.payload.len()
    }
}

/// Splits whole frames, which are known to be sound: their bytes, one after another.
pub(crate) fn frame_lengths(mut frames: &[u8]) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let len = u32_at(frames, 0)?;
        frames = frames.get((FRAME_HEADER + len) as usize..)?;
        Some(len)
    })
}

fn checksum(header: &[u8; FRAME_HEADER as usize], payload: &[u8]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(&header[..4]);
    crc.update(&header[8..]);
    crc.update(payload);
    crc.finalize()
}

/// The number at `at`; none where the bytes end before.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}
