//! A Pintle in a folder, as a program embeds it, with the platform of the benches and one module.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, ensure};
use pintle::config::Config;
use pintle::drive::Driver;
use pintle::state_dir::StateDir;
use pintle::weakening::Weakening;
use pintle::{OpenOptions, Pintle};
use pintle_lifecycle::ending::ChangeState;
use pintle_lifecycle::plan::Plan;

use crate::world::World;

pub struct Site {
    pub pintle: Pintle,
    pub world: Arc<World>,
    pub driver: Driver,
}

impl Site {
    pub fn open(folder: &Path) -> Result<Self> {
        let options = OpenOptions {
            state: StateDir::at(folder)?,
            what: "bench".to_owned(),
            told: None,
            config: Config::default(),
            weakening: Weakening::default(),
        };
        let pintle = Pintle::open(options)?;
        let world = Arc::<World>::default();
        let driver = Driver { platform: Arc::clone(&world) as _, ..pintle.driver()? };
        Ok(Self { pintle, world, driver })
    }

    /// Admits the module and says its digest.
    pub async fn admit(&self, bytes: &[u8]) -> Result<String> {
        Ok(self.driver.sandbox.admit(bytes).await?.digest.clone())
    }

    /// A request and its whole change: the plan is recorded, the action runs, its end becomes durable, and with it all before.
    pub fn change(&self, plan: Plan) -> impl Future<Output = Result<()>> {
        // Boxed, so that the plan takes no room any more once it is recorded.
        let beginning = Box::pin(self.pintle.begin_change(plan));
        async move {
            let (log, opened) = beginning.await?;
            let change = log.look(|history| history.key.clone());
            let state = self.driver.tend(log).await?;
            opened.await?;
            ensure!(state == ChangeState::Succeeded, "the change {change} ended {state}");
            Ok(())
        }
    }
}
