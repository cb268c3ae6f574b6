//! `cli.cold`: from the start of the process `pintle up` to the first call of its action.

use std::fs;
use std::net::TcpListener;
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
        let (shop, state) = (folder.path().join("shop"), folder.path().join("state"));
        copy(&bench.shop, &shop, &free_port()?)?;
        up(bench, &state, &shop.join("release.yml"))?;
        let before = SystemClock::new().now();
        up(bench, &state, &shop.join("release-1.1.0.yml"))?;
        let first = bench.runtime.block_on(first_call(&state))?;
        pintle(bench, &state, &["delete", "shop"])?;
        // The first round fills the caches of the system.
        if round > 0 {
            rounds.push(count(first.since(&before)));
        }
    }
    Ok(vec![Line::alone("cli.cold", "ms", "< 30 ms", &rounds)])
}

fn up(bench: &Bench, state: &Path, document: &Path) -> Result<()> {
    pintle(bench, state, &["up", &document.display().to_string()])
}

/// The port of the example, which a copy replaces.
const PORT: &str = "18081";

fn free_port() -> Result<String> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port().to_string())
}

/// Copies the example as far as it is run, with another port.
fn copy(from: &Path, to: &Path, port: &str) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))? {
        let entry = entry?;
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy(&path, &target, port)?;
        } else if path.extension().is_some_and(|extension| extension == "yml") {
            fs::write(&target, fs::read_to_string(&path)?.replace(PORT, port))?;
        } else {
            fs::copy(&path, &target)?;
        }
    }
    Ok(())
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
