//! What must hold in a lane of a soak whenever a change came through: in the journal, in the shop's database, among the processes.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use serde_json::Value;

use super::lane::Lane;
use super::small_disk::SmallDisk;
use super::told::{is_migration_to, runs_of};
use crate::{processes, shop::change_id};

impl Lane<'_> {
    /// The release is at `version`: its schema, its migrations, its processes, its journal.
    pub(super) fn check(&mut self, version: &str, document: &str) -> Result<()> {
        let _calm = self.disk.map(SmallDisk::calm);
        // It may have been full between two starts as well, and a process of the shop have ended by that.
        self.met.full_disk |= self.disk.zip(self.began).is_some_and(|(disk, began)| disk.was_full_since(began));
        let records = self.shop.records()?;
        self.find_lost(&records);
        self.check_journal(&records[self.from.min(records.len())..]);
        let status = self.shop.status()?.ok_or_else(|| self.astray("the shop has no data"))?;
        if status["schema"] != version {
            self.lose(&format!("the change to {version} is applied, and the schema is {}", status["schema"]));
        }
        if version != "1.0.0" && runs_of(&status, version, "finished") == 0 {
            self.lose(&format!("the migration to {version} never finished"));
        }
        self.check_migrations(&records)?;
        self.check_hooks(version)?;
        if self.met.kills || self.met.full_disk {
            self.bring_back(document)?;
        }
        self.check_processes(1)?;
        self.from = records.len();
        Ok(())
    }

    /// Nothing runs, and the store is whole.
    pub(super) fn check_gone(&mut self) -> Result<()> {
        let _calm = self.disk.map(SmallDisk::calm);
        let records = self.shop.records()?;
        self.find_lost(&records);
        self.check_journal(&records[self.from.min(records.len())..]);
        self.check_migrations(&records)?;
        self.check_processes(0)?;
        self.from = records.len();
        self.shop.forget_data()?;
        let journal = self.shop.pintle(&["check-store"]).output()?;
        if !journal.status.success() {
            return Err(self.astray(&format!("check-store: {}", String::from_utf8_lossy(&journal.stdout))));
        }
        Ok(())
    }

    /// A process that died after the change had come through comes back with the next `up`, which has nothing else to do.
    fn bring_back(&self, document: &str) -> Result<()> {
        let mut child = self.shop.start(&["up", document], &self.log)?;
        let status = self.wait(&mut child)?;
        if !status.success() {
            return Err(self.astray(&format!("`up` of what is applied ended with {status}: {}", self.said()?)));
        }
        Ok(())
    }

    pub(super) fn find_lost(&mut self, records: &[Value]) {
        let there: BTreeSet<String> = records.iter().filter_map(change_id).collect();
        let lost: Vec<String> = self.acknowledged.difference(&there).cloned().collect();
        for id in lost {
            self.lose(&format!("{id} was acknowledged and is not in the journal"));
            self.acknowledged.remove(&id);
        }
    }

    /// Each Job that the journal asked for since the setup ran at most once.
    pub(super) fn check_migrations(&self, records: &[Value]) -> Result<()> {
        let Some(status) = self.shop.status()? else { return Ok(()) };
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

    /// Each workload of a hook ran at most once, and each version that is applied had its own before it.
    fn check_hooks(&self, version: &str) -> Result<()> {
        let run = self.shop.hooks_run()?;
        let once: BTreeSet<&String> = run.iter().collect();
        if once.len() < run.len() {
            self.double(&format!("a hook ran twice: {run:?}"));
        }
        let versions = ["1.0.0", "1.1.0", "1.2.0"].iter().take_while(|known| **known != version).count() + 1;
        let before = once.iter().filter(|name| name.starts_with("presync-before-")).count();
        if before < versions {
            self.lose(&format!("{before} preSync hooks ran up to {version}: {run:?}"));
        }
        Ok(())
    }

    /// Every call has at most one outcome, every step at most one end for each attempt.
    fn check_journal(&self, records: &[Value]) {
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
            if !(place.contains("stepFinished") && self.met.retries) {
                self.double(&format!("recorded twice: {place}"));
            }
        }
    }

    fn check_processes(&self, wanted: usize) -> Result<()> {
        for role in ["server", "worker"] {
            let running = processes::of_shop(&self.shop.run_folder(), role)?;
            let count = running.len();
            if count > wanted {
                self.double(&format!("{count} processes `shop {role}` run: {running:?}"));
            } else if count < wanted {
                self.lose(&format!("{count} processes `shop {role}` run, not {wanted}; {}", self.shop.last_words()));
            }
        }
        Ok(())
    }
}
