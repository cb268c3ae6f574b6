//! What a change does next, history by history: the tables of `decide`.

use pintle_lifecycle::call::{Answer, Call};
use pintle_lifecycle::decide::{SyncProgress, decide, sync_progress};
use pintle_lifecycle::ending::{ChangeState, Ending};
use pintle_lifecycle::ids::StepId;
use pintle_lifecycle::plan::{Node, OnFailure, Plan, Stopped};
use pintle_lifecycle::record::{Event, Verb};

use crate::shop::Shop;
use crate::story::Story;
use crate::templates::deleted;

const UPGRADE: &str = "upgrade-core/upgrade";
const NESTED: &str = "upgrade-core/upgrade/1.0/apply";

pub fn setup_plan() -> Plan {
    Shop::new().planned()
}

/// From 1.0.0 to 1.1.0, by a core action with three attempts.
pub fn upgrade_plan() -> Plan {
    let shop = Shop::new().after(ChangeState::Succeeded);
    shop.edited(&[("  version: 1.0.0\n  comp", "  version: 1.1.0\n  comp")]).planned()
}

fn set_version() -> Call {
    Call::SetVersion { target: "1.1.0".into() }
}

/// The upgrade with its action running.
fn upgrading(plan: &Plan) -> Story {
    let mut story = Story::of(plan);
    assert_eq!(
        story.go(),
        ["start upgrade-core 1".to_owned(), format!("start {UPGRADE} 1"), format!("run {UPGRADE} 1: act"),]
    );
    story
}

#[test]
fn a_setup_runs_pre_sync_post() {
    let mut story = Story::of(&setup_plan());
    assert_eq!(story.go(), ["start setup-pre 1", "start setup-pre/pre-setup 1", "run setup-pre/pre-setup 1: act"]);
    story.succeed("setup-pre/pre-setup");
    assert_eq!(
        story.go(),
        ["finish setup-pre 1 Succeeded", "start sync 1", "start sync/apply 1", "run sync/apply 1: apply 1.0.0"]
    );
    story.apply("sync/apply");
    assert_eq!(
        story.go(),
        [
            "finish sync 1 Succeeded",
            "start setup-post 1",
            "start setup-post/post-setup 1",
            "run setup-post/post-setup 1: act"
        ]
    );
    story.succeed("setup-post/post-setup");
    assert_eq!(story.go(), ["finish setup-post 1 Succeeded", "close Succeeded"]);
    assert_eq!(story.history.state(), ChangeState::Succeeded);
    assert!(story.history.is_applied());
    assert_eq!(decide(&story.history), []);
}

#[test]
fn a_core_action_syncs_where_it_wants_and_the_sync_nests_in_its_call() {
    let mut story = upgrading(&upgrade_plan());
    story.intent(UPGRADE, set_version());
    assert_eq!(sync_progress(&story.history, &StepId::root(UPGRADE), 1, 0), SyncProgress::Going);
    assert_eq!(
        story.go(),
        [format!("start {NESTED} 1"), format!("run {UPGRADE} 1: act"), format!("run {NESTED} 1: apply 1.1.0"),]
    );
    story.apply(NESTED);
    assert_eq!(sync_progress(&story.history, &StepId::root(UPGRADE), 1, 0), SyncProgress::Done);
    assert_eq!(story.go(), [format!("run {UPGRADE} 1: act")]);
    story.outcome(UPGRADE, Ok(Answer::Synced { changed: true }), None);
    story.succeed(UPGRADE);
    let told = story.go();
    assert_eq!(told[0], "finish upgrade-core 1 Succeeded");
    assert!(told.iter().all(|line| !line.contains("sync")), "the render is applied: {told:?}");
}

#[test]
fn a_core_action_that_applies_nothing_is_followed_by_the_rest_of_the_sync() {
    let mut story = upgrading(&upgrade_plan());
    story.succeed(UPGRADE);
    assert_eq!(story.go(), ["start upgrade-core/sync/apply 1", "run upgrade-core/sync/apply 1: apply 1.1.0"]);
    story.apply("upgrade-core/sync/apply");
    assert_eq!(story.go()[0], "finish upgrade-core 1 Succeeded");
}

#[test]
fn a_sync_to_the_current_version_is_followed_by_the_rest_of_the_sync() {
    let mut story = upgrading(&upgrade_plan());
    story.intent(UPGRADE, Call::SetVersion { target: "1.0.0".into() });
    assert_eq!(story.go().last().unwrap(), &format!("run {NESTED} 1: apply 1.0.0"));
    let former = story.history.plan.former.clone().unwrap().reference;
    story.end(NESTED, Ending::Succeeded { applied: Some(former) });
    story.outcome(UPGRADE, Ok(Answer::Synced { changed: true }), None);
    story.succeed(UPGRADE);
    assert_eq!(story.go().last().unwrap(), "run upgrade-core/sync/apply 1: apply 1.1.0");
}

