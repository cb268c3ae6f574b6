//! A platform in memory, for tests: a [`World`] that outlives any number of Pintles that die, counts what each effect key really
//! did, and lets go wrong what a test scripts. It waits in tokio's time, so a paused runtime runs through it at once.

mod effect;
mod fault;
mod hook;
mod object;
mod platform;
mod script;
#[cfg(test)]
mod tests;
mod world;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pintle_lifecycle::call::JobResult;
use pintle_lifecycle::hook::HookRef;
use pintle_lifecycle::plan::{Target, Workload};
use tokio::sync::watch;

pub use effect::{Count, Effect};
pub use fault::{Fault, Method};
pub use hook::{Deletion, HookEvent, HookMoment, HookState, SimulatedHook};
pub use object::ObjectId;
pub use script::{HookScript, HookStart, JobScript, JobStart, Readiness};
pub use world::{JobState, Release, Running, SimulatedJob};

use crate::platform::PlatformError;
use effect::Effects;
use hook::Hooks;
use object::Maker;
use script::Scripts;

/// What is out there. One world is shared by all Pintles of a test, dead or alive.
#[derive(Debug)]
pub struct World {
    state: Mutex<State>,
    /// Counts changes, for those who wait for one.
    changed: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct State {
    /// By uid.
    releases: BTreeMap<String, Release>,
    hooks: Hooks,
    /// Of the objects that hooks put, and of those that are in their way.
    makers: BTreeMap<ObjectId, Maker>,
    effects: Effects,
    calls: BTreeMap<Method, u32>,
    faults: BTreeMap<(Method, u32), Fault>,
    scripts: Scripts,
}

/// The platform as one Pintle sees it. It dies where a fault says so, and then none of its calls returns any more.
#[derive(Debug)]
pub struct Simulated {
    world: Arc<World>,
    dead: watch::Sender<bool>,
    /// Ends of hooks that this Pintle saw; it forgets them when it dies.
    seen: Mutex<BTreeMap<HookRef, JobResult>>,
}

impl World {
    #[must_use]
    pub fn new() -> Arc<Self> {
        Arc::new(Self { state: Mutex::default(), changed: watch::Sender::new(0) })
    }

    /// Lets `fault` happen at the `nth` call of `method`, counted from 1 over the life of the world.
    pub fn script_fault(&self, method: Method, nth: u32, fault: Fault) {
        self.state().faults.insert((method, nth), fault);
    }

    /// Says how Jobs end. The rule is asked once, when a Job starts to run, and must not call the world: it sees the release.
    pub fn script_jobs(&self, rule: impl Fn(&JobStart<'_>) -> JobScript + Send + Sync + 'static) {
        self.state().scripts.job = Some(Box::new(rule));
    }

    /// Says how a workload becomes ready from now on.
    pub fn script_readiness(&self, workload: Workload, readiness: Readiness) {
        self.state().scripts.readiness.insert(workload, readiness);
        self.tell();
    }

    /// Brings a workload to so many replicas, as somebody would who knows nothing of Pintle.
    pub fn scale_as_somebody(&self, uid: &str, workload: &Workload, replicas: u32) {
        let mut state = self.state();
        let release = state.releases.get_mut(uid);
        if let Some(running) = release.and_then(|release| release.workloads.get_mut(workload)) {
            running.desired = replicas;
        }
        drop(state);
        self.tell();
    }

    /// The release with that uid, as it is now.
    #[must_use]
    pub fn release(&self, uid: &str) -> Option<Release> {
        self.state().releases.get(uid).cloned()
    }

    /// How often `method` was called.
    #[must_use]
    pub fn calls(&self, method: Method) -> u32 {
        self.state().calls.get(&method).copied().unwrap_or(0)
    }

    /// All effects that ever were, with how often they happened.
    #[must_use]
    pub fn counts(&self) -> BTreeMap<Effect, Count> {
        self.state().effects.counts()
    }

    /// The effects that changed the world, in their order: one entry for each time.
    #[must_use]
    pub fn effects(&self) -> Vec<Effect> {
        self.state().effects.order()
    }

    /// Effects that were applied more than once: none, or a promise was broken. A hook that ran twice is among them under the key
    /// `run <workload>`, also where it was created anew in between.
    #[must_use]
    pub fn doubled(&self) -> Vec<Effect> {
        let counts = self.state().effects.counts();
        counts.into_iter().filter(|(_, count)| count.applied > 1 + count.undone).map(|(effect, _)| effect).collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A test's rule may panic in an assertion; the state behind it is whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self) {
        self.changed.send_modify(|count| *count += 1);
    }
}

impl State {
    /// Counts the call and takes what is scripted for it.
    fn called(&mut self, method: Method) -> Option<Fault> {
        let nth = self.calls.entry(method).or_default();
        *nth += 1;
        self.faults.remove(&(method, *nth))
    }

    fn release(&mut self, target: &Target) -> &mut Release {
        self.releases.entry(target.uid.clone()).or_insert_with(|| Release::new(&target.release))
    }

    fn find(&self, target: &Target) -> Result<&Release, PlatformError> {
        self.releases
            .get(&target.uid)
            .ok_or_else(|| PlatformError::NotFound(format!("nothing is applied of {}", target.release)))
    }

    fn workload(&self, target: &Target, workload: &Workload) -> Result<&Running, PlatformError> {
        self.find(target)?
            .workloads
            .get(workload)
            .ok_or_else(|| PlatformError::NotFound(format!("{workload} is not applied of {}", target.release)))
    }

    fn readiness(&self, workload: &Workload) -> Readiness {
        self.scripts.readiness.get(workload).cloned().unwrap_or_default()
    }
}

impl Simulated {
    #[must_use]
    pub fn new(world: Arc<World>) -> Self {
        Self { world, dead: watch::Sender::new(false), seen: Mutex::default() }
    }

    #[must_use]
    pub fn world(&self) -> &Arc<World> {
        &self.world
    }

    /// Returns when a fault killed this Pintle: drop it then, and start the next on the same world.
    pub async fn died(&self) {
        let mut dead = self.dead.subscribe();
        // The sender lives in `self`, so the wait ends with a death only.
        let _closed = dead.wait_for(|dead| *dead).await;
    }

    /// Kills this Pintle now, wherever it is.
    pub fn kill(&self) {
        self.dead.send_replace(true);
    }

    fn seen(&self) -> MutexGuard<'_, BTreeMap<HookRef, JobResult>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn die(&self) -> ! {
        self.kill();
        std::future::pending().await
    }

    async fn unless_dead(&self) {
        if *self.dead.borrow() {
            std::future::pending::<()>().await;
        }
    }
}

/// One release after the other, as [`Release`] prints itself, then the workloads of hooks that are there.
impl fmt::Display for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        state.releases.values().try_for_each(|release| release.fmt(f))?;
        state.hooks.there().into_iter().try_for_each(|hook| writeln!(f, "{hook}"))
    }
}
