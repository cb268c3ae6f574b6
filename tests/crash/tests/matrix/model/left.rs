//! What changes leave behind: what is applied, what runs, how hooks ended.

use std::collections::{BTreeMap, BTreeSet};

use pintle_lifecycle::hook::HookPhase;

use super::ops::Outcome;

/// What a change applies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Brought {
    pub version: String,
    pub generation: u64,
}

/// What changes leave behind.
#[derive(Debug, Clone, Default)]
pub struct Left {
    pub applied: Option<Brought>,
    pub applied_by: Option<u64>,
    /// Replicas of the worker.
    pub worker: u32,
    /// The change that stopped the worker.
    pub stopped: Option<u64>,
    /// The last run of each hook, by phase.
    pub entries: BTreeMap<HookPhase, Vec<Entry>>,
    /// Hooks whose objects are there.
    pub objects: BTreeSet<(HookPhase, String)>,
    /// Whether the next apply fails.
    pub apply_fails: bool,
    /// A cancel met effects whose end nobody waited for: what runs is not known before the next apply.
    pub is_unsure: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub name: String,
    pub result: Outcome,
    pub generation: u64,
    pub change: u64,
    pub attempt: u32,
}

pub fn enter(entries: &mut Vec<Entry>, entry: Entry) {
    match entries.iter_mut().find(|known| known.name == entry.name) {
        Some(known) => *known = entry,
        None => entries.push(entry),
    }
}

pub fn start(left: &mut Left) -> bool {
    left.worker = 2;
    left.stopped = None;
    true
}

/// A sync starts what an earlier change left stopped.
pub fn apply(left: &mut Left, what: &Brought, by: u64) {
    left.applied = Some(what.clone());
    left.applied_by = Some(by);
    left.is_unsure = false;
    left.stopped = left.stopped.filter(|since| *since == by);
    left.worker = if left.stopped.is_some() { 0 } else { 2 };
}

pub fn remove(left: &mut Left) {
    left.applied = None;
    left.applied_by = None;
    left.stopped = None;
    left.worker = 0;
    left.is_unsure = false;
}