#[test]
fn a_failed_sync_fails_its_call_and_what_comes_after_is_the_actions_own() {
    let mut story = upgrading(&upgrade_plan());
    story.intent(UPGRADE, set_version());
    story.go();
    story.fail(NESTED);
    let progress = sync_progress(&story.history, &StepId::root(UPGRADE), 1, 0);
    assert_eq!(progress, SyncProgress::Failed(Ending::failed("no luck")));
    assert_eq!(story.go(), [format!("run {UPGRADE} 1: act")]);
}

#[test]
fn failures_are_retried_as_often_and_as_late_as_planned() {
    let mut story = upgrading(&upgrade_plan());
    story.wait(500);
    story.fail(UPGRADE);
    story.wait(10_000);
    assert_eq!(story.go(), [format!("start {UPGRADE} 2 10000 ms after 500"), format!("run {UPGRADE} 2: act")]);
    story.fail(UPGRADE);
    story.go();
    story.fail(UPGRADE);
    assert_eq!(story.go(), ["finish upgrade-core 1 Failed: no luck", "close Failed upgrade: Failed: no luck"]);
}

#[test]
fn endings_that_would_come_again_are_not_retried() {
    let endings = [
        Ending::Trapped { kind: "panic".into(), message: String::new(), backtrace: Vec::new() },
        Ending::Denied { message: "no".into() },
        Ending::Nondeterministic { expected: "a".into(), got: "b".into() },
        Ending::CallLimit { limit: 1 },
    ];
    for ending in endings {
        let mut story = upgrading(&upgrade_plan());
        story.end(UPGRADE, ending.clone());
        let told = story.go();
        assert_eq!(told.last().unwrap(), &format!("close Failed upgrade: {ending}"));
    }
}

#[test]
fn somebody_elses_move_supersedes_the_change() {
    let mut story = upgrading(&upgrade_plan());
    story.end(UPGRADE, Ending::Superseded);
    assert_eq!(story.go(), ["finish upgrade-core 1 Superseded", "close Superseded upgrade: Superseded"]);
}

#[test]
fn a_failure_that_the_plan_allows_lets_the_change_go_on() {
    let mut story = upgrading(&upgrade_plan());
    story.succeed(UPGRADE);
    story.go();
    story.apply("upgrade-core/sync/apply");
    story.go();
    story.fail("upgrade-post/check");
    assert_eq!(story.go(), ["finish upgrade-post 1 Succeeded", "close Succeeded"]);
}

#[test]
fn the_reason_of_a_change_is_the_step_that_made_it_fail() {
    // An allowed failure comes first, in the same mode.
    let mut plan = upgrade_plan();
    let [Node::Mode(mode)] = plan.phases[0].nodes.as_mut_slice() else { panic!("no mode") };
    let mut first = mode.actions[0].clone();
    first.step = mode.step.child("look");
    first.name = "look".into();
    first.on_failure = OnFailure::Continue;
    first.retry.attempts = 1;
    mode.actions.insert(0, first);
    mode.actions[1].retry.attempts = 1;
    let mut story = Story::of(&plan);
    story.go();
    story.fail("upgrade-core/look");
    assert_eq!(story.go().last().unwrap(), &format!("run {UPGRADE} 1: act"));
    story.end(UPGRADE, Ending::failed("the disk is full"));
    assert_eq!(story.go().last().unwrap(), "close Failed upgrade: Failed: the disk is full");
    // A person's retry is a new attempt of what failed the change, not of what was allowed to fail.
    story.ask(Verb::Retry);
    assert_eq!(story.go(), [format!("start {UPGRADE} 2"), format!("run {UPGRADE} 2: act")]);
}

#[test]
fn retry_makes_a_new_attempt_of_the_failed_step_alone() {
    let mut story = Story::of(&setup_plan());
    story.go();
    story.succeed("setup-pre/pre-setup");
    story.go();
    story.fail("sync/apply");
    assert_eq!(story.go(), ["finish sync 1 Failed: no luck", "close Failed Apply version 1.0.0: Failed: no luck"]);
    story.ask(Verb::Retry);
    assert_eq!(story.history.state(), ChangeState::Running);
    assert_eq!(story.go(), ["start sync/apply 2", "run sync/apply 2: apply 1.0.0"]);
    story.apply("sync/apply");
    assert_eq!(story.go()[0], "finish sync 1 Succeeded");
}

#[test]
fn retry_of_an_action_allows_one_attempt_more() {
    let mut story = upgrading(&upgrade_plan());
    for _ in 0..2 {
        story.end(UPGRADE, Ending::Denied { message: "no".into() });
        assert!(story.go().last().unwrap().starts_with("close Failed"));
        story.ask(Verb::Retry);
        assert!(story.go()[0].starts_with(&format!("start {UPGRADE}")));
    }
    assert_eq!(story.history.step(&StepId::root(UPGRADE)).unwrap().attempt_number(), 3);
}

