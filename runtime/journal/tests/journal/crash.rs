//! A real process, killed with SIGKILL under load, again and again on the same store: what it acknowledged is there afterwards.
//!
//! A killed process leaves the pages that it wrote to the kernel, so this says nothing about syncs: the negative control here
//! acknowledges before it writes. Power cuts, where the sync is what counts, need a device that drops unsynced sectors.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use pintle_journal::check::check_store;
use pintle_journal::journal::{ChangeQuery, Journal};
use pintle_journal::{Acknowledge, Store, StoreOptions};
use pintle_lifecycle::ids::ChangeKey;
use pintle_lifecycle::record::Record;
use tempfile::TempDir;

use crate::dice::Dice;
use crate::sample::Change;
use crate::store::options;

const DIR: &str = "PINTLE_CRASH_DIR";
const MODE: &str = "PINTLE_CRASH_MODE";
const WRITERS: usize = 8;

/// What the child writes as record `seq` of a change.
fn expected(change: &mut Change, seq: u64) -> Record {
    // Two of five records are calls.
    let ordinal = u32::try_from(seq / 5 * 2 + u64::from(seq % 5 == 4)).unwrap();
    match seq {
        0 => change.opened(),
        1 => change.started(),
        _ if seq % 5 == 3 => change.put(ordinal, "place", &seq.to_be_bytes()),
        _ if seq % 5 == 4 => change.delete(ordinal, "place"),
        _ => change.log(&format!("line {seq} {}", "x".repeat(ordinal as usize % 200))),
    }
}

fn options_of(mode: &str) -> StoreOptions {
    let acknowledge = if mode == "control" { Acknowledge::BeforeWrite } else { Acknowledge::WhenDurable };
    StoreOptions { acknowledge, ..options(mode == "index") }
}

/// The process that is killed: not a test by itself.
#[tokio::test]
#[ignore = "is started and killed by the tests of this file"]
async fn child() {
    let (Ok(dir), Ok(mode)) = (std::env::var(DIR), std::env::var(MODE)) else { return };
    let store: Arc<dyn Journal> = Arc::new(Store::open(Path::new(&dir), &options_of(&mode)).unwrap());
    let open = store.changes(ChangeQuery::default()).await.unwrap().len() as u64;
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..WRITERS {
        let store = Arc::clone(&store);
        writers.spawn(async move {
            let mut change = Change::new(&format!("writer-{writer}"), open + 1);
            for seq in 0.. {
                store.append(vec![expected(&mut change, seq)]).await.unwrap();
                // In one write, so that the line is there whole or not at all.
                let line = format!("acked {} {seq}\n", change.key.stored());
                std::io::stdout().lock().write_all(line.as_bytes()).unwrap();
            }
        });
    }
    while writers.join_next().await.is_some() {}
}

/// Starts the child and kills it after it has acknowledged so many records. Says what it acknowledged of each change, as counts.
fn run_and_kill(dir: &Path, mode: &str, after: u64) -> BTreeMap<ChangeKey, u64> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["crash::child", "--exact", "--ignored", "--nocapture"])
        .env(DIR, dir)
        .env(MODE, mode)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).split(b'\n');
    let mut acked = BTreeMap::new();
    let mut seen = 0;
    while seen < after {
        let line = String::from_utf8(lines.next().expect("the child runs until it is killed").unwrap()).unwrap();
        seen += u64::from(note(&line, &mut acked));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    // What it had printed before the kill took hold.
    for line in lines {
        note(&String::from_utf8_lossy(&line.unwrap()), &mut acked);
    }
    acked
}

fn note(line: &str, acked: &mut BTreeMap<ChangeKey, u64>) -> bool {
    let Some((change, seq)) = line.strip_prefix("acked ").and_then(|rest| rest.split_once(' ')) else { return false };
    acked.insert(change.parse().unwrap(), seq.parse::<u64>().unwrap() + 1);
    true
}

/// How many acknowledged records are not in the store. Everything that is there must be right.
async fn lost(dir: &Path, mode: &str, acked: &BTreeMap<ChangeKey, u64>) -> u64 {
    let store = Store::open(dir, &options_of(mode)).unwrap();
    let mut lost = 0;
    for (key, acked) in acked {
        let records = store.records(key).await.unwrap();
        let mut change = Change::resume(key.clone(), 0);
        for (record, seq) in records.iter().zip(0..) {
            assert_eq!(*record, expected(&mut change, seq));
        }
        let stored = store.change(key).await.unwrap().map_or(0, |view| view.records);
        assert_eq!(stored, records.len() as u64);
        lost += acked.saturating_sub(stored);
    }
    lost
}

async fn kills(test: &str, mode: &str, kills: u64) -> u64 {
    let mut dice = Dice::new(test);
    let dir = TempDir::new().unwrap();
    let (mut all, mut missing, mut total) = (BTreeMap::new(), 0, 0);
    for _ in 0..kills {
        // Now and then while it starts.
        let after = dice.below(200).saturating_sub(20);
        let acked = run_and_kill(dir.path(), mode, after);
        total += acked.values().sum::<u64>();
        all.extend(acked);
        missing += lost(dir.path(), mode, &all).await;
    }
    let report = check_store(dir.path()).unwrap();
    println!("{test}: kills {kills}, acknowledged {total}, lost {missing}");
    assert!(mode == "control" || report.findings.is_empty(), "{:#?}", report.findings);
    missing
}

#[tokio::test]
async fn nothing_acknowledged_is_lost_with_views_in_memory() {
    assert_eq!(kills("crash, views in memory", "memory", 15).await, 0);
}

#[tokio::test]
async fn nothing_acknowledged_is_lost_with_an_index() {
    assert_eq!(kills("crash, index", "index", 15).await, 0);
}

#[tokio::test]
async fn a_store_that_acknowledges_before_it_writes_is_caught() {
    assert!(kills("crash, negative control", "control", 3).await > 0, "this test would not notice a loss");
}
