//! What hooks do to a change, history by history: order, failure, cleanup, syncFailed, health.

use pintle_lifecycle::ending::{ChangeState, Ending};
use pintle_lifecycle::hook::{
    Cleanup, CleanupAt, CleanupPolicy, Hook, HookKind, HookPhase, HookSource, HookWork, OnTimeout, RunAfter, in_order,
};
use pintle_lifecycle::json::Json;
use pintle_lifecycle::plan::{ChangeKind, Health, Node, OnFailure, Phase, Plan};
use pintle_lifecycle::record::Verb;
use serde_json::json;

use crate::decide::{setup_plan, upgrade_plan};
use crate::story::Story;

/// A Job that runs in a phase and whose failure does nothing.
pub fn hook(phase: HookPhase, name: &str) -> Hook {
    Hook {
        phase,
        name: name.into(),
        source: HookSource::Release,
        weight: 0,
        run_after: RunAfter::Applied,
        timeout_ms: None,
        on_failure: OnFailure::Continue,
        follow_up: None,
        on_timeout: OnTimeout::Leave,
        cleanup: Cleanup::default(),
        delete_before_creation: false,
        fenced: true,
        pivot: false,
        work: HookWork::Workload {
            kind: HookKind::Job,
            namespace: "default".into(),
            object: Json::from(json!({"apiVersion": "batch/v1", "kind": "Job", "spec": {}})),
        },
        skip: None,
    }
}

fn of_weight(phase: HookPhase, name: &str, weight: i32) -> Hook {
    Hook { weight, ..hook(phase, name) }
}

fn failing(phase: HookPhase, name: &str) -> Hook {
    Hook { on_failure: OnFailure::Fail, ..hook(phase, name) }
}

fn objects(phase: HookPhase, name: &str) -> Hook {
    Hook { work: HookWork::Objects { objects: Vec::new(), ready_when: None }, ..hook(phase, name) }
}

fn cleaned(hook: Hook, policy: CleanupPolicy) -> Hook {
    Hook { cleanup: Cleanup { policy, ..hook.cleanup }, ..hook }
}

/// A release without a driver's actions, and those hooks.
pub fn plain(hooks: Vec<Hook>) -> Plan {
    let sync = |node: &Node| matches!(node, Node::Sync { .. });
    let mut plan = setup_plan();
    plan.phases.retain(|phase| phase.nodes.iter().all(sync));
    Plan { hooks: in_order(hooks), ..plan }
}

/// The story as far as its hooks of preSync run.
fn syncing(hooks: Vec<Hook>) -> (Story, Vec<String>) {
    let mut story = Story::of(&plain(hooks));
    let told = story.go().split_off(1);
    (story, told)
}

const APPLY: [&str; 2] = ["start sync/apply 1", "run sync/apply 1: apply 1.0.0"];

#[test]
fn groups_ascend_by_weight_and_each_group_is_parallel_with_its_objects_first() {
    let pre = HookPhase::PreSync;
    let (mut story, told) = syncing(vec![
        of_weight(pre, "late", 1),
        hook(pre, "a"),
        of_weight(pre, "first", i32::MIN),
        hook(pre, "b"),
        objects(pre, "rights"),
        of_weight(pre, "last", i32::MAX),
    ]);
    assert_eq!(told, ["start sync/pre-sync/first 1", "run sync/pre-sync/first 1: hook"]);
    story.succeed("sync/pre-sync/first");
    assert_eq!(story.go(), ["start sync/pre-sync/rights 1", "run sync/pre-sync/rights 1: hook"]);
    story.succeed("sync/pre-sync/rights");
    let both = ["start sync/pre-sync/a 1", "start sync/pre-sync/b 1"];
    let run = ["run sync/pre-sync/a 1: hook", "run sync/pre-sync/b 1: hook"];
    assert_eq!(story.go(), [both, run].concat());
    story.succeed("sync/pre-sync/b");
    assert_eq!(story.go(), ["run sync/pre-sync/a 1: hook"]);
    story.succeed("sync/pre-sync/a");
    assert_eq!(story.go(), ["start sync/pre-sync/late 1", "run sync/pre-sync/late 1: hook"]);
    story.succeed("sync/pre-sync/late");
    story.go();
    story.succeed("sync/pre-sync/last");
    assert_eq!(story.go(), APPLY);
}

