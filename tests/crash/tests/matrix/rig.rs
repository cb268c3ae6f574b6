//! A change, a simulated world and Pintles that die in it, one after another, until the change has ended.

use std::sync::Arc;
use std::time::Duration;

use pintle::drive::{DriveError, Driver};
use pintle_journal::MemoryJournal;
use pintle_journal::change_log::ChangeLog;
use pintle_journal::clock::{Clock, VirtualClock};
use pintle_journal::journal::Journal;
use pintle_lifecycle::ending::{ChangeState, Ending};
use pintle_lifecycle::history::History;
use pintle_lifecycle::ids::ChangeKey;
use pintle_lifecycle::plan::Plan;
use pintle_lifecycle::record::{Event, Verb};
use pintle_platform::simulated::{Simulated, World};
use pintle_sandbox::{Behaviour, Intents, Replay, Sandbox};

/// A machine, its journal and the world around it.
pub struct Rig {
    pub sandbox: Sandbox,
    pub world: Arc<World>,
    pub journal: MemoryJournal,
    pub clock: Arc<VirtualClock>,
    /// How long a guest may wait in memory.
    pub residency: Duration,
    /// Whether a change that only waits rests.
    pub rests: bool,
    /// Lives that ended with a death.
    pub deaths: u32,
    /// Each life ends after so many records.
    pub dies_after_each: Option<usize>,
}

/// How a life ended.
pub enum Life {
    Died,
    Ended(ChangeState),
    Failed(DriveError),
}

impl Rig {
    pub fn new(sandbox: &Sandbox) -> Self {
        Self {
            sandbox: sandbox.clone(),
            world: World::new(),
            journal: MemoryJournal::new(),
            clock: Arc::new(VirtualClock::new()),
            residency: Duration::from_secs(1),
            rests: false,
            deaths: 0,
            dies_after_each: None,
        }
    }

    /// Opens a change and drives it through as many lives as it takes.
    pub async fn change(&mut self, change: &ChangeKey, plan: &Plan) -> ChangeState {
        let opened = Event::ChangeOpened { plan: Arc::new(plan.clone()), by: "matrix".to_owned() };
        loop {
            if let Some(records) = self.dies_after_each {
                self.journal.stop_after(self.journal.len() + records);
            }
            // A record that was lost with the machine was never acknowledged: whoever asked asks again.
            let life = match self.journal.records(change).await.expect("the journal reads") {
                records if records.is_empty() => {
                    let (log, _receipt) =
                        ChangeLog::create(self.shared_journal(), self.shared_clock(), change.clone(), opened.clone())
                            .expect("the first record opens a change");
                    self.live(Arc::new(log)).await
                }
                _ => self.live(Arc::new(self.recovered(change).await)).await,
            };
            match life {
                Life::Died => self.restart(),
                Life::Ended(state) => {
                    self.replay(change).await;
                    return state;
                }
                Life::Failed(error) => panic!("the drive failed: {error}"),
            }
        }
    }

    /// Whatever happened, each attempt does the same again on its journal alone, but for those that broke their replay already.
    pub async fn replay(&self, change: &ChangeKey) {
        let records = self.journal.records(change).await.expect("the journal reads");
        for replay in Replay::all(&records).expect("the records fit together") {
            let module = self.sandbox.module(&replay.module).await.expect("the module is there");
            let verdict = replay.run(&self.sandbox, &module).await.expect("there is room");
            let differs = matches!(verdict.behaviour, Behaviour::Differs(_)) || verdict.other_line.is_some();
            let is_broken = matches!(verdict.recorded, Some(Ending::Nondeterministic { .. }));
            assert_eq!(differs, is_broken, "{}, attempt {}: {verdict:?}", replay.step, replay.attempt);
        }
    }

    /// Opens a change and drives it until this Pintle dies, which it must.
    pub async fn die_once(&mut self, change: &ChangeKey, plan: &Plan) {
        let opened = Event::ChangeOpened { plan: Arc::new(plan.clone()), by: "matrix".to_owned() };
        let created = ChangeLog::create(self.shared_journal(), self.shared_clock(), change.clone(), opened);
        let (log, _receipt) = created.expect("the first record opens a change");
        match self.live(Arc::new(log)).await {
            Life::Died => self.restart(),
            Life::Ended(state) => panic!("the change ended {state}"),
            Life::Failed(error) => panic!("the drive failed: {error}"),
        }
    }

    /// Asks a verb of the change and drives it on.
    pub async fn ask(&mut self, change: &ChangeKey, verb: Verb) -> ChangeState {
        let log = self.recovered(change).await;
        let asked = log.record(Event::Asked { verb, by: "matrix".to_owned() }).expect("the verb fits");
        asked.await.expect("the verb is recorded");
        match self.live(Arc::new(log)).await {
            Life::Ended(state) => {
                self.replay(change).await;
                state
            }
            Life::Died => panic!("nobody was to die here"),
            Life::Failed(error) => panic!("the drive failed: {error}"),
        }
    }

    pub async fn history(&self, change: &ChangeKey) -> History {
        let records = self.journal.records(change).await.expect("the journal reads");
        History::of(&records).expect("the change is there").expect("its records fit together")
    }

    pub async fn recovered(&self, change: &ChangeKey) -> ChangeLog {
        ChangeLog::recover(self.shared_journal(), self.shared_clock(), change).await.expect("the change recovers")
    }

    pub fn shared_journal(&self) -> Arc<dyn Journal> {
        Arc::new(self.journal.clone())
    }

    pub fn shared_clock(&self) -> Arc<dyn Clock> {
        Arc::clone(&self.clock) as Arc<dyn Clock>
    }

    pub async fn live(&self, log: Arc<ChangeLog>) -> Life {
        let platform = Arc::new(Simulated::new(Arc::clone(&self.world)));
        let driver = Driver {
            platform: platform.clone(),
            sandbox: self.sandbox.clone(),
            residency: self.residency,
            intents: Intents::Recorded,
        };
        let drive = async { if self.rests { driver.tend(log).await } else { driver.drive(log).await } };
        tokio::select! {
            biased;
            () = self.journal.died() => Life::Died,
            () = platform.died() => Life::Died,
            ended = drive => match ended {
                Ok(state) => Life::Ended(state),
                Err(error) => Life::Failed(error),
            },
        }
    }

    pub fn restart(&mut self) {
        self.deaths += 1;
        assert!(self.deaths < 200, "the change does not come to an end");
        self.journal = self.journal.survivors();
    }
}
