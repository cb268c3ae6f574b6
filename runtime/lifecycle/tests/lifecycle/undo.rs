//! Taking a change back: what is undone, in which order, what stands in the way, and what a person can do about it.

use std::collections::BTreeMap;

use pintle_lifecycle::call::{Answer, Call, JobResult, JobSpec};
use pintle_lifecycle::ending::{ChangeState, Ending};
use pintle_lifecycle::hook::{Hook, HookPhase, HookWork};
use pintle_lifecycle::plan::{OnFailure, Plan};
use pintle_lifecycle::record::{Event, PreImage, Verb};
use pintle_lifecycle::undo::{DerivedCall, Undoing, of};
use serde_json::{Value, json};

use crate::decide::upgrade_plan;
use crate::decide_hooks::{hook, plain};
use crate::story::Story;

const UPGRADE: &str = "upgrade-core/upgrade";

/// The upgrade, whose action has one attempt and is taken back when it fails.
fn undoing(change: impl FnOnce(&mut pintle_lifecycle::plan::ActionPlan)) -> Plan {
    let mut plan = upgrade_plan();
    let pintle_lifecycle::plan::Node::Mode(mode) = &mut plan.phases[0].nodes[0] else { panic!() };
    let action = &mut mode.actions[0];
    action.on_failure = OnFailure::Undo;
    action.retry.attempts = 1;
    change(action);
    plan
}

fn replicas(component: &str, count: u32) -> BTreeMap<String, u32> {
    BTreeMap::from([(component.to_owned(), count)])
}

fn names(component: &str) -> Vec<String> {
    vec![component.to_owned()]
}

impl Story {
    /// A call of the action with what its intent found, and its answer.
    fn made(&mut self, call: Call, pre: PreImage, answer: Answer) {
        let step = pintle_lifecycle::ids::StepId::root(UPGRADE);
        let attempt = self.history.step(&step).unwrap().attempt_number();
        let ordinal = self.history.attempt(&step, attempt).unwrap().calls.len().try_into().unwrap();
        self.record(Event::CallIntent { step, attempt, ordinal, call, key: format!("key-{ordinal}"), pre });
        self.outcome(UPGRADE, Ok(answer), None);
    }

    fn stop_worker(&mut self) {
        let pre = PreImage { replicas: replicas("task-worker", 3), ..PreImage::default() };
        let call = Call::Stop { components: names("task-worker") };
        self.made(call, pre, Answer::Stopped { former: replicas("task-worker", 3) });
    }

    fn start_worker(&mut self) {
        let pre = PreImage { replicas: replicas("task-worker", 3), ..PreImage::default() };
        let call = Call::Start { components: names("task-worker") };
        self.made(call, pre, Answer::Started { replicas: replicas("task-worker", 3) });
    }

    fn set_version(&mut self) {
        self.intent(UPGRADE, Call::SetVersion { target: "1.1.0".into() });
        let ordinal = self.history.attempt(&pintle_lifecycle::ids::StepId::root(UPGRADE), 1).unwrap().calls.len() - 1;
        self.go();
        self.apply(&format!("{UPGRADE}/1.{ordinal}/apply"));
        self.outcome(UPGRADE, Ok(Answer::Synced { changed: true }), None);
    }
}

#[test]
fn the_host_derives_the_calls_that_take_an_action_back_newest_first() {
    let mut story = Story::of(&undoing(|_| {}));
    story.go();
    story.stop_worker();
    story.set_version();
    story.start_worker();
    story.fail(UPGRADE);
    assert_eq!(
        story.go(),
        [
            "finish upgrade-core 1 Failed: no luck",
            "undo: upgrade: Failed: no luck",
            "start upgrade-core/upgrade/undo 1",
            "run upgrade-core/upgrade/undo 1: undo"
        ]
    );
    let step = pintle_lifecycle::ids::StepId::root(UPGRADE);
    let call = |call, left| DerivedCall { call, left };
    let derived = vec![
        call(Call::Stop { components: names("task-worker") }, BTreeMap::from([("task-worker".to_owned(), (3, 0))])),
        call(Call::Restore, BTreeMap::new()),
        call(Call::Start { components: names("task-worker") }, BTreeMap::from([("task-worker".to_owned(), (0, 3))])),
    ];
    assert_eq!(of(&story.history, &step), Some(Ok(Undoing::Derived(derived))));
    // The way back applies what was there, without hooks, under its own call.
    let undo = format!("{UPGRADE}/undo");
    story.intent(&undo, Call::Restore);
    assert_eq!(
        story.go(),
        [
            format!("start {undo}/1.0/apply 1"),
            format!("run {undo} 1: undo"),
            format!("run {undo}/1.0/apply 1: apply 1.0.0")
        ]
    );
    let former = story.history.plan.former.as_ref().unwrap().reference.clone();
    story.end(&format!("{undo}/1.0/apply"), Ending::Succeeded { applied: Some(former) });
    story.outcome(&undo, Ok(Answer::Synced { changed: true }), None);
    story.succeed(&undo);
    assert_eq!(story.go(), ["close Undone upgrade: Failed: no luck"]);
    assert_eq!(story.release.as_ref().unwrap().applied.as_ref().unwrap().version, "1.0.0");
}

