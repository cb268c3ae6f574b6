//! `cargo xtask soak kills`: `kill -9` of the real binary and of its shims at random moments, while setups, upgrades and deletes of
//! real processes run. Nothing that was acknowledged may be lost, no effect may happen twice, and each change ends applied, or
//! says why not and is applied by `retry`.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::PathBuf,
    process::{Child, ExitCode, ExitStatus},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use fastrand::Rng;
use serde_json::Value;

use super::told::{is_migration_to, opened_id, runs_of};
use crate::{
    examples, processes,
    shop::{NOT_FOUND, Shop, change_id},
    stage::stage,
    workspace::Workspace,
};

/// How long a migration takes, in milliseconds: long enough to be hit often.
const MIGRATE_MS: u32 = 250;
/// A start of Pintle is killed at a random moment within this time, in milliseconds.
const WINDOW_MS: u64 = 1_300;
/// A change that has not ended after so many starts is lost.
const STARTS: u32 = 60;
/// A start that is not killed ends within this time.
const PATIENCE: Duration = Duration::from_mins(2);

/// Kill Pintle and its shims at random moments, and count what was lost or happened twice
#[derive(clap::Args)]
#[command(
    after_help = "Ends with `kills N, lost 0, doubled 0`. With --weakened it must find what the weakening breaks:
  ack   acknowledges records before they are written
  keys  has effects without an intent, under a new key each time"
)]
pub struct Kills {
    /// End after so many kills
    #[arg(long, short, default_value_t = 2_000)]
    n: u32,
    /// End after so many seconds, whatever N is
    #[arg(long)]
    seconds: Option<u64>,
    /// Seed of the random moments; by default a new one, which is printed
    #[arg(long)]
    seed: Option<u64>,
    /// A negative control: run a Pintle that breaks a rule, and fail unless it is found out
    #[arg(long, value_parser = ["ack", "keys"])]
    weakened: Option<String>,
}

/// What was seen.
#[derive(Debug, Default)]
struct Count {
    kills: u32,
    shim_kills: u32,
    changes: u32,
    /// Changes that ended failed or stuck, said why, and were applied by `retry`.
    retried: u32,
    lost: u32,
    doubled: u32,
}

struct Run {
    shop: Shop,
    rng: Rng,
    count: Count,
    /// Ids that Pintle printed as opened.
    acknowledged: BTreeSet<String>,
    log: PathBuf,
    until: Until,
    /// Records before the release was set up.
    setup: usize,
}

struct Until {
    kills: u32,
    time: Option<Instant>,
    /// End as soon as something was lost or doubled.
    first_find: bool,
}

impl Kills {
    #[expect(clippy::disallowed_methods, reason = "a soak is bounded by the real clock")]
    pub fn run(self, workspace: &Workspace) -> Result<ExitCode> {
        examples::lay_out(workspace)?;
        let program = if self.weakened.is_some() { "pintle-weakened" } else { "pintle" };
        stage("build the program", || workspace.build_programs(&[program]))?;
        let seed = self.seed.unwrap_or_else(|| fastrand::u64(..));
        println!("seed {seed}");
        let name = self.weakened.as_ref().map_or("soak".to_owned(), |weakened| format!("soak-{weakened}"));
        let root = workspace.scratch(&name);
        let shop = Shop::set(workspace, &root, MIGRATE_MS, self.weakened.as_deref())?;
        let until = Until {
            kills: self.n,
            time: self.seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds)),
            first_find: self.weakened.is_some(),
        };
        let log = root.join("pintle.log");
        let (rng, count) = (Rng::with_seed(seed), Count::default());
        let mut run = Run { shop, rng, count, acknowledged: BTreeSet::new(), log, until, setup: 0 };
        let ran = run.go();
        let ended = run.shop.end_everything();
        println!("{}", run.count.shown());
        println!("kills {}, lost {}, doubled {}", run.count.kills, run.count.lost, run.count.doubled);
        let found = run.count.lost + run.count.doubled > 0;
        if self.weakened.is_some() {
            if let Err(error) = ran {
                println!("ended early: {error:#}");
            }
            ensure!(found, "the weakened Pintle was not found out in {} kills", run.count.kills);
            println!("the weakened Pintle was found out");
            return Ok(ExitCode::SUCCESS);
        }
        ran.with_context(|| format!("seed {seed}; what Pintle said last is in {}", run.log.display()))?;
        ended?;
        Ok(if found { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }
}

impl Run {
    fn go(&mut self) -> Result<()> {
        while !self.is_over() {
            self.setup = self.shop.records()?.len();
            for (document, version) in
                [("release.yml", "1.0.0"), ("release-1.1.0.yml", "1.1.0"), ("release-1.2.0.yml", "1.2.0")]
            {
                let document = self.shop.document(document);
                self.detached_open(&document)?;
                let from = self.shop.records()?.len();
                self.carry_through(&["up", &document])?;
                self.check(version, from)?;
            }
            self.carry_through(&["delete", "shop"])?;
            self.check_gone()?;
            self.shop.forget_data()?;
            let journal = self.shop.pintle(&["check-store"]).output()?;
            ensure!(journal.status.success(), "check-store: {}", String::from_utf8_lossy(&journal.stdout));
        }
        Ok(())
    }

