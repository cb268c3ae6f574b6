//! All workloads of hooks that ever were, found by what callers know of them without a walk over the others.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use pintle_lifecycle::hook::{HookKind, HookRef};
use pintle_lifecycle::plan::Target;
use tokio::time::Instant;

use super::{Deletion, HookEvent, HookMoment, HookState, SimulatedHook};
use crate::platform::{FoundHook, HookWorkload};
use crate::simulated::script::HookScript;

/// Workloads and what happened to them. Every method is cheap however many there are.
#[derive(Debug, Default)]
pub(in crate::simulated) struct Hooks {
    all: BTreeMap<HookRef, SimulatedHook>,
    /// What is not gone, by name first.
    there: BTreeMap<(String, HookKind, String), HookRef>,
    /// What is not gone, by the release in its labels and the order of creation.
    of_release: BTreeMap<String, BTreeMap<u64, HookRef>>,
    /// How often a workload of that name was created.
    times: BTreeMap<String, u32>,
    /// Ends that are to come.
    ends: BTreeMap<(Instant, u64), HookRef>,
    events: Vec<HookEvent>,
    /// Names whose deletion does not end.
    blocked: BTreeSet<String>,
    /// When the first thing happened, and that moment in milliseconds since 1970.
    origin: Option<Instant>,
    epoch_ms: u64,
}

impl Hooks {
    pub(super) fn get(&self, hook: &HookRef) -> Option<&SimulatedHook> {
        self.all.get(hook)
    }

    /// The workload of that kind, namespace and name that is there now.
    pub(super) fn present(&self, kind: HookKind, namespace: &str, name: &str) -> Option<&SimulatedHook> {
        self.all.get(self.there.get(&(name.to_owned(), kind, namespace.to_owned()))?)
    }

    pub(super) fn named(&self, name: &str) -> Vec<HookRef> {
        let from = (name.to_owned(), HookKind::Job, String::new());
        self.there.range(from..).take_while(|((there, ..), _)| there == name).map(|(_, hook)| hook.clone()).collect()
    }

    /// What is there, oldest first.
    pub(in crate::simulated) fn there(&self) -> Vec<&SimulatedHook> {
        let mut there: Vec<_> = self.there.values().filter_map(|hook| self.all.get(hook)).collect();
        there.sort_by_key(|hook| hook.number);
        there
    }

    pub(in crate::simulated) fn found(&self, release: &str) -> Vec<FoundHook> {
        let hooks = self.of_release.get(release).into_iter().flat_map(BTreeMap::values);
        let found = |hook: &SimulatedHook| FoundHook {
            hook: hook.hook.clone(),
            phase: hook.phase().to_owned(),
            name: hook.name().to_owned(),
            change: hook.label("pintle.dev/change").to_owned(),
            created_ms: self.epoch_ms + u64::try_from(self.since_origin(hook.created).as_millis()).unwrap_or(u64::MAX),
            ended: hook.result().is_some() || matches!(hook.state, HookState::Cut(_)),
        };
        hooks.filter_map(|hook| self.all.get(hook)).map(found).collect()
    }

    pub(super) fn create(&mut self, key: &str, target: &Target, workload: &HookWorkload) -> HookRef {
        self.settle();
        let times = self.times.entry(workload.name.clone()).or_default();
        *times += 1;
        let hook = HookRef {
            kind: workload.kind,
            namespace: workload.namespace.clone(),
            name: workload.name.clone(),
            uid: format!("{}.{times}", workload.name),
        };
        let number = self.all.len() as u64;
        let created = SimulatedHook::new(key, target, hook.clone(), workload, number);
        let release = created.label("pintle.dev/release-uid").to_owned();
        self.of_release.entry(release).or_default().insert(number, hook.clone());
        self.there.insert((hook.name.clone(), hook.kind, hook.namespace.clone()), hook.clone());
        self.all.insert(hook.clone(), created);
        self.happened(&hook, HookMoment::Created, Instant::now());
        hook
    }

    /// Lets one run that does not yet.
    pub(super) fn run(&mut self, hook: &HookRef, script: HookScript) {
        self.settle();
        let Some(found) = self.all.get_mut(hook) else { return };
        found.run(script);
        found.tell();
        if let Some(until) = found.until() {
            self.ends.insert((until, found.number), hook.clone());
        }
        self.happened(hook, HookMoment::Began, Instant::now());
    }

    /// Leaves one to its author, who suspended it.
    pub(super) fn suspend(&mut self, hook: &HookRef) {
        if let Some(found) = self.all.get_mut(hook) {
            found.state = HookState::Suspended;
            found.tell();
        }
    }

    /// Accepts a deletion, and lets it be gone unless it is blocked. Whether that changed anything.
    pub(super) fn delete(&mut self, hook: &HookRef, whole: bool) -> bool {
        self.settle();
        let Some(found) = self.all.get_mut(hook).filter(|found| found.deletion < Deletion::Gone) else { return false };
        let changes = found.deletion == Deletion::No;
        found.deletion = Deletion::Accepted;
        let (until, number) = (found.until(), found.number);
        let cut = found.cut();
        found.tell();
        if cut {
            if let Some(until) = until {
                self.ends.remove(&(until, number));
            }
            self.happened(hook, HookMoment::Ended, Instant::now());
        }
        if whole && !self.is_blocked(&hook.name) {
            self.vanish(hook);
        }
        changes
    }

    fn vanish(&mut self, hook: &HookRef) {
        let Some(found) = self.all.get_mut(hook) else { return };
        found.deletion = Deletion::Gone;
        found.tell();
        let (number, release) = (found.number, found.label("pintle.dev/release-uid").to_owned());
        self.there.remove(&(hook.name.clone(), hook.kind, hook.namespace.clone()));
        if let Some(hooks) = self.of_release.get_mut(&release) {
            hooks.remove(&number);
        }
        self.happened(hook, HookMoment::Gone, Instant::now());
    }

    pub(super) fn is_blocked(&self, name: &str) -> bool {
        self.blocked.contains(name)
    }

    pub(super) fn block(&mut self, name: &str) {
        self.blocked.insert(name.to_owned());
    }

    pub(super) fn unblock(&mut self, name: &str) {
        self.settle();
        self.blocked.remove(name);
        for hook in self.named(name) {
            if self.all.get(&hook).is_some_and(|found| found.deletion == Deletion::Accepted) {
                self.vanish(&hook);
            }
        }
    }

    /// From now on the world's date is counted from `ms` since 1970.
    pub(super) fn set_date(&mut self, ms: u64) {
        self.origin = Some(Instant::now());
        self.epoch_ms = ms;
    }

    /// Everything that happened until now, in its order.
    pub(super) fn events(&mut self) -> &[HookEvent] {
        self.settle();
        &self.events
    }

    /// Notes the ends that came by themselves.
    fn settle(&mut self) {
        while let Some(end) = self.ends.first_entry().filter(|end| end.key().0 <= Instant::now()) {
            let ((at, _), hook) = end.remove_entry();
            self.happened(&hook, HookMoment::Ended, at);
        }
    }

    fn happened(&mut self, hook: &HookRef, moment: HookMoment, at: Instant) {
        self.origin.get_or_insert(at);
        let at = self.since_origin(at);
        let Some(found) = self.all.get(hook) else { return };
        self.events.push(HookEvent {
            release: found.target.uid.clone(),
            phase: found.phase().to_owned(),
            name: found.name().to_owned(),
            hook: hook.clone(),
            moment,
            at,
        });
    }

    fn since_origin(&self, at: Instant) -> Duration {
        self.origin.map(|origin| at.saturating_duration_since(origin)).unwrap_or_default()
    }
}
