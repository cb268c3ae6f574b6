//! The store on the disk: what is acknowledged is there after a new start, and the views are the same however they are kept.

use pintle_journal::journal::{ChangeQuery, Journal, JournalError};
use pintle_journal::{IndexState, MemoryJournal, OpenError, Store, StoreOptions};
use pintle_lifecycle::ending::ChangeState;
use pintle_lifecycle::record::{Record, Verb};
use tempfile::TempDir;

use crate::sample::{Change, release};

/// Small segments, so that a few changes need several; with or without an index from the first record on.
pub fn options(with_index: bool) -> StoreOptions {
    StoreOptions {
        what: "pintle test".to_owned(),
        segment_bytes: 8 << 10,
        allocate_bytes: 4 << 10,
        ballast_bytes: 64 << 10,
        watermark_bytes: 1 << 20,
        index_from_bytes: if with_index { 1 } else { usize::MAX },
        ..StoreOptions::default()
    }
}

/// Records of several releases: ended, open, stuck and retried changes, state that was put and deleted.
pub fn history() -> Vec<Vec<Record>> {
    let mut appends = Vec::new();
    for number in 1..=5 {
        appends.extend(["shop", "blog", "shop-2"].map(|name| Change::whole(name, number)));
    }
    let mut change = Change::new("shop", 6);
    appends.push(vec![change.opened(), change.started(), change.put(0, "big", &[7; 3_000])]);
    appends.push(vec![change.delete(1, "seen"), change.stuck("is the database there?")]);
    appends.push(vec![change.asked(Verb::Retry), change.log("again")]);
    let mut change = Change::new("blog", 6);
    appends.push(vec![change.opened()]);
    appends.push(vec![change.finished(ChangeState::Failed)]);
    appends.push(vec![change.asked(Verb::Retry)]);
    appends
}

/// Everything that can be read of a journal.
pub async fn everything(journal: &dyn Journal) -> String {
    use std::fmt::Write;
    let mut text = String::new();
    let all = journal.changes(ChangeQuery::default()).await.unwrap();
    for view in &all {
        let records = journal.records(&view.key).await.unwrap();
        writeln!(text, "{view:?}\n{records:?}\n{:?}", journal.change(&view.key).await.unwrap()).unwrap();
    }
    for query in [
        ChangeQuery { open: true, ..ChangeQuery::default() },
        ChangeQuery { release: Some(release("shop")), ..ChangeQuery::default() },
        ChangeQuery { release: Some(release("blog")), open: true, limit: 1 },
        ChangeQuery { limit: 3, ..ChangeQuery::default() },
    ] {
        let keys: Vec<_> = journal.changes(query).await.unwrap().into_iter().map(|view| view.key).collect();
        writeln!(text, "{keys:?}").unwrap();
    }
    writeln!(text, "{:?}", journal.open_changes().await.unwrap()).unwrap();
    for view in journal.releases().await.unwrap() {
        writeln!(text, "{view:?}\n{:?}", journal.release(&view.key).await.unwrap()).unwrap();
        for key in ["seen", "big"] {
            writeln!(text, "{key} {:?}", journal.state(&view.uid, key).await.unwrap()).unwrap();
        }
    }
    text
}

async fn fill(journal: &dyn Journal) {
    for append in history() {
        journal.append(append).await.unwrap();
    }
}

#[tokio::test]
async fn reads_back_the_same_with_an_index_and_without() {
    let expected = everything(&MemoryJournal::of(history().into_iter().flatten()).unwrap()).await;
    for with_index in [false, true] {
        let dir = TempDir::new().unwrap();
        let store = Store::open(dir.path(), &options(with_index)).unwrap();
        assert_eq!(store.report().index, IndexState::InMemory, "a store without records needs no index");
        fill(&store).await;
        assert_eq!(everything(&store).await, expected);
        drop(store);
        let store = Store::open(dir.path(), &options(with_index)).unwrap();
        let state = if with_index { IndexState::Ready } else { IndexState::InMemory };
        assert_eq!(store.report().index, state);
        assert_eq!(everything(&store).await, expected);
    }
}

