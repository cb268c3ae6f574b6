//! Writers that append until the store fails, and remember what was acknowledged.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use pintle_journal::Store;
use pintle_journal::journal::{ChangeQuery, Journal};
use pintle_lifecycle::ending::ChangeState;
use pintle_lifecycle::ids::ChangeKey;
use pintle_lifecycle::record::{Record, Verb};

use crate::dice::Dice;
use crate::sample::Change;

/// What was sent to a store, change by change, and how much of it was acknowledged.
#[derive(Debug, Clone, Default)]
pub struct Sent {
    changes: BTreeMap<ChangeKey, (Vec<Record>, usize)>,
}

/// What of it a store has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Kept {
    pub acknowledged: usize,
    /// Acknowledged and not there.
    pub lost: usize,
    /// Not acknowledged and there all the same.
    pub more: usize,
}

impl Sent {
    /// What of this is in the store.
    ///
    /// # Panics
    /// Where the store has something else than what was sent, or its views do not fit its records.
    pub async fn compare(&self, store: &Store) -> Kept {
        let mut kept = Kept::default();
        for (key, (records, acknowledged)) in &self.changes {
            let stored = store.records(key).await.expect("a store that is open can be read");
            assert!(records.starts_with(&stored), "{key}: the store has something else than what was sent");
            let view = store.change(key).await.expect("a store that is open can be read");
            assert_eq!(view.map_or(0, |view| view.records), stored.len() as u64, "{key}: view and records");
            kept.acknowledged += acknowledged;
            kept.lost += acknowledged.saturating_sub(stored.len());
            kept.more += stored.len().saturating_sub(*acknowledged);
        }
        kept
    }

    /// The records that the store has are those that count from now on: nothing more of the others comes.
    ///
    /// # Panics
    /// Where the store cannot be read.
    pub async fn settle(&mut self, store: &Store) {
        for (key, (records, acknowledged)) in &mut self.changes {
            let stored = store.records(key).await.expect("a store that is open can be read").len();
            records.truncate(stored);
            *acknowledged = stored;
        }
    }

    /// How many acknowledged records are not among these.
    #[must_use]
    pub fn missing(&self, records: &[Record]) -> usize {
        let there = |key: &ChangeKey| records.iter().filter(|record| record.change == *key).count();
        self.changes.iter().map(|(key, (_, acknowledged))| acknowledged.saturating_sub(there(key))).sum()
    }

    /// # Panics
    /// Where `stored` is not what was sent of that change, or ends before what was acknowledged.
    pub fn assert_prefix(&self, key: &ChangeKey, stored: &[Record]) {
        let (records, acknowledged) = &self.changes[key];
        assert!(records.starts_with(stored) && stored.len() >= *acknowledged, "{key}: {} records", stored.len());
    }

    #[must_use]
    pub fn acknowledged(&self) -> usize {
        self.changes.values().map(|(_, acknowledged)| acknowledged).sum()
    }

    fn note_sent(&mut self, records: &[Record]) {
        self.changes.entry(records[0].change.clone()).or_default().0.extend_from_slice(records);
    }

    fn note_acknowledged(&mut self, key: &ChangeKey, count: usize) {
        self.changes.entry(key.clone()).or_default().1 += count;
    }

    /// Appends and notes both. Says why it failed.
    ///
    /// # Errors
    /// What the store says.
    pub async fn append(&mut self, store: &Store, records: Vec<Record>) -> Result<(), String> {
        let (key, count) = (records[0].change.clone(), records.len());
        self.note_sent(&records);
        store.append(records).await.map_err(|error| error.to_string())?;
        self.note_acknowledged(&key, count);
        Ok(())
    }
}

/// Lets `writers` append to the store, each one change after another, until it fails. Returns why it did.
///
/// # Panics
/// Where a writer does.
pub async fn write_until_it_fails(
    store: &Arc<Store>,
    sent: &Arc<Mutex<Sent>>,
    writers: usize,
    first_number: u64,
    seed: u64,
) -> String {
    let mut all = tokio::task::JoinSet::new();
    for writer in 0..writers {
        let (store, sent) = (Arc::clone(store), Arc::clone(sent));
        let dice = Dice::of(seed ^ (writer as u64) << 32);
        all.spawn(async move { one_writer(&store, &sent, writer, first_number, dice).await });
    }
    let mut why = String::new();
    while let Some(ended) = all.join_next().await {
        why = ended.expect("a writer ends by itself");
    }
    why
}

async fn one_writer(store: &Store, sent: &Mutex<Sent>, writer: usize, first_number: u64, mut dice: Dice) -> String {
    for number in first_number.. {
        let mut change = Change::new(&format!("release-{writer}"), number);
        for records in records(&mut change, &mut dice) {
            let (key, count) = (change.key.clone(), records.len());
            sent.lock().unwrap_or_else(PoisonError::into_inner).note_sent(&records);
            if let Err(error) = store.append(records).await {
                return error.to_string();
            }
            sent.lock().unwrap_or_else(PoisonError::into_inner).note_acknowledged(&key, count);
            // A read lets the index take in what was appended before it.
            if dice.below(12) == 0
                && let Err(error) = store.changes(ChangeQuery { open: true, ..ChangeQuery::default() }).await
            {
                return error.to_string();
            }
        }
    }
    String::new()
}

/// A change as appends: opened, some calls and lines, values put and deleted, now and then stuck and retried, ended.
fn records(change: &mut Change, dice: &mut Dice) -> Vec<Vec<Record>> {
    let mut appends = vec![vec![change.opened(), change.started()]];
    let mut ordinal = 0;
    for _ in 0..dice.below(12) {
        let mut append = Vec::new();
        for _ in 0..=dice.below(3) {
            let len = usize::try_from(dice.below(900)).unwrap_or_default();
            let of_four = dice.below(4);
            append.push(match of_four {
                0 | 1 => change.log(&"x".repeat(len)),
                2 => change.put(ordinal, "place", &vec![7; len / 4]),
                _ => change.delete(ordinal, "place"),
            });
            ordinal += u32::from(of_four > 1);
        }
        appends.push(append);
    }
    if dice.below(4) == 0 {
        appends.push(vec![change.stuck("is it there?"), change.asked(Verb::Retry)]);
    }
    appends.push(vec![change.ended(), change.finished(ChangeState::Succeeded)]);
    appends
}

/// Opens a store and compares it with what was sent.
///
/// # Panics
/// Where it cannot be opened.
pub async fn reopen(dir: &Path, options: &pintle_journal::StoreOptions, sent: &Sent) -> (Store, Kept) {
    let store = Store::open(dir, options).unwrap_or_else(|error| panic!("the store does not open: {}", line(&error)));
    let kept = sent.compare(&store).await;
    (store, kept)
}

/// An error with its causes, in one line.
#[must_use]
pub fn line(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
