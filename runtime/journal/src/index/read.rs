//! Reads of the index.

use pintle_lifecycle::ids::{ChangeKey, ReleaseKey};
use pintle_lifecycle::view::{ChangeView, ReleaseView};
use serde::de::DeserializeOwned;

use super::open::guarded;
use super::{Index, IndexError, IndexedChange, keys};
use crate::journal::ChangeQuery;
use crate::log::position::Place;

impl Index {
    pub(crate) fn change(&self, change: &ChangeKey) -> Result<Option<IndexedChange>, IndexError> {
        self.json(&keys::change(change))
    }

    /// Newest first.
    pub(crate) fn changes(&self, query: &ChangeQuery) -> Result<Vec<ChangeView>, IndexError> {
        let limit = if query.limit == 0 { usize::MAX } else { query.limit };
        let mut views = Vec::new();
        if let Some(release) = &query.release {
            for entry in self.db.scan_prefix(keys::changes_of(release)).rev() {
                let IndexedChange { fold, .. } = parse(&entry?.1)?;
                if !query.open || fold.is_open() {
                    views.push(fold.view);
                }
                if views.len() == limit {
                    break;
                }
            }
            return Ok(views);
        }
        for change in self.keys_of_changes(query.open, limit)? {
            let indexed = self.change(&change)?;
            let indexed = indexed.ok_or_else(|| IndexError::new(format!("{change} is listed and not there")))?;
            views.push(indexed.fold.view);
        }
        Ok(views)
    }

    /// In the order in which they were opened.
    pub(crate) fn open_changes(&self) -> Result<Vec<ChangeKey>, IndexError> {
        let mut keys = self.keys_of_changes(true, usize::MAX)?;
        keys.reverse();
        Ok(keys)
    }

    /// Keys of changes of all releases, newest first.
    fn keys_of_changes(&self, open: bool, limit: usize) -> Result<Vec<ChangeKey>, IndexError> {
        if !open {
            let entries = self.db.scan_prefix(keys::OPENINGS).rev().take(limit);
            return entries.map(|entry| parse(&entry?.1)).collect();
        }
        // By name; the value says where the change was opened.
        let mut found: Vec<(Vec<u8>, ChangeKey)> = Vec::new();
        for entry in self.db.scan_prefix(keys::OPEN) {
            let opening = entry?.1;
            let key = self.json(&opening)?.ok_or_else(|| IndexError::new("an open change was never opened"))?;
            found.push((opening.to_vec(), key));
        }
        found.sort_unstable_by(|a, b| b.0.cmp(&a.0));
        found.truncate(limit);
        Ok(found.into_iter().map(|(_, key)| key).collect())
    }

    /// Where the records of a change lie, in order.
    pub(crate) fn places(&self, change: &ChangeKey) -> Result<Vec<Place>, IndexError> {
        let mut places = Vec::new();
        for entry in self.db.scan_prefix(keys::places_of(change)) {
            let (key, value) = entry?;
            if key != keys::places(change, places.len() as u64) {
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

pub(super) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, IndexError> {
    serde_json::from_slice(bytes).map_err(|error| IndexError::new(format!("an entry makes no sense: {error}")))
}
