//! The reference: a release as its changes, their queue and what they left make it. What is asked is planned from it alone.

use pintle_lifecycle::ending::ChangeState;
use pintle_lifecycle::plan::ChangeKind;
use pintle_lifecycle::record::Verb;

use super::course::Change;
use super::left::{Brought, Left};
use super::ops::{Ask, Trouble, Wanted};

#[derive(Debug, Clone, Default)]
pub struct Reference {
    /// By number, from 1.
    pub changes: Vec<Change>,
    pub left: Left,
    pub open: Option<u64>,
    /// Changes that wait, the newest last, with what was asked.
    pub waiting: Vec<(u64, Ask)>,
    /// The newest change whose turn has come, and the newest of them that is no test.
    pub newest: u64,
    pub last: u64,
    pub generation: u64,
    pub deleted: bool,
    /// Changes that brought the revisions.
    pub revisions: Vec<u64>,
    /// How many releases of the name there were.
    pub uid: u64,
}

/// What becomes of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    Refused,
    Opened(u64),
    Queued(u64),
}

/// What becomes of a change whose turn comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    Opened,
    Closed(ChangeState),
}

impl Reference {
    pub fn change(&self, number: u64) -> &Change {
        &self.changes[place(number)]
    }

    pub fn change_mut(&mut self, number: u64) -> &mut Change {
        &mut self.changes[place(number)]
    }

    pub fn ask(&mut self, ask: &Ask) -> Taken {
        let number = self.changes.len() as u64 + 1;
        let Some(open) = self.open else {
            let Ok(change) = self.plan(ask, number) else { return Taken::Refused };
            self.changes.push(change);
            self.begin(number);
            return Taken::Opened(number);
        };
        if matches!(ask.wanted, Wanted::Test) {
            return Taken::Refused;
        }
        let mut later = self.clone();
        later.assume_success(open);
        let Ok(mut change) = later.plan(ask, number) else { return Taken::Refused };
        change.state = ChangeState::Waiting;
        self.changes.push(change);
        if !ask.dies_between {
            self.supersede();
        }
        self.waiting.push((number, ask.clone()));
        Taken::Queued(number)
    }

    /// The turn of the change that waits, where there is one.
    pub fn turn(&mut self) -> Option<(u64, Ask, Turn)> {
        let (number, ask) = self.waiting.pop().filter(|_| self.open.is_none())?;
        self.supersede();
        let turn = if let Ok(change) = self.plan(&ask, number) {
            self.changes[place(number)] = change;
            self.begin(number);
            Turn::Opened
        } else {
            let is_done = matches!(ask.wanted, Wanted::Delete);
            let state = if is_done { ChangeState::Superseded } else { ChangeState::Failed };
            self.change_mut(number).state = state;
            Turn::Closed(state)
        };
        Some((number, ask, turn))
    }

    fn supersede(&mut self) {
        for (number, _) in std::mem::take(&mut self.waiting) {
            self.change_mut(number).state = ChangeState::Superseded;
        }
    }

    fn begin(&mut self, number: u64) {
        let change = &mut self.changes[place(number)];
        change.begun = true;
        change.loose |= self.left.is_unsure && change.action.is_some();
        if change.kind == ChangeKind::Setup && (self.deleted || self.uid == 0) {
            self.uid += 1;
            self.left = Left::default();
            self.revisions.clear();
            self.deleted = false;
        }
        let change = &self.changes[place(number)];
        if change.kind != ChangeKind::Test {
            self.last = number;
        }
        (self.newest, self.open, self.generation) = (number, Some(number), change.generation);
    }

    /// Whether the verb makes sense for the newest change; then the change is as it left it.
    pub fn verb(&mut self, verb: Verb) -> Option<u64> {
        let change = self.changes.get(place(self.newest))?;
        let allowed = match (verb, change.state) {
            (Verb::Cancel, state) => !state.is_final(),
            (Verb::Undo, ChangeState::Succeeded | ChangeState::Undone) => false,
            (Verb::Undo, _) => !change.passed_pivot() && !change.loose,
            (Verb::Retry | Verb::Skip, state) => {
                matches!(state, ChangeState::Stuck | ChangeState::Failed | ChangeState::Cancelled)
            }
        };
        if !allowed {
            return None;
        }
        let number = self.newest;
        let change = self.change_mut(number);
        // Where it was when Pintle died the model does not know, and so not what is left of it.
        change.loose |= change.state == ChangeState::Running;
        change.ask(verb);
        self.open = Some(number);
        Some(number)
    }

