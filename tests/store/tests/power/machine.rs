//! A machine that loses power: the disk of our own, ext4 on it, a store on that, and writers.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use pintle_journal::check::{IndexCheck, Severity, check_store};
use pintle_journal::{Acknowledge, IndexState, Store, StoreOptions, export};
use pintle_lifecycle::record::Record;
use store_faults::dice::Dice;
use store_faults::disk::FaultyDisk;
use store_faults::load::{Sent, reopen, write_until_it_fails};
use store_faults::mounts::{Mounted, make_ext4};
use tempfile::TempDir;
use tokio::runtime::Runtime;

const DISK_BYTES: u64 = 64 << 20;
const WRITERS: usize = 6;
/// The power goes after at most so many writes and flushes of the disk: some dozen groups of the log.
const REQUESTS: u64 = 600;

/// Whether the disk does what a flush asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flush {
    Works,
    Lies,
}

/// What came of all cuts.
#[derive(Debug, Default)]
pub struct Tally {
    cuts: u64,
    pub acknowledged: usize,
    pub lost: usize,
    /// Cuts after which the check found damage, or the store did not open.
    pub damaged: u64,
    /// Cuts after which the index that was there was used.
    pub with_index: u64,
    unflushed: usize,
    pub sectors_lost: usize,
    torn: u64,
    not_acknowledged: usize,
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cuts, acknowledged, lost, damaged, with_index, unflushed, sectors_lost, torn, not_acknowledged } =
            self;
        write!(
            f,
            "{cuts} cuts, {sectors_lost} of {unflushed} unflushed sectors lost; acknowledged {acknowledged}, lost {lost}, not \
             acknowledged and there {not_acknowledged}; torn ends {torn}, index used {with_index}, damaged {damaged}"
        )
    }
}

pub struct Machine {
    runtime: Runtime,
    /// None while it has no power.
    mounted: Option<Mounted>,
    disk: FaultyDisk,
    options: StoreOptions,
    sent: Arc<Mutex<Sent>>,
    runs: u64,
    /// Records that were there after an earlier cut, and must stay.
    settled: usize,
    cut: (u64, u64),
    dir: TempDir,
}

impl Machine {
    /// One with an empty disk.
    pub fn start(acknowledge: Acknowledge, flush: Flush) -> Self {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["files", "root"] {
            std::fs::create_dir(dir.path().join(folder)).unwrap();
        }
        let image = dir.path().join("empty.ext4");
        make_ext4(&image, DISK_BYTES);
        let mut disk = FaultyDisk::mount(&dir.path().join("files"));
        let file = disk.add_disk(&image);
        if flush == Flush::Lies {
            disk.lie();
        }
        let mounted = Mounted::ext4(&file, &dir.path().join("root")).unwrap();
        let options = StoreOptions {
            what: "power cuts".to_owned(),
            segment_bytes: 48 << 10,
            allocate_bytes: 16 << 10,
            ballast_bytes: 0,
            watermark_bytes: 0,
            index_from_bytes: 1,
            acknowledge,
        };
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        Self {
            runtime,
            mounted: Some(mounted),
            disk,
            options,
            sent: Arc::default(),
            runs: 0,
            settled: 0,
            cut: (0, 0),
            dir,
        }
    }

    fn store(&self) -> PathBuf {
        self.dir.path().join("root/journal")
    }

    /// Opens the store and writes until the power goes, which may be while it opens.
    pub fn run_until_the_power_goes(&mut self, percent: u64, dice: &mut Dice) {
        self.runs += 1;
        self.cut = (percent, dice.below(1 << 40));
        let seed = dice.below(1 << 40);
        self.disk.arm(dice.below(REQUESTS) + 1, percent, self.cut.1);
        if let Ok(store) = Store::open(&self.store(), &self.options) {
            let (store, first) = (Arc::new(store), self.runs * 10_000);
            self.runtime.block_on(write_until_it_fails(&store, &self.sent, WRITERS, first, seed));
        }
    }

    /// Gives it power again, lets ext4 read its journal, and compares. Says whether there is a store to go on with.
    pub fn start_again(&mut self, tally: &mut Tally) -> bool {
        // The files of the file system that is dead are closed; it cannot write to the disk any more.
        let cut = self.disk.cut(self.cut.0, self.cut.1);
        self.mounted = None;
        tally.cuts += 1;
        tally.unflushed += cut.unflushed;
        tally.sectors_lost += cut.lost;
        let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        let mounted = Mounted::ext4(&self.disk.file(&cut.name), &self.dir.path().join("root"));
        let root = match mounted {
            Ok(mounted) => mounted,
            Err(error) => {
                println!("ext4 does not come back: {error}");
                tally.damaged += 1;
                tally.lost += sent.acknowledged();
                return false;
            }
        };
        self.mounted = Some(root);
        let store = self.store();
        if !store.join("log").exists() {
            tally.lost += sent.acknowledged();
            return sent.acknowledged() == 0;
        }
        let report = check_store(&store).unwrap();
        let damage: Vec<_> = report.findings.iter().filter(|finding| finding.severity == Severity::Damage).collect();
        if !damage.is_empty() {
            println!("{damage:#?}");
            tally.damaged += 1;
            // What is before the damage.
            let mut lines = Vec::new();
            println!("{:?}", export(&store, &mut lines));
            let records = lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
            let records: Vec<_> = records.map(|line| Record::from_json(line).unwrap()).collect();
            tally.acknowledged += sent.acknowledged() - self.settled;
            tally.lost += sent.missing(&records);
            return false;
        }
        let (store, kept) = self.runtime.block_on(reopen(&store, &self.options, &sent));
        tally.acknowledged += kept.acknowledged - self.settled;
        tally.lost += kept.lost;
        tally.not_acknowledged += kept.more;
        tally.torn += u64::from(store.report().torn.is_some());
        tally.with_index +=
            u64::from(report.index == IndexCheck::Compared && store.report().index == IndexState::Ready);
        self.runtime.block_on(sent.settle(&store));
        self.settled = sent.acknowledged();
        true
    }
}