#[test]
fn cancel_stops_what_runs_and_closes_from_the_inside_out() {
    let mut story = upgrading(&upgrade_plan());
    story.intent(UPGRADE, set_version());
    story.go();
    story.ask(Verb::Cancel);
    assert_eq!(
        story.go(),
        [
            format!("stop {UPGRADE} 1"),
            format!("stop {NESTED} 1"),
            "finish upgrade-core 1 Cancelled".to_owned(),
            "close Cancelled".to_owned(),
        ]
    );
    story.ask(Verb::Retry);
    assert_eq!(story.go(), [format!("start {UPGRADE} 2"), format!("run {UPGRADE} 2: act")]);
}

#[test]
fn an_action_that_ends_inside_its_sync_stops_the_sync_first() {
    let mut story = upgrading(&upgrade_plan());
    story.intent(UPGRADE, set_version());
    story.go();
    story.end(
        UPGRADE,
        Ending::TimedOut { message: "after 5m".into(), output: pintle_lifecycle::call::Output::default() },
    );
    let told = story.go();
    assert_eq!(told[0], format!("stop {NESTED} 1"));
    assert_eq!(told[1], format!("start {UPGRADE} 2 10000 ms after 0"));
}

#[test]
fn a_stuck_change_waits_for_a_person() {
    let mut story = upgrading(&upgrade_plan());
    story.record(Event::ChangeStuck { step: StepId::root(UPGRADE), question: "did the Job run?".into() });
    assert_eq!((decide(&story.history), story.history.state()), (vec![], ChangeState::Stuck));
    story.ask(Verb::Retry);
    assert_eq!(story.go(), [format!("run {UPGRADE} 1: act")]);
    story.record(Event::ChangeStuck { step: StepId::root(UPGRADE), question: "again?".into() });
    story.ask(Verb::Cancel);
    assert_eq!(story.go().last().unwrap(), "close Cancelled");
}

#[test]
fn a_delete_runs_its_hooks_around_the_removal() {
    let mut setup = Story::of(&setup_plan());
    while let Some(line) = setup.go().into_iter().find(|line| line.starts_with("run ")) {
        let step = line.split(' ').nth(1).unwrap().to_owned();
        if step.ends_with("apply") { setup.apply(&step) } else { setup.succeed(&step) }
    }
    let view = setup.release.clone().unwrap();
    let mut story = Story::after(Some(view.clone()), &deleted(&view, &setup.history.plan).unwrap());
    assert_eq!(story.go().last().unwrap(), "run delete-pre/save 1: act");
    story.succeed("delete-pre/save");
    assert_eq!(story.go(), ["finish delete-pre 1 Succeeded", "start remove 1", "run remove 1: remove"]);
    story.fail("remove");
    assert_eq!(story.go(), ["close Failed Remove the release: Failed: no luck"]);
    story.ask(Verb::Retry);
    assert_eq!(story.go(), ["start remove 2", "run remove 2: remove"]);
    story.succeed("remove");
    assert_eq!(story.go(), ["close Succeeded"]);
    assert!(story.release.unwrap().deleted);
}

#[test]
fn what_this_change_stopped_is_held_and_what_an_earlier_one_left_is_lifted() {
    let mut plan = upgrade_plan();
    plan.stopped.insert("server".into(), Stopped { former: 2, since: "shop-0".into() });
    plan.stopped.insert("task-worker".into(), Stopped { former: 3, since: "shop-0".into() });
    let held = |story: &Story| story.history.held().map(|component| component.name.clone()).collect::<Vec<_>>();
    let mut story = upgrading(&plan);
    assert_eq!(held(&story), Vec::<String>::new());
    // The worker is at zero already, so the answer has nothing of it, and the stop holds it all the same.
    story.intent(UPGRADE, Call::Stop { components: vec!["task-worker".into()] });
    story.outcome(UPGRADE, Ok(Answer::Stopped { former: [].into() }), None);
    assert_eq!(held(&story), ["task-worker"]);
    story.intent(UPGRADE, set_version());
    story.go();
    story.apply("upgrade-core/upgrade/1.1/apply");
    assert_eq!(held(&story), ["task-worker"]);
    let me = story.history.key.to_string();
    let stopped = &story.history.stopped;
    assert_eq!(stopped.get("server"), None, "the sync started it");
    assert_eq!(stopped["task-worker"], Stopped { former: 3, since: me });
    story.outcome(UPGRADE, Ok(Answer::Synced { changed: true }), None);
    story.intent(UPGRADE, Call::Start { components: vec!["task-worker".into()] });
    story.outcome(UPGRADE, Ok(Answer::Started { replicas: [("task-worker".to_owned(), 3)].into() }), None);
    assert_eq!(held(&story), Vec::<String>::new());
}
