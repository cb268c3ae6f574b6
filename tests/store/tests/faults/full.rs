//! A file system that is full: at each write of a store that is open, at each write of one that opens, and freed again.

use std::fs::File;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use pintle_journal::check::check_store;
use pintle_journal::journal::{ChangeQuery, Journal, JournalError};
use pintle_journal::{Store, StoreOptions};
use pintle_lifecycle::ending::ChangeState;
use rustix::fs::{FallocateFlags, fallocate, statvfs};
use store_faults::load::Sent;
use store_faults::mounts::{Mounted, make_ext4};
use store_faults::sample::Change;

use crate::place::{Place, assert_says, assert_warns, fill, options, words, work};
use crate::program;

const FULL: [&str; 1] = ["No space left on device"];
const CURES: [&str; 3] = ["free some space", "see whether the disk is full", "the next start makes a new one"];
/// File systems give their room in blocks of so many bytes.
const BLOCK: u64 = 4096;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Tmpfs,
    Ext4,
}

/// A small file system, most of which a file takes when it shall be full.
struct SmallDisk {
    mounted: Mounted,
    /// A folder with what takes the room.
    filler: PathBuf,
}

impl SmallDisk {
    fn of(place: &Place, kind: Kind) -> Self {
        let folder = place.folder("small");
        let mounted = match kind {
            Kind::Tmpfs => Mounted::tmpfs(&folder, 24 << 20),
            Kind::Ext4 => {
                let image = place.file("small.ext4");
                make_ext4(&image, 32 << 20);
                Mounted::ext4(&image, &folder).unwrap()
            }
        };
        Self { filler: folder.join("filler"), mounted }
    }

    fn free(&self) -> u64 {
        let stat = statvfs(self.mounted.folder()).unwrap();
        stat.f_bavail * stat.f_frsize
    }

    /// Takes all room but so many bytes, to a block.
    fn leave(&self, bytes: u64) {
        std::fs::create_dir(&self.filler).unwrap();
        // A file that grows may need more blocks than those of its bytes, and be refused the last ones; a new one gets them.
        for number in 0..20 {
            let file = File::create(self.filler.join(number.to_string())).unwrap();
            let mut len = 0;
            while self.free() > bytes {
                let more = (self.free() - bytes).next_multiple_of(BLOCK);
                let piece = if number == 0 { more } else { BLOCK };
                if fallocate(file.as_fd(), FallocateFlags::empty(), len, piece).is_err() {
                    break;
                }
                len += piece;
            }
        }
        assert!(self.free() <= bytes, "{} bytes are free where {bytes} were wanted", self.free());
    }

    fn give_back(&self) {
        std::fs::remove_dir_all(&self.filler).unwrap();
    }
}

/// Leaves 0, 1, 2, … blocks, until the work is done with what is left.
pub fn at_each_write(kind: Kind) {
    let place = Place::new();
    let disk = SmallDisk::of(&place, kind);
    for with_index in [false, true] {
        let mut blocks = 0;
        while is_stopped(&place, &disk, with_index, blocks) {
            blocks += 1;
        }
        println!("{kind:?}, index {with_index}: full with 0 to {blocks} blocks left");
        assert!(blocks > 8, "the work needed {blocks} blocks only");
    }
}

fn is_stopped(place: &Place, disk: &SmallDisk, with_index: bool, blocks: u64) -> bool {
    let what = format!("{blocks} blocks left, index {with_index}");
    let (dir, options) = (disk.mounted.folder().join("journal"), options(with_index));
    let mut sent = Sent::default();
    place.runtime.block_on(fill(&dir, &options, &mut sent));
    let store = Store::open(&dir, &options).unwrap();
    disk.leave(blocks * BLOCK);
    let worked = place.runtime.block_on(work(&store, &mut sent, 48));
    if let Err(said) = &worked {
        assert_says(said, &FULL, &dir, &CURES, &what);
        assert!(store.trouble().is_some(), "{what}");
        let refused = place.runtime.block_on(store.append(vec![Change::new("late", 1).opened()]));
        assert!(matches!(refused, Err(JournalError::Write(_))), "{what}: {refused:?}");
        // Another process still reads all of it, and is told what to do.
        let report = check_store(&dir).unwrap();
        assert_warns(&report, "bytes are free", "free some space");
    }
    drop(store);
    let report = check_store(&dir).unwrap();
    assert_warns(&report, "bytes are free", "free some space");
    if let Err(error) = Store::open(&dir, &options) {
        assert_says(&words(&error), &FULL, &dir, &CURES, &what);
    }
    disk.give_back();
    place.assert_well(&dir, &options, &mut sent, &what);
    std::fs::remove_dir_all(&dir).unwrap();
    worked.is_err()
}

