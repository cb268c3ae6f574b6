//! The one fold from records to views. Everything that reads the log makes its views here: the index and its rebuild, a reader
//! beside a running Pintle, the journal in memory. So a rebuilt index has no other way to come out than the one that was lost.

use std::collections::{BTreeMap, HashMap};

use pintle_lifecycle::call::Call;
use pintle_lifecycle::ids::{ChangeKey, ReleaseKey};
use pintle_lifecycle::record::{Event, Record};
use pintle_lifecycle::view::{ChangeView, ReleaseView};
use serde::{Deserialize, Serialize};

use crate::journal::{ChangeQuery, JournalError};

/// A change as the index keeps it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ChangeFold {
    pub view: ChangeView,
    /// Of the release, from the change's own plan: the release's view may be of a later namesake.
    pub uid: String,
}

/// What a record does to the key-value state of its release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StateEdit<'a> {
    Put(&'a str),
    Delete(&'a str),
}

impl ChangeFold {
    /// The change that `record` opens; none for other records.
    pub(crate) fn open(record: &Record) -> Option<Self> {
        let (Event::ChangeOpened { plan, .. } | Event::ChangeQueued { plan, .. }) = &record.event else { return None };
        Some(Self { view: ChangeView::open(record)?, uid: plan.target.uid.clone() })
    }

    /// Takes in the next record of the change.
    pub(crate) fn apply(&mut self, record: &Record) {
        // A change that waited for its turn may find a later release of the same name.
        if let Event::ChangeOpened { plan, .. } = &record.event {
            self.uid.clone_from(&plan.target.uid);
        }
        self.view.apply(record);
    }

    /// Whether nothing more happens by itself.
    pub(crate) fn is_open(&self) -> bool {
        self.view.is_open()
    }
}

/// Checks that `record` is the next one of a change that has `next` records.
pub(crate) fn check_next(next: u64, record: &Record) -> Result<(), JournalError> {
    let seq = record.seq;
    if seq != next {
        return Err(JournalError::Superseded { change: record.change.clone(), seq });
    }
    let problem = match (&record.event, seq) {
        (Event::ChangeQueued { .. }, 1..) | (Event::ChangeOpened { .. }, 2..) => "the change is open already",
        (Event::ChangeOpened { .. } | Event::ChangeQueued { .. }, 0) | (_, 1..) => return Ok(()),
        (_, 0) => "a change starts with its plan",
    };
    Err(JournalError::Unfit { change: record.change.clone(), seq, problem })
}

/// Checks that `records` go on with one change that has `next` records.
pub(crate) fn check_append(next: u64, records: &[Record]) -> Result<(), JournalError> {
    for (record, next) in records.iter().zip(next..) {
        check_next(next, record)?;
        if record.change != records[0].change {
            let (change, seq) = (record.change.clone(), record.seq);
            return Err(JournalError::Unfit { change, seq, problem: "an append has records of one change only" });
        }
    }
    Ok(())
}

/// The key of the release's state that `record` changes.
pub(crate) fn state_edit(record: &Record) -> Option<StateEdit<'_>> {
    let Event::CallOutcome { call: Some(call), outcome: Ok(_), .. } = &record.event else { return None };
    match call {
        Call::StatePut { key, .. } => Some(StateEdit::Put(key)),
        Call::StateDelete { key } => Some(StateEdit::Delete(key)),
        _ => None,
    }
}

/// The value that `record` puts into the state.
pub(crate) fn state_value(record: &Record) -> Option<&[u8]> {
    match &record.event {
        Event::CallOutcome { call: Some(Call::StatePut { value, .. }), .. } => Some(&value.0),
        _ => None,
    }
}

/// All views of a journal, in memory. `P` is what stands for a record: the record itself, or its place in the log.
#[derive(Debug, Clone)]
pub(crate) struct Views<P> {
    changes: HashMap<ChangeKey, Kept<P>>,
    /// In the order in which they were opened.
    order: Vec<ChangeKey>,
    /// Taken out for a moment while a record is taken in, and else always there.
    releases: HashMap<ReleaseKey, Option<ReleaseView>>,
    /// By uid of the release and key: the record that put the value.
    state: BTreeMap<String, BTreeMap<String, P>>,
}

