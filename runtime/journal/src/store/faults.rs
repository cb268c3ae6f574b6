//! Tests of what only a disk of the test's own shows: groups, the order of acknowledgements, and disks that fail.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};

use pintle_lifecycle::record::Record;
use tempfile::TempDir;

use super::open::open;
use super::options::{OpenError, StoreOptions};
use super::{Reader, Store};
use crate::journal::{ChangeQuery, Journal, JournalError};
use crate::log::disk::{Disk, RealDisk};
use crate::sample::Change;

fn options() -> StoreOptions {
    StoreOptions {
        segment_bytes: 8 << 10,
        allocate_bytes: 4 << 10,
        watermark_bytes: 1 << 20,
        ..StoreOptions::default()
    }
}

fn open_on(dir: &Path, disk: impl Disk) -> Result<Store, OpenError> {
    open(dir, &options(), Arc::new(disk))
}

/// The same with an index from the first record on.
fn open_indexed_on(dir: &Path, disk: impl Disk) -> Result<Store, OpenError> {
    open(dir, &StoreOptions { index_from_bytes: 1, ..options() }, Arc::new(disk))
}

/// What of the disk fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    Write,
    /// Half of the bytes are written before the error.
    HalfWrite,
    Sync,
    Allocate,
}

/// Fails once, at the n-th call from now, and works before and after: a disk that is tried again must not be believed.
struct FailingDisk {
    fault: Fault,
    calls_left: Mutex<u32>,
}

impl FailingDisk {
    fn new(fault: Fault, calls: u32) -> Self {
        Self { fault, calls_left: Mutex::new(calls) }
    }

    fn fails(&self, is_it: bool) -> bool {
        let mut left = self.calls_left.lock().unwrap();
        let now = is_it && *left == 1;
        *left = left.saturating_sub(u32::from(is_it));
        now
    }
}

impl Disk for FailingDisk {
    fn write(&self, file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
        if self.fails(matches!(self.fault, Fault::Write | Fault::HalfWrite)) {
            if self.fault == Fault::HalfWrite {
                RealDisk.write(file, &bytes[..bytes.len() / 2], offset)?;
            }
            return Err(io::Error::from_raw_os_error(28));
        }
        RealDisk.write(file, bytes, offset)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        if self.fails(self.fault == Fault::Sync) {
            return Err(io::Error::from_raw_os_error(5));
        }
        RealDisk.sync(file)
    }

    fn allocate(&self, file: &File, offset: u64, len: u64) -> io::Result<()> {
        if self.fails(self.fault == Fault::Allocate) {
            return Err(io::Error::from_raw_os_error(28));
        }
        RealDisk.allocate(file, offset, len)
    }
}

#[tokio::test]
async fn the_first_error_of_the_disk_is_the_last_word() {
    for fault in [Fault::Write, Fault::HalfWrite, Fault::Sync, Fault::Allocate] {
        for calls in 2..12 {
            let what = format!("{fault:?} fails at call {calls}");
            let dir = TempDir::new().unwrap();
            let (disk, indexed) = (FailingDisk::new(fault, calls), calls % 2 == 0);
            let opened = if indexed { open_indexed_on(dir.path(), disk) } else { open_on(dir.path(), disk) };
            let Ok(store) = opened else { continue };
            let (mut change, mut acked, mut failed) = (Change::new("shop", 1), Vec::new(), false);
            for number in 0..40 {
                let record =
                    if number == 0 { change.opened() } else { change.log(&format!("{number} {}", "x".repeat(700))) };
                match store.append(vec![record.clone()]).await {
                    Ok(()) => {
                        assert!(!failed, "{what}: acknowledged after the error");
                        acked.push(record);
                    }
                    Err(error) => {
                        assert!(matches!(error, JournalError::Write(_)), "{what}: {error}");
                        failed = true;
                    }
                }
            }
            assert_eq!(store.trouble().is_some(), failed, "{what}");
            assert_eq!(store.records(&change.key).await.unwrap(), acked, "{what}: reads go on");
            drop(store);
            let store = open_on(dir.path(), RealDisk).unwrap();
            let records = store.records(&change.key).await.unwrap();
            assert!(records.starts_with(&acked), "{what}: nothing acknowledged is lost");
        }
    }
}

#[tokio::test]
async fn a_panic_of_the_writer_is_said_and_nobody_waits_for_ever() {
    struct PanickingDisk(std::sync::atomic::AtomicU32);
    impl Disk for PanickingDisk {
        fn write(&self, file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
            // The header of the segment and the first group go well.
            assert!(self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst) < 2, "this disk panics as the test wants");
            RealDisk.write(file, bytes, offset)
        }
        fn sync(&self, file: &File) -> io::Result<()> {
            RealDisk.sync(file)
        }
        fn allocate(&self, file: &File, offset: u64, len: u64) -> io::Result<()> {
            RealDisk.allocate(file, offset, len)
        }
    }
    let dir = TempDir::new().unwrap();
    let store = open_on(dir.path(), PanickingDisk(0.into())).unwrap();
    let mut change = Change::new("shop", 1);
    store.append(vec![change.opened()]).await.unwrap();
    assert!(matches!(store.append(vec![change.started()]).await, Err(JournalError::Closed)));
    assert!(store.trouble().is_some());
    assert!(matches!(store.append(vec![change.ended()]).await, Err(JournalError::Write(_))));
    assert_eq!(store.records(&change.key).await.unwrap().len(), 1, "reads go on");
}

