//! Actions with a journal behind them: what a replay must be like the run that it repeats, and the bounds that the gate keeps.

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
struct Life {
    journal: MemoryJournal,
    step: StepId,
}

impl Life {
    async fn of(action: &str, args: Value) -> Self {
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
    async fn run(&self) -> Ending {
        let change = ReleaseKey::new("default", "shop").unwrap().change(1);
        let clock = Arc::new(VirtualClock::new());
        let log = ChangeLog::recover(Arc::new(self.journal.clone()), clock, &change).await.unwrap();
        let platform = Arc::new(Simulated::new(World::new()));
        let sandbox = Rig::shared().await.sandbox.clone();
        let residency = Duration::from_secs(1);
        let log = Arc::new(log);
        let action = Action::new(sandbox, log, platform, &self.step, 1, residency, Intents::Recorded).unwrap();
        match action.run().await {
            End::Ended(ending) => ending,
            other => panic!("the attempt did not end: {other:?}"),
        }
    }

    /// The same life after a death that only the first `calls` calls survived, with other arguments if there are any.
    fn after_death(&self, calls: usize, args: Option<Value>) -> Self {
        let mut left = calls;
        let records = self.journal.stored_records();
        let survive = |record: &Record| match &record.event {
            Event::CallOutcome { .. } | Event::CallIntent { .. } if left == 0 => false,
            Event::CallOutcome { .. } => {
                left -= 1;
                true
            }
            _ => true,
        };
        let mut records: Vec<Record> = records.iter().map(|record| (**record).clone()).collect();
        let kept = records.iter().map(survive).take_while(|kept| *kept).count();
        records.truncate(kept);
        if let (Some(args), Event::ChangeOpened { plan, .. }) = (args, &mut records[0].event) {
            let mut json = serde_json::to_value(&**plan).unwrap();
            json["phases"][0]["nodes"][0]["actions"][0]["args"] = args;
            *plan = Arc::new(serde_json::from_value(json).unwrap());
        }
        Self { journal: MemoryJournal::of(records).unwrap(), step: self.step.clone() }
    }

    /// The calls that the journal has, as they are shown, with their answers.
    fn calls(&self) -> Vec<String> {
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

#[tokio::test]
async fn a_replay_that_makes_other_calls_is_told_wherever_they_differ() {
    let life = Life::of("as-told", json!(["a", "now", "b"])).await;
    assert_eq!(life.run().await, Ending::succeeded());
    assert_eq!(life.calls().len(), 3);
    for (name, args, expected, got) in [
        ("another call", json!(["a", "random", "b"]), "durable.now", "durable.random"),
        ("another argument", json!(["a", "now", "c"]), r#"state.put({"key":"b""#, r#"state.put({"key":"c""#),
        ("one more", json!(["a", "a", "now", "b"]), "durable.now", r#"state.put({"key":"a""#),
        ("one fewer", json!(["a", "b"]), "durable.now", r#"state.put({"key":"b""#),
        ("one fewer at the end", json!(["a", "now"]), r#"state.put({"key":"b""#, "the end of the action"),
        ("none", json!([]), r#"state.put({"key":"a""#, "the end of the action"),
    ] {
        let ending = life.after_death(3, Some(args)).run().await;
        let Ending::Nondeterministic { expected: wanted, got: made } = ending else { panic!("{name}: {ending}") };
        assert!(wanted.starts_with(expected) && made.starts_with(got), "{name}: wanted {wanted}, got {made}");
    }
    // More calls after all that were recorded are the action going on.
    let more = life.after_death(3, Some(json!(["a", "now", "b", "c"])));
    assert_eq!(more.run().await, Ending::succeeded());
    assert_eq!(more.calls().len(), 4);
}

#[tokio::test]
async fn time_and_chance_are_the_same_after_a_death_at_any_call() {
    let life = Life::of("draw", Value::Null).await;
    assert_eq!(life.run().await, Ending::succeeded());
    // What the guest drew is an argument of a call: the replay would be found out.
    let calls = life.calls();
    assert_eq!(calls.len(), 6, "{calls:?}");
    for survived in 0..=calls.len() {
        let again = life.after_death(survived, None);
        assert_eq!(again.run().await, Ending::succeeded(), "after {survived} calls");
        assert_eq!(again.calls()[..survived], calls[..survived], "after {survived} calls");
        let of_wasi = |calls: &[String]| calls[2].split("Ok").next().unwrap().to_owned();
        if survived >= 2 {
            assert_eq!(of_wasi(&again.calls()), of_wasi(&calls), "after {survived} calls");
        }
    }
}

#[tokio::test]
async fn a_million_calls_end_at_the_limit_and_no_more_are_kept() {
    let life = Life::of("ask-the-time", json!(1_000_000)).await;
    assert_eq!(life.run().await, Ending::CallLimit { limit: 500 });
    assert_eq!(life.calls().len(), 500);
    // And after a death in the middle.
    assert_eq!(life.after_death(250, None).run().await, Ending::CallLimit { limit: 500 });
}

#[tokio::test]
async fn a_call_without_a_grant_names_the_line_that_would_allow_it() {
    let life = Life::of("stop-worker", Value::Null).await;
    let ending = life.run().await;
    assert!(
        matches!(&ending, Ending::Denied { message } if message.contains("components: {stop: [task-worker]}")),
        "{ending}"
    );
    // The denial is recorded: a replay gets it again.
    assert_eq!(life.after_death(1, None).run().await, ending);
}
