//! `status.lifecycle`: what the records of hooks sum up to, with the names that are given.

use pintle_lifecycle::call::Output;
use pintle_lifecycle::ending::Ending;
use pintle_lifecycle::hook::{HookPhase, in_order};
use pintle_lifecycle::plan::{OnFailure, Plan};
use pintle_lifecycle::record::Verb;
use pintle_lifecycle::status::ConditionStatus;
use serde_json::{Value, json};

use crate::decide_hooks::{hook, plain};
use crate::story::Story;

fn entries(story: &Story) -> Value {
    let mut status = serde_json::to_value(&story.release.as_ref().unwrap().lifecycle).unwrap();
    for entries in status.as_object_mut().unwrap().values_mut() {
        for entry in entries.as_array_mut().unwrap() {
            let entry = entry.as_object_mut().unwrap();
            for stamp in ["startedAt", "finishedAt"] {
                if let Some(stamp) = entry.get_mut(stamp) {
                    *stamp = stamp["up"].take();
                }
            }
        }
    }
    status
}

fn sums(story: &Story) -> (ConditionStatus, String) {
    let view = story.release.as_ref().unwrap();
    (view.lifecycle.succeeded(), view.lifecycle.summary(view.generation))
}

#[test]
fn each_entry_shows_the_last_run_with_the_fields_as_given() {
    let pre = pintle_lifecycle::hook::Hook {
        on_failure: OnFailure::Fail,
        follow_up: Some(OnFailure::Fail),
        ..hook(HookPhase::PreSync, "migrate")
    };
    let mut story = Story::of(&plain(vec![pre]));
    story.go();
    let digest = &story.history.plan.render.reference.digest.clone();
    let name = entries(&story)["preSync"][0]["resourceName"].as_str().unwrap().to_owned();
    assert!(name.starts_with("presync-migrate-"), "{name}");
    let running = json!({
        "name": "migrate", "source": "release", "kind": "Job", "apiVersion": "batch/v1", "resourceNamespace": "default",
        "resourceName": name, "state": "Running", "renderRef": format!("sha256:{digest}"), "startedAt": 0, "attempt": 1,
        "change": "shop-1", "generation": 1, "followUp": "Fail"
    });
    assert_eq!(entries(&story)["preSync"][0], running);
    assert_eq!(sums(&story), (ConditionStatus::Unknown, "Running:preSync".into()));
    story.wait(5);
    story.end(
        "sync/pre-sync/migrate",
        Ending::Failed { message: "exit code 3".into(), output: Output::default(), exit_code: Some(3) },
    );
    let ended = entries(&story)["preSync"][0].clone();
    for (field, value) in [
        ("state", json!("Failed")),
        ("followUpAction", json!("Fail")),
        ("message", json!("exit code 3")),
        ("exitCode", json!(3)),
        ("finishedAt", json!(5)),
    ] {
        assert_eq!(ended[field], value, "{field}");
    }
    assert_eq!(sums(&story), (ConditionStatus::False, "Failed:preSync".into()));
    // The next attempt takes its place.
    story.go();
    story.ask(Verb::Retry);
    story.go();
    assert_eq!(entries(&story)["preSync"].as_array().unwrap().len(), 1);
    assert_eq!(entries(&story)["preSync"][0]["attempt"], 2);
    assert_ne!(entries(&story)["preSync"][0]["resourceName"], name.as_str());
    story.succeed("sync/pre-sync/migrate");
    let ended = entries(&story)["preSync"][0].clone();
    assert_eq!(
        (&ended["state"], &ended["exitCode"], &ended["followUpAction"]),
        (&json!("Succeeded"), &json!(0), &Value::Null)
    );
    assert_eq!(sums(&story), (ConditionStatus::True, "Completed:preSync".into()));
}

#[test]
fn a_failure_that_the_change_goes_on_after_counts_and_says_no_action() {
    let mut story = Story::of(&plain(vec![hook(HookPhase::PreSync, "a")]));
    story.go();
    story.end("sync/pre-sync/a", Ending::TimedOut { message: "not done after 5s".into(), output: Output::default() });
    let entry = &entries(&story)["preSync"][0];
    assert_eq!((&entry["state"], &entry["followUpAction"]), (&json!("TimedOut"), &Value::Null));
    assert_eq!(sums(&story), (ConditionStatus::False, "Failed:preSync".into()));
}

#[test]
fn an_entry_of_an_earlier_render_stays_and_is_not_summed_up_in_the_column() {
    let mut story = Story::of(&plain(vec![hook(HookPhase::PreSync, "a"), hook(HookPhase::PostSync, "b")]));
    story.go();
    story.fail("sync/pre-sync/a");
    story.go();
    story.apply("sync/apply");
    story.go();
    story.succeed("sync/post-sync/b");
    story.go();
    assert_eq!(sums(&story).1, "Failed:preSync");
    let next = plain(in_order(vec![hook(HookPhase::PostSync, "b")]));
    let mut story = Story::after(story.release, &Plan { generation: 2, ..next });
    assert_eq!(sums(&story), (ConditionStatus::False, "N/A".into()));
    story.go();
    story.apply("sync/apply");
    story.go();
    assert_eq!(sums(&story), (ConditionStatus::Unknown, "Running:postSync".into()));
    story.succeed("sync/post-sync/b");
    assert_eq!(sums(&story), (ConditionStatus::False, "Completed:postSync".into()));
    assert_eq!(entries(&story)["preSync"][0]["state"], "Failed");
}

#[test]
fn a_skipped_hook_is_not_in_the_status() {
    let skipped = pintle_lifecycle::hook::Hook { skip: Some("asked for".into()), ..hook(HookPhase::PreSync, "a") };
    let mut story = Story::of(&plain(vec![skipped]));
    story.go();
    assert_eq!(entries(&story), json!({}));
    assert_eq!(sums(&story), (ConditionStatus::True, "N/A".into()));
}
