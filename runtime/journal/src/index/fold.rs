//! The writing side of the index: takes records in, keeps the views of what changes in memory, where reads find them, and puts
//! them into sled in one batch for many groups. What is not there yet after a crash is taken from the log again.

use std::collections::HashMap;

use pintle_lifecycle::ids::{ChangeKey, ReleaseKey};
use pintle_lifecycle::record::Record;
use pintle_lifecycle::view::{ChangeView, ReleaseView};

use super::entry::{IndexedChange, Numbers};
use super::{Index, IndexError, Mark, json, keys, open::guarded};
use crate::journal::JournalError;
use crate::log::position::Place;
use crate::views::{ChangeFold, StateEdit, Views, check_next, state_edit};

/// So many changes stay in memory even if nothing happens in them.
const KEPT: usize = 4_096;
/// Keys in one batch where there are many: readers wait while one is applied.
const BATCH: usize = 1_024;
/// Places in one entry: bounds its size to 6 KiB.
const PLACES: usize = 512;

/// What was taken in and is not in sled yet, and the views that go on changing.
#[derive(Debug, Default)]
pub(crate) struct IndexFold {
    changes: HashMap<ChangeKey, Kept>,
    releases: HashMap<ReleaseKey, KeptRelease>,
    /// By uid of the release and key; none where the value was deleted.
    state: HashMap<String, HashMap<String, Option<Place>>>,
    /// Changes and releases that the next batch has, each once.
    touched: Vec<ChangeKey>,
    touched_releases: Vec<ReleaseKey>,
    pending: Pending,
}

/// How much waits for the next batch.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Pending {
    pub records: usize,
    /// Of the records in the log.
    pub bytes: usize,
    /// About so many, at most.
    pub keys: usize,
}

/// What is known without sled.
pub(crate) enum Near<T> {
    Known(T),
    /// Sled has it, if anything has.
    Far,
}

#[derive(Debug)]
struct Kept {
    change: IndexedChange,
    /// Places that the next batch has.
    fresh: Vec<Place>,
    /// Whether sled lists it as open.
    listed: bool,
}

#[derive(Debug, Default)]
struct KeptRelease {
    view: Option<ReleaseView>,
    touched: bool,
}

