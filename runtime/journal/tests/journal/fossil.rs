//! Stores that released versions wrote stay readable. `PINTLE_WRITE_FOSSIL=1 cargo test -p pintle-journal fossil` writes the one
//! of this version again; that is right only as long as the version is not released.

use std::fs;
use std::path::{Path, PathBuf};

use pintle_journal::check::check_store;
use pintle_journal::journal::Journal;
use pintle_journal::{MemoryJournal, Store, StoreOptions, export};
use pintle_lifecycle::record::Record;
use tempfile::TempDir;

use crate::store::{everything, history, options};

fn fossil() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fossils/v1")
}

/// Writes the log of the sample history, without the room that it holds ready and without the index, which is never a fossil:
/// it is made again from the log.
async fn write_fossil() {
    let dir = TempDir::new().unwrap();
    let store = Store::open(dir.path(), &StoreOptions { segment_bytes: 16 << 10, ..options(false) }).unwrap();
    for append in history() {
        store.append(append).await.unwrap();
    }
    drop(store);
    fs::create_dir_all(fossil().join("log")).unwrap();
    for entry in fs::read_dir(dir.path().join("log")).unwrap().map(Result::unwrap) {
        let bytes = fs::read(entry.path()).unwrap();
        let used = bytes.iter().rposition(|byte| *byte != 0).unwrap() + 1;
        fs::write(fossil().join("log").join(entry.file_name()), &bytes[..used]).unwrap();
    }
    fs::copy(dir.path().join("acked"), fossil().join("acked")).unwrap();
    let mut lines = Vec::new();
    export(dir.path(), &mut lines).unwrap();
    fs::write(fossil().join("export.jsonl"), lines).unwrap();
}

#[tokio::test]
async fn a_store_of_version_1_is_read() {
    if std::env::var_os("PINTLE_WRITE_FOSSIL").is_some() {
        write_fossil().await;
    }
    let dir = TempDir::new().unwrap();
    fs::create_dir(dir.path().join("log")).unwrap();
    for entry in fs::read_dir(fossil().join("log")).unwrap().map(Result::unwrap) {
        fs::copy(entry.path(), dir.path().join("log").join(entry.file_name())).unwrap();
    }
    fs::copy(fossil().join("acked"), dir.path().join("acked")).unwrap();

    let mut lines = Vec::new();
    export(dir.path(), &mut lines).unwrap();
    assert_eq!(String::from_utf8(lines).unwrap(), fs::read_to_string(fossil().join("export.jsonl")).unwrap());
    assert_eq!(check_store(dir.path()).unwrap().findings, []);
    let expected = everything(
        &MemoryJournal::of(history().into_iter().flatten().map(|record| Record { v: 1, ..record })).unwrap(),
    )
    .await;
    for with_index in [false, true] {
        let store = Store::open(dir.path(), &options(with_index)).unwrap();
        assert_eq!(everything(&store).await, expected);
    }
}
