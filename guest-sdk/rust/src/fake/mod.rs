//! A host for plain `cargo test`: it answers an action's calls in memory, without WebAssembly, and writes them down.
//!
//! ```
//! use pintle_sdk::fake::Host;
//! use pintle_sdk::prelude::*;
//!
//! fn restart(ctx: &Context) -> Result<()> {
//!     components::stop(["worker"])?;
//!     components::start(["worker"])?;
//!     info!("restarted {}", ctx.release());
//!     Ok(())
//! }
//!
//! let host = Host::new().release("shop").component("worker", ["shop/worker:1.0.0"]).install();
//! restart(&host.context())?;
//! assert_eq!(host.calls(), ["components.stop worker", "components.start worker"]);
//! assert_eq!(host.logs(), ["info restarted shop"]);
//! # Ok::<(), Error>(())
//! ```
//!
//! It has no grants, and its Jobs run nothing: they end as the test says, or at once with success.

mod calls;
pub(crate) mod imports;
mod world;

use std::cell::RefCell;
use std::rc::Rc;

use crate::{ActionDef, Context, Error, Phase, Result};
use world::{Component, Ending, Refusal, World};

thread_local! {
    /// The hosts of this thread; the one that was installed last answers.
    static INSTALLED: RefCell<Vec<Rc<RefCell<World>>>> = const { RefCell::new(Vec::new()) };
}

/// A host to be: says what an action will find. [`install`](Host::install) puts it to work.
#[derive(Debug, Default)]
#[must_use = "a host answers only after `install`"]
pub struct Host {
    world: World,
}

impl Host {
    /// The release `app` of the tenant `tests`, in its setup of version 1.0.0, with no components.
    pub fn new() -> Self {
        Self::default()
    }

    /// The release's name; the change becomes the first one of it.
    pub fn release(mut self, name: &str) -> Self {
        name.clone_into(&mut self.world.constants.release);
        self.world.constants.change = format!("{name}-1");
        self
    }

    /// The change is a setup of this version.
    pub fn installs(mut self, version: &str) -> Self {
        self.world.constants.from_version = None;
        version.clone_into(&mut self.world.constants.target_version);
        self.phase(Phase::Setup)
    }

    /// The change is an upgrade from one version to another.
    pub fn upgrades(mut self, from: &str, to: &str) -> Self {
        self.world.constants.from_version = Some(from.to_owned());
        to.clone_into(&mut self.world.constants.target_version);
        self.world.version = Some(from.to_owned());
        self.phase(Phase::Upgrade)
    }

    /// The phase, where it is not the core of a setup or an upgrade.
    pub fn phase(mut self, phase: Phase) -> Self {
        self.world.constants.phase = phase;
        self
    }

    /// The namespace of the release.
    pub fn namespace(mut self, namespace: &str) -> Self {
        namespace.clone_into(&mut self.world.constants.namespace);
        self
    }

    /// The tenant.
    pub fn tenant(mut self, tenant: &str) -> Self {
        tenant.clone_into(&mut self.world.constants.tenant);
        self
    }

    /// The target cluster's name.
    pub fn cluster(mut self, name: &str) -> Self {
        name.clone_into(&mut self.world.constants.cluster);
        self
    }

    /// A label of the target cluster.
    pub fn cluster_label(mut self, key: &str, value: &str) -> Self {
        self.world.constants.cluster_labels.insert(key.to_owned(), value.to_owned());
        self
    }

    /// Which try of the action this is; the first is 1.
    pub fn attempt(mut self, attempt: u32) -> Self {
        self.world.constants.attempt = attempt;
        self
    }

    /// The release's values, as a JSON object.
    pub fn values_json(mut self, json: &str) -> Self {
        json.clone_into(&mut self.world.constants.values_json);
        self
    }

    /// The hook's arguments for the action, as a JSON object.
    pub fn args_json(mut self, json: &str) -> Self {
        json.clone_into(&mut self.world.constants.args_json);
        self
    }

    /// A component with the images of its containers. It runs with one replica.
    pub fn component<S: Into<String>>(mut self, name: &str, images: impl IntoIterator<Item = S>) -> Self {
        let images = images.into_iter().map(Into::into).collect();
        self.world.components.insert(name.to_owned(), Component { images, stopped: false });
        self
    }

