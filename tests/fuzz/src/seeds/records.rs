//! Records of each kind, with each call, answer and ending, in one change and one by one.

use serde_json::{Value, json};

use crate::documents;
use crate::record::LINED_UP;

/// Changes as lines, and their lines.
pub fn all() -> Vec<(String, Vec<u8>)> {
    let [setup, upgrade] = documents::shop_changes();
    let mut seeds =
        vec![("shop-setup".to_owned(), seed(LINED_UP, &setup)), ("shop-upgrade".to_owned(), seed(0, &upgrade))];
    let opened = upgrade[0].clone();
    let mut each = vec![opened.clone()];
    each.extend(events().into_iter().map(|event| record(&event)));
    seeds.push(("every-event".to_owned(), seed(LINED_UP, &each)));
    for (name, calls) in [("calls-that-look", looks()), ("calls-with-effects", effects())] {
        let mut lines = vec![opened.clone(), record(&started("upgrade-core/upgrade"))];
        for (ordinal, (call, answer)) in (0..).zip(calls) {
            lines.extend(made(ordinal, &call, &answer, name == "calls-with-effects"));
        }
        seeds.push((name.to_owned(), seed(LINED_UP, &lines)));
    }
    let odd = [
        json!({"is": "stepStarted", "step": "a", "attempt": 1, "kind": "action", "title": "in nothing"}),
        made_event("a", 0, &json!({"name": "releases.sync"})),
        json!({"is": "stepStarted", "step": "a/1.0", "attempt": 1, "parent": "a/1.0", "kind": "apply", "title": "a call"}),
        json!({"is": "stepStarted", "step": "d", "attempt": 1, "parent": "d", "kind": "action", "title": "in itself"}),
        json!({"is": "stepStarted", "step": "b", "attempt": 1, "parent": "c", "kind": "sync", "title": "in a later one"}),
        json!({"is": "stepStarted", "step": "c", "attempt": 1, "parent": "b", "kind": "remove", "title": "in turn"}),
    ];
    let lines: Vec<String> = std::iter::once(opened).chain(odd.iter().map(record)).collect();
    seeds.push(("nested-in-turn".to_owned(), seed(LINED_UP, &lines)));
    seeds
}

fn seed(how: u8, lines: &[String]) -> Vec<u8> {
    [&[how], lines.join("\n").as_bytes()].concat()
}

fn record(event: &Value) -> String {
    json!({"v": 1, "change": "acme/shop-2", "seq": 1, "at": {"wall": 1, "up": 2, "boot": 3}, "event": event})
        .to_string()
}

fn started(step: &str) -> Value {
    json!({"is": "stepStarted", "step": step, "attempt": 1, "parent": "upgrade-core", "kind": "action", "title": "t"})
}

fn made_event(step: &str, ordinal: u32, call: &Value) -> Value {
    json!({"is": "callIntent", "step": step, "attempt": 1, "ordinal": ordinal, "call": call, "key": "k"})
}

fn made(ordinal: u32, call: &Value, answer: &Value, has_intent: bool) -> Vec<String> {
    let step = "upgrade-core/upgrade";
    let mut outcome = json!({"is": "callOutcome", "step": step, "attempt": 1, "ordinal": ordinal, "outcome": answer});
    if has_intent {
        return vec![record(&made_event(step, ordinal, call)), record(&outcome)];
    }
    outcome["call"] = call.clone();
    outcome["note"] = json!("a note");
    vec![record(&outcome)]
}

