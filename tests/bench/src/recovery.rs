//! `recovery.*`: a process with many open changes is killed, and the next one goes on.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use tokio::sync::Semaphore;

use crate::Bench;
use crate::child::Measured;
use crate::measure::{Rounds, Stopwatch};
use crate::report::Line;
use crate::site::Site;

const CHANGES: usize = 10_000;
/// Changes that are read from the journal at once.
const READING: usize = 8;

pub fn recovery(bench: &Bench) -> Result<Vec<Line>> {
    let (mut first, mut all) = (Rounds::default(), Rounds::default());
    let folder = bench.folder()?;
    let mut opened = Measured::start("wait", folder.path(), CHANGES)?;
    opened.line()?;
    drop(opened);
    for _ in 0..bench.rounds.min(5) {
        let watch = Stopwatch::start();
        let mut again = Measured::start("recover", folder.path(), CHANGES)?;
        again.line()?;
        first.push(watch.seconds() * 1e3);
        again.line()?;
        all.push(watch.seconds() * 1e3);
    }
    Ok(vec![
        Line::alone("recovery.10000.first", "ms", "< 100", &first),
        Line::alone("recovery.10000.all", "ms", "< 2000", &all),
    ])
}

/// What the child does: takes up all open changes, says when the first effect came and when all wait for their Jobs again.
pub async fn recover(folder: &Path, changes: usize) -> Result<()> {
    let site = Arc::new(Site::open(folder)?);
    let world = Arc::clone(&site.world);
    // The oldest go on while the others are still read.
    let reading = Arc::new(Semaphore::new(READING));
    let mut driven = tokio::task::JoinSet::new();
    for change in site.pintle.journal().open_changes().await? {
        let (site, reading) = (Arc::clone(&site), Arc::clone(&reading));
        driven.spawn(async move {
            let turn = reading.acquire().await?;
            let log = site.pintle.recover(&change).await?;
            drop(turn);
            anyhow::Ok(site.driver.tend(log).await?)
        });
    }
    let going = async {
        world.waited_for(1).await;
        println!("first");
        world.waited_for(changes).await;
        println!("all");
    };
    tokio::select! {
        () = going => {}
        ended = driven.join_next() => anyhow::bail!("a change ended: {:?}", ended.context("no change is open")?),
    }
    std::future::pending().await
}