    /// The open change is driven to its end.
    pub fn run(&mut self, trouble: &Trouble) {
        let Some(number) = self.open else { return };
        self.left.apply_fails = matches!(trouble, Trouble::ApplyFails);
        let change = &mut self.changes[place(number)];
        change.loose |= matches!(trouble, Trouble::Fails { .. });
        if !change.loose {
            change.run(&mut self.left);
            let state = change.state;
            self.ended(number, state);
        }
        self.left.apply_fails = false;
    }

    /// The open change ended so.
    pub fn ended(&mut self, number: u64, state: ChangeState) {
        let change = &mut self.changes[place(number)];
        change.state = state;
        if !state.is_final() {
            return;
        }
        self.open = None;
        if state == ChangeState::Succeeded {
            self.succeeded(number);
        }
    }

    fn succeeded(&mut self, number: u64) {
        match self.change(number).kind {
            ChangeKind::Test => {}
            ChangeKind::Delete => {
                self.deleted = true;
                (self.left.applied, self.left.applied_by, self.left.stopped) = (None, None, None);
            }
            _ => self.revisions.push(number),
        }
    }

    fn assume_success(&mut self, open: u64) {
        let change = self.change(open).clone();
        self.open = None;
        if change.kind == ChangeKind::Test {
            return;
        }
        self.generation = self.generation.max(change.generation);
        self.change_mut(open).state = ChangeState::Succeeded;
        if change.kind == ChangeKind::Delete {
            self.deleted = true;
            self.left.applied = None;
        } else {
            self.left.applied = Some(change.to);
            self.revisions.push(open);
        }
    }

    /// Plans what is asked; refused where there is nothing to do it with.
    fn plan(&self, ask: &Ask, number: u64) -> Result<Change, ()> {
        let is_live = self.uid > 0 && !self.deleted;
        let applied = self.left.applied.clone().filter(|_| is_live);
        if !is_live && !matches!(ask.wanted, Wanted::Document(_)) {
            return Err(());
        }
        let mut change = match &ask.wanted {
            Wanted::Document(spec) => {
                let to = Brought { version: format!("1.{}.0", spec.version), generation: self.generation + 1 };
                let kind = self.kind_of(&to, is_live);
                let mut change = Change::new(number, kind, to, applied, spec);
                change.action = spec.action.clone().filter(|_| kind == ChangeKind::Upgrade && change.former.is_some());
                change
            }
            Wanted::Rollback(to) => {
                let count = self.revisions.len();
                let to = to.checked_rem(count).ok_or(())?;
                let back_to = self.revisions[to];
                let to = self.change(back_to);
                let brought = Brought { version: to.to.version.clone(), generation: self.generation + 1 };
                let mut change = Change::new(number, ChangeKind::Rollback, brought, applied, &to.spec);
                change.back_to = Some(back_to);
                change.action.clone_from(&to.spec.action);
                // An action that finds nothing applied fails, and whether its undo does is its own affair.
                change.loose = change.action.is_some() && change.former.is_none();
                change
            }
            Wanted::Delete | Wanted::Test => {
                let last = self.change(self.last);
                let is_test = matches!(ask.wanted, Wanted::Test);
                let kind = if is_test { ChangeKind::Test } else { ChangeKind::Delete };
                let to = applied.clone().unwrap_or_else(|| last.to.clone());
                let mut change = Change::new(number, kind, to, applied, &last.spec);
                if is_test && (change.former.is_none() || change.hooks.is_empty()) {
                    return Err(());
                }
                change.generation = self.generation;
                change
            }
        };
        for hook in change.hooks.iter_mut().filter(|hook| ask.skip == Some(hook.phase)) {
            hook.off = true;
        }
        Ok(change)
    }

    fn kind_of(&self, to: &Brought, is_live: bool) -> ChangeKind {
        if !is_live || self.revisions.is_empty() {
            return ChangeKind::Setup;
        }
        let last = self.change(self.last);
        let is_open_end = matches!(last.kind, ChangeKind::Upgrade | ChangeKind::Rollback);
        let is_same = self.left.applied.as_ref().is_some_and(|applied| applied.version == to.version);
        if (last.state != ChangeState::Succeeded && is_open_end) || !is_same {
            return ChangeKind::Upgrade;
        }
        ChangeKind::Update
    }
}

fn place(number: u64) -> usize {
    usize::try_from(number).expect("a test has few changes").wrapping_sub(1)
}
