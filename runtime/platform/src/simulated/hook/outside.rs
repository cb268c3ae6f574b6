//! What a test says about workloads of hooks, does to them as a user with kubectl would, and sees of them.

use super::calls::object;
use super::{Deletion, HookEvent, HookMoment, HookState, SimulatedHook};
use crate::simulated::effect::effect;
use crate::simulated::script::{HookScript, HookStart};
use crate::simulated::{Method, World};

impl World {
    /// Says how workloads of hooks end. The rule is asked once for each, when it begins to run, and must not call the world: it sees
    /// the release.
    pub fn script_hooks(&self, rule: impl Fn(&HookStart<'_>) -> HookScript + Send + Sync + 'static) {
        self.state().scripts.hook = Some(Box::new(rule));
    }

    /// Deletes the workloads of that name, as a user would. Whether there was one. One that never ran may be created again: that
    /// is not counted as a broken promise.
    pub fn delete_hook_workload(&self, name: &str) -> bool {
        let mut state = self.state();
        let hooks = state.hooks.named(name);
        for hook in &hooks {
            let found = state.hooks.get(hook).filter(|found| found.deletion == Deletion::No && !found.has_run());
            if let Some(key) = found.map(|found| found.key.clone()) {
                state.effects.undone(effect(&key, Method::CreateHook, object(hook)));
            }
            state.hooks.delete(hook, true);
        }
        !hooks.is_empty()
    }

    /// Lets the workloads of that name run whatever keeps them, as a user who sets `suspend: false` would. Whether one began to run.
    pub fn resume_hook_workload(&self, name: &str) -> bool {
        let mut state = self.state();
        let waits = |hook: &SimulatedHook| {
            hook.deletion == Deletion::No && matches!(hook.state, HookState::Fenced | HookState::Suspended)
        };
        let mut hooks = state.hooks.named(name);
        hooks.retain(|hook| state.hooks.get(hook).is_some_and(waits));
        for hook in &hooks {
            state.run_hook(hook);
        }
        !hooks.is_empty()
    }

    /// Lets no deletion of workloads of that name end, as a finalizer would, until [`Self::unblock_deletion`].
    pub fn block_deletion(&self, name: &str) {
        self.state().hooks.block(name);
    }

    /// Ends what [`Self::block_deletion`] began: what is being deleted is gone.
    pub fn unblock_deletion(&self, name: &str) {
        self.state().hooks.unblock(name);
    }

    /// Makes it `ms` milliseconds since 1970 now, in what the platform says of the creation of workloads. Time goes on from there as
    /// tokio's does. Without it a world begins in 1970.
    pub fn set_date(&self, ms: u64) {
        self.state().hooks.set_date(ms);
    }

    /// The workloads of hooks that are there, of all releases, oldest first.
    #[must_use]
    pub fn hook_workloads(&self) -> Vec<SimulatedHook> {
        self.state().hooks.there().into_iter().cloned().collect()
    }

    /// The workload of that name that is there; where several are, the first of kind and namespace.
    #[must_use]
    pub fn hook_workload(&self, name: &str) -> Option<SimulatedHook> {
        let state = self.state();
        state.hooks.named(name).first().and_then(|hook| state.hooks.get(hook)).cloned()
    }

    /// How hooks began to run and ended, in that order.
    #[must_use]
    pub fn hook_order(&self) -> Vec<HookEvent> {
        let runs = |event: &&HookEvent| matches!(event.moment, HookMoment::Began | HookMoment::Ended);
        self.state().hooks.events().iter().filter(runs).cloned().collect()
    }

    /// As [`Self::hook_order`], with creations and what is gone.
    #[must_use]
    pub fn hook_events(&self) -> Vec<HookEvent> {
        self.state().hooks.events().to_vec()
    }
}