/// Why a record was not taken in.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FoldError {
    #[error(transparent)]
    Index(#[from] IndexError),
    #[error(transparent)]
    Record(#[from] JournalError),
}

impl IndexFold {
    /// Number of the next record of a change; 0 where there is no such change.
    pub(crate) fn next(&mut self, index: &Index, change: &ChangeKey) -> Result<u64, IndexError> {
        Ok(load(&mut self.changes, index, change)?.map_or(0, |kept| kept.change.fold.view.records))
    }

    /// Takes in a record that lies at `place`.
    ///
    /// # Errors
    /// Where it is not the next of its change, or the index cannot be read.
    pub(crate) fn take(&mut self, index: &Index, record: &Record, place: Place) -> Result<(), FoldError> {
        let kept = if let Some(kept) = load(&mut self.changes, index, &record.change)? {
            check_next(kept.change.fold.view.records, record)?;
            kept.change.fold.apply(record);
            kept
        } else {
            check_next(0, record)?;
            let Some(fold) = ChangeFold::open(record) else { return Ok(()) };
            let change = IndexedChange { fold, opened: place.at, places: Vec::new() };
            let kept = Kept { change, fresh: Vec::new(), listed: false };
            self.changes.entry(record.change.clone()).or_insert(kept)
        };
        if kept.fresh.is_empty() {
            self.touched.push(record.change.clone());
        }
        kept.fresh.push(place);
        if kept.change.places.len() < IndexedChange::PLACES {
            kept.change.places.push(place);
        }
        if let Some(edit) = state_edit(record) {
            let (key, value) = match edit {
                StateEdit::Put(key) => (key, Some(place)),
                StateEdit::Delete(key) => (key, None),
            };
            self.state.entry(kept.change.fold.uid.clone()).or_default().insert(key.to_owned(), value);
            self.pending.keys += 1;
        }
        self.take_release(index, record)?;
        self.pending.records += 1;
        self.pending.bytes += place.len as usize;
        Ok(())
    }

    fn take_release(&mut self, index: &Index, record: &Record) -> Result<(), IndexError> {
        let key = &record.change.release;
        if let Some(kept) = self.releases.get_mut(key) {
            kept.view = ReleaseView::after(kept.view.take(), record);
            if !std::mem::replace(&mut kept.touched, true) {
                self.touched_releases.push(key.clone());
            }
            return Ok(());
        }
        let view = ReleaseView::after(index.release(key)?, record);
        self.releases.insert(key.clone(), KeptRelease { view, touched: true });
        self.touched_releases.push(key.clone());
        Ok(())
    }

    /// What waits for the next batch.
    pub(crate) fn pending(&self) -> Pending {
        let keys = self.pending.keys + 2 * self.touched.len() + self.touched_releases.len();
        Pending { keys, ..self.pending }
    }

    /// The change, where it is in memory.
    pub(crate) fn change(&self, change: &ChangeKey) -> Near<Option<ChangeView>> {
        self.changes.get(change).map_or(Near::Far, |kept| Near::Known(Some(kept.change.fold.view.clone())))
    }

    /// The release, where it is in memory.
    pub(crate) fn release(&self, release: &ReleaseKey) -> Near<Option<ReleaseView>> {
        self.releases.get(release).map_or(Near::Far, |kept| Near::Known(kept.view.clone()))
    }

    /// The newest records of a change, which sled may not have yet, and the number of the first of them.
    pub(crate) fn fresh(&self, change: &ChangeKey) -> Option<(u64, Vec<Place>)> {
        let kept = self.changes.get(change)?;
        Some((kept.first_fresh(), kept.fresh.clone()))
    }

    /// The record that put a value into the state, where sled may not have it yet; none where it was deleted.
    pub(crate) fn state(&self, uid: &str, key: &str) -> Near<Option<Place>> {
        let value = self.state.get(uid).and_then(|values| values.get(key));
        value.map_or(Near::Far, |place| Near::Known(*place))
    }

    /// Everything that was taken in as one batch, together with how far that is; none where there is nothing. Until
    /// [`Self::settled`] it stays here as well, for reads.
    ///
    /// # Errors
    /// Where a view cannot be encoded.
    pub(crate) fn batch(&self, mark: &Mark) -> Result<Option<Edits>, IndexError> {
        if self.pending.records == 0 {
            return Ok(None);
        }
        let mut batch = Edits::default();
        for change in &self.touched {
            if let Some(kept) = self.changes.get(change) {
                batch.change(change, kept)?;
            }
        }
        for release in &self.touched_releases {
            if let Some(view) = self.releases.get(release).and_then(|kept| kept.view.as_ref()) {
                batch.put(keys::release(release), json(view)?);
            }
        }
        for (uid, values) in &self.state {
            for (key, place) in values {
                match place {
                    Some(place) => batch.put(keys::state(uid, key), place.encode().to_vec()),
                    None => batch.remove(keys::state(uid, key)),
                }
            }
        }
        batch.put(keys::MARK.to_vec(), mark.bytes());
        Ok(Some(batch))
    }

    /// Sled has the batch.
    pub(crate) fn settled(&mut self) {
        for change in &self.touched {
            if let Some(kept) = self.changes.get_mut(change) {
                kept.fresh.clear();
                kept.listed = kept.change.fold.is_open();
            }
        }
        for release in &self.touched_releases {
            if let Some(kept) = self.releases.get_mut(release) {
                kept.touched = false;
            }
        }
        self.state.clear();
        self.pending = Pending::default();
        self.forget();
    }

    /// Lets go of what did not change lately where there is much of it. Ended changes go at once.
    fn forget(&mut self) {
        let touched = std::mem::take(&mut self.touched);
        let releases = std::mem::take(&mut self.touched_releases);
        for change in &touched {
            if self.changes.get(change).is_some_and(|kept| !kept.change.fold.is_open()) {
                self.changes.remove(change);
            }
        }
        if self.changes.len() > KEPT {
            let mut all = std::mem::take(&mut self.changes);
            self.changes = touched.into_iter().filter_map(|key| all.remove_entry(&key)).collect();
        }
        if self.releases.len() > KEPT {
            let mut all = std::mem::take(&mut self.releases);
            self.releases = releases.into_iter().filter_map(|key| all.remove_entry(&key)).collect();
        }
    }
}

impl Kept {
    /// Number of the first record in `fresh`.
    fn first_fresh(&self) -> u64 {
        self.change.fold.view.records - self.fresh.len() as u64
    }
}

/// The change, from memory or else from sled.
fn load<'a>(
    changes: &'a mut HashMap<ChangeKey, Kept>,
    index: &Index,
    change: &ChangeKey,
) -> Result<Option<&'a mut Kept>, IndexError> {
    if !changes.contains_key(change) {
        let Some(indexed) = index.change(change)? else { return Ok(None) };
        let listed = indexed.fold.is_open();
        changes.insert(change.clone(), Kept { change: indexed, fresh: Vec::new(), listed });
    }
    Ok(changes.get_mut(change))
}

