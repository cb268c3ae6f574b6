//! One lane of a soak: a release of its own that is set up, upgraded twice and deleted, again and again, by Pintles that are killed.

use std::{collections::BTreeSet, fs, mem, path::PathBuf, process::Child, time::Duration};

use anyhow::{Context, Error, Result, anyhow, ensure};
use fastrand::Rng;

use super::moments::pause;
use super::small_disk::{Mark, SmallDisk};
use super::told::opened_id;
use super::toll::Toll;
use crate::shop::{NOT_FOUND, Shop, change_id};

/// A change that has not ended after so many starts is lost.
const STARTS: u32 = 100;
/// So many rounds go into one store: enough for an index, and few enough to read it all after each change.
const ROUNDS: u32 = 8;
/// How `pintle` exits where the store has trouble, such as a full disk.
const STORE: i32 = 4;
const VERSIONS: [(&str, &str); 3] =
    [("release.yml", "1.0.0"), ("release-1.1.0.yml", "1.1.0"), ("release-1.2.0.yml", "1.2.0")];

pub struct Lane<'a> {
    pub(super) name: String,
    pub(super) shop: Shop,
    pub(super) rng: Rng,
    /// What the Pintle of now prints.
    pub(super) log: PathBuf,
    pub(super) toll: &'a Toll,
    pub(super) disk: Option<&'a SmallDisk>,
    pub(super) at_once: bool,
    /// Ids that Pintle printed as opened.
    pub(super) acknowledged: BTreeSet<String>,
    /// Records before the release was set up.
    pub(super) setup: usize,
    /// Records before the change of now.
    pub(super) from: usize,
    pub(super) met: Met,
    /// When the change of now began.
    pub(super) began: Option<Mark>,
}

/// What a change met beside the death of Pintle itself: with it, a change may fail where it says why.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Met {
    /// Shims or processes of the shop were killed.
    pub(super) kills: bool,
    pub(super) full_disk: bool,
    pub(super) retries: bool,
}