fn looks() -> Vec<(Value, Value)> {
    let ok = |answer: Value| json!({"Ok": answer});
    let error = |code: &str| json!({"Err": {"code": code, "message": "no"}});
    vec![
        (json!({"name": "components.images", "component": "server"}), ok(json!({"is": "images", "images": ["a:1"]}))),
        (
            json!({"name": "components.status", "component": "server"}),
            ok(json!({"is": "status", "desired": 1, "running": 1, "ready": 0})),
        ),
        (json!({"name": "components.wait-ready", "components": ["server"], "timeoutMs": 5}), error("timed-out")),
        (
            json!({"name": "jobs.wait-any", "ids": ["j"]}),
            ok(json!({"is": "job", "result": {"id": "j", "succeeded": false, "reason": "exit 1"}})),
        ),
        (json!({"name": "durable.now"}), ok(json!({"is": "time", "ms": 5}))),
        (json!({"name": "durable.random", "len": 2}), ok(json!({"is": "random", "bytes": "00ff"}))),
        (json!({"name": "state.get", "key": "k"}), ok(json!({"is": "value", "value": "61"}))),
        (json!({"name": "state.get", "key": "k"}), ok(json!({"is": "value", "value": null}))),
        (json!({"name": "state.put", "key": "k", "value": "0a"}), ok(json!({"is": "nothing"}))),
        (json!({"name": "state.delete", "key": "k"}), error("denied")),
    ]
}

fn effects() -> Vec<(Value, Value)> {
    let ok = |answer: Value| json!({"Ok": answer});
    let spec =
        json!({"image": "a:1", "command": ["x"], "env": [["A", "1"]], "envFromComponent": "server", "retries": 1});
    let output = json!({"text": "one\ntwo", "cut": true});
    vec![
        (
            json!({"name": "components.stop", "components": ["task-worker"]}),
            ok(json!({"is": "stopped", "former": {"task-worker": 1}})),
        ),
        (json!({"name": "durable.sleep", "ms": 5}), ok(json!({"is": "nothing"}))),
        (
            json!({"name": "jobs.run", "spec": spec}),
            ok(
                json!({"is": "job", "result": {"id": "j", "succeeded": false, "exitCode": 1, "output": output, "reason": "r"}}),
            ),
        ),
        (json!({"name": "jobs.start", "spec": spec}), ok(json!({"is": "job-started", "id": "j2"}))),
        (json!({"name": "jobs.cancel", "id": "j2"}), json!({"Err": {"code": "not-found", "message": "gone"}})),
        (json!({"name": "releases.set-version", "target": "1.1.0"}), ok(json!({"is": "synced", "changed": true}))),
        (
            json!({"name": "components.start", "components": ["task-worker"]}),
            ok(json!({"is": "started", "replicas": {"task-worker": 1}})),
        ),
    ]
}

/// One of each kind that the changes of the shop have not, and each ending.
fn events() -> Vec<Value> {
    let step = "upgrade-core/upgrade";
    let endings = [
        json!({"is": "failed", "message": "m", "output": {"text": "t"}}),
        json!({"is": "trapped", "kind": "panic", "message": "m", "backtrace": ["f"]}),
        json!({"is": "outOfMemory", "limitBytes": 1}),
        json!({"is": "cpuBudget", "limitMs": 1}),
        json!({"is": "timedOut", "message": "m"}),
        json!({"is": "denied", "message": "m"}),
        json!({"is": "callLimit", "limit": 1}),
        json!({"is": "nondeterministic", "expected": "a", "got": "b"}),
        json!({"is": "cancelled"}),
        json!({"is": "superseded"}),
        json!({"is": "skipped", "reason": "r"}),
    ];
    let mut events = vec![started(step)];
    let line = json!({"is": "stepLog", "step": step, "attempt": 1, "line": 0, "level": "warn", "message": "m", "fields": [["a", "b"]]});
    events.push(line);
    for (number, ending) in (1..).zip(endings) {
        events.push(json!({"is": "stepFinished", "step": step, "attempt": number, "ending": ending}));
        events.push(json!({"is": "stepStarted", "step": step, "attempt": number + 1, "kind": "action", "title": "t"}));
    }
    events.push(json!({"is": "changeStuck", "step": step, "question": "q"}));
    events.push(json!({"is": "asked", "verb": "cancel", "by": "ada"}));
    events.push(json!({"is": "changeFinished", "state": "Failed", "message": "m"}));
    events.push(json!({"is": "asked", "verb": "retry", "by": "ada"}));
    events
}
