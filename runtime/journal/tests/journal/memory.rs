//! The journal in memory: what a test of a crash relies on.

use std::time::Duration;

use pintle_journal::MemoryJournal;
use pintle_journal::journal::{ChangeQuery, Journal, JournalError};

use crate::sample::{Change, release};

/// Whether a receipt or read is still open after a very long time, on virtual time.
async fn pends(future: impl Future) -> bool {
    tokio::time::timeout(Duration::from_secs(1_000_000), future).await.is_err()
}

#[tokio::test(start_paused = true)]
async fn dies_when_a_record_beyond_the_last_is_appended() {
    let journal = MemoryJournal::new();
    journal.stop_after(2);
    let mut change = Change::new("shop", 1);
    journal.append(vec![change.opened()]).await.unwrap();
    journal.append(vec![change.started()]).await.unwrap();
    assert!(!journal.is_dead(), "the second record is acknowledged, so what follows from it still happens");
    assert!(pends(journal.append(vec![change.log("lost")])).await);
    journal.died().await;
    assert!(pends(journal.records(&change.key)).await, "a dead machine answers nothing");

    let next = journal.survivors();
    assert_eq!(next.records(&change.key).await.unwrap().len(), 2);
    let mut change = Change::resume(change.key, 2);
    next.append(vec![change.log("after the restart")]).await.unwrap();
    assert_eq!((next.len(), journal.len()), (3, 2));
}

#[tokio::test(start_paused = true)]
async fn dies_before_it_acknowledges_the_last_record() {
    let journal = MemoryJournal::new();
    journal.stop_at(2);
    let mut change = Change::new("shop", 1);
    journal.append(vec![change.opened()]).await.unwrap();
    assert!(pends(journal.append(vec![change.started()])).await);
    assert!(journal.is_dead());
    assert_eq!(journal.survivors().len(), 2, "it was stored all the same");
}

#[tokio::test(start_paused = true)]
async fn an_append_may_be_cut_by_the_crash() {
    let journal = MemoryJournal::new();
    journal.stop_after(4);
    assert!(pends(journal.append(Change::whole("shop", 1))).await);
    assert_eq!(journal.survivors().len(), 4);
}

#[tokio::test]
async fn refuses_what_does_not_go_on_with_its_change_whole() {
    let journal = MemoryJournal::new();
    let mut records = Change::whole("shop", 1);
    let last = records.pop().unwrap();
    records.push(records[2].clone());
    let error = journal.append(records).await.unwrap_err();
    assert!(matches!(error, JournalError::Superseded { seq: 2, .. }), "{error}");
    assert!(journal.is_empty(), "no part of the append was stored");
    let error = journal.append(vec![Change::new("shop", 1).log("first")]).await.unwrap_err();
    assert!(matches!(error, JournalError::Unfit { seq: 0, .. }), "{error}");
    assert!(matches!(journal.append(vec![last]).await, Err(JournalError::Superseded { seq: 5, .. })));
}

#[tokio::test]
async fn lists_changes_newest_first_and_keeps_state_by_uid() {
    let records: Vec<_> = [("shop", 1), ("blog", 1), ("shop", 2)]
        .into_iter()
        .flat_map(|(name, number)| Change::whole(name, number))
        .chain([Change::new("blog", 2).opened()])
        .collect();
    let journal = MemoryJournal::of(records).unwrap();
    let list = async |query| -> Vec<String> {
        journal.changes(query).await.unwrap().iter().map(|view| view.key.to_string()).collect()
    };
    assert_eq!(list(ChangeQuery::default()).await, ["blog-2", "shop-2", "blog-1", "shop-1"]);
    assert_eq!(list(ChangeQuery { limit: 1, release: Some(release("shop")), open: false }).await, ["shop-2"]);
    assert_eq!(list(ChangeQuery { open: true, ..ChangeQuery::default() }).await, ["blog-2"]);
    assert_eq!(journal.open_changes().await.unwrap(), [release("blog").change(2)]);
    assert_eq!(journal.state("00000000shop", "seen").await.unwrap(), Some(vec![1, 2, 3]));
    assert_eq!(journal.state("00000000desk", "seen").await.unwrap(), None);
    assert_eq!(journal.release(&release("blog")).await.unwrap().unwrap().changes, 2);
}
