//! The one thread that writes: takes a group from the queue, writes and syncs it, takes it into the views, acknowledges it.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use pintle_lifecycle::ids::ChangeKey;

use super::Shared;
use super::intake::Intake;
use super::options::Acknowledge;
use super::queue::{Append, Group, Item};
use crate::index::IndexError;
use crate::index::fold::FoldError;
use crate::journal::JournalError;
use crate::log::acked::Acked;
use crate::log::append::{GroupBuffer, Log};
use crate::log::frame::{FRAME_HEADER, frame_lengths};
use crate::log::position::{Place, Position};
use crate::views::check_append;

pub(super) struct Writer {
    pub shared: Arc<Shared>,
    pub log: Log,
    pub intake: Intake,
    pub acked: Acked,
    pub acknowledge: Acknowledge,
    buffer: GroupBuffer,
    /// What [`Acknowledge::BeforeWrite`] has acknowledged and not written.
    held: Group,
}

impl Writer {
    pub(super) fn new(shared: Arc<Shared>, log: Log, intake: Intake, acked: Acked, acknowledge: Acknowledge) -> Self {
        Self { shared, log, intake, acked, acknowledge, buffer: GroupBuffer::new(), held: Group::default() }
    }

    /// Runs until the queue is closed and empty.
    pub(super) fn run(mut self) {
        let shared = Arc::clone(&self.shared);
        let ran = std::panic::catch_unwind(AssertUnwindSafe(move || {
            while let Some(group) = self.shared.queue.next_group() {
                self.take(group);
            }
            let held = std::mem::take(&mut self.held);
            self.write(held);
            self.settle();
        }));
        if ran.is_err() {
            shared.fail(PANICKED);
            shared.queue.abandon();
        }
    }

    fn take(&mut self, mut group: Group) {
        if self.acknowledge == Acknowledge::BeforeWrite {
            for item in &mut group.items {
                if let Item::Append(append) = item {
                    append.answer(Ok(()));
                }
            }
            let held = std::mem::take(&mut self.held);
            if !held.items.is_empty() {
                self.write(held);
            }
            // A read waits for everything before it, so a group with one cannot be late.
            if !group.items.iter().any(|item| matches!(item, Item::Settle(_))) {
                self.held = group;
                return;
            }
        }
        self.write(group);
    }

    fn write(&mut self, group: Group) {
        let (mut appends, mut waiting) = (Vec::with_capacity(group.items.len()), Vec::new());
        for item in group.items {
            match item {
                Item::Append(append) => appends.push(append),
                Item::Settle(sender) => waiting.push(sender),
            }
        }
        match self.shared.trouble() {
            Some(trouble) => refuse(appends, &trouble),
            None => self.append(appends),
        }
        // What was acknowledged before a trouble can still be read.
        if !waiting.is_empty() {
            self.settle();
            self.shared.settled_through(group.through);
        } else if self.shared.trouble().is_none() {
            self.settle_if_due();
        }
        for sender in waiting {
            // A reader that went away needs no answer.
            sender.send(()).unwrap_or_default();
        }
    }

    fn append(&mut self, appends: Vec<Append>) {
        let verdicts = match self.check(&appends) {
            Ok(verdicts) => verdicts,
            Err(error) => {
                self.shared.fail_index(&error);
                return refuse(appends, &self.shared.trouble().unwrap_or_default());
            }
        };
        let (mut appends, starts) = self.gather(appends, verdicts);
        let _said = SayPanic(Arc::clone(&self.shared));
        if self.buffer.is_empty() {
            return;
        }
        let written = self.log.append(&mut self.buffer);
        self.buffer.clear();
        let at = match written {
            Ok(at) => at,
            Err(error) => {
                self.shared.fail(&error.line());
                return refuse(appends, &error.line());
            }
        };
        let taken = self.take_in(&appends, &starts, at);
        self.acked.set(self.log.end());
        for append in &mut appends {
            append.answer(Ok(()));
        }
        match taken {
            Ok(()) => {}
            Err(FoldError::Index(error)) => self.shared.fail_index(&error),
            // Each was checked before it was written.
            Err(FoldError::Record(error)) => self.shared.fail_index(&IndexError::new(error.to_string())),
        }
    }

    /// Which appends go on with their change.
    fn check(&mut self, appends: &[Append]) -> Result<Vec<Result<(), JournalError>>, IndexError> {
        // What this group itself adds to a change.
        let mut ahead: HashMap<&ChangeKey, u64> = HashMap::with_capacity(appends.len());
        let mut verdicts = Vec::with_capacity(appends.len());
        for append in appends {
            let Some(first) = append.records.first() else { continue };
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

    fn settle_if_due(&mut self) {
        if let Err(error) = self.intake.settle_if_due() {
            self.shared.fail_index(&error);
        }
    }

    fn settle(&mut self) {
        if self.shared.index_failed() {
            return;
        }
        if let Err(error) = self.intake.settle() {
            self.shared.fail_index(&error);
        }
    }
}

const PANICKED: &str = "its writing thread panicked; start Pintle again";

/// Says that the writer panicked before its appends are dropped, so that whoever waits for one finds the reason.
struct SayPanic(Arc<Shared>);

impl Drop for SayPanic {
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

fn refuse(appends: Vec<Append>, problem: &str) {
    for mut append in appends {
        append.answer(Err(JournalError::Write(problem.to_owned())));
    }
}