    #[expect(clippy::disallowed_methods, reason = "a soak is bounded by the real clock")]
    fn is_over(&self) -> bool {
        let found = self.until.first_find && self.count.lost + self.count.doubled > 0;
        found || self.count.kills >= self.until.kills || self.until.time.is_some_and(|time| Instant::now() >= time)
    }

    /// Opens a change, kills Pintle as soon as it has said so, and asks whether the change is there.
    fn detached_open(&mut self, document: &str) -> Result<()> {
        if self.rng.u8(..) < 128 {
            return Ok(());
        }
        let mut child = self.shop.start(&["up", document, "--detach"], &self.log)?;
        let opened = loop {
            let said = fs::read_to_string(&self.log)?;
            if let Some(id) = said.lines().find_map(opened_id) {
                break id;
            }
            if let Some(status) = child.try_wait()? {
                bail!("`up --detach` ended with {status} and named no change: {said}");
            }
            pause(Duration::from_millis(1));
        };
        self.kill(&mut child)?;
        self.acknowledged.insert(opened);
        self.find_lost()
    }

    fn find_lost(&mut self) -> Result<()> {
        let there = self.shop.changes()?;
        let lost: Vec<String> = self.acknowledged.iter().filter(|id| !there.contains(*id)).cloned().collect();
        for id in lost {
            println!("lost: {id} was acknowledged and is not in the journal");
            self.count.lost += 1;
            self.acknowledged.remove(&id);
        }
        Ok(())
    }

    /// Runs a verb again and again, killing it, until it came through.
    fn carry_through(&mut self, args: &[&str]) -> Result<()> {
        self.count.changes += 1;
        let (mut args, mut shim_killed) = (args.iter().map(|&word| word.to_owned()).collect::<Vec<_>>(), false);
        let wanted = args.clone();
        for _ in 0..STARTS {
            let asked = std::mem::replace(&mut args, wanted.clone());
            let words: Vec<&str> = asked.iter().map(String::as_str).collect();
            let mut child = self.shop.start(&words, &self.log)?;
            let spare = self.count.kills >= self.until.kills || self.rng.u8(..) < 40;
            let status = if spare {
                Some(self.wait(&mut child)?)
            } else {
                let moment = Duration::from_millis(self.rng.u64(0..WINDOW_MS));
                match self.rng.u8(..) {
                    0..60 => {
                        shim_killed |= self.kill_a_shim(moment)?;
                        Some(self.wait(&mut child)?)
                    }
                    60..80 => {
                        shim_killed |= self.kill_a_shim(moment)?;
                        self.kill(&mut child)?;
                        None
                    }
                    _ => self.kill_at(&mut child, moment)?,
                }
            };
            match status.and_then(|status| status.code()) {
                None => {}
                Some(0) => return self.find_lost(),
                // A life before this one came through, and died when it had.
                Some(NOT_FOUND) if words[0] == "delete" => return self.find_lost(),
                // Where a shim died with its process, the change may fail; it has to say so, and `retry` goes on.
                Some(code @ (1 | 3)) if shim_killed => {
                    let change = self.failed_change(code)?;
                    self.count.retried += 1;
                    args = vec!["retry".to_owned(), change];
                }
                Some(code) => {
                    self.check_migrations()?;
                    bail!("`pintle {}` ended with {code}: {}", words.join(" "), fs::read_to_string(&self.log)?)
                }
            }
        }
        self.count.lost += 1;
        println!("lost: `pintle {}` does not come to an end", wanted.join(" "));
        Ok(())
    }

    /// The newest change, which must have ended with a reason.
    fn failed_change(&self, code: i32) -> Result<String> {
        let records = self.shop.records()?;
        let last = records
            .iter()
            .rev()
            .find(|record| matches!(record["event"]["is"].as_str(), Some("changeFinished" | "changeStuck")));
        let last = last.with_context(|| format!("Pintle ended with {code}, and no change has ended"))?;
        let words = |field: &str| last["event"][field].as_str().is_some_and(|text| !text.is_empty());
        ensure!(words("message") || words("question"), "a change failed and does not say why: {last}");
        change_id(last).context("a record names no change")
    }

