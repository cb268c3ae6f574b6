//! The calls of the platform that are about workloads of hooks.

use pintle_lifecycle::call::JobResult;
use pintle_lifecycle::hook::HookRef;
use pintle_lifecycle::plan::Target;
use tokio::sync::watch;

use super::{DELETED, Deletion, HookState, SimulatedHook};
use crate::platform::{HookLook, HookWorkload, PlatformError};
use crate::simulated::effect::effect;
use crate::simulated::platform::Late;
use crate::simulated::script::HookStart;
use crate::simulated::world::failed;
use crate::simulated::{Method, Simulated, State};

impl State {
    pub(in crate::simulated) fn create_hook(
        &mut self,
        key: &str,
        target: &Target,
        workload: &HookWorkload,
        whole: bool,
    ) -> Result<HookRef, PlatformError> {
        let HookWorkload { kind, namespace, name, .. } = workload;
        if workload.object.value()["metadata"]["name"] != name.as_str() {
            return Err(PlatformError::Invalid(format!("the manifest of {kind} {name} has another name")));
        }
        let (hook, changes) = match self.hooks.present(*kind, namespace, name) {
            Some(there) if there.key == key => (there.hook.clone(), false),
            Some(_) => return Err(PlatformError::Conflict(format!("another {kind} is named {name}"))),
            None => (self.hooks.create(key, target, workload), true),
        };
        self.effects.count(effect(key, Method::CreateHook, object(&hook)), changes, whole);
        if changes && !workload.fenced {
            self.lift(&hook);
        }
        Ok(hook)
    }

    pub(in crate::simulated) fn lift_hook(
        &mut self,
        key: &str,
        hook: &HookRef,
        whole: bool,
    ) -> Result<(), PlatformError> {
        let found = self.hooks.get(hook).filter(|found| found.deletion < Deletion::Gone);
        let found = found.ok_or_else(|| PlatformError::NotFound(format!("there is no {hook}")))?;
        let changes = found.state == HookState::Fenced && found.deletion == Deletion::No;
        self.effects.count(effect(key, Method::LiftHook, object(hook)), changes, whole);
        if changes && whole {
            self.lift(hook);
        }
        Ok(())
    }

    /// Takes the fence away.
    fn lift(&mut self, hook: &HookRef) {
        if self.hooks.get(hook).is_some_and(SimulatedHook::is_suspended_by_author) {
            self.hooks.suspend(hook);
        } else {
            self.run_hook(hook);
        }
    }

    /// Lets a workload begin to run, which has a key of its own: no hook may run twice, under whatever keys it came to it.
    pub(super) fn run_hook(&mut self, hook: &HookRef) {
        let Some(found) = self.hooks.get(hook) else { return };
        let start = HookStart {
            target: &found.target,
            hook,
            phase: found.phase(),
            name: found.name(),
            labels: &found.labels,
            object: &found.object,
            release: self.releases.get(&found.target.uid),
        };
        let script = self.scripts.hook.as_ref().map(|rule| rule(&start)).unwrap_or_default();
        self.effects.count(effect(&format!("run {}", hook.name), Method::LiftHook, object(hook)), true, true);
        self.hooks.run(hook, script);
    }

    pub(in crate::simulated) fn delete_hook(&mut self, key: &str, hook: &HookRef, whole: bool) {
        let changes = self.hooks.delete(hook, whole);
        self.effects.count(effect(key, Method::DeleteHook, object(hook)), changes, whole);
    }

    pub(in crate::simulated) fn look_at_hook(&self, hook: &HookRef) -> HookLook {
        match self.hooks.get(hook).filter(|found| found.deletion < Deletion::Gone) {
            Some(found) => {
                HookLook { waits_for: found.waits_for(self.hooks.is_blocked(&hook.name)), output: found.output() }
            }
            None => HookLook::default(),
        }
    }
}

impl Simulated {
    /// Waits for the end of a workload, without being woken by what happens to others. What this Pintle saw it knows from then on;
    /// another one that comes after the deletion does not.
    pub(in crate::simulated) async fn hook_result(&self, hook: &HookRef) -> JobResult {
        if let Some(seen) = self.seen().get(hook) {
            return seen.clone();
        }
        let Some((changed, watched)) = self.watch_hook(hook) else {
            return failed(&hook.name, None, String::new(), DELETED.to_owned());
        };
        let result = self
            .wait_on(changed, |state| {
                let found = state.hooks.get(hook).ok_or(None)?;
                found.verdict(watched).ok_or_else(|| found.until())
            })
            .await;
        self.seen().insert(hook.clone(), result.clone());
        result
    }

    /// Waits until a workload is gone.
    pub(in crate::simulated) async fn hook_gone(&self, hook: &HookRef) {
        let Some((changed, _)) = self.watch_hook(hook) else { return };
        let gone = |state: &State| state.hooks.get(hook).is_none_or(|found| found.deletion == Deletion::Gone);
        self.wait_on(changed, |state| if gone(state) { Ok(()) } else { Err(None) }).await;
    }

    /// What tells of changes of a workload, and whether it is still there; none where it never was.
    fn watch_hook(&self, hook: &HookRef) -> Option<(watch::Receiver<u64>, bool)> {
        let state = self.world.state();
        let found = state.hooks.get(hook)?;
        Some((found.changed.subscribe(), found.deletion < Deletion::Gone))
    }

    /// Changes workloads or objects of hooks, which nobody waits for who waits for something else.
    pub(in crate::simulated) fn change_hooks<T>(&self, late: &Late, act: impl FnOnce(&mut State, bool) -> T) -> T {
        act(&mut self.world.state(), late.is_whole())
    }
}

pub(super) fn object(hook: &HookRef) -> String {
    format!("{} {}/{}", hook.kind, hook.namespace, hook.name)
}
