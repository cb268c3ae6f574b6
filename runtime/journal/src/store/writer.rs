//! Writes what is queued, one group after another: writes and syncs a group, takes it into the views, acknowledges it. Most groups
//! are written by a thread of its own. Where changes are few, whoever waits for an append writes it: waking a thread takes as
//! long as the sync of a good disk.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pintle_lifecycle::ids::ChangeKey;
use tokio::sync::oneshot;

use super::Shared;
use super::intake::Intake;
use super::options::Acknowledge;
use super::queue::{Append, Group, Item};
use crate::index::IndexError;
use crate::index::fold::FoldError;
use crate::journal::JournalError;
use crate::log::LogError;
use crate::log::acked::Acked;
use crate::log::append::{GroupBuffer, Log};
use crate::log::frame::{FRAME_HEADER, frame_lengths};
use crate::log::position::{Place, Position};
use crate::views::check_append;

/// Groups that take longer are left to the writing thread: whoever waits would keep others from their turn.
const QUICK: Duration = Duration::from_millis(1);

/// Where the writer is for whoever writes the next group; gone once the store is closed.
pub(super) struct Desk(Mutex<Option<Writer>>);

pub(super) struct Writer {
    log: Log,
    intake: Intake,
    acked: Acked,
    buffer: GroupBuffer,
    /// What [`Acknowledge::BeforeWrite`] has acknowledged and not written.
    held: Group,
}

impl Desk {
    pub(super) fn of(writer: Writer) -> Self {
        Self(Mutex::new(Some(writer)))
    }

    fn wait(&self) -> MutexGuard<'_, Option<Writer>> {
        // What a panic leaves behind is taken away by whoever panicked.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Desk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Desk").finish_non_exhaustive()
    }
}

/// What the writing thread does: writes until the queue is closed and empty.
pub(super) fn run(shared: &Shared) {
    while shared.queue.wait() {
        at_desk(shared, &mut shared.desk.wait(), |writer| {
            writer.take(shared, shared.queue.take());
            writer.settle_if_due(shared);
        });
    }
    let mut desk = shared.desk.wait();
    at_desk(shared, &mut desk, |writer| writer.finish(shared));
    *desk = None;
}

/// Writes item `item` of the queue at once, for whoever waits for it, where that keeps nobody from anything.
pub(super) fn write_for(shared: &Shared, item: u64) {
    if !shared.few.load(Ordering::Relaxed) || !shared.queue.is_alone(item) {
        return;
    }
    let Ok(mut desk) = shared.desk.0.try_lock() else { return };
    let mut is_due = false;
    at_desk(shared, &mut desk, |writer| {
        writer.take(shared, shared.queue.take());
        is_due = writer.intake.is_due();
    });
    // A full queue is waited for, and the writing thread empties it at the desk.
    drop(desk);
    if is_due {
        // The writing thread's: it takes longer than a sync. Nobody waits for the answer.
        drop(shared.queue.push(Item::Settle(oneshot::channel().0)));
    }
}

fn at_desk(shared: &Shared, desk: &mut Option<Writer>, work: impl FnOnce(&mut Writer)) {
    let Some(writer) = desk else { return };
    if std::panic::catch_unwind(AssertUnwindSafe(|| work(writer))).is_err() {
        shared.fail(PANICKED);
        shared.queue.abandon();
        *desk = None;
    }
}

impl Writer {
    pub(super) fn new(log: Log, intake: Intake, acked: Acked) -> Self {
        Self { log, intake, acked, buffer: GroupBuffer::new(), held: Group::default() }
    }

    fn finish(&mut self, shared: &Shared) {
        let held = std::mem::take(&mut self.held);
        self.write(shared, held);
        self.settle(shared);
    }

    fn take(&mut self, shared: &Shared, mut group: Group) {
        if shared.acknowledge == Acknowledge::BeforeWrite {
            for item in &mut group.items {
                if let Item::Append(append) = item {
                    append.answer(Ok(()));
                }
            }
            let held = std::mem::take(&mut self.held);
            if !held.items.is_empty() {
                self.write(shared, held);
            }
            // A read waits for everything before it, so a group with one cannot be late.
            if !group.items.iter().any(|item| matches!(item, Item::Settle(_))) {
                self.held = group;
                return;
            }
        }
        self.write(shared, group);
    }

    fn write(&mut self, shared: &Shared, group: Group) {
        let (mut appends, mut waiting) = (Vec::with_capacity(group.items.len()), Vec::new());
        for item in group.items {
            match item {
                Item::Append(append) => appends.push(append),
                Item::Settle(sender) => waiting.push(sender),
            }
        }
        match shared.trouble() {
            Some(trouble) => refuse(appends, &trouble),
            None => self.append(shared, appends),
        }
        // What was acknowledged before a trouble can still be read.
        if !waiting.is_empty() {
            self.settle(shared);
            shared.settled_through(group.through);
        }
        for sender in waiting {
            // A reader that went away needs no answer.
            sender.send(()).unwrap_or_default();
        }
    }

