//! Pintle inside one process: the store of a folder, the local platform, and what drives changes with them. What is expensive is
//! made when it is first needed.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use pintle_journal::change_log::ChangeLog;
use pintle_journal::clock::{Clock, SystemClock};
use pintle_journal::journal::{Journal, Receipt};
use pintle_journal::{Store, StoreOptions};
use pintle_lifecycle::ids::ChangeKey;
use pintle_lifecycle::plan::Plan;
use pintle_lifecycle::record::{Event, Record, Verb};
use pintle_lifecycle::template::Render;
use pintle_platform::{Local, LocalConfig, Platform};
use pintle_sandbox::{Sandbox, SandboxConfig};
use tokio::sync::mpsc;

use crate::config::Config;
use crate::drive::Driver;
use crate::error::Error;
use crate::state_dir::StateDir;
use crate::templates::InSandbox;
use crate::weakening::Weakening;
use crate::who::who;
use crate::witness::Witness;

/// How long a guest may wait in memory for the answer of a call.
const RESIDENCY: Duration = Duration::from_secs(1);
/// Guests in memory at once. Others wait for their turn.
const GUESTS: u32 = 32;

/// How Pintle is opened.
#[derive(Debug)]
pub struct OpenOptions {
    pub state: StateDir,
    /// What this process does, for whoever finds the store in use: `pintle up release.yml`.
    pub what: String,
    /// Gets each record once it is durable. Must be taken out, or records pile up.
    pub told: Option<mpsc::UnboundedSender<Record>>,
    pub config: Config,
    pub weakening: Weakening,
}

/// An embedded Pintle. It has the store alone until it is dropped.
pub struct Pintle {
    state: StateDir,
    journal: Arc<dyn Journal>,
    clock: Arc<dyn Clock>,
    sandbox: OnceLock<Sandbox>,
    platform: OnceLock<Arc<dyn Platform>>,
    config: Config,
    weakening: Weakening,
}

impl Pintle {
    /// Opens the store, or makes one. Blocks while it reads the end of the log.
    ///
    /// # Errors
    /// [`Error::Open`] where another Pintle has it, it is damaged, or it cannot be written.
    pub fn open(options: OpenOptions) -> Result<Self, Error> {
        let OpenOptions { state, what, told, config, weakening } = options;
        let store = Store::open(
            state.path(),
            &StoreOptions { what, acknowledge: weakening.acknowledge, ..StoreOptions::default() },
        )?;
        let mut journal: Arc<dyn Journal> = Arc::new(store);
        if let Some(told) = told {
            journal = Arc::new(Witness::of(journal, told));
        }
        let clock = Arc::new(SystemClock::new());
        let (sandbox, platform) = (OnceLock::new(), OnceLock::new());
        Ok(Self { state, journal, clock, sandbox, platform, config, weakening })
    }

    #[must_use]
    pub fn journal(&self) -> &dyn Journal {
        &*self.journal
    }

    /// What a person configured.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    #[must_use]
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// The sandbox, made at the first call.
    ///
    /// # Errors
    /// Where its directories cannot be made, or the machine has no room for guests.
    pub fn sandbox(&self) -> Result<&Sandbox, Error> {
        if let Some(sandbox) = self.sandbox.get() {
            return Ok(sandbox);
        }
        let made = Sandbox::new(sandbox_config(&self.state))?;
        Ok(self.sandbox.get_or_init(|| made))
    }

