//! Reading beside a process that writes.

use pintle_journal::journal::{Journal, JournalError};
use pintle_journal::{MemoryJournal, OpenError, Reader, Store, export};
use tempfile::TempDir;

use crate::sample::Change;
use crate::store::{everything, history, options};

#[tokio::test]
async fn sees_each_record_as_soon_as_it_is_acknowledged() {
    let dir = TempDir::new().unwrap();
    let store = Store::open(dir.path(), &options(true)).unwrap();
    let reader = Store::open_for_reading(dir.path()).unwrap();
    let memory = MemoryJournal::new();
    for append in history() {
        let key = append[0].change.clone();
        store.append(append.clone()).await.unwrap();
        memory.append(append).await.unwrap();
        assert_eq!(reader.records(&key).await.unwrap(), memory.records(&key).await.unwrap());
        assert_eq!(reader.change(&key).await.unwrap(), memory.change(&key).await.unwrap());
    }
    assert_eq!(everything(&reader).await, everything(&memory).await);
    let late = Reader::open(dir.path()).unwrap();
    drop(store);
    assert_eq!(everything(&late).await, everything(&memory).await);
    assert_eq!(everything(&Reader::open(dir.path()).unwrap()).await, everything(&memory).await);
}

#[tokio::test]
async fn writes_nothing() {
    let dir = TempDir::new().unwrap();
    let missing = Store::open_for_reading(&dir.path().join("none")).unwrap_err();
    assert!(matches!(missing, OpenError::Missing { .. }), "{missing}");
    Store::open(dir.path(), &options(false)).unwrap().append(Change::whole("shop", 1)).await.unwrap();
    let reader = Store::open_for_reading(dir.path()).unwrap();
    let refused = reader.append(Change::whole("shop", 2)).await.unwrap_err();
    assert!(matches!(refused, JournalError::Write(_)), "{refused}");
    assert!(reader.trouble().is_some());
}

#[tokio::test]
async fn an_export_has_every_record_as_it_is_stored() {
    let dir = TempDir::new().unwrap();
    let store = Store::open(dir.path(), &options(false)).unwrap();
    for append in history() {
        store.append(append).await.unwrap();
    }
    let mut lines = Vec::new();
    // While the store is in use: up to what is acknowledged.
    let records = export(dir.path(), &mut lines).unwrap();
    let expected: Vec<u8> =
        history().into_iter().flatten().flat_map(|record| [record.to_json(), b"\n".to_vec()].concat()).collect();
    assert_eq!(records, history().into_iter().flatten().count() as u64);
    assert_eq!(String::from_utf8(lines).unwrap(), String::from_utf8(expected).unwrap());
}
