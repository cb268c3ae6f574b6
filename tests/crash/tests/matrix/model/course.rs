//! How one change goes, told in a straight line: its hooks by what is scripted for them, its action by what the guest does, and the way
//! back. It knows no records and no steps, and a death changes nothing of it.

use std::collections::{BTreeMap, BTreeSet};

use pintle_lifecycle::ending::ChangeState;
use pintle_lifecycle::hook::HookPhase;
use pintle_lifecycle::plan::{ChangeKind, OnFailure};
use pintle_lifecycle::record::Verb;

use super::left::{Brought, Entry, Left, apply, enter, remove, start};
use super::ops::{ActionSpec, Guest, HookSpec, Outcome, Spec};

#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own, true or not")]
pub struct Change {
    pub number: u64,
    pub kind: ChangeKind,
    pub state: ChangeState,
    pub to: Brought,
    pub generation: u64,
    pub former: Option<Brought>,
    /// Those of its phases, in order.
    pub hooks: Vec<HookSpec>,
    pub action: Option<ActionSpec>,
    /// What later changes are made from.
    pub spec: Spec,
    /// The change that a rollback goes back to.
    pub back_to: Option<u64>,
    /// Whether something went wrong of which the model does not tell the end.
    pub loose: bool,
    /// Whether its turn has come.
    pub begun: bool,
    /// Hooks that began in the last run, by group; those of syncFailed apart.
    pub began: Vec<Vec<String>>,
    pub began_beside: Vec<Vec<String>>,
    pub undo: bool,
    ran: BTreeMap<(HookPhase, String), Ran>,
    acted: Option<Ran>,
    jobs: usize,
    /// Replicas of the worker that the action found.
    found: Option<u32>,
    set_version: bool,
    started: bool,
    /// The apply, or removal, that is no call's.
    synced: Option<Ran>,
    /// The action's effects stay.
    kept: bool,
    way_back_failed: bool,
    /// Hooks whose objects an earlier change had put.
    there: BTreeSet<(HookPhase, String)>,
}

#[derive(Debug, Clone)]
struct Ran {
    attempts: u32,
    result: Outcome,
    again: bool,
    skipped: bool,
}

impl Ran {
    fn once(result: Outcome) -> Self {
        Self { attempts: 1, result, again: false, skipped: false }
    }

    fn is_over(&self) -> bool {
        !self.again
    }

    fn is_good(&self) -> bool {
        self.skipped || self.result == Outcome::Succeeds
    }
}

impl Change {
    pub fn new(number: u64, kind: ChangeKind, to: Brought, former: Option<Brought>, spec: &Spec) -> Self {
        let mut hooks: Vec<HookSpec> = spec.hooks.iter().filter(|hook| hook.phase.is_of(kind)).cloned().collect();
        hooks.sort_by_key(|hook| (hook.phase, hook.weight, !hook.objects));
        Self {
            number,
            kind,
            state: ChangeState::Running,
            generation: to.generation,
            to,
            former,
            hooks,
            action: None,
            spec: spec.clone(),
            back_to: None,
            loose: false,
            begun: false,
            began: Vec::new(),
            began_beside: Vec::new(),
            undo: false,
            ran: BTreeMap::new(),
            acted: None,
            jobs: 0,
            found: None,
            set_version: false,
            started: false,
            synced: None,
            kept: false,
            way_back_failed: false,
            there: BTreeSet::new(),
        }
    }

    /// Runs to its end, or on from where a verb opened it again.
    pub fn run(&mut self, left: &mut Left) {
        self.began.clear();
        self.began_beside.clear();
        self.state = if self.undo {
            self.take_back(left)
        } else if self.forward(left) {
            ChangeState::Succeeded
        } else if self.wants_undo() && !self.passed_pivot() {
            self.undo = true;
            self.take_back(left)
        } else {
            ChangeState::Failed
        };
    }

    /// What a verb does to it before it runs on.
    pub fn ask(&mut self, verb: Verb) {
        match verb {
            Verb::Cancel => {}
            Verb::Undo => self.undo = true,
            Verb::Retry if self.undo => self.way_back_failed = false,
            Verb::Skip if self.undo => {
                self.loose |= self.way_back_failed;
                self.kept |= self.state == ChangeState::Stuck;
            }
            Verb::Retry => self.failed().for_each(|ran| ran.again = true),
            Verb::Skip => self.failed().for_each(|ran| ran.skipped = true),
        }
    }

