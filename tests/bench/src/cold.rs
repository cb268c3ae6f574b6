//! `cli.cold`: from the start of the process `pintle up` to the first call of its action.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use pintle_journal::journal::{ChangeQuery, Journal};
use pintle_journal::{Reader, clock::Clock, clock::SystemClock};
use pintle_lifecycle::record::Event;

use crate::Bench;
use crate::measure::{Rounds, count};
use crate::report::Line;

pub fn cold(bench: &Bench) -> Result<Vec<Line>> {
    let mut rounds = Rounds::default();
    for round in 0..=bench.rounds.min(5) {
        let folder = bench.folder()?;
        up(bench, folder.path(), "release.yml")?;
        let before = SystemClock::new().now();
        up(bench, folder.path(), "release-1.1.0.yml")?;
        let first = bench.runtime.block_on(first_call(folder.path()))?;
        remove(bench, folder.path())?;
        // The first round compiles the action.
        if round > 0 {
            rounds.push(count(first.since(&before)));
        }
    }
    Ok(vec![Line::alone("cli.cold", "ms", "< 30 ms", &rounds)])
}

fn up(bench: &Bench, state: &Path, document: &str) -> Result<()> {
    pintle(bench, state, &["up", &bench.shop.join(document).display().to_string()])
}

fn remove(bench: &Bench, state: &Path) -> Result<()> {
    pintle(bench, state, &["delete", "shop"])
}

fn pintle(bench: &Bench, state: &Path, arguments: &[&str]) -> Result<()> {
    let mut command = Command::new(&bench.program);
    command.args(arguments).env("PINTLE_STATE", state).stdin(Stdio::null());
    let output = command.output().with_context(|| format!("{} does not start", bench.program.display()))?;
    ensure!(output.status.success(), "pintle {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

/// When the newest change made its first call.
async fn first_call(state: &Path) -> Result<pintle_lifecycle::stamp::Stamp> {
    let reader = Reader::open(state)?;
    let newest = reader.changes(ChangeQuery { limit: 1, ..ChangeQuery::default() }).await?;
    let newest = newest.first().context("the state has no change")?;
    let records = reader.records(&newest.key).await?;
    let first = records
        .iter()
        .find(|record| matches!(record.event, Event::CallIntent { .. } | Event::CallOutcome { .. }))
        .context("the action called nothing")?;
    Ok(first.at)
}