#[test]
fn the_guests_own_undo_gets_all_effects_newest_first() {
    let mut story = Story::of(&undoing(|action| action.has_undo = true));
    story.go();
    story.stop_worker();
    let result = JobResult { id: "j".into(), succeeded: true, ..JobResult::default() };
    story.made(Call::JobRun { spec: JobSpec::default() }, PreImage::default(), Answer::Job { result });
    story.fail(UPGRADE);
    story.go();
    let Some(Ok(Undoing::Guest { effects_json })) = of(&story.history, &pintle_lifecycle::ids::StepId::root(UPGRADE))
    else {
        panic!()
    };
    let effects: Value = serde_json::from_str(&effects_json).unwrap();
    let calls: Vec<&Value> = effects.as_array().unwrap().iter().map(|effect| &effect["call"]["name"]).collect();
    assert_eq!(calls, [&json!("jobs.run"), &json!("components.stop")]);
    assert_eq!(effects[1]["found"], json!({"replicas": {"task-worker": 3}}));
    assert_eq!(effects[1]["key"], "key-0");
}

#[test]
fn what_nobody_can_derive_needs_a_person_before_anything_is_undone() {
    let mut story = Story::of(&undoing(|_| {}));
    story.go();
    story.stop_worker();
    let spec = JobSpec { command: vec!["migrate".into()], ..JobSpec::default() };
    let result = JobResult { id: "j".into(), succeeded: true, ..JobResult::default() };
    story.made(Call::JobRun { spec }, PreImage::default(), Answer::Job { result });
    story.fail(UPGRADE);
    let told = story.go();
    let question = told.last().unwrap();
    assert!(
        question
            .starts_with(&format!("stuck {UPGRADE}/undo: the change cannot be taken back: upgrade: nothing says how")),
        "{question}"
    );
    assert!(question.contains("`Run the Job `migrate``"), "{question}");
    assert_eq!(story.history.state(), ChangeState::Stuck);
    // A person lets it be.
    story.ask(Verb::Skip);
    assert_eq!(story.go(), ["close Undone upgrade: Failed: no luck"]);
}

#[test]
fn after_a_pivot_a_change_only_goes_forward() {
    let pivot = Hook { pivot: true, ..hook(HookPhase::PreSync, "migrate") };
    let undo = Hook { on_failure: OnFailure::Undo, ..hook(HookPhase::PostSync, "smoke") };
    for (passes, end) in [
        (
            true,
            "close Failed Run the postSync hook smoke: Failed: no luck; it is not taken back: after `Run the preSync hook \
                migrate` a change only goes forward",
        ),
        (false, "undo: Run the postSync hook smoke: Failed: no luck"),
    ] {
        let mut story = Story::of(&plain(vec![pivot.clone(), undo.clone()]));
        story.go();
        if passes {
            story.succeed("sync/pre-sync/migrate");
        } else {
            story.fail("sync/pre-sync/migrate");
        }
        story.go();
        story.apply("sync/apply");
        story.go();
        story.fail("sync/post-sync/smoke");
        assert_eq!(story.go()[1], end);
    }
}

#[test]
fn a_sync_by_itself_goes_back_and_objects_of_hooks_go() {
    let objects = HookWork::Objects { objects: Vec::new(), ready_when: None };
    let settings = Hook { work: objects, ..hook(HookPhase::PreSync, "settings") };
    let smoke = Hook { on_failure: OnFailure::Undo, ..hook(HookPhase::PostSync, "smoke") };
    let mut story = Story::of(&plain(vec![settings, smoke]));
    story.go();
    let step = pintle_lifecycle::ids::StepId::root("sync/pre-sync/settings");
    story.record(Event::ObjectsFound { step, attempt: 1, found: Vec::new() });
    story.succeed("sync/pre-sync/settings");
    story.go();
    story.apply("sync/apply");
    story.go();
    story.end(
        "sync/post-sync/smoke",
        Ending::TimedOut { message: "late".into(), output: pintle_lifecycle::call::Output::default() },
    );
    assert_eq!(
        story.go()[1..],
        ["undo: Run the postSync hook smoke: TimedOut: late", "start sync/apply/undo 1", "run sync/apply/undo 1: undo"]
    );
    // It was a setup: before it there was nothing.
    story.intent("sync/apply/undo", Call::Restore);
    assert_eq!(
        story.go(),
        [
            "start sync/apply/undo/1.0/remove 1",
            "run sync/apply/undo 1: undo",
            "run sync/apply/undo/1.0/remove 1: remove"
        ]
    );
    story.succeed("sync/apply/undo/1.0/remove");
    story.outcome("sync/apply/undo", Ok(Answer::Synced { changed: true }), None);
    story.succeed("sync/apply/undo");
    assert_eq!(story.go(), ["start sync/pre-sync/settings/undo 1", "run sync/pre-sync/settings/undo 1: undo"]);
    story.succeed("sync/pre-sync/settings/undo");
    assert_eq!(story.go(), ["close Undone Run the postSync hook smoke: TimedOut: late"]);
    assert_eq!(story.change.state, ChangeState::Undone);
    let release = story.release.as_ref().unwrap();
    assert_eq!((release.applied.as_ref(), release.revision), (None, 0), "nothing is applied any more");
    assert_eq!(story.history.applied, None);
}

