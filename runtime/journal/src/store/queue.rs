//! What waits for the writer: bounded, and taken out a group at a time under one lock.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use pintle_lifecycle::record::Record;
use tokio::sync::oneshot;

use crate::journal::JournalError;

/// A group is at most so many records, or one append that has more.
const GROUP_RECORDS: usize = 512;
const GROUP_BYTES: usize = 4 << 20;
/// Whoever appends waits where so much is queued.
const QUEUE_ITEMS: usize = 16_384;
const QUEUE_BYTES: usize = 64 << 20;

/// Something for the writer to do, in its turn.
#[derive(Debug)]
pub(super) enum Item {
    Append(Append),
    /// Answered when everything queued before can be read.
    Settle(oneshot::Sender<()>),
}

/// Records of one change with their frames.
#[derive(Debug)]
pub(super) struct Append {
    pub records: Vec<Record>,
    pub frames: Vec<u8>,
    /// Taken by the first answer.
    pub done: Option<oneshot::Sender<Result<(), JournalError>>>,
}

#[derive(Debug, Default)]
pub(super) struct Queue {
    state: Mutex<State>,
    /// Something was queued, or the queue was closed.
    filled: Condvar,
    /// There is room again.
    drained: Condvar,
}

#[derive(Debug, Default)]
struct State {
    items: VecDeque<Item>,
    bytes: usize,
    /// Items ever queued.
    pushed: u64,
    writer_waits: bool,
    blocked: usize,
    closed: bool,
}

/// Some of the queue.
#[derive(Debug, Default)]
pub(super) struct Group {
    pub items: Vec<Item>,
    /// Items ever queued up to the last of these.
    pub through: u64,
}

impl Queue {
    /// Queues an item; waits where there is too much. Gives the item back where the queue is closed.
    pub(super) fn push(&self, item: Item) -> Result<(), Item> {
        let mut state = self.state();
        while !state.closed && (state.items.len() >= QUEUE_ITEMS || state.bytes >= QUEUE_BYTES) {
            state.blocked += 1;
            state = self.drained.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.blocked -= 1;
        }
        if state.closed {
            return Err(item);
        }
        state.bytes += item.bytes();
        state.pushed += 1;
        state.items.push_back(item);
        if std::mem::take(&mut state.writer_waits) {
            self.filled.notify_one();
        }
        Ok(())
    }

    /// Items ever queued.
    pub(super) fn pushed(&self) -> u64 {
        self.state().pushed
    }

    /// The next group, when there is something; none when the queue is closed and empty.
    pub(super) fn next_group(&self) -> Option<Group> {
        let mut state = self.state();
        while state.items.is_empty() {
            if state.closed {
                return None;
            }
            state.writer_waits = true;
            state = self.filled.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let (mut items, mut records, mut bytes) = (Vec::new(), 0, 0);
        while let Some(item) = state.items.front() {
            if !items.is_empty() && (records + item.records() > GROUP_RECORDS || bytes + item.bytes() > GROUP_BYTES) {
                break;
            }
            records += item.records();
            bytes += item.bytes();
            items.extend(state.items.pop_front());
        }
        state.bytes -= bytes;
        let through = state.pushed - state.items.len() as u64;
        if state.blocked > 0 {
            self.drained.notify_all();
        }
        Some(Group { items, through })
    }

    /// Takes nothing more; what is queued is still done.
    pub(super) fn close(&self) {
        self.state().closed = true;
        self.filled.notify_all();
        self.drained.notify_all();
    }

    /// Takes nothing more and drops what is queued: whoever waits for it is told that the journal is closed.
    pub(super) fn abandon(&self) {
        self.close();
        self.state().items.clear();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing in here panics half way.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Item {
    fn records(&self) -> usize {
        match self {
            Self::Append(append) => append.records.len(),
            Self::Settle(_) => 0,
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Append(append) => append.frames.len(),
            Self::Settle(_) => 0,
        }
    }
}