#[test]
fn after_a_failure_a_change_goes_on_or_stops_as_the_hook_says() {
    let pre = HookPhase::PreSync;
    let (mut story, _) = syncing(vec![hook(pre, "a")]);
    story.fail("sync/pre-sync/a");
    assert_eq!(story.go(), APPLY);

    let (mut story, _) = syncing(vec![failing(pre, "a"), hook(pre, "b"), of_weight(pre, "c", 1)]);
    story.fail("sync/pre-sync/a");
    // What runs beside it is waited for; nothing new starts.
    assert_eq!(story.go(), ["run sync/pre-sync/b 1: hook"]);
    story.succeed("sync/pre-sync/b");
    assert_eq!(story.go(), ["finish sync 1 Failed: no luck", "close Failed Run the preSync hook a: Failed: no luck"]);
    // Only a person lets it run again, and then the change goes on from there.
    assert_eq!(story.go(), [] as [&str; 0]);
    story.ask(Verb::Retry);
    assert_eq!(story.go(), ["start sync/pre-sync/a 2", "run sync/pre-sync/a 2: hook"]);
    story.succeed("sync/pre-sync/a");
    assert_eq!(story.go(), ["start sync/pre-sync/c 1", "run sync/pre-sync/c 1: hook"]);
}

#[test]
fn a_skipped_hook_is_recorded_and_nothing_waits_for_it() {
    let skipped = Hook { skip: Some("`if` is false".into()), ..failing(HookPhase::PreSync, "a") };
    let (mut story, told) = syncing(vec![skipped]);
    let all = ["start sync/pre-sync/a 1", "finish sync/pre-sync/a 1 Skipped: `if` is false", APPLY[0], APPLY[1]];
    assert_eq!(told, all);
    story.apply("sync/apply");
    assert_eq!(story.go(), ["finish sync 1 Succeeded", "close Succeeded"]);
}

#[test]
fn cleanup_follows_the_policy_and_comes_before_the_next_group() {
    let pre = HookPhase::PreSync;
    for (policy, after_success, after_failure) in [
        (CleanupPolicy::Never, false, false),
        (CleanupPolicy::OnSuccess, true, false),
        (CleanupPolicy::OnFailure, false, true),
        (CleanupPolicy::OnCompletion, true, true),
    ] {
        for (succeeds, cleans) in [(true, after_success), (false, after_failure)] {
            let (mut story, _) = syncing(vec![cleaned(hook(pre, "a"), policy), of_weight(pre, "b", 1)]);
            if succeeds {
                story.succeed("sync/pre-sync/a");
            } else {
                story.fail("sync/pre-sync/a");
            }
            let next = ["start sync/pre-sync/b 1", "run sync/pre-sync/b 1: hook"];
            let cleanup = ["start sync/pre-sync/a/cleanup 1", "run sync/pre-sync/a/cleanup 1: clean up"];
            assert_eq!(story.go(), if cleans { cleanup } else { next }, "{policy:?} {succeeds}");
            if cleans {
                story.succeed("sync/pre-sync/a/cleanup");
                assert_eq!(story.go(), next);
            }
        }
    }
}

#[test]
fn cleanup_at_the_end_of_the_phase_waits_for_the_last_group() {
    let pre = HookPhase::PreSync;
    let cleanup = Cleanup { policy: CleanupPolicy::OnCompletion, at: CleanupAt::PhaseEnd, even_on_fail: false };
    let (mut story, _) = syncing(vec![Hook { cleanup, ..hook(pre, "a") }, of_weight(pre, "b", 1)]);
    story.succeed("sync/pre-sync/a");
    assert_eq!(story.go(), ["start sync/pre-sync/b 1", "run sync/pre-sync/b 1: hook"]);
    story.succeed("sync/pre-sync/b");
    assert_eq!(story.go(), ["start sync/pre-sync/a/cleanup 1", "run sync/pre-sync/a/cleanup 1: clean up"]);
    // A deletion that fails is told by its step, and the change goes on.
    story.fail("sync/pre-sync/a/cleanup");
    assert_eq!(story.go(), APPLY);
}

#[test]
fn where_a_failure_stops_the_phase_nothing_is_cleaned_but_what_says_so() {
    let pre = HookPhase::PreSync;
    let all = |hook| cleaned(hook, CleanupPolicy::OnCompletion);
    let (mut story, _) = syncing(vec![all(failing(pre, "a")), all(hook(pre, "b"))]);
    story.succeed("sync/pre-sync/b");
    story.fail("sync/pre-sync/a");
    assert_eq!(story.go()[0], "finish sync 1 Failed: no luck");

    let even = |hook: Hook| Hook { cleanup: Cleanup { even_on_fail: true, ..hook.cleanup }, ..hook };
    let (mut story, _) = syncing(vec![even(all(failing(pre, "a"))), all(hook(pre, "b"))]);
    story.succeed("sync/pre-sync/b");
    story.fail("sync/pre-sync/a");
    assert_eq!(story.go(), ["start sync/pre-sync/a/cleanup 1", "run sync/pre-sync/a/cleanup 1: clean up"]);
    story.succeed("sync/pre-sync/a/cleanup");
    assert_eq!(story.go()[0], "finish sync 1 Failed: no luck");
}