    /// Renders templates, in the sandbox.
    pub fn templates(&self) -> impl Render + '_ {
        InSandbox::of(|| self.sandbox().cloned())
    }

    /// What drives changes, made at the first call.
    ///
    /// # Errors
    /// Where sandbox or platform cannot be made.
    pub fn driver(&self) -> Result<Driver, Error> {
        Ok(Driver {
            platform: self.platform()?,
            sandbox: self.sandbox()?.clone(),
            residency: RESIDENCY,
            intents: self.weakening.intents,
        })
    }

    /// Where releases live, made at the first call.
    ///
    /// # Errors
    /// Where the file of this program is not known: it is what holds processes.
    pub fn platform(&self) -> Result<Arc<dyn Platform>, Error> {
        if let Some(platform) = self.platform.get() {
            return Ok(Arc::clone(platform));
        }
        let made = local(&self.state, &self.config)?;
        Ok(Arc::clone(self.platform.get_or_init(|| made)))
    }

    /// Opens a change with its plan; it is durable when this returns.
    ///
    /// # Errors
    /// Where the journal does not take it: a full disk, another change of the release that came first.
    pub async fn open_change(&self, plan: Plan) -> Result<Arc<ChangeLog>, Error> {
        let (log, opened) = self.begin_change(plan).await?;
        opened.await?;
        Ok(log)
    }

    /// Opens a change with its plan; it is durable once the receipt says so. It may be driven before that: whatever has an effect
    /// waits until a later record is durable, and this one is before it.
    ///
    /// # Errors
    /// As [`Self::open_change`]; the receipt tells most of them.
    pub async fn begin_change(&self, plan: Plan) -> Result<(Arc<ChangeLog>, Receipt), Error> {
        let release = plan.target.release.clone();
        let changes = self.journal.release(&release).await?.map_or(0, |view| view.changes);
        let event = Event::ChangeOpened { plan: Arc::new(plan), by: who() };
        self.create(&release.change(changes + 1), event)
    }

    /// The log of a change that `event` begins.
    pub(crate) fn create(&self, change: &ChangeKey, event: Event) -> Result<(Arc<ChangeLog>, Receipt), Error> {
        let (journal, clock) = (Arc::clone(&self.journal), Arc::clone(&self.clock));
        let (log, receipt) = ChangeLog::create(journal, clock, change.clone(), event)
            .map_err(|source| Error::Change { change: change.clone(), source: Box::new(source.into()) })?;
        Ok((Arc::new(log), receipt))
    }

    /// Takes up a change from its records.
    ///
    /// # Errors
    /// Where there is none, or its records cannot be read.
    pub async fn recover(&self, change: &ChangeKey) -> Result<Arc<ChangeLog>, Error> {
        let log = ChangeLog::recover(Arc::clone(&self.journal), Arc::clone(&self.clock), change).await;
        Ok(Arc::new(log.map_err(|source| Error::Change { change: change.clone(), source: Box::new(source) })?))
    }

    /// Records that a person asked for `verb`; durable when this returns.
    ///
    /// # Errors
    /// Where the journal cannot take it.
    pub async fn ask(&self, log: &ChangeLog, verb: Verb) -> Result<(), Error> {
        self.record(log, Event::Asked { verb, by: who() }).await
    }

    /// Records an event; durable when this returns.
    pub(crate) async fn record(&self, log: &ChangeLog, event: Event) -> Result<(), Error> {
        let change = log.look(|history| history.key.clone());
        let recorded = log.record(event);
        Ok(recorded.map_err(|source| Error::Change { change, source: Box::new(source.into()) })?.await?)
    }
}

/// The local platform of a folder.
///
/// # Errors
/// Where the file of this program is not known: it is what holds processes.
pub(crate) fn local(state: &StateDir, config: &Config) -> Result<Arc<dyn Platform>, Error> {
    let shim = std::env::current_exe()
        .map_err(|error| Error::Defect(format!("the file of this program is not known: {error}")))?;
    let image_map = config.image_map.clone();
    Ok(Arc::new(Local::new(LocalConfig { image_map, ..LocalConfig::new(state.run(), shim) })))
}

/// The sandbox of a folder.
pub(crate) fn sandbox_config(state: &StateDir) -> SandboxConfig {
    let config = SandboxConfig::new(state.path());
    SandboxConfig { modules_dir: state.modules(), cache_dir: state.cache(), instances: GUESTS, ..config }
}
