//! `action.noop.*` and `call.*`: from the request to the recorded end of an action that does nothing, and durable calls one after
//! another.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result};

use crate::Bench;
use crate::measure::{Pair, Rounds, Stopwatch, count, rate};
use crate::raw_action::{RawAction, plain};
use crate::raw_log::Allocated;
use crate::report::Line;
use crate::site::Site;
use crate::{journal, plans};

/// Bytes of each of the two appends of the raw limit: what a short record has.
const RAW_APPEND: [u8; 256] = [b'x'; 256];
/// What a durable call writes: its intent and the outcome of the call before it.
const RAW_CALL: [u8; 640] = [b'x'; 640];
/// Changes of the history of `action.noop.rate.after100k`.
const HISTORY: usize = 100_000;
/// Calls of the guest's action `calls`.
const CALLS: usize = 1_000;

/// `action.noop.latency`: microseconds.
pub fn latency(bench: &Bench) -> Result<Vec<Line>> {
    const EACH: usize = 300;
    let guest = bench.guest();
    let raw = RawAction::new(&guest).map_err(|error| plain(&error))?;
    let folder = bench.folder()?;
    let mut raw_log = Allocated::create(&folder.path().join("raw"))?;
    let site = Site::open(&folder.path().join("state"))?;
    let module = bench.runtime.block_on(site.admit(&guest))?;
    let plan = plans::action(&plans::release("latency"), &module, "noop");
    let mut pair = Pair::default();
    for round in 0..=bench.rounds {
        let mut sides = [0.0; 2];
        for side in bench.order(round) {
            let mut each = Rounds::default();
            for _ in 0..EACH {
                let watch = Stopwatch::start();
                if side == 0 {
                    bench.runtime.block_on(site.change(plan.clone()))?;
                } else {
                    raw_log.append(&RAW_APPEND)?;
                    bench.runtime.block_on(raw.run("noop")).map_err(|error| plain(&error))?;
                    raw_log.append(&RAW_APPEND)?;
                }
                each.push(watch.seconds() * 1e6);
            }
            sides[side] = each.median();
        }
        // The first round warms up.
        if round > 0 {
            pair.push(sides[0], sides[1]);
        }
    }
    Ok(vec![Line::of("action.noop.latency", "µs", "ratio ≤ 2", &pair)])
}

/// `action.noop.rate.*`: changes a second with so many in flight.
pub fn rates(bench: &Bench) -> Result<Vec<Line>> {
    const SIZES: [(usize, usize, &str); 3] = [(1, 2_000, "4,000"), (16, 10_000, "20,000"), (128, 10_000, "20,000")];
    let mut lines = Vec::new();
    for (in_flight, total, reach) in SIZES {
        let name = format!("action.noop.rate.{in_flight}");
        if !bench.wants(&name) {
            continue;
        }
        let folder = bench.folder()?;
        let site = Arc::new(Site::open(&folder.path().join("state"))?);
        let module = bench.runtime.block_on(site.admit(&bench.guest()))?;
        let mut rounds = Rounds::default();
        for round in 0..=bench.rounds {
            let rate = bench.runtime.block_on(changes(&site, &module, in_flight, total))?;
            if round > 0 {
                rounds.push(rate);
            }
        }
        lines.push(Line::alone(name, "changes/s", reach, &rounds));
    }
    Ok(lines)
}

/// `action.noop.rate.after100k`: with a long history and without one, in turns.
pub fn after_history(bench: &Bench) -> Result<Vec<Line>> {
    const IN_FLIGHT: usize = 16;
    const TOTAL: usize = 10_000;
    let folder = bench.folder()?;
    let (old, fresh) = (folder.path().join("old"), folder.path().join("fresh"));
    journal::fill(&old, HISTORY)?;
    let guest = bench.guest();
    let open = |path: &Path| -> Result<_> {
        let site = Arc::new(Site::open(path)?);
        let module = bench.runtime.block_on(site.admit(&guest))?;
        Ok((site, module))
    };
    let sides = [open(&old)?, open(&fresh)?];
    let mut pair = Pair::default();
    for round in 0..=bench.rounds {
        let mut rates = [0.0; 2];
        for side in bench.order(round) {
            let (site, module) = &sides[side];
            rates[side] = bench.runtime.block_on(changes(site, module, IN_FLIGHT, TOTAL))?;
        }
        if round > 0 {
            pair.push(rates[0], rates[1]);
        }
    }
    Ok(vec![Line::of("action.noop.rate.after100k", "changes/s", "ratio ≥ 0.9", &pair)])
}

async fn changes(site: &Arc<Site>, module: &str, in_flight: usize, total: usize) -> Result<f64> {
    let left = Arc::new(AtomicUsize::new(total));
    let watch = Stopwatch::start();
    let mut running = tokio::task::JoinSet::new();
    for number in 0..in_flight {
        let (site, left) = (Arc::clone(site), Arc::clone(&left));
        // Made once: what plans cost is no part of this.
        let plan = plans::action(&plans::release(&format!("rate-{number}")), module, "noop");
        running.spawn(async move {
            while left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok() {
                site.change(plan.clone()).await?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(ended) = running.join_next().await {
        ended??;
    }
    Ok(rate(total, watch.seconds()))
}

/// `call.serial`, `call.bytes`, `call.syncs`.
pub fn calls(bench: &Bench) -> Result<Vec<Line>> {
    let guest = bench.guest();
    let folder = bench.folder()?;
    let mut raw_log = Allocated::create(&folder.path().join("raw"))?;
    let site = Site::open(&folder.path().join("state"))?;
    let module = bench.runtime.block_on(site.admit(&guest))?;
    let plan = plans::action(&plans::release("calls"), &module, "calls");
    let (mut pair, mut bytes, mut syncs) = (Pair::default(), Rounds::default(), Rounds::default());
    let log = folder.path().join("state/log");
    for round in 0..=bench.rounds {
        let mut sides = [0.0; 2];
        for side in bench.order(round) {
            let (written, groups) = (written()?, groups(&log)?);
            let watch = Stopwatch::start();
            if side == 0 {
                bench.runtime.block_on(site.change(plan.clone()))?;
            } else {
                for _ in 0..CALLS {
                    raw_log.append(&RAW_CALL)?;
                }
            }
            sides[side] = rate(CALLS, watch.seconds());
            if side == 0 && round > 0 {
                bytes.push(count(self::written()? - written) / count(CALLS as u64));
                syncs.push(count(self::groups(&log)? - groups) / count(CALLS as u64));
            }
        }
        if round > 0 {
            pair.push(sides[0], sides[1]);
        }
    }
    Ok(vec![
        Line::of("call.serial", "calls/s", "ratio ≥ 0.8", &pair),
        Line::alone("call.bytes", "bytes", "≤ 2048", &bytes),
        Line::alone("call.syncs", "syncs", "1", &syncs),
    ])
}

/// Groups in the log: each was written and synced once.
fn groups(log: &Path) -> Result<u64> {
    let mut groups = 0;
    for entry in std::fs::read_dir(log)? {
        let bytes = std::fs::read(entry?.path())?;
        groups += bytes.windows(4).filter(|four| four == b"PGRP").count() as u64;
    }
    Ok(groups)
}

/// Bytes that this process has given to the system to write.
fn written() -> Result<u64> {
    let io = std::fs::read_to_string("/proc/self/io")?;
    let line = io.lines().find_map(|line| line.strip_prefix("wchar: "));
    Ok(line.context("/proc/self/io has no line `wchar`")?.trim().parse()?)
}