    /// What failed and held the change up.
    fn failed(&mut self) -> impl Iterator<Item = &mut Ran> {
        let going_on: BTreeSet<_> =
            self.hooks.iter().filter(|hook| !stops(hook)).map(|hook| (hook.phase, hook.name.clone())).collect();
        let hooks = self.ran.iter_mut().filter(move |(hook, _)| !going_on.contains(hook)).map(|(_, ran)| ran);
        let goes_on = self.action.as_ref().is_some_and(|action| action.on_failure == OnFailure::Continue);
        let rest = self.acted.as_mut().filter(|_| !goes_on).into_iter().chain(self.synced.as_mut());
        hooks.chain(rest).filter(|ran| !ran.is_good())
    }

    pub fn passed_pivot(&self) -> bool {
        let ran = |hook: &HookSpec| self.ran.get(&(hook.phase, hook.name.clone())).map(|ran| ran.result);
        self.hooks
            .iter()
            .any(|hook| hook.pivot && hook.phase != HookPhase::SyncFailed && ran(hook) == Some(Outcome::Succeeds))
    }

    /// Whether what made it fail says that it shall be taken back: a hook before the action whose sync it was in.
    fn wants_undo(&self) -> bool {
        let failed = self.hooks.iter().find(|hook| stops(hook) && self.has_failed(hook)).map(|hook| hook.on_failure);
        let acted = self.acted.as_ref().is_some_and(|ran| !ran.is_good());
        let action = self.action.as_ref().filter(|_| acted).map(|action| action.on_failure);
        failed.or(action) == Some(OnFailure::Undo)
    }

    fn has_failed(&self, hook: &HookSpec) -> bool {
        self.ran.get(&(hook.phase, hook.name.clone())).is_some_and(|ran| !ran.is_good())
    }

    fn forward(&mut self, left: &mut Left) -> bool {
        match self.kind {
            ChangeKind::Test => self.phase(HookPhase::Test, left),
            ChangeKind::Delete => {
                if !self.phase(HookPhase::PreDelete, left) {
                    return false;
                }
                if self.synced.is_none() {
                    self.synced = Some(Ran::once(Outcome::Succeeds));
                    remove(left);
                }
                self.phase(HookPhase::PostDelete, left)
            }
            _ => {
                if !self.act(left) || (left.applied.as_ref() != Some(&self.to) && !self.sync(false, left)) {
                    return false;
                }
                let is_begun = self.ran.keys().any(|(phase, _)| *phase == HookPhase::PostSync);
                !is_begun || self.phase(HookPhase::PostSync, left)
            }
        }
    }

    /// Whether the change goes on after the phase.
    fn phase(&mut self, phase: HookPhase, left: &mut Left) -> bool {
        let hooks: Vec<HookSpec> = self.hooks.iter().filter(|hook| hook.phase == phase && !hook.off).cloned().collect();
        for group in hooks.chunk_by(|a, b| a.weight == b.weight) {
            let mut began = Vec::new();
            for hook in group {
                let key = (phase, hook.name.clone());
                let attempts = match self.ran.get(&key) {
                    Some(ran) if ran.is_over() => continue,
                    known => known.map_or(0, |ran| ran.attempts) + 1,
                };
                let result = hook.result(attempts);
                self.ran.insert(key.clone(), Ran { attempts, ..Ran::once(result) });
                let entry = Entry {
                    name: hook.name.clone(),
                    result,
                    generation: self.generation,
                    change: self.number,
                    attempt: attempts,
                };
                enter(left.entries.entry(phase).or_default(), entry);
                if hook.objects {
                    if attempts == 1 && left.objects.contains(&key) {
                        self.there.insert(key.clone());
                    }
                    left.objects.insert(key);
                } else {
                    began.push(format!("{phase}/{}", hook.name));
                }
            }
            let all = if phase == HookPhase::SyncFailed { &mut self.began_beside } else { &mut self.began };
            all.push(began);
            // What stops the phase comes before the cleanup.
            if group.iter().any(|hook| stops(hook) && self.has_failed(hook)) {
                return false;
            }
            for hook in group.iter().filter(|hook| hook.objects && cleans(hook)) {
                left.objects.remove(&(phase, hook.name.clone()));
            }
        }
        true
    }

    fn sync(&mut self, is_call: bool, left: &mut Left) -> bool {
        if !self.phase(HookPhase::PreSync, left) {
            return false;
        }
        let is_done = !is_call && self.synced.as_ref().is_some_and(|ran| ran.is_over() && ran.is_good());
        if !is_done {
            let fails = std::mem::take(&mut left.apply_fails);
            if !is_call {
                self.synced = Some(Ran::once(if fails { Outcome::Fails } else { Outcome::Succeeds }));
            }
            if fails {
                if !self.ran.keys().any(|(phase, _)| *phase == HookPhase::SyncFailed) {
                    self.phase(HookPhase::SyncFailed, left);
                }
                return false;
            }
            apply(left, &self.to, self.number);
        }
        self.phase(HookPhase::PostSync, left);
        true
    }

