//! The layout of a segment as `docs/store.md` has it, written down a second time: what the journal accepts is compared with what
//! this accepts, and bytes get the checksums without which no fuzzer comes past the first header.

pub const SEGMENT_HEADER: usize = 64;
const GROUP_HEADER: usize = 32;
const RECORD_HEADER: usize = 12;
const MAX_RECORD: usize = 16 << 20;
/// More groups than a log has.
const MAX_GROUP: u64 = 1 << 62;

/// Of all segments that are made here.
const STORE: [u8; 16] = *b"a store of fuzz!";

/// What a sound segment holds.
#[derive(Debug)]
pub struct Held<'a> {
    pub store: &'a [u8],
    pub first_group: u64,
    pub previous_end: u32,
    /// The number of the group that would come next.
    pub next_group: u64,
    /// First byte behind the last sound group.
    pub end: usize,
    /// JSON of the records, in order.
    pub records: Vec<&'a [u8]>,
}

/// A header of the store of these tests.
pub fn header(number: u32, first_group: u64, previous_end: u32) -> Vec<u8> {
    let mut bytes = vec![0; SEGMENT_HEADER];
    bytes[..8].copy_from_slice(b"PINTLOG\0");
    bytes[8..12].copy_from_slice(&1_u32.to_le_bytes());
    bytes[12..16].copy_from_slice(&number.to_le_bytes());
    bytes[16..32].copy_from_slice(&STORE);
    bytes[32..40].copy_from_slice(&first_group.to_le_bytes());
    bytes[40..44].copy_from_slice(&previous_end.to_le_bytes());
    put_checksum(&mut bytes, 60);
    bytes
}

/// A group of records.
pub fn group(number: u64, records: &[&[u8]]) -> Vec<u8> {
    let mut bytes = vec![0; GROUP_HEADER];
    for record in records {
        let mut header = [0; RECORD_HEADER];
        header[..4].copy_from_slice(&narrow(record.len()).to_le_bytes());
        header[8] = 1;
        bytes.extend(header);
        bytes.extend(*record);
    }
    bytes[..4].copy_from_slice(b"PGRP");
    let len = narrow(bytes.len() - GROUP_HEADER);
    bytes[4..8].copy_from_slice(&len.to_le_bytes());
    bytes[8..12].copy_from_slice(&narrow(records.len()).to_le_bytes());
    bytes[16..24].copy_from_slice(&number.to_le_bytes());
    put_group_checksums(&mut bytes);
    bytes
}

/// Gives the header, and each group and record that follow one another, the checksum of what they hold.
pub fn put_checksums(bytes: &mut [u8]) {
    if bytes.len() < SEGMENT_HEADER {
        return;
    }
    put_checksum(&mut bytes[..SEGMENT_HEADER], 60);
    let mut rest = &mut bytes[SEGMENT_HEADER..];
    while let Some(len) = group_len(rest) {
        let (group, behind) = rest.split_at_mut(len);
        put_group_checksums(group);
        rest = behind;
    }
}

/// What a segment with that number holds as far as it is sound; none where its header is not.
pub fn read(bytes: &[u8], number: u32) -> Option<Held<'_>> {
    let header = bytes.get(..SEGMENT_HEADER)?;
    let is_sound = header[..8] == *b"PINTLOG\0"
        && u32_at(header, 8)? <= 1
        && u32_at(header, 60)? == crc32fast::hash(&header[..60])
        && u32_at(header, 12)? == number
        && u64_at(header, 32)? <= MAX_GROUP;
    is_sound.then_some(())?;
    let first_group = u64_at(header, 32)?;
    let mut held = Held {
        store: &header[16..32],
        first_group,
        previous_end: u32_at(header, 40)?,
        next_group: first_group,
        end: SEGMENT_HEADER,
        records: Vec::new(),
    };
    while let Some((len, records)) = read_group(&bytes[held.end..], held.next_group) {
        held.records.extend(records);
        held.end += len;
        held.next_group += 1;
    }
    Some(held)
}

fn read_group(bytes: &[u8], number: u64) -> Option<(usize, Vec<&[u8]>)> {
    let len = group_len(bytes)?;
    let header = &bytes[..GROUP_HEADER];
    let is_sound = u32_at(header, 28)? == crc32fast::hash(&header[..28]) && u64_at(header, 16)? == number;
    let is_sound = is_sound && number < MAX_GROUP;
    is_sound.then_some(())?;
    let mut rest = &bytes[GROUP_HEADER..len];
    let mut records = Vec::new();
    for _ in 0..u32_at(header, 8)? {
        let len = record_len(rest)?;
        let (header, record) = rest[..len].split_at(RECORD_HEADER);
        (u32_at(header, 4)? == record_checksum(header, record)).then_some(())?;
        records.push(record);
        rest = &rest[len..];
    }
    rest.is_empty().then_some((len, records))
}

fn put_group_checksums(group: &mut [u8]) {
    let (header, mut rest) = group.split_at_mut(GROUP_HEADER);
    put_checksum(header, 28);
    while let Some(len) = record_len(rest) {
        let (frame, behind) = rest.split_at_mut(len);
        let (header, record) = frame.split_at_mut(RECORD_HEADER);
        let checksum = record_checksum(header, record);
        header[4..8].copy_from_slice(&checksum.to_le_bytes());
        rest = behind;
    }
}

/// Bytes of the whole group that starts here.
fn group_len(bytes: &[u8]) -> Option<usize> {
    let len = (u32_at(bytes, 4)? as usize).checked_add(GROUP_HEADER)?;
    (bytes.starts_with(b"PGRP") && len <= bytes.len()).then_some(len)
}

/// Bytes of the whole record that starts here.
fn record_len(bytes: &[u8]) -> Option<usize> {
    let len = u32_at(bytes, 0)? as usize;
    (len <= MAX_RECORD && len + RECORD_HEADER <= bytes.len()).then_some(len + RECORD_HEADER)
}

/// The checksum of what is before it.
fn put_checksum(header: &mut [u8], at: usize) {
    let checksum = crc32fast::hash(&header[..at]);
    header[at..at + 4].copy_from_slice(&checksum.to_le_bytes());
}

fn record_checksum(header: &[u8], record: &[u8]) -> u32 {
    crc32fast::hash(&[&header[..4], &header[8..], record].concat())
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn narrow(len: usize) -> u32 {
    u32::try_from(len).expect("inputs are short")
}