#[tokio::test]
async fn whoever_writes_a_record_first_owns_the_change() {
    let dir = TempDir::new().unwrap();
    for with_index in [false, true] {
        let store = Store::open(&dir.path().join(with_index.to_string()), &options(with_index)).unwrap();
        store.append(Change::whole("shop", 1)).await.unwrap();
        let again = store.append(vec![Change::new("shop", 1).opened()]).await.unwrap_err();
        assert!(matches!(again, JournalError::Superseded { seq: 0, .. }), "{again}");
        // Both in one group: the second does not see the first on the disk.
        let (mut mine, mut other) = (Change::new("shop", 2), Change::new("shop", 2));
        let (first, second) = (store.append(vec![mine.opened()]), store.append(vec![other.opened()]));
        first.await.unwrap();
        assert!(matches!(second.await, Err(JournalError::Superseded { seq: 0, .. })));
        let gap = store.append(vec![Change::resume(mine.key.clone(), 5).log("a gap")]).await.unwrap_err();
        assert!(matches!(gap, JournalError::Superseded { seq: 5, .. }), "{gap}");
        store.append(vec![mine.started()]).await.unwrap();
    }
}

#[tokio::test]
async fn a_second_process_is_told_who_holds_the_store() {
    let dir = TempDir::new().unwrap();
    let store = Store::open(dir.path(), &options(false)).unwrap();
    let error = Store::open(dir.path(), &options(false)).unwrap_err();
    assert!(
        matches!(&error, OpenError::InUse { pid, what, .. } if *pid == std::process::id() && what == "pintle test")
    );
    assert!(error.to_string().contains("(pintle test)"), "{error}");
    drop(store);
    Store::open(dir.path(), &options(false)).unwrap();
}

#[test]
fn a_lock_that_a_dead_process_left_to_its_child_is_waited_for() {
    let dir = TempDir::new().unwrap();
    drop(Store::open(dir.path(), &options(false)).unwrap());
    let mut dead = std::process::Command::new("true").spawn().unwrap();
    dead.wait().unwrap();
    let lock = std::fs::File::options().write(true).open(dir.path().join("lock")).unwrap();
    lock.lock().unwrap();
    let holder = serde_json::json!({"pid": dead.id(), "what": "pintle daemon", "since": 0});
    std::fs::write(dir.path().join("lock"), holder.to_string()).unwrap();
    std::thread::scope(|scope| {
        let opens = scope.spawn(|| Store::open(dir.path(), &options(false)).map(drop));
        lock.unlock().unwrap();
        opens.join().unwrap().unwrap();
    });
}

#[test]
fn a_folder_that_cannot_be_written_is_named_with_the_cure() {
    // Nobody makes folders there, not even root.
    let error = Store::open(std::path::Path::new("/sys/pintle"), &options(false)).unwrap_err();
    assert!(matches!(error, OpenError::NotWritable { .. }), "{error}");
    assert!(error.to_string().contains("permissions"), "{error}");
    let file = tempfile::NamedTempFile::new().unwrap();
    let error = Store::open(file.path(), &options(false)).unwrap_err();
    assert!(error.to_string().contains(&file.path().display().to_string()), "{error}");
}

#[tokio::test]
async fn a_store_that_grows_gets_its_index_while_it_runs() {
    let dir = TempDir::new().unwrap();
    let grows = StoreOptions { index_from_bytes: 6_000, ..options(false) };
    let store = Store::open(dir.path(), &grows).unwrap();
    fill(&store).await;
    assert!(dir.path().join("index-v1").exists());
    let expected = everything(&MemoryJournal::of(history().into_iter().flatten()).unwrap()).await;
    assert_eq!(everything(&store).await, expected);
    drop(store);
    let store = Store::open(dir.path(), &grows).unwrap();
    assert_eq!((&store.report().index, store.report().replayed), (&IndexState::Ready, 0));
    assert_eq!(everything(&store).await, expected);
}

#[tokio::test]
async fn a_store_is_nobody_elses_business() {
    use std::os::unix::fs::PermissionsExt;
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("state/journal");
    let store = Store::open(&path, &options(true)).unwrap();
    fill(&store).await;
    for folder in ["", "log", "index-v1", "index-v1/sled"] {
        let mode = std::fs::metadata(path.join(folder)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "{folder}");
    }
}