    fn wait(&self, child: &mut Child) -> Result<ExitStatus> {
        let end = deadline(PATIENCE);
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(status);
            }
            if passed(end) {
                child.kill()?;
                bail!("Pintle does not end: {}", fs::read_to_string(&self.log)?);
            }
            pause(Duration::from_millis(3));
        }
    }

    /// Kills Pintle at a moment, unless it has ended before.
    fn kill_at(&mut self, child: &mut Child, moment: Duration) -> Result<Option<ExitStatus>> {
        let end = deadline(moment);
        while !passed(end) {
            if let Some(status) = child.try_wait()? {
                return Ok(Some(status));
            }
            pause(Duration::from_millis(1));
        }
        self.kill(child)?;
        Ok(None)
    }

    fn kill(&mut self, child: &mut Child) -> Result<()> {
        if child.try_wait()?.is_none() {
            child.kill()?;
            self.count.kills += 1;
        }
        child.wait()?;
        Ok(())
    }

    /// Kills a random shim at a moment; false where there was none.
    fn kill_a_shim(&mut self, moment: Duration) -> Result<bool> {
        pause(moment);
        let shims = processes::shims(&self.shop.run_folder())?;
        let Some(shim) = self.rng.choice(&shims) else { return Ok(false) };
        let killed = std::process::Command::new("kill").args(["-9", &shim.pid.to_string()]).status()?;
        if killed.success() {
            self.count.kills += 1;
            self.count.shim_kills += 1;
        }
        Ok(killed.success())
    }

    /// The release is at `version`: its schema, its migrations, its processes, its journal. The change began at record `from`.
    fn check(&mut self, version: &str, from: usize) -> Result<()> {
        let status = self.shop.status()?.context("the shop has no data")?;
        if status["schema"] != version {
            self.lose(&format!("the change to {version} is applied, and the schema is {}", status["schema"]));
        }
        let records = self.shop.records()?;
        self.check_journal(&records[from.min(records.len())..]);
        let finished = runs_of(&status, version, "finished");
        if version != "1.0.0" && finished == 0 {
            self.lose(&format!("the migration to {version} never finished"));
        }
        self.check_migrations()?;
        self.check_processes(1)
    }

    /// Each Job that the journal asked for since the setup ran at most once.
    fn check_migrations(&mut self) -> Result<()> {
        let Some(status) = self.shop.status()? else { return Ok(()) };
        let records = self.shop.records()?;
        let of_release = &records[self.setup.min(records.len())..];
        for version in ["1.1.0", "1.2.0"] {
            let asked = of_release.iter().filter(|record| is_migration_to(record, version)).count();
            let started = runs_of(&status, version, "started");
            if started > asked as u64 {
                self.double(&format!("the migration to {version} started {started} times for {asked} Jobs"));
            }
        }
        Ok(())
    }

    /// Every call has at most one outcome, every step at most one end for each attempt.
    fn check_journal(&mut self, records: &[Value]) {
        let mut seen: BTreeMap<String, u32> = BTreeMap::new();
        for record in records {
            let event = &record["event"];
            if matches!(event["is"].as_str(), Some("callOutcome" | "callIntent" | "stepStarted" | "stepFinished")) {
                let place = [&record["change"], &event["is"], &event["step"], &event["attempt"], &event["ordinal"]];
                *seen.entry(place.map(ToString::to_string).join(" ")).or_default() += 1;
            }
        }
        for (place, _) in seen.iter().filter(|(_, count)| **count > 1) {
            // A step that holds others is taken up again by `retry` in the same attempt.
            if !(place.contains("stepFinished") && self.count.retried > 0) {
                self.double(&format!("recorded twice: {place}"));
            }
        }
    }

    fn check_processes(&mut self, wanted: usize) -> Result<()> {
        for role in ["server", "worker"] {
            let running = processes::of_shop(&self.shop.run_folder(), role)?;
            match running.len() {
                count if count > wanted => self.double(&format!("{count} processes `shop {role}` run: {running:?}")),
                // A shim that was killed after the change had come through took its process with it.
                count if count < wanted && self.count.shim_kills == 0 => {
                    self.lose(&format!("{count} processes `shop {role}` run, not {wanted}"));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn check_gone(&mut self) -> Result<()> {
        self.find_lost()?;
        self.check_processes(0)
    }

    fn lose(&mut self, what: &str) {
        println!("lost: {what}");
        self.count.lost += 1;
    }

    fn double(&mut self, what: &str) {
        println!("doubled: {what}");
        self.count.doubled += 1;
    }
}

impl Count {
    fn shown(&self) -> String {
        format!(
            "{} changes came through, {} of {} kills hit a shim, {} times `retry` went on",
            self.changes, self.shim_kills, self.kills, self.retried
        )
    }
}

#[expect(clippy::disallowed_methods, reason = "a soak kills at moments of the real clock")]
fn pause(time: Duration) {
    thread::sleep(time);
}

#[expect(clippy::disallowed_methods, reason = "a soak kills at moments of the real clock")]
fn deadline(time: Duration) -> Instant {
    Instant::now() + time
}

#[expect(clippy::disallowed_methods, reason = "a soak kills at moments of the real clock")]
fn passed(end: Instant) -> bool {
    Instant::now() >= end
}