impl<'a> Lane<'a> {
    pub fn new(
        name: String,
        shop: Shop,
        rng: Rng,
        log: PathBuf,
        toll: &'a Toll,
        disk: Option<&'a SmallDisk>,
        at_once: bool,
    ) -> Self {
        let (acknowledged, met) = (BTreeSet::new(), Met::default());
        Self { name, shop, rng, log, toll, disk, at_once, acknowledged, setup: 0, from: 0, met, began: None }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Runs rounds until the soak is over.
    pub fn run(&mut self) -> Result<()> {
        for round in 1.. {
            if self.toll.is_over() {
                break;
            }
            self.round()?;
            if round % ROUNDS == 0 {
                self.shop.forget_records()?;
                self.acknowledged.clear();
                self.from = 0;
            }
        }
        Ok(())
    }

    /// Ends what runs, however it stands.
    pub fn end(&self) -> Result<()> {
        self.shop.end_everything()
    }

    fn round(&mut self) -> Result<()> {
        self.setup = self.from;
        for (document, version) in VERSIONS {
            (self.met, self.began) = (Met::default(), self.disk.map(SmallDisk::mark));
            let document = self.shop.document(document);
            self.detached_open(&document)?;
            self.carry_through(&["up", &document])?;
            self.check(version, &document)?;
        }
        self.met = Met::default();
        self.carry_through(&["delete", "shop"])?;
        self.check_gone()
    }

    /// Opens a change, kills Pintle as soon as it has said so, and asks whether the change is there.
    fn detached_open(&mut self, document: &str) -> Result<()> {
        if self.rng.bool() {
            return Ok(());
        }
        let mark = self.disk.map(SmallDisk::mark);
        let mut child = self.shop.start(&["up", document, "--detach"], &self.log)?;
        let opened = loop {
            // Before its log is read: what it said last is in it then.
            let ended = child.try_wait()?;
            let said = self.said()?;
            if let Some(id) = said.lines().find_map(opened_id) {
                break id;
            }
            if let Some(status) = ended {
                let full = self.disk.zip(mark).is_some_and(|(disk, mark)| disk.was_full_since(mark));
                if full && status.code() == Some(STORE) {
                    return self.tells_of_full_disk();
                }
                return Err(self.astray(&format!("`up --detach` ended with {status} and named no change: {said}")));
            }
            pause(Duration::from_millis(1));
        };
        self.kill(&mut child)?;
        self.acknowledged.insert(opened);
        self.find_lost(&self.shop.records()?);
        Ok(())
    }

    /// Runs a verb again and again, killing it and what it runs, until it came through.
    fn carry_through(&mut self, args: &[&str]) -> Result<()> {
        self.toll.add(|count| count.changes += 1);
        let wanted: Vec<String> = args.iter().map(|&word| word.to_owned()).collect();
        let mut next = wanted.clone();
        let mut starts = 0;
        while starts < STARTS {
            let asked = mem::replace(&mut next, wanted.clone());
            let words: Vec<&str> = asked.iter().map(String::as_str).collect();
            let life = self.live(&words)?;
            starts += u32::from(!life.full_disk);
            self.met.kills |= life.kills;
            self.met.full_disk |= life.full_disk;
            match life.code {
                None => {}
                Some(0) => return Ok(()),
                // A life before this one came through, and died when it had.
                Some(NOT_FOUND) if words[0] == "delete" => return Ok(()),
                // Where something else died or had no room, the change may fail; it has to say so, and `retry` goes on.
                Some(code @ (1 | 3)) if self.met.kills || self.met.full_disk => {
                    next = vec!["retry".to_owned(), self.failed_change(code)?];
                    self.met.retries = true;
                    self.toll.add(|count| count.retried += 1);
                }
                Some(STORE) if life.full_disk => {
                    self.tells_of_full_disk()?;
                    self.toll.add(|count| count.stopped_by_disk += 1);
                }
                Some(code) => {
                    self.check_migrations(&self.shop.records()?)?;
                    return Err(self.astray(&format!(
                        "`pintle {}` ended with {code}: {}",
                        words.join(" "),
                        self.said()?
                    )));
                }
            }
        }
        self.lose(&format!("`pintle {}` does not come to an end", wanted.join(" ")));
        Ok(())
    }

    /// The newest change, which must have ended with a reason.
    fn failed_change(&self, code: i32) -> Result<String> {
        let records = self.shop.records()?;
        let last = records
            .iter()
            .rev()
            .find(|record| matches!(record["event"]["is"].as_str(), Some("changeFinished" | "changeStuck")));
        let last = last.ok_or_else(|| self.astray(&format!("Pintle ended with {code}, and no change has ended")))?;
        let words = |field: &str| last["event"][field].as_str().is_some_and(|text| !text.is_empty());
        if !words("message") && !words("question") {
            return Err(self.astray(&format!("a change failed and does not say why: {last}")));
        }
        change_id(last).context("a record names no change")
    }

    /// A Pintle that stops because the disk is full says how much is free and what helps.
    fn tells_of_full_disk(&self) -> Result<()> {
        let said = self.said()?;
        ensure!(
            said.contains("bytes are free") && said.contains("free some space"),
            "a full disk is not told as such: {said}"
        );
        Ok(())
    }

    pub(super) fn said(&self) -> Result<String> {
        fs::read_to_string(&self.log).with_context(|| format!("cannot read {}", self.log.display()))
    }

    pub(super) fn lose(&self, what: &str) {
        self.toll.lose(&self.name, what);
    }

    /// Counts as lost what keeps the lane from going on: nothing that it did may lead there.
    pub(super) fn astray(&self, what: &str) -> Error {
        self.lose(what);
        anyhow!("{what}")
    }

    pub(super) fn double(&self, what: &str) {
        self.toll.double(&self.name, what);
    }

    /// Kills a Pintle that still runs.
    pub(super) fn kill(&self, child: &mut Child) -> Result<()> {
        if child.try_wait()?.is_none() {
            child.kill()?;
            self.toll.add(|count| count.kills += 1);
        }
        child.wait()?;
        Ok(())
    }
}
