//! Many that wait, lie and read at once: nobody waits for ever, whoever writes.

use std::sync::Arc;
use std::time::Duration;

use pintle_journal::check::check_store;
use pintle_journal::journal::{ChangeQuery, Journal};
use pintle_journal::{Store, StoreOptions};
use tempfile::TempDir;

use crate::dice::{Dice, rounds};
use crate::sample::Change;

/// A hang, however slow the machine is.
const HANGS: Duration = Duration::from_mins(2);

async fn one_of_many(store: Arc<Store>, name: String, seed: u64) {
    let mut dice = Dice::of(seed);
    let mut change = Change::new(&name, 1);
    store.append(vec![change.opened(), change.started()]).await.unwrap();
    let mut kept = Vec::new();
    for number in 0..rounds(200) {
        match dice.below(8) {
            0..=2 => drop(store.append(vec![change.log("lies")])),
            3 => kept.push(store.append(vec![change.log("is waited for later")])),
            4 => tokio::task::yield_now().await,
            5 if number % 16 == 0 => drop(store.open_changes().await.unwrap()),
            5 => store.append(Vec::new()).await.unwrap(),
            _ => store.append(vec![change.log("is waited for"), change.log("with this")]).await.unwrap(),
        }
    }
    for receipt in kept {
        receipt.await.unwrap();
    }
    store.append(Vec::new()).await.unwrap();
    let records = store.records(&change.key).await.unwrap();
    assert_eq!(records.last().map(|last| last.seq + 1), Some(records.len() as u64));
    let next = change.log("last");
    assert_eq!(next.seq, records.len() as u64, "{name}: all that was appended before is there");
    store.append(vec![next]).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nobody_waits_for_ever() {
    let mut dice = Dice::new("nobody_waits_for_ever");
    // One alone, where whoever waits writes; two, which take turns; many.
    for many in [1, 2, 9] {
        for index_from_bytes in [1, 1 << 30] {
            let dir = TempDir::new().unwrap();
            let options = StoreOptions { index_from_bytes, ..StoreOptions::default() };
            let store = Arc::new(Store::open(dir.path(), &options).unwrap());
            let all = (0..many).map(|number| {
                let one = one_of_many(Arc::clone(&store), format!("r-{number}"), dice.below(u64::MAX));
                tokio::spawn(one)
            });
            for one in all.collect::<Vec<_>>() {
                tokio::time::timeout(HANGS, one).await.expect("it waits for ever").unwrap();
            }
            drop(store);
            assert!(check_store(dir.path()).unwrap().is_sound());
        }
    }
}

#[tokio::test]
async fn an_append_of_nothing_waits_for_all_before_it() {
    let dir = TempDir::new().unwrap();
    let store = Store::open(dir.path(), &StoreOptions::default()).unwrap();
    let mut change = Change::new("shop", 1);
    drop(store.append(vec![change.opened()]));
    for _ in 0..9 {
        drop(store.append(vec![change.log("nobody waits for this")]));
    }
    store.append(Vec::new()).await.unwrap();
    let records = Store::open_for_reading(dir.path()).unwrap().records(&change.key).await.unwrap();
    assert_eq!(records.len(), 10);
}

/// More records than one entry of the index has places for, and more than an entry of later ones.
#[tokio::test]
async fn a_long_change_is_found_whole_whenever_the_index_takes_it_in() {
    let mut dice = Dice::new("a_long_change_is_found_whole_whenever_the_index_takes_it_in");
    let dir = TempDir::new().unwrap();
    let options = StoreOptions { index_from_bytes: 1, ..StoreOptions::default() };
    let mut store = Store::open(dir.path(), &options).unwrap();
    let mut change = Change::new("shop", 1);
    let mut all = vec![change.opened(), change.started()];
    store.append(all.clone()).await.unwrap();
    while all.len() < 1_500 {
        let more: Vec<_> = (0..=dice.below(150)).map(|number| change.log(&number.to_string())).collect();
        all.extend(more.clone());
        store.append(more).await.unwrap();
        if dice.below(3) == 0 {
            assert_eq!(store.changes(ChangeQuery::default()).await.unwrap().len(), 1);
        }
        if dice.below(8) == 0 {
            drop(store);
            assert_eq!(check_store(dir.path()).unwrap().findings, []);
            store = Store::open(dir.path(), &options).unwrap();
        }
        assert_eq!(store.records(&change.key).await.unwrap(), all);
    }
}

/// More changes of one release than one entry of the index has numbers for.
#[tokio::test]
async fn the_changes_of_a_release_are_listed_newest_first() {
    let dir = TempDir::new().unwrap();
    let options = StoreOptions { index_from_bytes: 1, ..StoreOptions::default() };
    let store = Store::open(dir.path(), &options).unwrap();
    for number in 1..=150 {
        let records =
            if number % 50 == 0 { vec![Change::new("shop", number).opened()] } else { Change::whole("shop", number) };
        store.append(records).await.unwrap();
        if number % 40 == 0 {
            store.releases().await.unwrap();
        }
    }
    store.append(Change::whole("other", 1)).await.unwrap();
    let release = Some(crate::sample::release("shop"));
    let numbers = async |open: bool, limit: usize| {
        let query = ChangeQuery { release: release.clone(), open, limit };
        let changes = store.changes(query).await.unwrap();
        changes.into_iter().map(|view| view.key.number).collect::<Vec<_>>()
    };
    assert_eq!(numbers(false, 0).await, (1..=150).rev().collect::<Vec<_>>());
    assert_eq!(numbers(false, 70).await, (81..=150).rev().collect::<Vec<_>>());
    assert_eq!(numbers(true, 2).await, [150, 100]);
    let open = store.open_changes().await.unwrap();
    assert_eq!(open.iter().map(|change| change.number).collect::<Vec<_>>(), [50, 100, 150]);
    let key = crate::sample::release("shop").change(64);
    assert_eq!(store.records(&key).await.unwrap(), Change::whole("shop", 64));
}
