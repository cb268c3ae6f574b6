//! Reads of the index.

use pintle_lifecycle::ids::{ChangeKey, ReleaseKey};
use pintle_lifecycle::view::{ChangeView, ReleaseView};
use serde::de::DeserializeOwned;

use super::entry::IndexedChange;
use super::open::guarded;
use super::{Index, IndexError, keys};
use crate::journal::ChangeQuery;
use crate::log::position::{Place, Position};

impl Index {
    pub(crate) fn change(&self, change: &ChangeKey) -> Result<Option<IndexedChange>, IndexError> {
        guarded(|| self.opened(change)?.map(|opened| self.opened_at(opened)).transpose())
    }

    /// The change that was opened there.
    fn opened_at(&self, opened: Position) -> Result<IndexedChange, IndexError> {
        let bytes = self.db.get(keys::opening(opened))?;
        let bytes = bytes.ok_or_else(|| IndexError::new(format!("the change that {opened} opened is missing")))?;
        IndexedChange::decode(opened, &bytes)
    }

    /// Newest first.
    pub(crate) fn changes(&self, query: &ChangeQuery) -> Result<Vec<ChangeView>, IndexError> {
        let limit = if query.limit == 0 { usize::MAX } else { query.limit };
        match &query.release {
            Some(release) => {
                let all = self.openings_of(release).map(|opened| self.opened_at(opened?));
                listed(all.filter(|change| !query.open || is_open(change)), limit)
            }
            None if query.open => {
                let open = self.db.scan_prefix(keys::OPEN).rev();
                listed(open.map(|entry| self.opened_at(opening(&entry?.0)?)), limit)
            }
            None => {
                let all = self.db.scan_prefix(keys::OPENINGS).rev();
                let decoded = all.map(|entry| {
                    let (key, bytes) = entry?;
                    IndexedChange::decode(opening(&key)?, &bytes)
                });
                listed(decoded, limit)
            }
        }
    }

    /// In the order in which they were opened.
    pub(crate) fn open_changes(&self) -> Result<Vec<ChangeKey>, IndexError> {
        self.db.scan_prefix(keys::OPEN).map(|entry| parse(&entry?.1)).collect()
    }

    /// Where the records of a change lie, in order.
    pub(crate) fn places(&self, change: &ChangeKey) -> Result<Vec<Place>, IndexError> {
        let Some(IndexedChange { opened, mut places, .. }) = self.change(change)? else { return Ok(Vec::new()) };
        if places.len() < IndexedChange::PLACES {
            return Ok(places);
        }
        for entry in self.db.scan_prefix(keys::places_of(opened)) {
            let (key, value) = entry?;
            if key != keys::places(opened, places.len() as u64) {
                return Err(IndexError::new(format!("places of records of {change} are missing")));
            }
            for bytes in value.chunks(Place::BYTES) {
                places.push(Place::decode(bytes).ok_or_else(|| IndexError::new("a place is cut off"))?);
            }
        }
        Ok(places)
    }

    pub(crate) fn release(&self, release: &ReleaseKey) -> Result<Option<ReleaseView>, IndexError> {
        self.json(&keys::release(release))
    }

    /// By key.
    pub(crate) fn releases(&self) -> Result<Vec<ReleaseView>, IndexError> {
        let views = self.db.scan_prefix(keys::RELEASES).map(|entry| parse(&entry?.1));
        let mut views: Vec<ReleaseView> = views.collect::<Result<_, _>>()?;
        // Not the order of the bytes: `-` sorts before `/`.
        views.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        Ok(views)
    }

    /// The record that put a value of a release's state.
    pub(crate) fn state(&self, uid: &str, key: &str) -> Result<Option<Place>, IndexError> {
        let Some(value) = self.db.get(keys::state(uid, key))? else { return Ok(None) };
        Place::decode(&value).map(Some).ok_or_else(|| IndexError::new("a place is cut off"))
    }

    /// All of the state: uid, key and the record that put the value.
    pub(crate) fn states(&self) -> Result<Vec<(String, String, Place)>, IndexError> {
        let mut states = Vec::new();
        for entry in self.db.scan_prefix(keys::STATES) {
            let (key, value) = entry?;
            let state = keys::read_state(&key).zip(Place::decode(&value));
            let ((uid, key), place) = state.ok_or_else(|| IndexError::new("an entry of a state makes no sense"))?;
            states.push((uid, key, place));
        }
        Ok(states)
    }

    pub(super) fn json<T: DeserializeOwned>(&self, key: &[u8]) -> Result<Option<T>, IndexError> {
        guarded(|| self.db.get(key)?.map(|value| parse(&value)).transpose())
    }
}

fn is_open(change: &Result<IndexedChange, IndexError>) -> bool {
    change.as_ref().map_or(true, |change| change.fold.is_open())
}

fn listed(
    changes: impl Iterator<Item = Result<IndexedChange, IndexError>>,
    limit: usize,
) -> Result<Vec<ChangeView>, IndexError> {
    changes.take(limit).map(|change| Ok(change?.fold.view)).collect()
}

fn opening(key: &[u8]) -> Result<Position, IndexError> {
    keys::read_opening(key).ok_or_else(|| IndexError::new("a key makes no sense"))
}

pub(super) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, IndexError> {
    serde_json::from_slice(bytes).map_err(|error| IndexError::new(format!("an entry makes no sense: {error}")))
}