    /// Whether the change goes on after its action.
    fn act(&mut self, left: &mut Left) -> bool {
        let Some(action) = self.action.clone() else { return true };
        let goes_on = action.on_failure == OnFailure::Continue;
        let attempts = match &self.acted {
            Some(ran) if ran.is_over() => return ran.is_good() || goes_on,
            known => known.as_ref().map_or(0, |ran| ran.attempts) + 1,
        };
        let done = left.applied.is_some() && self.guest(&action, left);
        let result = if done { Outcome::Succeeds } else { Outcome::Fails };
        self.acted = Some(Ran { attempts, ..Ran::once(result) });
        done || goes_on
    }

    fn guest(&mut self, action: &ActionSpec, left: &mut Left) -> bool {
        match action.guest {
            Guest::Look => true,
            Guest::Upgrade => {
                self.stop(left);
                self.bring(left) && self.job(action) && start(left)
            }
            Guest::Fails => {
                self.stop(left);
                false
            }
            Guest::Moves => {
                self.stop(left);
                self.started |= self.bring(left) && start(left);
                false
            }
            Guest::Breaks => {
                self.stop(left);
                let _never_good = self.job(action) && self.bring(left);
                false
            }
        }
    }

    fn stop(&mut self, left: &mut Left) {
        self.found.get_or_insert(if left.stopped.is_some() { 0 } else { 2 });
        left.worker = 0;
        left.stopped = Some(self.number);
    }

    fn bring(&mut self, left: &mut Left) -> bool {
        if left.applied.as_ref().is_some_and(|applied| applied.version == self.to.version) {
            return true;
        }
        self.set_version = true;
        self.sync(true, left)
    }

    fn job(&mut self, action: &ActionSpec) -> bool {
        self.jobs += 1;
        !action.job_fails[usize::from(self.jobs > 1)]
    }

    fn take_back(&mut self, left: &mut Left) -> ChangeState {
        let acted = self.action.clone().filter(|_| self.acted.is_some());
        let has_undo = acted.as_ref().is_some_and(|action| action.guest == Guest::Breaks);
        if self.way_back_failed || (self.jobs > 0 && !has_undo && !self.kept) {
            return ChangeState::Stuck;
        }
        // Newest first.
        self.take_away(left, |phase| matches!(phase, HookPhase::PostSync | HookPhase::PostDelete));
        let mut is_back = self.synced.is_none() || self.restore(left);
        if is_back {
            self.take_away(left, |_| true);
        }
        if is_back && has_undo && !self.kept {
            // What its `undo` does.
            let from = self.former.as_ref().map(|former| &former.version);
            is_back = left.applied.as_ref().map(|applied| &applied.version) == from || self.restore(left);
            is_back = is_back && start(left);
        } else if is_back && acted.is_some() && !self.kept {
            if self.started {
                self.stop(left);
            }
            is_back = !self.set_version || self.restore(left);
            if let Some(found) = self.found.filter(|_| is_back) {
                left.worker = found;
                left.stopped = (found == 0).then_some(self.number);
            }
        }
        if !is_back {
            self.way_back_failed = true;
            return ChangeState::Stuck;
        }
        ChangeState::Undone
    }

    fn take_away(&self, left: &mut Left, is_of: impl Fn(HookPhase) -> bool) {
        // Hooks of syncFailed are no part of what is taken back.
        let is_of = |phase| phase != HookPhase::SyncFailed && is_of(phase);
        for hook in self.hooks.iter().filter(|hook| hook.objects && is_of(hook.phase)) {
            let key = (hook.phase, hook.name.clone());
            if self.there.contains(&key) {
                left.objects.insert(key);
            } else if self.ran.contains_key(&key) {
                left.objects.remove(&key);
            }
        }
    }

    fn restore(&self, left: &mut Left) -> bool {
        match &self.former {
            None => remove(left),
            Some(_) if std::mem::take(&mut left.apply_fails) => return false,
            Some(former) => apply(left, former, self.number),
        }
        true
    }
}

fn stops(hook: &HookSpec) -> bool {
    hook.on_failure != OnFailure::Continue && hook.phase != HookPhase::SyncFailed
}

fn cleans(hook: &HookSpec) -> bool {
    use pintle_lifecycle::hook::CleanupPolicy::{OnCompletion, OnSuccess};
    matches!(hook.cleanup, OnSuccess | OnCompletion)
}
