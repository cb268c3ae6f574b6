//! One life of Pintle in a soak: its start, what is killed at a random moment of it, and how it ends.

use std::{
    process::{Child, ExitStatus},
    time::Duration,
};

use anyhow::Result;

use super::lane::Lane;
use super::moments::{in_future, passed, pause};
use super::small_disk::SmallDisk;
use crate::processes;

/// A start of Pintle is killed at a random moment within this time, in milliseconds, …
const WINDOW_MS: u64 = 1_300;
/// … half of them within its first moments, in which it finds out where it is.
const FIRST_MS: u64 = 250;
/// A start that is not killed ends within this time.
const PATIENCE: Duration = Duration::from_mins(2);
/// Of 256 starts so many are spared, so that each change comes to its end.
const SPARED: u8 = 24;

/// How a life went.
pub(super) struct Life {
    /// None where Pintle was killed.
    pub(super) code: Option<i32>,
    /// Shims or processes of the shop were killed.
    pub(super) kills: bool,
    /// The disk was full for some of it.
    pub(super) full_disk: bool,
}

/// Who may be killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Victim {
    Pintle,
    Shim(u32),
    Process(u32),
}

impl Lane<'_> {
    /// Starts Pintle, and kills it or others at a random moment, or nobody.
    pub(super) fn live(&mut self, words: &[&str]) -> Result<Life> {
        let mark = self.disk.map(SmallDisk::mark);
        let mut child = self.shop.start(words, &self.log)?;
        let spared = self.toll.is_over() || self.rng.u8(..) < SPARED;
        let (status, kills) = if spared { (Some(self.wait(&mut child)?), false) } else { self.strike(&mut child)? };
        let full_disk = self.disk.zip(mark).is_some_and(|(disk, mark)| disk.was_full_since(mark));
        Ok(Life { code: status.and_then(|status| status.code()), kills, full_disk })
    }

    /// Kills some at a moment; tells how Pintle ended, unless it was killed, and whether others were.
    fn strike(&mut self, child: &mut Child) -> Result<(Option<ExitStatus>, bool)> {
        let window = if self.rng.bool() { WINDOW_MS } else { FIRST_MS };
        let end = in_future(Duration::from_millis(self.rng.u64(0..window)));
        while !passed(end) {
            if let Some(status) = child.try_wait()? {
                return Ok((Some(status), false));
            }
            pause(Duration::from_millis(1));
        }
        let victims = if self.at_once { self.some()? } else { self.one_or_two()? };
        let pids = victims.iter().map(|victim| match victim {
            Victim::Pintle => child.id(),
            Victim::Shim(pid) | Victim::Process(pid) => *pid,
        });
        let killed = processes::kill(pids)?;
        let others = victims.iter().filter(|victim| **victim != Victim::Pintle).count() > 0;
        self.toll.add(|count| {
            let number = |of: fn(&&Victim) -> bool| u32::try_from(victims.iter().filter(of).count()).unwrap_or(0);
            count.kills += killed;
            count.at_once = count.at_once.max(killed);
            count.shims += number(|victim| matches!(victim, Victim::Shim(_)));
            count.processes += number(|victim| matches!(victim, Victim::Process(_)));
        });
        if victims.contains(&Victim::Pintle) {
            child.wait()?;
            return Ok((None, others));
        }
        Ok((Some(self.wait(child)?), others))
    }

    /// Mostly Pintle; at times a shim, or both.
    fn one_or_two(&mut self) -> Result<Vec<Victim>> {
        let choice = self.rng.u8(..);
        let mut victims = Vec::new();
        if choice < 80 {
            let shims = processes::shims(&self.shop.run_folder())?;
            victims.extend(self.rng.choice(&shims).map(|shim| Victim::Shim(shim.pid)));
        }
        if choice >= 40 {
            victims.push(Victim::Pintle);
        }
        Ok(victims)
    }

    /// Any of those that are there, at least one.
    fn some(&mut self) -> Result<Vec<Victim>> {
        let run = self.shop.run_folder();
        let mut victims = vec![Victim::Pintle];
        victims.extend(processes::shims(&run)?.iter().map(|shim| Victim::Shim(shim.pid)));
        victims.extend(processes::all_of_shop(&run)?.iter().map(|process| Victim::Process(process.pid)));
        self.rng.shuffle(&mut victims);
        victims.truncate(self.rng.usize(1..=victims.len()));
        Ok(victims)
    }

    /// Waits for the end of a Pintle that is left alone.
    pub(super) fn wait(&self, child: &mut Child) -> Result<ExitStatus> {
        let end = in_future(PATIENCE);
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(status);
            }
            if passed(end) {
                child.kill()?;
                child.wait()?;
                return Err(self.astray(&format!("Pintle does not end: {}", self.said()?)));
            }
            pause(Duration::from_millis(3));
        }
    }
}