/// Fills an empty index with views that were kept in memory so far.
///
/// # Errors
/// Where sled fails. A part of it may be there then; its mark still says that nothing is.
pub(crate) fn fill(index: &Index, views: &Views<Place>, mark: &Mark) -> Result<(), IndexError> {
    let mut batch = Edits::default();
    for change in views.order() {
        let Some(kept) = views.kept(change) else { continue };
        let places = kept.records.iter().copied().take(IndexedChange::PLACES).collect();
        let indexed = IndexedChange { fold: kept.fold.clone(), opened: kept.records[0].at, places };
        batch.change(change, &Kept { change: indexed, fresh: kept.records.clone(), listed: false })?;
        batch = batch.apply_if_long(index)?;
    }
    for release in views.releases() {
        batch.put(keys::release(&release.key), json(release)?);
        batch = batch.apply_if_long(index)?;
    }
    for (uid, key, place) in views.states() {
        batch.put(keys::state(uid, key), place.encode().to_vec());
        batch = batch.apply_if_long(index)?;
    }
    batch.put(keys::MARK.to_vec(), mark.bytes());
    batch.apply(index)
}

/// One batch.
#[derive(Default)]
pub(crate) struct Edits {
    batch: sled::Batch,
    keys: usize,
    numbers: Numbers,
}

impl Edits {
    fn change(&mut self, change: &ChangeKey, kept: &Kept) -> Result<(), IndexError> {
        let (first, opened) = (kept.first_fresh(), kept.change.opened);
        let in_entry = (IndexedChange::PLACES as u64).saturating_sub(first);
        let later = kept.fresh.get(usize::try_from(in_entry).unwrap_or(usize::MAX)..).unwrap_or_default();
        for (places, seq) in later.chunks(PLACES).zip((first + in_entry..).step_by(PLACES)) {
            let bytes: Vec<u8> = places.iter().flat_map(|place| place.encode()).collect();
            self.put(keys::places(opened, seq), bytes);
        }
        if first == 0 {
            self.numbers.add(change, opened);
        }
        let open = kept.change.fold.is_open();
        if open != kept.listed {
            if open {
                self.put(keys::open(opened), json(change)?);
            } else {
                self.remove(keys::open(opened));
            }
        }
        self.put(keys::opening(opened), kept.change.encode()?);
        Ok(())
    }

    fn put(&mut self, key: Vec<u8>, value: Vec<u8>) {
        self.batch.insert(key, value);
        self.keys += 1;
    }

    fn remove(&mut self, key: Vec<u8>) {
        self.batch.remove(key);
        self.keys += 1;
    }

    fn apply_if_long(self, index: &Index) -> Result<Self, IndexError> {
        if self.keys < BATCH {
            return Ok(self);
        }
        self.apply(index).map(|()| Self::default())
    }

    /// Puts the batch into sled.
    ///
    /// # Errors
    /// Where sled fails. Final: the index is not used any more.
    pub(crate) fn apply(mut self, index: &Index) -> Result<(), IndexError> {
        self.keys += self.numbers.len();
        guarded(|| self.numbers.put_into(&mut self.batch, index))?;
        index.make_room(self.keys);
        guarded(|| Ok(index.db.apply_batch(self.batch)?))?;
        // Else sled never frees the pages that were replaced: gigabytes after some hundred thousand records.
        for _ in 0..self.keys * 2 / 32 + 2 {
            crossbeam_epoch::pin().flush();
        }
        Ok(())
    }
}
