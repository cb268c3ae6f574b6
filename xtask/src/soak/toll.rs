//! What all lanes of a soak have seen so far, and when that is enough.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use super::moments::{in_future, now, passed};

/// A line of progress for so many kills.
const PROGRESS: u32 = 100;

/// Shared by all lanes.
pub struct Toll {
    count: Mutex<Count>,
    start: Instant,
    until: Until,
}

/// When a soak ends.
pub struct Until {
    pub kills: Option<u32>,
    pub end: Option<Instant>,
    /// As soon as something was lost or doubled.
    pub first_find: bool,
}

/// What was seen.
#[derive(Debug, Default, Clone)]
pub struct Count {
    /// All processes that were killed.
    pub kills: u32,
    pub shims: u32,
    /// Servers, workers and migrations.
    pub processes: u32,
    /// Most that were killed at one moment.
    pub at_once: u32,
    pub changes: u32,
    /// Changes that ended failed or stuck, said why, and were applied by `retry`.
    pub retried: u32,
    /// Starts of Pintle that ended because the disk was full, and said so.
    pub stopped_by_disk: u32,
    pub lost: u32,
    pub doubled: u32,
    /// A lane cannot go on, so the others shall not either.
    pub broken: bool,
}

impl Until {
    pub fn seconds(seconds: u64) -> Instant {
        in_future(Duration::from_secs(seconds))
    }
}

impl Toll {
    pub fn new(until: Until) -> Self {
        Self { count: Mutex::default(), start: now(), until }
    }

    pub fn add(&self, add: impl FnOnce(&mut Count)) {
        let mut count = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        let before = count.kills / PROGRESS;
        add(&mut count);
        if count.kills / PROGRESS > before {
            println!("{} after {} s", count.verdict(), self.start.elapsed().as_secs());
        }
    }

    pub fn lose(&self, lane: &str, what: &str) {
        println!("lost, {lane}: {what}");
        self.add(|count| count.lost += 1);
    }

    pub fn double(&self, lane: &str, what: &str) {
        println!("doubled, {lane}: {what}");
        self.add(|count| count.doubled += 1);
    }

    pub fn so_far(&self) -> Count {
        self.count.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn is_over(&self) -> bool {
        let count = self.so_far();
        count.broken
            || self.until.first_find && count.found()
            || self.until.kills.is_some_and(|kills| count.kills >= kills)
            || self.until.end.is_some_and(passed)
    }
}

impl Count {
    pub fn found(&self) -> bool {
        self.lost + self.doubled > 0
    }

    pub fn verdict(&self) -> String {
        format!("kills {}, lost {}, doubled {}", self.kills, self.lost, self.doubled)
    }

    pub fn shown(&self) -> String {
        format!(
            "{} changes came through, {} times by `retry`; kills hit {} shims and {} processes of the shop, up to {} at once; \
             {} starts ended because of a full disk",
            self.changes, self.retried, self.shims, self.processes, self.at_once, self.stopped_by_disk
        )
    }
}