/// The same for a store that is new, and one whose index is gone.
pub fn at_open(kind: Kind) {
    let place = Place::new();
    let disk = SmallDisk::of(&place, kind);
    for (with_index, is_there) in [(false, false), (true, true)] {
        let mut blocks = 0;
        while is_refused(&place, &disk, with_index, is_there, blocks) {
            blocks += 1;
        }
        println!("{kind:?}, index {with_index}: opens with {blocks} blocks left");
        // One that is there needs nothing: its views stay in memory.
        assert!((blocks > 1) != is_there, "a store opens with {blocks} blocks");
    }
}

fn is_refused(place: &Place, disk: &SmallDisk, with_index: bool, is_there: bool, blocks: u64) -> bool {
    let what = format!("{blocks} blocks left, index {with_index}, there {is_there}");
    let (dir, options) = (disk.mounted.folder().join("journal"), options(with_index));
    let mut sent = Sent::default();
    if is_there {
        place.runtime.block_on(fill(&dir, &options, &mut sent));
        std::fs::remove_dir_all(dir.join("index-v1")).unwrap();
    }
    disk.leave(blocks * BLOCK);
    let opened = Store::open(&dir, &options);
    if let Err(error) = &opened {
        assert_says(&words(error), &FULL, &dir, &CURES, &what);
        if dir.join("log").exists() {
            assert_warns(&check_store(&dir).unwrap(), "bytes are free", "free some space");
        }
    }
    let is_refused = opened.map(drop).is_err();
    disk.give_back();
    if !dir.join("log").exists() {
        drop(Store::open(&dir, &options).unwrap());
    }
    place.assert_well(&dir, &options, &mut sent, &what);
    std::fs::remove_dir_all(&dir).unwrap();
    is_refused
}

/// A change that runs ends where the disk is full: the store keeps something in reserve. New changes wait.
pub fn what_runs_ends_on_the_ballast() {
    // An index may fail for good here: sled writes from a thread of its own, before the ballast is given up.
    for (kind, with_index) in [(Kind::Tmpfs, false), (Kind::Ext4, false)] {
        let place = Place::new();
        let disk = SmallDisk::of(&place, kind);
        let dir = disk.mounted.folder().join("journal");
        let options = StoreOptions { ballast_bytes: 4 << 20, watermark_bytes: 8 << 20, ..options(with_index) };
        let ballast = dir.join("ballast");
        let mut sent = Sent::default();
        let store = Store::open(&dir, &options).unwrap();
        place.runtime.block_on(async {
            let mut change = Change::new("running", 1);
            sent.append(&store, vec![change.opened(), change.started()]).await.unwrap();
            assert_eq!(store.changes(ChangeQuery::default()).await.unwrap().len(), 1);
            assert_eq!(dir.join("index-v1").exists(), with_index);
            disk.leave(0);
            let refused = store.append(vec![Change::new("new", 1).opened()]).await.unwrap_err();
            let JournalError::NoRoom { free, wanted, .. } = &refused else { panic!("{refused}") };
            assert_eq!((*free, *wanted), (disk.free(), 8 << 20));
            let said = refused.to_string();
            assert!(said.contains(&dir.display().to_string()) && said.contains("free some space"), "{said}");
            assert!(ballast.exists());
            for _ in 0..40 {
                sent.append(&store, vec![change.log(&"x".repeat(1_000))]).await.unwrap();
                // A list is read from the index, which takes in what it lacks first.
                assert_eq!(store.changes(ChangeQuery::default()).await.unwrap().len(), 1);
            }
            assert!(!ballast.exists(), "it made room for what runs");
            sent.append(&store, vec![change.ended(), change.finished(ChangeState::Succeeded)]).await.unwrap();
            assert!(matches!(store.room(), Err(JournalError::NoRoom { .. })));
            assert_eq!(store.trouble(), None);
            disk.give_back();
            sent.append(&store, Change::whole("new", 1)).await.unwrap();
            assert_eq!(std::fs::metadata(&ballast).unwrap().len(), 4 << 20, "it is there for the next time");
        });
        drop(store);
        place.assert_well(&dir, &options, &mut sent, "the ballast");
    }
}

pub fn the_program_opens_no_change() {
    let place = Place::new();
    let disk = SmallDisk::of(&place, Kind::Tmpfs);
    let (state, (_release, document)) = (disk.mounted.folder().join("state"), program::release());
    let (code, said) = program::run(&state, &["up", &document, "--detach"]);
    assert_eq!(code, 4, "{said}");
    assert!(said.contains("no room for a new change") && said.contains("free some space"), "{said}");
    let (code, said) = program::run(&state, &["check-store"]);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("warning") && said.contains("bytes are free") && said.contains("cure: free some"), "{said}");
    assert!(Path::new(&state).join("log").exists());
}
