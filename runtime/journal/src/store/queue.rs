//! What waits to be written: bounded, and taken out a group at a time under one lock.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pintle_lifecycle::ids::ChangeKey;
use pintle_lifecycle::record::Record;
use tokio::sync::oneshot;

use crate::journal::JournalError;

/// A group is at most so many records, or one append that has more.
const GROUP_RECORDS: usize = 512;
const GROUP_BYTES: usize = 4 << 20;
/// Whoever appends waits where so much is queued.
const QUEUE_ITEMS: usize = 16_384;
const QUEUE_BYTES: usize = 64 << 20;
/// What nobody waits for lies for so long at most, and once more where the queue was empty before it: until then it may share a
/// sync with something that somebody waits for.
const LINGER: Duration = Duration::from_millis(5);
/// Whoever waits for an append writes so much itself at most.
const ALONE_ITEMS: usize = 16;
const ALONE_BYTES: usize = 64 << 10;

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
    /// Items ever queued up to the last one that somebody waits for.
    wanted: u64,
    writer_waits: bool,
    /// The writer waits without a bound for the first item.
    writer_sleeps: bool,
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
    /// Queues an item; waits where there is too much. Says its number, or gives it back where the queue is closed.
    pub(super) fn push(&self, item: Item) -> Result<u64, Item> {
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
        if matches!(item, Item::Settle(_)) {
            state.wanted = state.pushed;
        }
        state.items.push_back(item);
        if state.writer_sleeps || (state.writer_waits && state.is_due()) {
            self.wake(&mut state);
        }
        Ok(state.pushed)
    }

    /// Somebody waits for the item of this number.
    pub(super) fn hurry(&self, item: u64) {
        let mut state = self.state();
        state.wanted = state.wanted.max(item);
        if state.writer_waits && state.is_due() {
            self.wake(&mut state);
        }
    }

    fn wake(&self, state: &mut State) {
        (state.writer_waits, state.writer_sleeps) = (false, false);
        self.filled.notify_one();
    }

    /// Items ever queued.
    pub(super) fn pushed(&self) -> u64 {
        self.state().pushed
    }

    /// Waits until the writer shall take a group. False when the queue is closed and empty.
    pub(super) fn wait(&self) -> bool {
        let mut state = self.state();
        loop {
            // Not without a bound at once: whoever queues something soon need not wake this thread then.
            state = self.wait_while(state, |state| state.items.is_empty() && !state.closed);
            let left_sleeping = |state: &mut State| {
                // Anew each time: what woke this thread may be written by somebody else.
                state.writer_sleeps = state.items.is_empty() && !state.closed;
                state.writer_waits = state.writer_sleeps;
                state.writer_sleeps
            };
            state = self.filled.wait_while(state, left_sleeping).unwrap_or_else(PoisonError::into_inner);
            let first = state.first();
            state = self.wait_while(state, |state| !state.is_due());
            (state.writer_waits, state.writer_sleeps) = (false, false);
            // Where others wrote the first of what lay here, the rest has not lain for long.
            if state.is_due() || state.first() == first {
                return !(state.closed && state.items.is_empty());
            }
        }
    }

    /// The next group; empty where somebody else was quicker.
    pub(super) fn take(&self) -> Group {
        let mut state = self.state();
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
        if state.blocked > 0 {
            self.drained.notify_all();
        }
        Group { items, through: state.first() - 1 }
    }

    /// Whether item `item` is queued with nothing but a few appends of the same change.
    pub(super) fn is_alone(&self, item: u64) -> bool {
        let state = self.state();
        if item < state.first() || state.items.len() > ALONE_ITEMS || state.bytes > ALONE_BYTES {
            return false;
        }
        let first = state.items.front().and_then(Item::change);
        first.is_some() && state.items.iter().all(|item| item.change() == first)
    }

    /// Waits while `holds`, for [`LINGER`] at most.
    fn wait_while<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        holds: impl Fn(&State) -> bool,
    ) -> MutexGuard<'a, State> {
        let left_waiting = |state: &mut State| {
            state.writer_waits = holds(state);
            state.writer_waits
        };
        if left_waiting(&mut state) {
            state =
                self.filled.wait_timeout_while(state, LINGER, left_waiting).unwrap_or_else(PoisonError::into_inner).0;
        }
        state
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

impl State {
    /// Number of the first item that is queued, or of the next to come.
    fn first(&self) -> u64 {
        self.pushed - self.items.len() as u64 + 1
    }

    /// Whether the writer shall go on now.
    fn is_due(&self) -> bool {
        self.closed || self.wanted >= self.first() || self.items.len() >= GROUP_RECORDS || self.bytes >= GROUP_BYTES
    }
}

impl Item {
    fn change(&self) -> Option<&ChangeKey> {
        match self {
            Self::Append(append) => append.records.first().map(|record| &record.change),
            Self::Settle(_) => None,
        }
    }

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