    /// The next Job that has no ending yet succeeds with this output. A Job without a given ending succeeds silently.
    pub fn job_succeeds(mut self, output: &str) -> Self {
        self.world.endings.push_back(Ending { exit_code: 0, output: output.to_owned() });
        self
    }

    /// The next Job that has no ending yet fails with this exit code and output.
    pub fn job_fails(mut self, exit_code: i32, output: &str) -> Self {
        self.world.endings.push_back(Ending { exit_code, output: output.to_owned() });
        self
    }

    /// A value that an earlier change left in the release's state.
    pub fn state(mut self, key: &str, value: impl AsRef<[u8]>) -> Self {
        self.world.state.insert(key.to_owned(), value.as_ref().to_owned());
        self
    }

    /// The next such call does nothing and answers this error, once. `call` is the start of what [`Installed::calls`] prints:
    /// `components.start`, or `components.start worker` for that component alone. `durable.now` and `durable.random` cannot fail.
    pub fn fails(mut self, call: &str, error: Error) -> Self {
        self.world.refusals.push(Refusal { call: call.to_owned(), error });
        self
    }

    /// Answers the calls of this thread until the returned value is dropped.
    #[must_use = "the host answers only while this value lives: `let host = …`"]
    pub fn install(self) -> Installed {
        let world = Rc::new(RefCell::new(self.world));
        INSTALLED.with_borrow_mut(|installed| installed.push(Rc::clone(&world)));
        Installed { world }
    }
}

/// A host at work in this thread, and what it saw.
#[derive(Debug)]
pub struct Installed {
    world: Rc<RefCell<World>>,
}

impl Installed {
    /// What an action function takes.
    #[must_use]
    pub fn context(&self) -> Context {
        Context::new()
    }

    /// Runs an action by its name, as Pintle does: `host.run(ACTIONS, "upgrade")`.
    ///
    /// # Errors
    ///
    /// The action's error, or [`Error::NotFound`] when there is no such action.
    pub fn run(&self, actions: &[ActionDef], name: &str) -> Result<()> {
        crate::action::run(actions, name).map_err(Error::from_host)
    }

    /// Runs the undo of an action by its name, with its effects as a JSON list.
    ///
    /// # Errors
    ///
    /// The undo's error, or [`Error::NotFound`] when there is no such action or it has no undo.
    pub fn undo(&self, actions: &[ActionDef], name: &str, effects_json: &str) -> Result<()> {
        crate::action::undo(actions, name, effects_json).map_err(Error::from_host)
    }

    /// The calls in their order, one readable line each: `components.stop worker`. Context and log lines are not calls.
    #[must_use]
    pub fn calls(&self) -> Vec<String> {
        self.world.borrow().calls.clone()
    }

    /// The log lines in their order: level, message, and fields as `key=value`.
    #[must_use]
    pub fn logs(&self) -> Vec<String> {
        self.world.borrow().logs.clone()
    }

    /// The version that the release has now.
    #[must_use]
    pub fn version(&self) -> Option<String> {
        self.world.borrow().version.clone()
    }

    /// The components that are stopped now, by name.
    #[must_use]
    pub fn stopped(&self) -> Vec<String> {
        let world = self.world.borrow();
        world.components.iter().filter(|(_, component)| component.stopped).map(|(name, _)| name.clone()).collect()
    }

    /// A value of the release's state.
    #[must_use]
    pub fn state(&self, key: &str) -> Option<Vec<u8>> {
        self.world.borrow().state.get(key).cloned()
    }
}

impl Drop for Installed {
    fn drop(&mut self) {
        INSTALLED.with_borrow_mut(|installed| installed.retain(|world| !Rc::ptr_eq(world, &self.world)));
    }
}

/// Gives the host of this thread to `answer`.
fn with_world<T>(answer: impl FnOnce(&mut World) -> T) -> T {
    let world = INSTALLED.with_borrow(|installed| installed.last().cloned());
    let world =
        world.expect("a native build has no Pintle to call: keep a `pintle_sdk::fake::Host` installed in this thread");
    let mut world = world.borrow_mut();
    answer(&mut world)
}
