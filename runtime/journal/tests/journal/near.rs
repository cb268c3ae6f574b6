//! What was acknowledged and is not in the index yet: reads of one change, release or value see it, and what nobody waits for
//! becomes durable as well.

use pintle_journal::journal::Journal;
use pintle_journal::{MemoryJournal, Store};
use tempfile::TempDir;

use crate::sample::Change;
use crate::store::{history, options};

/// Compares all reads that name what they look for.
async fn assert_same(
    store: &Store,
    truth: &MemoryJournal,
    changes: impl IntoIterator<Item = &pintle_lifecycle::ids::ChangeKey>,
) {
    for change in changes {
        assert_eq!(store.records(change).await.unwrap(), truth.records(change).await.unwrap(), "{change}");
        assert_eq!(store.change(change).await.unwrap(), truth.change(change).await.unwrap(), "{change}");
        let release = &change.release;
        assert_eq!(store.release(release).await.unwrap(), truth.release(release).await.unwrap(), "{release}");
        let uid = format!("00000000{}", release.name);
        for key in ["seen", "big", "never"] {
            assert_eq!(store.state(&uid, key).await.unwrap(), truth.state(&uid, key).await.unwrap(), "{release} {key}");
        }
    }
}

#[tokio::test]
async fn reads_see_what_the_index_has_not_taken_in() {
    let dir = TempDir::new().unwrap();
    let store = Store::open(dir.path(), &options(true)).unwrap();
    let truth = MemoryJournal::new();
    let mut seen = Vec::new();
    for (count, records) in history().into_iter().enumerate() {
        seen.push(records[0].change.clone());
        store.append(records.clone()).await.unwrap();
        truth.append(records).await.unwrap();
        assert_same(&store, &truth, &seen).await;
        if count % 4 == 3 {
            // A list lets the index take everything in.
            assert_eq!(store.open_changes().await.unwrap(), truth.open_changes().await.unwrap());
            assert_same(&store, &truth, &seen).await;
        }
    }
}

#[tokio::test]
async fn what_nobody_waits_for_becomes_durable_all_the_same() {
    let dir = TempDir::new().unwrap();
    let store = Store::open(dir.path(), &options(false)).unwrap();
    let mut change = Change::new("shop", 1);
    for record in [change.opened(), change.started(), change.log("nobody waits for this")] {
        let mut receipt = store.append(vec![record]);
        assert!(receipt.take_hurry().is_some(), "a store can be hurried");
        receipt.await.unwrap();
    }
    let records = Store::open_for_reading(dir.path()).unwrap().records(&change.key).await.unwrap();
    assert_eq!(records.len(), 3);
}

#[tokio::test]
async fn whoever_waits_for_an_append_takes_all_before_it_along() {
    let dir = TempDir::new().unwrap();
    let store = Store::open(dir.path(), &options(false)).unwrap();
    let mut change = Change::new("shop", 1);
    let first = [change.opened(), change.started(), change.log("nobody waits for this")];
    let dropped: Vec<_> = first.into_iter().map(|record| store.append(vec![record])).collect();
    drop(dropped);
    store.append(vec![change.log("but for this")]).await.unwrap();
    let records = Store::open_for_reading(dir.path()).unwrap().records(&change.key).await.unwrap();
    assert_eq!(records.len(), 4);
}
