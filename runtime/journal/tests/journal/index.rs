//! Whatever is wrong with the index, it is moved away and made again, and says the same as before.

use std::fs;
use std::path::Path;

use pintle_journal::check::{IndexCheck, Severity, check_store};
use pintle_journal::journal::{ChangeQuery, Journal};
use pintle_journal::{IndexState, MemoryJournal, Store};
use tempfile::TempDir;

use crate::dice::{Dice, rounds};
use crate::sample::Change;
use crate::store::{everything, history, options};

async fn filled() -> TempDir {
    let dir = TempDir::new().unwrap();
    let store = Store::open(dir.path(), &options(true)).unwrap();
    for append in history() {
        store.append(append).await.unwrap();
    }
    drop(store);
    dir
}

async fn truth() -> String {
    everything(&MemoryJournal::of(history().into_iter().flatten()).unwrap()).await
}

fn index(dir: &TempDir) -> std::path::PathBuf {
    dir.path().join("index-v1")
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Opens the store, which must have made its index again, and compares everything.
async fn assert_remade(dir: &TempDir, words: &str) {
    let store = Store::open(dir.path(), &options(true)).unwrap();
    match &store.report().index {
        IndexState::Remade { why, moved_to } => {
            assert!(why.contains(words), "`{why}` does not say `{words}`");
            assert!(moved_to.exists());
        }
        state => panic!("{state:?} where `{words}` was expected"),
    }
    assert_eq!(everything(&store).await, truth().await);
    drop(store);
    let store = Store::open(dir.path(), &options(true)).unwrap();
    assert_eq!(store.report().index, IndexState::Ready, "the new one is used");
    drop(store);
    let report = check_store(dir.path()).unwrap();
    assert_eq!((report.index, report.findings.as_slice()), (IndexCheck::Compared, [].as_slice()));
}

#[tokio::test]
async fn a_missing_index_is_made_again() {
    let dir = filled().await;
    fs::remove_dir_all(index(&dir)).unwrap();
    let store = Store::open(dir.path(), &options(true)).unwrap();
    assert_eq!(store.report().index, IndexState::Made);
    assert_eq!(everything(&store).await, truth().await);
}

#[tokio::test]
async fn an_index_of_another_store_is_moved_away() {
    let (dir, other) = (filled().await, filled().await);
    fs::remove_dir_all(index(&dir)).unwrap();
    copy(&index(&other), &index(&dir));
    let report = check_store(dir.path()).unwrap();
    assert!(report.findings[0].what.contains("another store"), "{:?}", report.findings);
    assert_remade(&dir, "another store").await;
}

#[tokio::test]
async fn an_index_that_is_ahead_of_the_log_is_moved_away() {
    let dir = filled().await;
    let kept = TempDir::new().unwrap();
    copy(&dir.path().join("log"), kept.path());
    let store = Store::open(dir.path(), &options(true)).unwrap();
    for number in 1..20 {
        store.append(Change::whole("later", number)).await.unwrap();
    }
    drop(store);
    // The log is put back from an older copy.
    fs::remove_dir_all(dir.path().join("log")).unwrap();
    copy(kept.path(), &dir.path().join("log"));
    fs::remove_file(dir.path().join("acked")).unwrap();
    assert_remade(&dir, "ahead of the log").await;
}

#[tokio::test]
async fn an_index_that_killed_or_failed_its_process_is_moved_away() {
    let dir = filled().await;
    fs::write(index(&dir).join("opening"), "").unwrap();
    assert_remade(&dir, "died over it").await;
    fs::write(index(&dir).join("condemned"), "a page vanished").unwrap();
    assert_remade(&dir, "a page vanished").await;
    fs::remove_file(index(&dir).join("marker")).unwrap();
    assert_remade(&dir, "marker").await;
    let marker = fs::read_to_string(index(&dir).join("marker")).unwrap();
    fs::write(index(&dir).join("marker"), marker.replace("0.34.7", "1.0.0")).unwrap();
    assert_remade(&dir, "sled 1.0.0").await;
}

#[tokio::test]
async fn an_index_that_cannot_be_opened_is_moved_away() {
    let dir = filled().await;
    // Twice: what was moved away before is a file itself.
    for _ in 0..2 {
        fs::remove_dir_all(index(&dir)).unwrap();
        fs::write(index(&dir), "no folder").unwrap();
        assert!(check_store(dir.path()).unwrap().is_sound());
        assert_remade(&dir, "marker: Not a directory").await;
    }
    fs::remove_dir_all(index(&dir).join("sled")).unwrap();
    fs::write(index(&dir).join("sled"), "no folder").unwrap();
    assert_remade(&dir, "sled: Not a directory").await;
    fs::remove_file(index(&dir).join("sled/conf")).unwrap();
    fs::create_dir(index(&dir).join("sled/conf")).unwrap();
    assert_remade(&dir, "directory").await;
    fs::remove_file(index(&dir).join("marker")).unwrap();
    fs::create_dir(index(&dir).join("marker")).unwrap();
    assert_remade(&dir, "marker: Is a directory").await;
}

#[tokio::test]
async fn an_empty_database_is_not_taken_for_an_index() {
    let dir = filled().await;
    fs::remove_dir_all(index(&dir).join("sled")).unwrap();
    fs::create_dir(index(&dir).join("sled")).unwrap();
    assert_remade(&dir, "no mark").await;
}

#[tokio::test]
async fn a_snapshot_that_was_never_finished_does_no_harm() {
    let dir = filled().await;
    fs::write(index(&dir).join("sled/snap.00000000000000FF.generating"), "half").unwrap();
    let store = Store::open(dir.path(), &options(true)).unwrap();
    assert_eq!(store.report().index, IndexState::Ready);
    assert_eq!(everything(&store).await, truth().await);
}

#[tokio::test]
async fn garbage_in_the_index_never_changes_what_is_read() {
    let mut dice = Dice::new("garbage in the index");
    let expected = truth().await;
    let sound = filled().await;
    for round in 0..rounds(24) {
        let dir = TempDir::new().unwrap();
        copy(sound.path(), dir.path());
        let files: Vec<_> =
            fs::read_dir(index(&dir).join("sled")).unwrap().map(|entry| entry.unwrap().path()).collect();
        let mut files: Vec<_> = files.into_iter().filter(|path| path.is_file()).collect();
        files.sort();
        let path = &files[usize::try_from(dice.below(files.len() as u64)).unwrap()];
        let mut bytes = fs::read(path).unwrap();
        let used = bytes.iter().rposition(|byte| *byte != 0).map_or(1, |last| last + 1) as u64;
        let place = usize::try_from(dice.below(used)).unwrap();
        match round % 8 {
            0 => bytes.fill(0xa5),
            1 => bytes.truncate(place),
            _ => bytes[place] ^= 1 << dice.below(8),
        }
        println!("round {round}: byte {place} of {}", path.display());
        fs::write(path, bytes).unwrap();
        check_store(dir.path()).unwrap();
        let store = Store::open(dir.path(), &options(true)).unwrap();
        if store.changes(ChangeQuery::default()).await.is_err() {
            // Found only now: the next start makes a new one.
            assert!(store.trouble().is_some());
            drop(store);
            let store = Store::open(dir.path(), &options(true)).unwrap();
            assert_eq!(everything(&store).await, expected, "round {round}");
            continue;
        }
        assert_eq!(everything(&store).await, expected, "round {round}");
    }
}

#[tokio::test]
async fn the_check_names_an_index_that_lies() {
    let dir = filled().await;
    // The same log with another index: that of a store whose log went on from the same copy.
    let twin = TempDir::new().unwrap();
    copy(dir.path(), twin.path());
    let store = Store::open(twin.path(), &options(true)).unwrap();
    store.append(Change::whole("other", 1)).await.unwrap();
    drop(store);
    let store = Store::open(dir.path(), &options(true)).unwrap();
    store.append(Change::whole("another", 1)).await.unwrap();
    store.append(Change::whole("third", 1)).await.unwrap();
    drop(store);
    fs::remove_dir_all(index(&dir)).unwrap();
    copy(&index(&twin), &index(&dir));
    let report = check_store(dir.path()).unwrap();
    let lies = report.findings.iter().filter(|finding| finding.what.contains("differs from the log")).count();
    assert!(lies > 0 && !report.is_sound(), "{:#?}", report.findings);
    assert!(report.findings.iter().all(|finding| finding.severity == Severity::Damage && !finding.cure.is_empty()));
}

/// Whatever else is left of a store, the log is what counts.
#[tokio::test]
async fn a_log_that_is_gone_is_told_by_what_was_made_from_it() {
    for also_gone in [&[][..], &["acked"], &["index-v1"]] {
        for folder_too in [false, true] {
            let dir = filled().await;
            std::fs::remove_dir_all(dir.path().join("log")).unwrap();
            if !folder_too {
                std::fs::create_dir(dir.path().join("log")).unwrap();
            }
            for name in also_gone {
                let path = dir.path().join(name);
                if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) }.unwrap();
            }
            let case = format!("without the log and {also_gone:?}, its folder gone: {folder_too}");
            let words = |error: String| assert!(error.contains("the log has no segment"), "{case}: {error}");
            match Store::open_for_reading(dir.path()) {
                Err(error) => words(error.to_string()),
                Ok(reader) => words(reader.releases().await.unwrap_err().to_string()),
            }
            match check_store(dir.path()) {
                Err(error) => words(error.to_string()),
                Ok(report) => words(report.findings[0].what.clone()),
            }
            words(Store::open(dir.path(), &options(true)).unwrap_err().to_string());
            assert!(!dir.path().join("index-v1.broken").exists(), "{case}: what is left stays as it is");
        }
    }
}

#[tokio::test]
async fn an_index_is_not_blamed_for_a_damaged_log() {
    let dir = filled().await;
    let log = std::fs::read_dir(dir.path().join("log")).unwrap().map(|entry| entry.unwrap().path()).max().unwrap();
    let mut bytes = std::fs::read(&log).unwrap();
    let end = bytes.iter().rposition(|byte| *byte != 0).unwrap();
    bytes[end - 20..end].fill(b'x');
    std::fs::write(&log, bytes).unwrap();
    let error = Store::open(dir.path(), &options(true)).unwrap_err().to_string();
    assert!(!error.contains("index"), "{error}");
    assert!(index(&dir).exists() && !dir.path().join("index-v1.broken").exists());
}