    fn append(&mut self, shared: &Shared, appends: Vec<Append>) {
        let verdicts = match self.check(&appends) {
            Ok(verdicts) => verdicts,
            Err(error) => {
                shared.fail_index(&error);
                return refuse(appends, &shared.trouble().unwrap_or_default());
            }
        };
        let (mut appends, starts) = self.gather(appends, verdicts);
        let _said = SayPanic(shared);
        if self.buffer.is_empty() {
            return acknowledge(&mut appends);
        }
        let written = self.write_buffer(shared, &appends);
        let at = match written {
            Ok(at) => at,
            Err(error) => {
                shared.fail(&error.line());
                return refuse(appends, &error.line());
            }
        };
        let taken = self.take_in(&appends, &starts, at);
        self.acked.set(self.log.end());
        acknowledge(&mut appends);
        match taken {
            Ok(()) => {}
            Err(FoldError::Index(error)) => shared.fail_index(&error),
            // Each was checked before it was written.
            Err(FoldError::Record(error)) => shared.fail_index(&IndexError::new(error.to_string())),
        }
    }

    #[expect(clippy::disallowed_methods, reason = "how quick the disk is decides who writes, not what is written")]
    fn write_buffer(&mut self, shared: &Shared, appends: &[Append]) -> Result<Position, LogError> {
        let began = Instant::now();
        let written = self.log.append(&mut self.buffer);
        self.buffer.clear();
        let mut changes = appends.iter().filter_map(|append| append.records.first()).map(|record| &record.change);
        let first = changes.next();
        let is_one = changes.all(|change| Some(change) == first);
        shared.few.store(is_one && began.elapsed() < QUICK, Ordering::Relaxed);
        written
    }

    /// Which appends go on with their change. One without records does.
    fn check(&mut self, appends: &[Append]) -> Result<Vec<Result<(), JournalError>>, IndexError> {
        // What this group itself adds to a change.
        let mut ahead: HashMap<&ChangeKey, u64> = HashMap::with_capacity(appends.len());
        let mut verdicts = Vec::with_capacity(appends.len());
        for append in appends {
            let Some(first) = append.records.first() else {
                verdicts.push(Ok(()));
                continue;
            };
            let next = match ahead.get(&first.change) {
                Some(&next) => next,
                None => self.intake.next(&first.change)?,
            };
            let verdict = check_append(next, &append.records);
            if verdict.is_ok() {
                ahead.insert(&first.change, next + append.records.len() as u64);
            }
            verdicts.push(verdict);
        }
        Ok(verdicts)
    }

    /// Puts into the buffer what goes on with its change, and answers what does not. Says where in the group each append starts.
    fn gather(&mut self, appends: Vec<Append>, verdicts: Vec<Result<(), JournalError>>) -> (Vec<Append>, Vec<u32>) {
        let (mut good, mut starts) = (Vec::with_capacity(appends.len()), Vec::with_capacity(appends.len()));
        for (mut append, verdict) in appends.into_iter().zip(verdicts) {
            match verdict {
                Ok(()) => {
                    starts.push(self.buffer.push(&append.frames, append.records.len()));
                    good.push(append);
                }
                Err(error) => append.answer(Err(error)),
            }
        }
        (good, starts)
    }

    fn take_in(&mut self, appends: &[Append], starts: &[u32], at: Position) -> Result<(), FoldError> {
        let records = appends.iter().zip(starts).flat_map(|(append, start)| {
            let mut offset = at.offset + start;
            append.records.iter().zip(frame_lengths(&append.frames)).map(move |(record, len)| {
                let place = Place { at: Position { offset, ..at }, len };
                offset += FRAME_HEADER + len;
                (record, place)
            })
        });
        self.intake.take(at, self.log.last_group(), records)
    }

    fn settle_if_due(&mut self, shared: &Shared) {
        if shared.trouble().is_some() {
            return;
        }
        if let Err(error) = self.intake.settle_if_due() {
            shared.fail_index(&error);
        }
    }

    fn settle(&mut self, shared: &Shared) {
        if shared.index_failed() {
            return;
        }
        if let Err(error) = self.intake.settle() {
            shared.fail_index(&error);
        }
    }
}

const PANICKED: &str = "it panicked while it wrote; start Pintle again";

/// Says that the writer panicked before its appends are dropped, so that whoever waits for one finds the reason.
struct SayPanic<'a>(&'a Shared);

impl Drop for SayPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.fail(PANICKED);
        }
    }
}

impl Append {
    fn answer(&mut self, result: Result<(), JournalError>) {
        if let Some(done) = self.done.take() {
            // Whoever does not wait for the answer does not need it.
            drop(done.send(result));
        }
    }
}

fn acknowledge(appends: &mut [Append]) {
    for append in appends {
        append.answer(Ok(()));
    }
}

fn refuse(appends: Vec<Append>, problem: &str) {
    for mut append in appends {
        append.answer(Err(JournalError::Write(problem.to_owned())));
    }
}