#[test]
fn a_person_asks_for_an_undo_while_it_runs_or_after_it_failed() {
    let mut story = Story::of(&undoing(|_| {}));
    story.go();
    story.stop_worker();
    story.ask(Verb::Undo);
    // What runs is stopped first.
    assert_eq!(
        story.go(),
        [
            "stop upgrade-core/upgrade 1",
            "finish upgrade-core 1 Cancelled",
            "start upgrade-core/upgrade/undo 1",
            "run upgrade-core/upgrade/undo 1: undo"
        ]
    );
    // An undo that fails needs a person, who may have it tried again.
    story.fail("upgrade-core/upgrade/undo");
    let told = story.go();
    assert!(told[0].starts_with("stuck upgrade-core/upgrade/undo: Undo: upgrade: Failed: no luck."), "{told:?}");
    story.ask(Verb::Retry);
    assert_eq!(story.go(), ["start upgrade-core/upgrade/undo 2", "run upgrade-core/upgrade/undo 2: undo"]);
    story.succeed("upgrade-core/upgrade/undo");
    assert_eq!(story.go(), ["close Undone a person asked for it"]);

    let mut story = Story::of(&undoing(|action| action.on_failure = OnFailure::Fail));
    story.go();
    story.stop_worker();
    story.fail(UPGRADE);
    story.go();
    assert_eq!(story.history.state(), ChangeState::Failed);
    story.ask(Verb::Undo);
    assert!(story.release.as_ref().unwrap().open.is_some(), "the release is held again");
    assert_eq!(story.go(), ["start upgrade-core/upgrade/undo 1", "run upgrade-core/upgrade/undo 1: undo"]);
    // The undo itself can be cancelled.
    story.ask(Verb::Cancel);
    assert_eq!(story.go(), ["stop upgrade-core/upgrade/undo 1", "close Cancelled"]);
}

#[test]
fn a_skip_goes_on_after_the_step_that_failed() {
    let mut story = Story::of(&undoing(|action| action.on_failure = OnFailure::Fail));
    story.go();
    story.fail(UPGRADE);
    story.go();
    story.ask(Verb::Skip);
    let told = story.go();
    assert!(told[0].starts_with("start upgrade-core/sync/apply 1"), "{told:?}");
    story.apply("upgrade-core/sync/apply");
    assert_eq!(story.go()[0], "finish upgrade-core 1 Succeeded");

    let failing = Hook { on_failure: OnFailure::Fail, ..hook(HookPhase::PreSync, "a") };
    let mut story = Story::of(&plain(vec![failing]));
    story.go();
    story.fail("sync/pre-sync/a");
    story.go();
    story.ask(Verb::Skip);
    assert_eq!(story.go()[0], "start sync/apply 1");
    story.apply("sync/apply");
    assert_eq!(story.go(), ["finish sync 1 Succeeded", "close Succeeded"]);
    // A step that waits for a person counts as skipped.
    let mut story = Story::of(&plain(vec![hook(HookPhase::PreSync, "a")]));
    story.go();
    let step = pintle_lifecycle::ids::StepId::root("sync/pre-sync/a");
    story.record(Event::ChangeStuck { step, question: "did it run?".into() });
    story.ask(Verb::Skip);
    assert_eq!(story.go()[0], "finish sync/pre-sync/a 1 Skipped: a person asked for it");
}

#[test]
fn objects_that_a_skipped_hook_did_not_put_are_left_alone() {
    let objects = HookWork::Objects { objects: Vec::new(), ready_when: None };
    let skip = Some("`if` is false".to_owned());
    let settings = Hook { work: objects, skip, ..hook(HookPhase::PreSync, "settings") };
    let smoke = Hook { on_failure: OnFailure::Undo, ..hook(HookPhase::PostSync, "smoke") };
    let mut story = Story::of(&plain(vec![settings, smoke]));
    story.go();
    story.apply("sync/apply");
    story.go();
    story.fail("sync/post-sync/smoke");
    let told = story.go();
    assert_eq!(told.last().unwrap(), "run sync/apply/undo 1: undo");
    story.succeed("sync/apply/undo");
    assert_eq!(story.go()[0], "close Undone Run the postSync hook smoke: Failed: no luck");
}
