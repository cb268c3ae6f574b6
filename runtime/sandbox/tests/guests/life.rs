//! A change with one action of the hostile guest, its journal, and what may become of it.

use std::sync::Arc;
use std::time::Duration;

use pintle_journal::MemoryJournal;
use pintle_journal::change_log::ChangeLog;
use pintle_journal::clock::VirtualClock;
use pintle_lifecycle::ending::Ending;
use pintle_lifecycle::ids::{ReleaseKey, StepId};
use pintle_lifecycle::plan::Plan;
use pintle_lifecycle::record::{Event, Record, StepKind};
use pintle_platform::simulated::{Simulated, World};
use pintle_sandbox::{Action, End, Intents};
use serde_json::{Value, json};

use crate::rig::Rig;

/// A change whose one action is this action of the hostile guest.
pub struct Life {
    journal: MemoryJournal,
    pub step: StepId,
}

impl Life {
    pub async fn of(action: &str, args: Value) -> Self {
        let journal = MemoryJournal::new();
        let step = StepId::root("core").child("act");
        let plan = plan(&Rig::shared().await.module.digest, action, &args, &step);
        let change = ReleaseKey::new("default", "shop").unwrap().change(1);
        let opened = Event::ChangeOpened { plan: Arc::new(plan), by: "test".to_owned() };
        let shared = Arc::new(journal.clone());
        let (log, _) = ChangeLog::create(shared, Arc::new(VirtualClock::new()), change, opened).unwrap();
        for (step, parent, kind) in
            [(StepId::root("core"), None, StepKind::Mode), (step.clone(), Some(StepId::root("core")), StepKind::Action)]
        {
            let title = step.to_string();
            drop(log.record(Event::StepStarted { step, attempt: 1, parent, kind, title, hook: None }).unwrap());
        }
        Self { journal, step }
    }

    /// Runs the action on what the journal has: the first time, or after a death.
    pub async fn run(&self) -> Ending {
        self.run_step(&self.step).await
    }

    /// Runs a step of the change.
    pub async fn run_step(&self, step: &StepId) -> Ending {
        let platform = Arc::new(Simulated::new(World::new()));
        let sandbox = Rig::shared().await.sandbox.clone();
        let residency = Duration::from_secs(1);
        let log = Arc::new(self.log().await);
        let action = Action::new(sandbox, log, platform, step, 1, residency, Intents::Recorded).unwrap();
        match action.run().await {
            End::Ended(ending) => ending,
            other => panic!("the attempt did not end: {other:?}"),
        }
    }

    /// The same life after a death that only the first `calls` calls survived, with other arguments if there are any.
    pub fn after_death(&self, calls: usize, args: Option<Value>) -> Self {
        let mut left = calls;
        let survive = |record: &Record| match &record.event {
            Event::CallOutcome { .. } | Event::CallIntent { .. } if left == 0 => false,
            Event::CallOutcome { .. } => {
                left -= 1;
                true
            }
            _ => true,
        };
        let mut records = self.records();
        let kept = records.iter().map(survive).take_while(|kept| *kept).count();
        records.truncate(kept);
        let life = Self { journal: MemoryJournal::of(records).unwrap(), step: self.step.clone() };
        match args {
            Some(args) => life.planned(|plan| plan["phases"][0]["nodes"][0]["actions"][0]["args"] = args),
            None => life,
        }
    }

    /// The same life with another plan.
    pub fn planned(&self, edit: impl FnOnce(&mut Value)) -> Self {
        let mut records = self.records();
        if let Event::ChangeOpened { plan, .. } = &mut records[0].event {
            let mut json = serde_json::to_value(&**plan).unwrap();
            edit(&mut json);
            *plan = Arc::new(serde_json::from_value(json).unwrap());
        }
        Self { journal: MemoryJournal::of(records).unwrap(), step: self.step.clone() }
    }

    /// Goes on with these events.
    pub async fn and(&self, events: impl IntoIterator<Item = Event>) {
        let log = self.log().await;
        for event in events {
            log.record(event).unwrap().await.unwrap();
        }
    }

    /// The step ended so.
    pub async fn ended(self, ending: Ending) -> Self {
        self.and([Event::StepFinished { step: self.step.clone(), attempt: 1, ending }]).await;
        self
    }

    pub fn records(&self) -> Vec<Record> {
        self.journal.stored_records().iter().map(|record| (**record).clone()).collect()
    }

    async fn log(&self) -> ChangeLog {
        let change = ReleaseKey::new("default", "shop").unwrap().change(1);
        ChangeLog::recover(Arc::new(self.journal.clone()), Arc::new(VirtualClock::new()), &change).await.unwrap()
    }

    /// The calls that the journal has, as they are shown, with their answers.
    pub fn calls(&self) -> Vec<String> {
        let records = self.journal.stored_records();
        let calls = records.iter().filter_map(|record| match &record.event {
            Event::CallOutcome { call, outcome, .. } => Some(format!(
                "{} = {outcome:?}",
                call.as_ref().map(pintle_lifecycle::call::Call::shown).unwrap_or_default()
            )),
            _ => None,
        });
        calls.collect()
    }
}

fn plan(module: &str, action: &str, args: &Value, step: &StepId) -> Plan {
    let render = json!({"digest": "d", "generation": 1, "version": "1.0.0", "objects": []});
    let action = json!({
        "step": step, "name": action, "module": module, "export": action, "wit": "0.1.0", "onFailure": "Fail",
        "retry": {"attempts": 1, "backoffMs": 0}, "args": args,
    });
    let mode = json!({
        "is": "mode", "step": "core", "title": "t", "starter": "s", "syncs": false, "actions": [action],
    });
    let plan = json!({
        "kind": "setup",
        "target": {
            "release": ReleaseKey::new("default", "shop").unwrap(), "uid": "00000000000000aa", "namespace": "default",
            "cluster": "simulated", "images": "/images",
        },
        "generation": 1, "toVersion": "1.0.0", "render": render, "components": [], "permissions": {"state": true},
        "limits": {"calls": 500}, "values": null, "document": null, "reason": "test", "onDelete": [],
        "phases": [{"name": "setup", "nodes": [mode]}],
    });
    serde_json::from_value(plan).unwrap_or_else(|error| panic!("{error}"))
}