/// A change and what stands for its records.
#[derive(Debug, Clone)]
pub(crate) struct Kept<P> {
    pub fold: ChangeFold,
    pub records: Vec<P>,
}

impl<P> Default for Views<P> {
    fn default() -> Self {
        Self { changes: HashMap::new(), order: Vec::new(), releases: HashMap::new(), state: BTreeMap::new() }
    }
}

impl<P: Clone> Views<P> {
    /// Number of the next record of a change; 0 where there is no such change.
    pub(crate) fn next(&self, change: &ChangeKey) -> u64 {
        self.changes.get(change).map_or(0, |kept| kept.fold.view.records)
    }

    /// Takes in a record.
    ///
    /// # Errors
    /// Where it is not the next one of its change. Nothing is changed then.
    pub(crate) fn take(&mut self, record: &Record, place: P) -> Result<(), JournalError> {
        let kept = if let Some(kept) = self.changes.get_mut(&record.change) {
            check_next(kept.fold.view.records, record)?;
            kept.fold.apply(record);
            kept
        } else {
            check_next(0, record)?;
            let Some(fold) = ChangeFold::open(record) else { return Ok(()) };
            self.order.push(record.change.clone());
            self.changes.entry(record.change.clone()).or_insert(Kept { fold, records: Vec::new() })
        };
        kept.records.push(place.clone());
        match state_edit(record) {
            Some(StateEdit::Put(key)) => {
                self.state.entry(kept.fold.uid.clone()).or_default().insert(key.to_owned(), place);
            }
            Some(StateEdit::Delete(key)) => {
                self.state.get_mut(&kept.fold.uid).and_then(|keys| keys.remove(key));
            }
            None => {}
        }
        match self.releases.get_mut(&record.change.release) {
            Some(view) => *view = ReleaseView::after(view.take(), record),
            None => {
                self.releases.insert(record.change.release.clone(), ReleaseView::after(None, record));
            }
        }
        Ok(())
    }

    pub(crate) fn kept(&self, change: &ChangeKey) -> Option<&Kept<P>> {
        self.changes.get(change)
    }

    pub(crate) fn records(&self, change: &ChangeKey) -> &[P] {
        self.changes.get(change).map_or(&[], |kept| &kept.records)
    }

    pub(crate) fn change(&self, change: &ChangeKey) -> Option<&ChangeView> {
        self.changes.get(change).map(|kept| &kept.fold.view)
    }

    /// Keys of the changes in the order in which they were opened.
    pub(crate) fn order(&self) -> &[ChangeKey] {
        &self.order
    }

    /// Newest first.
    pub(crate) fn changes(&self, query: &ChangeQuery) -> Vec<ChangeView> {
        let wanted = |view: &&ChangeView| {
            query.release.as_ref().is_none_or(|release| view.key.release == *release) && (view.is_open() || !query.open)
        };
        let limit = if query.limit == 0 { usize::MAX } else { query.limit };
        self.order.iter().rev().filter_map(|key| self.change(key)).filter(wanted).take(limit).cloned().collect()
    }

    /// In the order in which they were opened.
    pub(crate) fn open_changes(&self) -> Vec<ChangeKey> {
        let is_open = |key: &&ChangeKey| self.change(key).is_some_and(ChangeView::is_open);
        self.order.iter().filter(is_open).cloned().collect()
    }

    pub(crate) fn release(&self, release: &ReleaseKey) -> Option<&ReleaseView> {
        self.releases.get(release)?.as_ref()
    }

    /// By key.
    pub(crate) fn releases(&self) -> Vec<&ReleaseView> {
        let mut releases: Vec<_> = self.releases.values().flatten().collect();
        releases.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        releases
    }

    pub(crate) fn state(&self, uid: &str, key: &str) -> Option<&P> {
        self.state.get(uid)?.get(key)
    }

    /// All of the state: uid, key and the record that put the value.
    pub(crate) fn states(&self) -> impl Iterator<Item = (&str, &str, &P)> {
        self.state
            .iter()
            .flat_map(|(uid, keys)| keys.iter().map(move |(key, place)| (uid.as_str(), key.as_str(), place)))
    }
}