#[tokio::test]
async fn a_full_disk_gets_the_ballast_once() {
    struct FullDisk;
    impl Disk for FullDisk {
        fn write(&self, file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
            RealDisk.write(file, bytes, offset)
        }
        fn sync(&self, file: &File) -> io::Result<()> {
            RealDisk.sync(file)
        }
        fn allocate(&self, file: &File, offset: u64, len: u64) -> io::Result<()> {
            let ballast = std::fs::read_link(format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(file)))?;
            let ballast = ballast.parent().and_then(Path::parent).unwrap().join("ballast");
            if offset > 0 && ballast.exists() {
                return Err(io::Error::from_raw_os_error(28));
            }
            RealDisk.allocate(file, offset, len)
        }
    }
    let dir = TempDir::new().unwrap();
    let store = open_on(dir.path(), FullDisk).unwrap();
    assert!(dir.path().join("ballast").exists());
    let mut change = Change::new("shop", 1);
    store.append(vec![change.opened()]).await.unwrap();
    for _ in 0..8 {
        store.append(vec![change.log(&"x".repeat(1_000))]).await.unwrap();
    }
    assert!(!dir.path().join("ballast").exists(), "it made room for what runs");
    assert_eq!(store.trouble(), None);
    // Where there is room again, the next change that opens finds it made again: it may be needed once more.
    store.room().unwrap();
    assert!(dir.path().join("ballast").exists());
}

/// Holds each sync until the test lets it go on, and tells how many bytes each write had.
struct HeldDisk {
    writes: SyncSender<usize>,
    go: Mutex<Receiver<()>>,
    held: std::sync::atomic::AtomicBool,
}

impl Disk for HeldDisk {
    fn write(&self, file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
        RealDisk.write(file, bytes, offset)?;
        if self.held.load(std::sync::atomic::Ordering::SeqCst) {
            self.writes.send(bytes.len()).unwrap();
        }
        Ok(())
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        if self.held.load(std::sync::atomic::Ordering::SeqCst) {
            self.go.lock().unwrap().recv().unwrap();
        }
        RealDisk.sync(file)
    }

    fn allocate(&self, file: &File, offset: u64, len: u64) -> io::Result<()> {
        RealDisk.allocate(file, offset, len)
    }
}

#[tokio::test]
async fn what_waits_shares_one_sync_and_is_acknowledged_in_order() {
    let dir = TempDir::new().unwrap();
    let ((writes, written), (go, wait)) = (sync_channel(16), sync_channel(16));
    let disk = Arc::new(HeldDisk { writes, go: Mutex::new(wait), held: false.into() });
    let big = StoreOptions { segment_bytes: 1 << 20, allocate_bytes: 1 << 20, ..options() };
    let store = open(dir.path(), &big, Arc::clone(&disk) as Arc<dyn Disk>).unwrap();
    disk.held.store(true, std::sync::atomic::Ordering::SeqCst);
    let order = Arc::new(Mutex::new(Vec::new()));
    let receipts: VecDeque<_> = (0..40)
        .map(|number| {
            let receipt = store.append(vec![Change::new(&format!("r-{number}"), 1).opened()]);
            if number == 0 {
                // The writer has the first one alone; all others queue behind it.
                assert!(written.recv().unwrap() > 0);
            }
            receipt
        })
        .collect();
    let mut receipts: VecDeque<_> = receipts
        .into_iter()
        .enumerate()
        .map(|(number, receipt)| {
            let order = Arc::clone(&order);
            tokio::spawn(async move {
                receipt.await.unwrap();
                order.lock().unwrap().push(number);
            })
        })
        .collect();
    tokio::task::yield_now().await;
    assert!(order.lock().unwrap().is_empty(), "nothing is acknowledged before its sync");
    // Nobody else reads it either.
    assert_eq!(Reader::open(dir.path()).unwrap().changes(ChangeQuery::default()).await.unwrap().len(), 0);
    go.send(()).unwrap();
    receipts.pop_front().unwrap().await.unwrap();
    assert_eq!(*order.lock().unwrap(), [0]);
    let group = written.recv().unwrap();
    assert!(group > 39 * 300, "one write has all that waited: {group} bytes");
    assert_eq!(Reader::open(dir.path()).unwrap().changes(ChangeQuery::default()).await.unwrap().len(), 1);
    disk.held.store(false, std::sync::atomic::Ordering::SeqCst);
    go.send(()).unwrap();
    for receipt in receipts {
        receipt.await.unwrap();
    }
    assert_eq!(*order.lock().unwrap(), (0..40).collect::<Vec<_>>());
    assert_eq!(store.changes(ChangeQuery::default()).await.unwrap().len(), 40);
}

#[tokio::test]
async fn a_closed_store_has_written_everything_that_was_queued() {
    let dir = TempDir::new().unwrap();
    let store = open_on(dir.path(), RealDisk).unwrap();
    let records: Vec<Record> = (1..=50).flat_map(|number| Change::whole("shop", number)).collect();
    // Nobody waits for these.
    for record in &records {
        drop(store.append(vec![record.clone()]));
    }
    drop(store);
    let store = open_on(dir.path(), RealDisk).unwrap();
    assert_eq!(store.changes(ChangeQuery::default()).await.unwrap().len(), 50);
}
