//! Keys of the index: one tree, one letter a kind. Names of tenants and releases are labels, so `/` ends them; numbers are
//! big-endian, so that keys sort as they count.

use pintle_lifecycle::ids::{ChangeKey, ReleaseKey};

use crate::log::position::Position;

/// How far the log is taken in.
pub(super) const MARK: &[u8] = b"m";

/// Prefix of the views of all releases.
pub(super) const RELEASES: &[u8] = b"r/";
/// Prefix of all changes by the place where they were opened.
pub(super) const OPENINGS: &[u8] = b"t/";
/// Prefix of the changes that have not ended.
pub(super) const OPEN: &[u8] = b"o/";
/// Prefix of the key-value state of all releases.
pub(super) const STATES: &[u8] = b"s/";

pub(super) fn change(change: &ChangeKey) -> Vec<u8> {
    numbered(b"c/", change)
}

/// Prefix of the changes of a release.
pub(super) fn changes_of(release: &ReleaseKey) -> Vec<u8> {
    let mut key = b"c/".to_vec();
    push_release(&mut key, release);
    key
}

pub(super) fn open(change: &ChangeKey) -> Vec<u8> {
    numbered(OPEN, change)
}

/// Prefix of the places of a change's records.
pub(super) fn places_of(change: &ChangeKey) -> Vec<u8> {
    numbered(b"p/", change)
}

/// The places of records of a change from record `seq` on.
pub(super) fn places(change: &ChangeKey, seq: u64) -> Vec<u8> {
    let mut key = places_of(change);
    key.extend_from_slice(&seq.to_be_bytes());
    key
}

pub(super) fn opening(at: Position) -> Vec<u8> {
    let mut key = OPENINGS.to_vec();
    key.extend_from_slice(&at.segment.to_be_bytes());
    key.extend_from_slice(&at.offset.to_be_bytes());
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

fn numbered(prefix: &[u8], change: &ChangeKey) -> Vec<u8> {
    let mut key = prefix.to_vec();
    push_release(&mut key, &change.release);
    key.extend_from_slice(&change.number.to_be_bytes());
    key
}

fn push_release(key: &mut Vec<u8>, release: &ReleaseKey) {
    key.extend_from_slice(release.tenant.as_bytes());
    key.push(b'/');
    key.extend_from_slice(release.name.as_bytes());
    key.push(b'/');
}
