//! Records of changes as tests need them.

use std::sync::Arc;

use pintle_lifecycle::call::{Answer, Bytes, Call};
use pintle_lifecycle::ending::{ChangeState, Ending};
use pintle_lifecycle::ids::{ChangeKey, ReleaseKey, StepId};
use pintle_lifecycle::plan::Plan;
use pintle_lifecycle::record::{Event, FORMAT, Level, Record, StepKind, Verb};
use pintle_lifecycle::stamp::Stamp;
use serde_json::json;

/// The release of tenant `acme` with that name.
pub fn release(name: &str) -> ReleaseKey {
    ReleaseKey::new("acme", name).unwrap()
}

/// A change whose records are made one after another.
pub struct Change {
    pub key: ChangeKey,
    seq: u64,
    lines: u32,
}

impl Change {
    pub fn new(release_name: &str, number: u64) -> Self {
        Self { key: release(release_name).change(number), seq: 0, lines: 0 }
    }

    /// Goes on with a change that has `seq` records.
    pub fn resume(key: ChangeKey, seq: u64) -> Self {
        Self { key, seq, lines: 0 }
    }

    pub fn record(&mut self, event: Event) -> Record {
        let seq = self.seq;
        self.seq += 1;
        let at = Stamp { wall: 1_767_225_600_000 + self.key.number * 1_000 + seq, up: 1_000 + seq, boot: 1 };
        Record { v: FORMAT, change: self.key.clone(), seq, at, event }
    }

    pub fn opened(&mut self) -> Record {
        let plan = Arc::new(plan(&self.key));
        self.record(Event::ChangeOpened { plan, by: "ada".to_owned() })
    }

    pub fn started(&mut self) -> Record {
        let (step, title) = (StepId::root("setup"), "Run the setup".to_owned());
        self.record(Event::StepStarted { step, attempt: 1, parent: None, kind: StepKind::Action, title, hook: None })
    }

    pub fn log(&mut self, message: &str) -> Record {
        let (step, line, message) = (StepId::root("setup"), Some(self.lines), message.to_owned());
        self.lines += 1;
        self.record(Event::StepLog { step, attempt: 1, line, level: Level::Info, message, fields: Vec::new() })
    }

    /// Puts a value into the state of the release, as call `ordinal`.
    pub fn put(&mut self, ordinal: u32, key: &str, value: &[u8]) -> Record {
        self.call(ordinal, Call::StatePut { key: key.to_owned(), value: Bytes(value.to_vec()) })
    }

    pub fn delete(&mut self, ordinal: u32, key: &str) -> Record {
        self.call(ordinal, Call::StateDelete { key: key.to_owned() })
    }

    fn call(&mut self, ordinal: u32, call: Call) -> Record {
        let (step, outcome) = (StepId::root("setup"), Ok(Answer::Nothing));
        self.record(Event::CallOutcome { step, attempt: 1, ordinal, call: Some(call), outcome, note: None })
    }

    pub fn ended(&mut self) -> Record {
        let step = StepId::root("setup");
        self.record(Event::StepFinished { step, attempt: 1, ending: Ending::succeeded() })
    }

    pub fn stuck(&mut self, question: &str) -> Record {
        self.record(Event::ChangeStuck { step: StepId::root("setup"), question: question.to_owned() })
    }

    pub fn asked(&mut self, verb: Verb) -> Record {
        self.record(Event::Asked { verb, by: "ada".to_owned() })
    }

    pub fn finished(&mut self, state: ChangeState) -> Record {
        self.record(Event::ChangeFinished { state, message: String::new() })
    }

    /// A whole short change: opened, a step with a log line and a value, finished.
    pub fn whole(release_name: &str, number: u64) -> Vec<Record> {
        let mut change = Self::new(release_name, number);
        vec![
            change.opened(),
            change.started(),
            change.log("looking around"),
            change.put(0, "seen", &[1, 2, 3]),
            change.ended(),
            change.finished(ChangeState::Succeeded),
        ]
    }
}

/// A plan with as little in it as is allowed. Read from JSON, so that new optional fields change nothing here.
pub fn plan(change: &ChangeKey) -> Plan {
    let name = &change.release.name;
    serde_json::from_value(json!({
        "kind": if change.number == 1 { "setup" } else { "upgrade" },
        "target": {
            "release": change.release, "uid": format!("00000000{name}"), "namespace": "shop", "cluster": "local",
            "images": "/srv/images",
        },
        "generation": change.number,
        "fromVersion": null,
        "toVersion": format!("1.{}.0", change.number),
        "driver": {"name": "shop", "version": "1.0.0"},
        "components": [],
        "render": {"digest": "d".repeat(64), "generation": change.number, "version": "1.0.0", "objects": []},
        "former": null,
        "phases": [],
        "onDelete": [],
        "permissions": {},
        "limits": {},
        "document": {"kind": "Release"},
        "reason": "a test asked for it",
    }))
    .unwrap()
}