#[test]
fn post_sync_never_changes_the_sync_and_yet_may_fail_the_change() {
    let mut story = Story::of(&plain(vec![failing(HookPhase::PostSync, "a"), of_weight(HookPhase::PostSync, "b", 1)]));
    story.go();
    story.apply("sync/apply");
    assert_eq!(story.go(), ["start sync/post-sync/a 1", "run sync/post-sync/a 1: hook"]);
    story.fail("sync/post-sync/a");
    assert_eq!(story.go(), ["finish sync 1 Succeeded", "close Failed Run the postSync hook a: Failed: no luck"]);
    assert_eq!(story.release.as_ref().unwrap().applied.as_ref().unwrap().version, "1.0.0");
    // A person can have it tried again, and the rest of the phase follows.
    story.ask(Verb::Retry);
    assert_eq!(story.go(), ["start sync/post-sync/a 2", "run sync/post-sync/a 2: hook"]);
    story.succeed("sync/post-sync/a");
    assert_eq!(story.go(), ["start sync/post-sync/b 1", "run sync/post-sync/b 1: hook"]);
    story.succeed("sync/post-sync/b");
    assert_eq!(story.go(), ["close Succeeded"]);
}

#[test]
fn a_hook_after_healthy_waits_for_it_and_the_others_do_not() {
    let healthy = Hook { run_after: RunAfter::Healthy, ..hook(HookPhase::PostSync, "late") };
    let hooks = vec![hook(HookPhase::PostSync, "early"), healthy];
    // Without an assessment it is the same.
    let mut story = Story::of(&plain(hooks.clone()));
    story.go();
    story.apply("sync/apply");
    assert_eq!(story.go()[..2], ["start sync/post-sync/early 1", "start sync/post-sync/late 1"]);

    let health = Some(Health { deadline_ms: None, ready_when: Vec::new() });
    let with = Plan { health, ..plain(hooks) };
    let mut story = Story::of(&with);
    story.go();
    story.apply("sync/apply");
    assert_eq!(
        story.go(),
        [
            "start sync/health 1",
            "start sync/post-sync/early 1",
            "run sync/health 1: health",
            "run sync/post-sync/early 1: hook"
        ]
    );
    story.succeed("sync/post-sync/early");
    assert_eq!(story.go(), ["run sync/health 1: health"]);
    story.succeed("sync/health");
    assert_eq!(story.go(), ["start sync/post-sync/late 1", "run sync/post-sync/late 1: hook"]);
    story.succeed("sync/post-sync/late");
    assert_eq!(story.go(), ["finish sync 1 Succeeded", "close Succeeded"]);
    // What never gets healthy fails the sync, once what runs has ended.
    let mut story = Story::of(&with);
    story.go();
    story.apply("sync/apply");
    story.go();
    story.fail("sync/health");
    assert_eq!(story.go(), ["run sync/post-sync/early 1: hook"]);
    story.succeed("sync/post-sync/early");
    assert_eq!(
        story.go(),
        ["finish sync 1 Failed: no luck", "close Failed Wait until all is healthy: Failed: no luck"]
    );
}

#[test]
fn sync_failed_starts_after_the_apply_stage_failed_and_is_not_waited_for() {
    let failed = HookPhase::SyncFailed;
    let hooks = || vec![failing(failed, "notice"), of_weight(failed, "second", 1)];
    let mut story = Story::of(&plain(hooks()));
    story.go();
    story.fail("sync/apply");
    assert_eq!(
        story.go(),
        [
            "start sync/sync-failed/notice 1",
            "finish sync 1 Failed: no luck",
            "close Failed Apply version 1.0.0: Failed: no luck",
            "run sync/sync-failed/notice 1: hook"
        ]
    );
    // They go on after the end of the change, in their order, and change nothing of it.
    story.fail("sync/sync-failed/notice");
    assert_eq!(story.go(), ["start sync/sync-failed/second 1", "run sync/sync-failed/second 1: hook"]);
    story.succeed("sync/sync-failed/second");
    assert!(story.change.is_open(), "its hooks are still to be recorded as ended");
    assert_eq!(story.go(), ["end hooks"]);
    assert!(!story.change.is_open());
    assert_eq!(story.history.state(), ChangeState::Failed);
    // Once for a render.
    story.ask(Verb::Retry);
    assert_eq!(story.go(), ["start sync/apply 2", "run sync/apply 2: apply 1.0.0"]);
    story.fail("sync/apply");
    assert_eq!(story.go()[..1], ["finish sync 1 Failed: no luck"]);
}

