//! Keys of the index: one tree, one letter a kind. Names of tenants and releases are labels, so `/` ends them; numbers are
//! big-endian, so that keys sort as they count.

use pintle_lifecycle::ids::ReleaseKey;

use crate::log::position::Position;

/// How far the log is taken in.
pub(super) const MARK: &[u8] = b"m";

/// Prefix of the views of all releases.
pub(super) const RELEASES: &[u8] = b"r/";
/// Prefix of all changes, by the place where they were opened.
pub(super) const OPENINGS: &[u8] = b"t/";
/// Prefix of the changes that have not ended, by the place where they were opened.
pub(super) const OPEN: &[u8] = b"o/";
/// Prefix of the key-value state of all releases.
pub(super) const STATES: &[u8] = b"s/";

/// Bytes of a position in keys and values.
pub(super) const POSITION: usize = 8;

pub(super) fn position(at: Position) -> [u8; POSITION] {
    let mut bytes = [0; POSITION];
    bytes[..4].copy_from_slice(&at.segment.to_be_bytes());
    bytes[4..].copy_from_slice(&at.offset.to_be_bytes());
    bytes
}

pub(super) fn read_position(bytes: &[u8]) -> Option<Position> {
    let (segment, offset) = bytes.split_first_chunk::<4>()?;
    let offset = offset.try_into().ok()?;
    Some(Position { segment: u32::from_be_bytes(*segment), offset: u32::from_be_bytes(offset) })
}

/// The change that was opened there.
pub(super) fn opening(at: Position) -> Vec<u8> {
    [OPENINGS, &position(at)].concat()
}

/// Says that the change that was opened there has not ended.
pub(super) fn open(at: Position) -> Vec<u8> {
    [OPEN, &position(at)].concat()
}

/// Where a key of [`opening`] or [`open`] points to.
pub(super) fn read_opening(key: &[u8]) -> Option<Position> {
    read_position(key.get(OPEN.len()..)?)
}

/// Prefix of the places of later records of the change that was opened there.
pub(super) fn places_of(at: Position) -> Vec<u8> {
    [b"p/", position(at).as_slice()].concat()
}

/// The places of its records from record `seq` on.
pub(super) fn places(at: Position, seq: u64) -> Vec<u8> {
    [b"p/", position(at).as_slice(), &seq.to_be_bytes()].concat()
}

/// Prefix of the numbers of the changes of a release.
pub(super) fn numbers_of(release: &ReleaseKey) -> Vec<u8> {
    let mut key = b"n/".to_vec();
    push_release(&mut key, release);
    key
}

/// An entry with numbers of changes of a release.
pub(super) fn numbers(release: &ReleaseKey, entry: u64) -> Vec<u8> {
    let mut key = numbers_of(release);
    key.extend_from_slice(&entry.to_be_bytes());
    key
}

pub(super) fn release(release: &ReleaseKey) -> Vec<u8> {
    let mut key = RELEASES.to_vec();
    push_release(&mut key, release);
    key
}

/// A key of the state of the release with this uid. The uid's length comes first, since either may be any text.
pub(super) fn state(uid: &str, key: &str) -> Vec<u8> {
    let mut bytes = STATES.to_vec();
    bytes.extend_from_slice(&u32::try_from(uid.len()).unwrap_or(u32::MAX).to_be_bytes());
    bytes.extend_from_slice(uid.as_bytes());
    bytes.extend_from_slice(key.as_bytes());
    bytes
}

/// Uid and key of a key that [`state`] made.
pub(super) fn read_state(bytes: &[u8]) -> Option<(String, String)> {
    let rest = bytes.strip_prefix(STATES)?;
    let (len, rest) = rest.split_first_chunk()?;
    let (uid, key) = rest.split_at_checked(u32::from_be_bytes(*len) as usize)?;
    Some((String::from_utf8(uid.to_vec()).ok()?, String::from_utf8(key.to_vec()).ok()?))
}

fn push_release(key: &mut Vec<u8>, release: &ReleaseKey) {
    key.extend_from_slice(release.tenant.as_bytes());
    key.push(b'/');
    key.extend_from_slice(release.name.as_bytes());
    key.push(b'/');
}
