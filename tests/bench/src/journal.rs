//! `journal.append.*`: durable appends of 256 bytes with so many writers, each of which waits for its answer.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use pintle_journal::journal::Journal;
use pintle_journal::{Store, StoreOptions};
use pintle_lifecycle::ids::{ChangeKey, StepId};
use pintle_lifecycle::record::{Event, FORMAT, Level, Record};
use pintle_lifecycle::stamp::Stamp;

use crate::Bench;
use crate::measure::{Pair, Stopwatch, rate};
use crate::plans;
use crate::raw_log::RawLog;
use crate::report::Line;

/// Bytes of a record in the log, its frame not counted.
const RECORD_BYTES: usize = 256;

/// Writers, appends of each in a round, and what is aimed at.
const SIZES: [(usize, usize, &str); 4] =
    [(1, 3_000, "ratio ≥ 0.95"), (8, 1_500, "ratio ≥ 0.85"), (64, 600, "ratio ≥ 0.6"), (512, 200, "ratio ≥ 0.3")];

pub fn append(bench: &Bench) -> Result<Vec<Line>> {
    let wanted = SIZES.into_iter().filter(|(writers, ..)| bench.wants(&format!("journal.append.{writers}")));
    wanted
        .map(|(writers, each, reach)| {
            let mut pair = Pair::default();
            let folder = bench.folder()?;
            let store = Arc::new(Store::open(&folder.path().join("store"), &StoreOptions::default())?);
            let raw = Arc::new(RawLog::create(&folder.path().join("raw"))?);
            let mut changes = open_changes(&store, writers)?;
            for round in 0..bench.rounds {
                let mut sides = [0.0; 2];
                for side in bench.order(round) {
                    sides[side] = match side {
                        0 => bench.runtime.block_on(appends(&store, &mut changes, each))?,
                        _ => bench.runtime.block_on(raw_appends(&raw, writers, each))?,
                    };
                }
                pair.push(sides[0], sides[1]);
            }
            Ok(Line::of(format!("journal.append.{writers}"), "appends/s", reach, &pair))
        })
        .collect()
}

/// Where a writer is.
pub struct Writing {
    change: ChangeKey,
    seq: u64,
}

fn open_changes(store: &Store, writers: usize) -> Result<Vec<Writing>> {
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    runtime.block_on(async {
        let mut changes = Vec::new();
        for writer in 0..writers {
            let change = plans::release(&format!("writer-{writer}")).change(1);
            let plan = Arc::new(plans::action(&change.release, "", "noop"));
            let step = StepId::root("upgrade");
            let events = [
                Event::ChangeOpened { plan, by: "bench".to_owned() },
                Event::StepStarted {
                    step,
                    attempt: 1,
                    parent: None,
                    kind: pintle_lifecycle::record::StepKind::Action,
                    title: "bench".to_owned(),
                    hook: None,
                },
            ];
            let records = events.into_iter().zip(0..).map(|(event, seq)| record(&change, seq, event)).collect();
            store.append(records).await?;
            changes.push(Writing { change, seq: 2 });
        }
        Ok(changes)
    })
}

async fn appends(store: &Arc<Store>, changes: &mut Vec<Writing>, each: usize) -> Result<f64> {
    let total = each * changes.len();
    let watch = Stopwatch::start();
    let mut writers = tokio::task::JoinSet::new();
    for mut writing in changes.drain(..) {
        let store = Arc::clone(store);
        writers.spawn(async move {
            for _ in 0..each {
                store.append(vec![line(&writing)]).await?;
                writing.seq += 1;
            }
            anyhow::Ok(writing)
        });
    }
    while let Some(writing) = writers.join_next().await {
        changes.push(writing??);
    }
    Ok(rate(total, watch.seconds()))
}

async fn raw_appends(raw: &Arc<RawLog>, writers: usize, each: usize) -> Result<f64> {
    let watch = Stopwatch::start();
    let mut running = tokio::task::JoinSet::new();
    for _ in 0..writers {
        let raw = Arc::clone(raw);
        running.spawn(async move {
            let bytes = [b'x'; RECORD_BYTES];
            for _ in 0..each {
                raw.append(&bytes).await?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(ended) = running.join_next().await {
        ended??;
    }
    Ok(rate(writers * each, watch.seconds()))
}

/// A log line of a step whose record has the right length.
fn line(writing: &Writing) -> Record {
    let of_message = |message: String| Event::StepLog {
        step: StepId::root("upgrade"),
        attempt: 1,
        line: Some(0),
        level: Level::Info,
        message,
        fields: Vec::new(),
    };
    // What is around the message has about this length, whatever the numbers in it.
    record(&writing.change, writing.seq, of_message("x".repeat(RECORD_BYTES - ENVELOPE)))
}

/// Bytes of such a line without its message, about.
const ENVELOPE: usize = 190;

fn record(change: &ChangeKey, seq: u64, event: Event) -> Record {
    Record {
        v: FORMAT,
        change: change.clone(),
        seq,
        at: Stamp { wall: 1_796_000_000_000, up: 1_000_000, boot: 1 },
        event,
    }
}

/// Fills a store with the records of `changes` changes that have ended.
pub fn fill(path: &Path, changes: usize) -> Result<()> {
    use pintle_lifecycle::ending::{ChangeState, Ending};
    let store = Store::open(path, &StoreOptions::default())?;
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    runtime.block_on(async {
        let mut last = None;
        for number in 0..changes {
            // A thousand releases with a history each.
            let key = plans::release(&format!("past-{}", number % 1_000)).change(number as u64 / 1_000 + 1);
            let step = StepId::root("upgrade");
            let started = Event::StepStarted {
                step: step.clone(),
                attempt: 1,
                parent: None,
                kind: pintle_lifecycle::record::StepKind::Action,
                title: "Run the upgrade hook".to_owned(),
                hook: None,
            };
            let events = [
                Event::ChangeOpened { plan: Arc::new(plans::action(&key.release, "", "noop")), by: "bench".to_owned() },
                started,
                Event::StepFinished { step, attempt: 1, ending: Ending::succeeded() },
                Event::ChangeFinished { state: ChangeState::Succeeded, message: String::new() },
            ];
            let records = events.into_iter().zip(0..).map(|(event, seq)| record(&key, seq, event)).collect();
            last = Some(store.append(records));
        }
        if let Some(last) = last {
            last.await?;
        }
        anyhow::Ok(())
    })
}