/// Trigger × phase: which hooks start when something goes wrong where.
#[test]
fn sync_failed_starts_at_failures_of_the_apply_stage_alone() {
    let hooks = || {
        vec![
            failing(HookPhase::PreSync, "pre"),
            failing(HookPhase::PostSync, "post"),
            hook(HookPhase::SyncFailed, "notice"),
        ]
    };
    let health = || Some(Health { deadline_ms: None, ready_when: Vec::new() });
    for (where_, starts) in
        [("sync/pre-sync/pre", false), ("sync/apply", true), ("sync/health", true), ("sync/post-sync/post", false)]
    {
        for ending in [
            Ending::failed("no luck"),
            Ending::TimedOut { message: "late".into(), output: pintle_lifecycle::call::Output::default() },
        ] {
            let mut story = Story::of(&Plan { health: health(), ..plain(hooks()) });
            let mut told = story.go();
            for step in ["sync/pre-sync/pre", "sync/apply", "sync/post-sync/post", "sync/health"] {
                if step == where_ {
                    story.end(step, ending.clone());
                } else if step == "sync/apply" {
                    story.apply(step);
                } else {
                    story.succeed(step);
                }
                told.extend(story.go());
                if step == where_ && where_ != "sync/post-sync/post" {
                    break;
                }
            }
            if where_ == "sync/health" {
                told.extend(story.go());
            }
            let started = told.iter().any(|line| line.starts_with("start sync/sync-failed/notice"));
            assert_eq!(started, starts, "{where_} {told:#?}");
            assert_eq!(story.history.state(), ChangeState::Failed, "{where_}");
        }
    }
}

#[test]
fn hooks_run_once_for_a_render_however_often_an_action_syncs() {
    use pintle_lifecycle::call::{Answer, Call, CallError, Code};
    let hooks = vec![hook(HookPhase::PreSync, "pre"), hook(HookPhase::PostSync, "post")];
    let mut story = Story::of(&Plan { hooks, ..upgrade_plan() });
    story.go();
    let action = "upgrade-core/upgrade";
    story.intent(action, Call::SetVersion { target: "1.1.0".into() });
    assert_eq!(story.go()[0], format!("start {action}/1.0/pre-sync/pre 1"));
    story.succeed(&format!("{action}/1.0/pre-sync/pre"));
    story.go();
    story.fail(&format!("{action}/1.0/apply"));
    story.outcome(action, Err(CallError::new(Code::Failed, "no")), None);
    story.go();
    story.fail(action);
    let told = story.go();
    assert!(told[0].starts_with(&format!("start {action} 2")), "{told:?}");
    story.wait(60_000);
    story.go();
    // The second attempt syncs again: its preSync hook has run, its postSync hook has not.
    story.intent(action, Call::SetVersion { target: "1.1.0".into() });
    assert_eq!(story.go()[0], format!("start {action}/2.0/apply 1"));
    story.apply(&format!("{action}/2.0/apply"));
    assert_eq!(story.go()[0], format!("start {action}/2.0/post-sync/post 1"));
    story.succeed(&format!("{action}/2.0/post-sync/post"));
    story.outcome(action, Ok(Answer::Synced { changed: true }), None);
    story.succeed(action);
    let told = story.go();
    assert!(told.iter().all(|line| !line.contains("-sync/")), "{told:?}");
}

#[test]
fn a_delete_runs_its_hooks_around_the_removal() {
    let node = |phase| Phase { name: "x".into(), nodes: vec![Node::Hooks { phase }] };
    let remove = Phase {
        name: "delete".into(),
        nodes: vec![Node::Remove { step: pintle_lifecycle::ids::StepId::root("remove") }],
    };
    let plan = Plan {
        kind: ChangeKind::Delete,
        phases: vec![node(HookPhase::PreDelete), remove, node(HookPhase::PostDelete)],
        ..plain(vec![failing(HookPhase::PreDelete, "a"), hook(HookPhase::PostDelete, "b")])
    };
    let mut story = Story::of(&plan);
    assert_eq!(story.go(), ["start pre-delete/a 1", "run pre-delete/a 1: hook"]);
    story.succeed("pre-delete/a");
    assert_eq!(story.go(), ["start remove 1", "run remove 1: remove"]);
    story.succeed("remove");
    assert_eq!(story.go(), ["start post-delete/b 1", "run post-delete/b 1: hook"]);
    story.succeed("post-delete/b");
    assert_eq!(story.go(), ["close Succeeded"]);

    let mut story = Story::of(&plan);
    story.go();
    story.fail("pre-delete/a");
    assert_eq!(story.go(), ["close Failed Run the preDelete hook a: Failed: no luck"]);
}

#[test]
fn a_cancel_stops_every_hook_also_those_of_sync_failed() {
    let pre = HookPhase::PreSync;
    let (mut story, _) = syncing(vec![hook(pre, "a"), hook(pre, "b")]);
    story.ask(Verb::Cancel);
    assert_eq!(
        story.go(),
        ["stop sync/pre-sync/a 1", "stop sync/pre-sync/b 1", "finish sync 1 Cancelled", "close Cancelled"]
    );
}
