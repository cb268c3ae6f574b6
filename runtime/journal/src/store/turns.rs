//! Tests of who writes: the thread, or whoever waits.

use std::fs::File;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pintle_lifecycle::record::Record;
use tempfile::TempDir;
use tokio::sync::oneshot;

use super::Store;
use super::open::open;
use super::options::StoreOptions;
use super::queue::{Append, Item, Queue};
use crate::journal::Journal;
use crate::log::disk::{Disk, RealDisk};
use crate::sample::Change;

/// Knows the thread of each sync, and takes its time for it.
#[derive(Default)]
struct KnowingDisk {
    threads: Mutex<Vec<String>>,
    takes: Duration,
}

impl KnowingDisk {
    /// Threads of the syncs since the last look.
    fn threads(&self) -> Vec<String> {
        std::mem::take(&mut self.threads.lock().unwrap())
    }
}

impl Disk for KnowingDisk {
    fn write(&self, file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
        RealDisk.write(file, bytes, offset)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        self.threads.lock().unwrap().push(std::thread::current().name().unwrap_or_default().to_owned());
        if !self.takes.is_zero() {
            std::thread::park_timeout(self.takes);
        }
        RealDisk.sync(file)
    }

    fn allocate(&self, file: &File, offset: u64, len: u64) -> io::Result<()> {
        RealDisk.allocate(file, offset, len)
    }
}

fn opened(takes: Duration) -> (TempDir, Arc<KnowingDisk>, Store) {
    let dir = TempDir::new().unwrap();
    let disk = Arc::new(KnowingDisk { takes, ..KnowingDisk::default() });
    let store = open(dir.path(), &StoreOptions::default(), Arc::clone(&disk) as Arc<dyn Disk>).unwrap();
    disk.threads();
    (dir, disk, store)
}

const THREAD: &str = "journal";

#[tokio::test]
async fn where_changes_are_few_whoever_waits_writes() {
    let (_dir, disk, store) = opened(Duration::ZERO);
    let mut change = Change::new("shop", 1);
    store.append(vec![change.opened()]).await.unwrap();
    for number in 0..100 {
        drop(store.append(vec![change.log(&format!("nobody waits for {number}"))]));
        store.append(vec![change.log(&number.to_string())]).await.unwrap();
    }
    let threads = disk.threads();
    assert!(threads.len() <= 201, "what nobody waits for has a sync of its own at most");
    // A machine that stalls between append and wait, or in a sync, gives the thread a turn.
    let own = threads.iter().filter(|thread| *thread != THREAD).count();
    assert!(own > 0, "the thread wrote everything: {threads:?}");
}

#[test]
fn what_is_queued_with_others_is_left_to_the_thread() {
    let queue = Queue::default();
    let push = |record: Record| {
        let append = Append { records: vec![record], frames: vec![0; 100], done: None };
        queue.push(Item::Append(append)).unwrap()
    };
    let (mut a, mut b) = (Change::new("a", 1), Change::new("b", 1));
    assert!(queue.is_alone(push(a.opened())));
    let second = push(a.log("of the same change"));
    assert!(queue.is_alone(second));
    let other = push(b.opened());
    assert!(!queue.is_alone(second) && !queue.is_alone(other), "others wait as well");
    assert_eq!(queue.take().through, other);
    assert!(!queue.is_alone(other), "it is written already");
    let third = push(a.log("and a read behind it"));
    queue.push(Item::Settle(oneshot::channel().0)).unwrap();
    assert!(!queue.is_alone(third));
    assert_eq!(queue.take().items.len(), 2);
    let most = (0..20).map(|_| push(a.log("too much for a turn"))).last().unwrap();
    assert!(!queue.is_alone(most));
}

#[tokio::test]
async fn a_slow_disk_is_left_to_the_thread() {
    let (_dir, disk, store) = opened(Duration::from_millis(3));
    let mut change = Change::new("shop", 1);
    // The first shows how slow it is.
    store.append(vec![change.opened()]).await.unwrap();
    for _ in 0..20 {
        store.append(vec![change.log("x")]).await.unwrap();
    }
    let threads = disk.threads();
    assert!(threads[1..].iter().all(|thread| thread == THREAD), "{threads:?}");
}
