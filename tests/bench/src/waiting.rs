//! `waiting.*`: memory and idle CPU time of many actions in a long wait. A process of its own, so that nothing else is counted.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::Bench;
use crate::child::Measured;
use crate::measure::{Rounds, Stopwatch, count};
use crate::plans;
use crate::report::Line;
use crate::site::Site;

/// How long a process is left alone before and while its CPU time is counted.
const SETTLE: Duration = Duration::from_secs(5);
const WATCH: Duration = Duration::from_secs(20);
/// Changes that are opened at once.
const AT_ONCE: usize = 512;

pub fn memory(bench: &Bench) -> Result<Vec<Line>> {
    let mut lines = Vec::new();
    for (changes, reach) in [(10_000, ""), (100_000, "< 1 GiB")] {
        let name = format!("waiting.{changes}");
        if !bench.wants(&name) {
            continue;
        }
        let folder = bench.folder()?;
        let mut child = Measured::start("wait", folder.path(), changes)?;
        child.line()?;
        pause(SETTLE);
        let bytes = anonymous(child.id())?;
        let (before, watch) = (cpu(child.id())?, Stopwatch::start());
        pause(WATCH);
        let used = (cpu(child.id())? - before) / watch.seconds();
        let one = |value| {
            let mut rounds = Rounds::default();
            rounds.push(value);
            rounds
        };
        lines.push(Line::alone(format!("{name}.bytes"), "bytes", reach, &one(bytes)));
        lines.push(Line::alone(format!("{name}.cpu"), "% of a core", "< 1 %", &one(used * 100.0)));
    }
    Ok(lines)
}

/// What is measured is what happens while nothing does.
#[expect(clippy::disallowed_methods, reason = "time itself is meant")]
fn pause(time: Duration) {
    std::thread::sleep(time);
}

/// Anonymous memory of a process, in bytes.
fn anonymous(pid: u32) -> Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).context("no RssAnon")?;
    let kib: u64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(count(kib << 10))
}

/// CPU time of a process, in seconds.
fn cpu(pid: u32) -> Result<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
    let ticks: u64 = fields[11].parse::<u64>()? + fields[12].parse::<u64>()?;
    Ok(count(ticks) / 100.0)
}

/// What the child does: opens changes whose actions wait for Jobs that never end, says so, and waits.
pub async fn wait(folder: &Path, changes: usize) -> Result<()> {
    let site = Arc::new(Site::open(folder)?);
    let module = site.admit(&guest_artifacts::bytes("guest-bench")).await?;
    let mut driven = tokio::task::JoinSet::new();
    let mut opened = 0;
    while opened < changes {
        let last = (opened + AT_ONCE).min(changes);
        for number in opened..last {
            let (site, module) = (Arc::clone(&site), module.clone());
            driven.spawn(async move {
                site.change(plans::action(&plans::release(&format!("waits-{number}")), &module, "waits")).await
            });
        }
        opened = last;
        tokio::select! {
            () = site.world.waited_for(opened) => {}
            Some(ended) = driven.join_next() => ended??,
        }
    }
    println!("waiting");
    while let Some(ended) = driven.join_next().await {
        ended??;
    }
    Ok(())
}
