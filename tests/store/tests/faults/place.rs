//! A folder for the mounts of a case, and what each case asks of a store there.

use std::path::{Path, PathBuf};

use pintle_journal::check::{CheckReport, Severity, check_store};
use pintle_journal::journal::{ChangeQuery, Journal};
use pintle_journal::{OpenError, Store, StoreOptions};
use pintle_lifecycle::ending::ChangeState;
use pintle_lifecycle::record::Record;
use store_faults::load::{Sent, line, reopen};
use store_faults::sample::Change;
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// Small segments, no reserve and no watermark: the disk itself shall be what stops the store.
pub fn options(with_index: bool) -> StoreOptions {
    StoreOptions {
        what: "pintle of the faults".to_owned(),
        segment_bytes: 16 << 10,
        allocate_bytes: 4 << 10,
        ballast_bytes: 0,
        watermark_bytes: 0,
        index_from_bytes: if with_index { 1 } else { usize::MAX },
        ..StoreOptions::default()
    }
}

/// A folder that goes with the value.
pub struct Place {
    pub runtime: Runtime,
    dir: TempDir,
}

impl Place {
    pub fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        Self { runtime, dir: tempfile::tempdir().unwrap() }
    }

    /// An empty folder of that name.
    pub fn folder(&self, name: &str) -> PathBuf {
        let folder = self.dir.path().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Whether the fault is gone without a trace: the store opens, has all that was acknowledged, and goes on.
    pub fn assert_well(&self, dir: &Path, options: &StoreOptions, sent: &mut Sent, what: &str) {
        let report = check_store(dir).unwrap();
        assert!(report.is_sound(), "{what}: {:#?}", report.findings);
        self.runtime.block_on(async {
            let (store, kept) = reopen(dir, options, sent).await;
            assert_eq!(kept.lost, 0, "{what}: acknowledged {}", kept.acknowledged);
            sent.settle(&store).await;
            let next = store.changes(ChangeQuery::default()).await.unwrap().len() as u64 + 1_000;
            let mut change = Change::new("afterwards", next);
            sent.append(&store, vec![change.opened(), change.finished(ChangeState::Succeeded)]).await.unwrap();
        });
        let report = check_store(dir).unwrap();
        let wrong: Vec<_> = report.findings.iter().filter(|finding| finding.severity != Severity::Warning).collect();
        assert!(wrong.is_empty(), "{what}: {wrong:#?}");
    }
}

/// Makes a store with two changes.
pub async fn fill(dir: &Path, options: &StoreOptions, sent: &mut Sent) {
    let store = Store::open(dir, options).unwrap();
    for number in 1..=2 {
        sent.append(&store, Change::whole("before", number)).await.unwrap();
    }
}

/// Appends one record after another to a change, and reads it now and then. Says why it went no further.
pub async fn work(store: &Store, sent: &mut Sent, appends: u64) -> Result<(), String> {
    let mut change = Change::new("running", 1);
    for number in 0..appends {
        let record = match number {
            0 => change.opened(),
            1 => change.started(),
            _ => change.log(&"x".repeat(700)),
        };
        sent.append(store, vec![record]).await?;
        if number % 4 == 3 {
            read(store, sent, &change).await?;
        }
    }
    Ok(())
}

/// Reads a change: what is said is right, or it is said that it cannot be read.
async fn read(store: &Store, sent: &Sent, change: &Change) -> Result<(), String> {
    let records: Vec<Record> = store.records(&change.key).await.map_err(|error| error.to_string())?;
    sent.assert_prefix(&change.key, &records);
    let listed = store.changes(ChangeQuery::default()).await.map_err(|error| error.to_string())?;
    assert!(listed.iter().any(|view| view.key == change.key && view.records == records.len() as u64));
    Ok(())
}

/// What a store that does not open says: the error with its causes, and what helps.
pub fn words(error: &OpenError) -> String {
    format!("{}; {}", line(error), error.cure().unwrap_or_default())
}

/// Whether an error says what happened, where, and what helps.
pub fn assert_says(said: &str, happened: &[&str], dir: &Path, cures: &[&str], what: &str) {
    assert!(happened.iter().any(|words| said.contains(words)), "{what}: `{said}` says nothing of {happened:?}");
    // Making a store syncs the name of its folder, too.
    let folder = dir.parent().unwrap().display().to_string();
    let is_place = said.contains(&folder) || said.contains("its index") || said.contains("the index");
    assert!(is_place, "{what}: `{said}` does not say where");
    assert!(cures.iter().any(|cure| said.contains(cure)), "{what}: `{said}` has no cure of {cures:?}");
}

/// Whether the check says of a store that nothing is lost, and yet somebody has to do something.
pub fn assert_warns(report: &CheckReport, words: &str, cure: &str) {
    assert!(report.is_sound(), "{:#?}", report.findings);
    let says = |finding: &pintle_journal::check::Finding| {
        finding.severity == Severity::Warning && finding.what.contains(words) && finding.cure.contains(cure)
    };
    assert!(report.findings.iter().any(says), "no warning says `{words}`: {:#?}", report.findings);
}
