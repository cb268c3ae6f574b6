//! What the index keeps of a change: one entry under the place where it was opened, with its view and where its first records lie.
//! A change that opened and ended between two batches, as most do, is one insertion.

use std::collections::BTreeMap;

use pintle_lifecycle::ids::{ChangeKey, ReleaseKey};

use super::read::parse;
use super::{Index, IndexError, json, keys};
use crate::log::position::{Place, Position};
use crate::views::ChangeFold;

/// A change as sled keeps it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct IndexedChange {
    pub fold: ChangeFold,
    /// Where its first record lies: changes are listed in that order.
    pub opened: Position,
    /// Where its first records lie, at most [`Self::PLACES`]; later ones have entries of their own.
    pub places: Vec<Place>,
}

impl IndexedChange {
    /// Bounds what is written again with each batch of a change that goes on for long.
    pub(super) const PLACES: usize = 64;

    pub(super) fn encode(&self) -> Result<Vec<u8>, IndexError> {
        let count = u8::try_from(self.places.len()).map_err(|_| IndexError::new("too many places in one entry"))?;
        let mut bytes = vec![count];
        bytes.extend(self.places.iter().flat_map(|place| place.encode()));
        bytes.extend(json(&self.fold)?);
        Ok(bytes)
    }

    pub(super) fn decode(opened: Position, bytes: &[u8]) -> Result<Self, IndexError> {
        let cut_off = || IndexError::new("the entry of a change is cut off");
        let (count, rest) = bytes.split_first().ok_or_else(cut_off)?;
        let (places, fold) = rest.split_at_checked(usize::from(*count) * Place::BYTES).ok_or_else(cut_off)?;
        let places = places.chunks(Place::BYTES).map(Place::decode).collect::<Option<_>>().ok_or_else(cut_off)?;
        Ok(Self { fold: parse(fold)?, opened, places })
    }
}

/// Where changes of a release were opened, by their numbers: so many are one entry.
const NUMBERS: u64 = 64;

/// The entry of a change and its place in it.
fn slot(change: &ChangeKey) -> (u64, usize) {
    (change.number / NUMBERS, usize::try_from(change.number % NUMBERS).unwrap_or(0))
}

/// New numbers, by release and entry.
#[derive(Debug, Default)]
pub(super) struct Numbers(BTreeMap<(ReleaseKey, u64), Vec<(usize, Position)>>);

impl Numbers {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn add(&mut self, change: &ChangeKey, opened: Position) {
        let (entry, slot) = slot(change);
        self.0.entry((change.release.clone(), entry)).or_default().push((slot, opened));
    }

    /// Puts whole entries into a batch, with what sled has of them already.
    pub(super) fn put_into(self, batch: &mut sled::Batch, index: &Index) -> Result<(), IndexError> {
        for ((release, number), fresh) in self.0 {
            let key = keys::numbers(&release, number);
            let mut bytes = index.db.get(&key)?.map(|bytes| bytes.to_vec()).unwrap_or_default();
            for (slot, opened) in fresh {
                let at = slot * keys::POSITION;
                bytes.resize(bytes.len().max(at + keys::POSITION), 0);
                bytes[at..at + keys::POSITION].copy_from_slice(&keys::position(opened));
            }
            batch.insert(key, bytes);
        }
        Ok(())
    }
}

impl Index {
    /// Where a change was opened.
    pub(super) fn opened(&self, change: &ChangeKey) -> Result<Option<Position>, IndexError> {
        let (entry, slot) = slot(change);
        let bytes = self.db.get(keys::numbers(&change.release, entry))?;
        Ok(bytes.and_then(|bytes| positions(&bytes).nth(slot).flatten()))
    }

    /// Where the changes of a release were opened, the newest change first.
    pub(super) fn openings_of(&self, release: &ReleaseKey) -> impl Iterator<Item = Result<Position, IndexError>> {
        let entries = self.db.scan_prefix(keys::numbers_of(release)).rev();
        entries.flat_map(|entry| match entry {
            Err(error) => vec![Err(error.into())],
            Ok((_, bytes)) => {
                let mut openings: Vec<_> = positions(&bytes).flatten().map(Ok).collect();
                openings.reverse();
                openings
            }
        })
    }
}

/// By slot; none where it is empty.
fn positions(bytes: &[u8]) -> impl Iterator<Item = Option<Position>> {
    // Segments count from 1.
    bytes.chunks(keys::POSITION).map(|bytes| keys::read_position(bytes).filter(|at| at.segment > 0))
}
