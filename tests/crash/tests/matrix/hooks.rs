//! Hooks in the matrix: groups that run side by side, objects, cleanup, health, syncFailed; killed at every record and around every
//! call of the platform. Nothing runs twice, nothing out of order, and the end is the same.

use std::time::Duration;

use pintle_lifecycle::ending::ChangeState;
use pintle_lifecycle::hook::{
    Cleanup, CleanupPolicy, Hook, HookKind, HookPhase, HookSource, HookWork, OnTimeout, RunAfter, in_order,
};
use pintle_lifecycle::json::Json;
use pintle_lifecycle::plan::{Health, Node, OnFailure, Phase, Plan, ReadyWhen};
use pintle_platform::simulated::{Fault, HookScript, Method};
use serde_json::json;

use crate::kills::WAITING;
use crate::plans::{change, upgrade};
use crate::rig::Rig;
use crate::{assert_whole, guests, on_virtual_time, set_up};

pub fn hook(phase: HookPhase, name: &str, weight: i32) -> Hook {
    let object = json!({"apiVersion": "batch/v1", "kind": "Job", "spec": {"template": {"spec": {"containers": []}}}});
    Hook {
        phase,
        name: name.to_owned(),
        source: HookSource::Release,
        weight,
        run_after: RunAfter::Applied,
        timeout_ms: None,
        on_failure: OnFailure::Fail,
        follow_up: None,
        on_timeout: OnTimeout::Leave,
        cleanup: Cleanup::default(),
        delete_before_creation: false,
        fenced: true,
        pivot: false,
        work: HookWork::Workload { kind: HookKind::Job, namespace: "default".to_owned(), object: Json::from(object) },
        skip: None,
    }
}

pub fn objects(phase: HookPhase, name: &str) -> Hook {
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "b"}});
    let work = HookWork::Objects { objects: vec![object.into()], ready_when: None };
    Hook { work, ..hook(phase, name, 0) }
}

fn cleaned(hook: Hook, policy: CleanupPolicy) -> Hook {
    Hook { cleanup: Cleanup { policy, ..hook.cleanup }, ..hook }
}

/// The upgrade by an action that sets the version, with hooks of every kind.
fn hooked() -> Plan {
    let (pre, post) = (HookPhase::PreSync, HookPhase::PostSync);
    let hooks = vec![
        objects(pre, "settings"),
        cleaned(hook(pre, "a", 0), CleanupPolicy::OnCompletion),
        Hook { fenced: false, ..hook(pre, "b", 0) },
        Hook { delete_before_creation: true, ..hook(pre, "c", 1) },
        Hook { skip: Some("`if` is false".to_owned()), ..hook(pre, "skipped", 1) },
        hook(post, "early", 0),
        Hook { run_after: RunAfter::Healthy, ..hook(post, "late", 0) },
    ];
    let expr = "object.status.readyReplicas == object.status.replicas".to_owned();
    let ready = ReadyWhen { kind: "Process".to_owned(), api_version: None, expr };
    let health = Some(Health { deadline_ms: Some(600_000), ready_when: vec![ready] });
    Plan { hooks: in_order(hooks), health, ..upgrade(&guests().module, "upgrade") }
}

/// A world in which hooks take different times.
async fn world() -> Rig {
    let rig = set_up().await;
    rig.world.script_hooks(|start| match start.name {
        "a" => HookScript::lasting(Duration::from_secs(2)),
        "late" => HookScript::lasting(Duration::from_millis(1_500)),
        _ => HookScript::lasting(Duration::from_millis(700)),
    });
    rig
}

/// The order in which hooks began and ended, without what may be either way: what is side by side.
fn assert_ordered(rig: &Rig, case: &str) {
    let order: Vec<String> = rig.world.hook_order().iter().map(ToString::to_string).collect();
    let place = |event: &str| {
        let found = order.iter().position(|said| said == event);
        found.unwrap_or_else(|| panic!("{case}: `{event}` is not in {order:#?}"))
    };
    for (before, after) in [
        ("ended preSync/a", "began preSync/c"),
        ("ended preSync/b", "began preSync/c"),
        ("ended preSync/c", "began postSync/early"),
        ("ended preSync/c", "began postSync/late"),
    ] {
        assert!(place(before) < place(after), "{case}: {order:#?}");
    }
    let began = order.iter().filter(|said| said.starts_with("began")).count();
    assert_eq!(began, 5, "{case}: {order:#?}");
}

#[derive(Debug)]
struct Undisturbed {
    world: String,
    records: usize,
    calls: Vec<(Method, u32)>,
}

async fn undisturbed(plan: &Plan, end: ChangeState) -> Undisturbed {
    let mut rig = world().await;
    let before: Vec<u32> = Method::ALL.iter().map(|method| rig.world.calls(*method)).collect();
    let records = rig.journal.len();
    let state = rig.change(&change(2), plan).await;
    assert_eq!(state, end, "{:?}", rig.history(&change(2)).await.finished);
    let calls = Method::ALL.iter().zip(before).map(|(method, before)| (*method, rig.world.calls(*method) - before));
    Undisturbed {
        world: rig.world.to_string(),
        records: rig.journal.len() - records,
        calls: calls.filter(|(_, count)| *count > 0).collect(),
    }
}

#[test]
fn hooks_run_in_order_and_leave_what_they_say() {
    on_virtual_time(async {
        let mut rig = world().await;
        let state = rig.change(&change(2), &hooked()).await;
        assert_eq!(state, ChangeState::Succeeded, "{:?}", rig.history(&change(2)).await.finished);
        assert_ordered(&rig, "undisturbed");
        let left: Vec<String> = rig.world.hook_workloads().iter().map(|found| found.name().to_owned()).collect();
        assert_eq!(left.len(), 4, "{left:?}: `a` was cleaned up");
    });
}

#[test]
fn after_any_record_hooks_go_on() {
    on_virtual_time(async {
        let plan = hooked();
        let expected = undisturbed(&plan, ChangeState::Succeeded).await;
        assert!(expected.records > 35, "{expected:#?}");
        for waiting in WAITING {
            for (stored, lost) in (0..expected.records).flat_map(|stored| [(stored, true), (stored + 1, false)]) {
                let case = format!("waiting {waiting:?}, record {stored}, lost {lost}");
                let mut rig = world().await;
                waiting.set(&mut rig);
                let stored = rig.journal.len() + stored;
                if lost {
                    rig.journal.stop_after(stored);
                } else {
                    rig.journal.stop_at(stored);
                }
                let state = rig.change(&change(2), &plan).await;
                let history = rig.history(&change(2)).await;
                assert_whole(&rig.world, &history, &case);
                assert_eq!(state, ChangeState::Succeeded, "{case}: {:?}", history.finished);
                assert_eq!(rig.world.to_string(), expected.world, "{case}");
                assert_ordered(&rig, &case);
                assert_eq!(rig.deaths, 1, "{case}");
            }
        }
    });
}

#[test]
fn around_any_call_of_the_platform_hooks_go_on() {
    on_virtual_time(async {
        let plan = hooked();
        let expected = undisturbed(&plan, ChangeState::Succeeded).await;
        let methods: Vec<Method> = expected.calls.iter().map(|(method, _)| *method).collect();
        for needed in [
            Method::CreateHook,
            Method::LiftHook,
            Method::WaitHook,
            Method::DeleteHook,
            Method::Hooks,
            Method::PutObjects,
            Method::Observe,
        ] {
            assert!(methods.contains(&needed), "the plan was to make the platform {needed}");
        }
        for (method, count) in &expected.calls {
            for nth in 1..=*count {
                for fault in [Fault::DieBefore, Fault::DieAmid, Fault::DieAfter] {
                    let case = format!("{fault:?} at {method} {nth}");
                    let mut rig = world().await;
                    rig.world.script_fault(*method, rig.world.calls(*method) + nth, fault);
                    let state = rig.change(&change(2), &plan).await;
                    let history = rig.history(&change(2)).await;
                    assert_whole(&rig.world, &history, &case);
                    assert_eq!(state, ChangeState::Succeeded, "{case}: {:?}", history.finished);
                    assert_eq!(rig.world.to_string(), expected.world, "{case}");
                    assert_ordered(&rig, &case);
                }
            }
        }
    });
}

/// A death between any two records of a whole change.
#[test]
fn a_death_after_every_single_record_changes_nothing_of_hooks() {
    on_virtual_time(async {
        let plan = hooked();
        let expected = undisturbed(&plan, ChangeState::Succeeded).await;
        let mut rig = world().await;
        rig.dies_after_each = Some(1);
        assert_eq!(rig.change(&change(2), &plan).await, ChangeState::Succeeded);
        assert_whole(&rig.world, &rig.history(&change(2)).await, "a death after each record");
        assert_eq!(rig.world.to_string(), expected.world);
        assert_ordered(&rig, "a death after each record");
    });
}

/// The hooks of syncFailed go on after the change, whatever dies.
#[test]
fn hooks_after_a_failed_sync_run_once_whatever_dies() {
    on_virtual_time(async {
        let hooks = vec![hook(HookPhase::SyncFailed, "notice", 0), hook(HookPhase::SyncFailed, "second", 1)];
        let plan = Plan { hooks: in_order(hooks), ..upgrade(&guests().module, "look") };
        let failing = |rig: &Rig| {
            let nth = rig.world.calls(Method::Apply) + 1;
            let broken = pintle_platform::PlatformError::Failed("it did not come up".to_owned());
            rig.world.script_fault(Method::Apply, nth, Fault::Error(broken));
        };
        let mut rig = world().await;
        failing(&rig);
        let before = rig.journal.len();
        assert_eq!(rig.change(&change(2), &plan).await, ChangeState::Failed);
        let records = rig.journal.len() - before;
        let order = |rig: &Rig| rig.world.hook_order().iter().map(ToString::to_string).collect::<Vec<_>>();
        let expected = [
            "began syncFailed/notice",
            "ended syncFailed/notice",
            "began syncFailed/second",
            "ended syncFailed/second",
        ];
        assert_eq!(order(&rig), expected);
        for stored in 0..records {
            let mut rig = world().await;
            failing(&rig);
            rig.journal.stop_after(rig.journal.len() + stored);
            let state = rig.change(&change(2), &plan).await;
            let history = rig.history(&change(2)).await;
            let case = format!("after record {stored}");
            assert_whole(&rig.world, &history, &case);
            // The fault is of one call: a death after it, before its outcome was stored, meets a platform that works.
            if state == ChangeState::Failed {
                assert_eq!(order(&rig), expected, "{case}");
                assert!(history.hooks_ended, "{case}");
            } else {
                assert_eq!(order(&rig), [] as [&str; 0], "{case}");
            }
        }
    });
}

/// Each verdict of the design's table, as the step tells it.
#[test]
fn verdicts_survive_what_happens_to_the_workload() {
    on_virtual_time(async {
        let (pre, run) = (HookPhase::PreSync, "upgrade-core/sync/pre-sync/a");
        for (what, expected) in [
            ("fails", "Failed: exit code 3"),
            ("lost", "Failed: Evicted"),
            ("late", "TimedOut: not done after 30s: container main still runs"),
            ("deleted", "Failed: DeletedBeforeResult"),
        ] {
            let timed = Hook { timeout_ms: Some(30_000), ..hook(pre, "a", 0) };
            let plan = Plan { hooks: vec![timed], ..upgrade(&guests().module, "look") };
            let mut rig = world().await;
            rig.world.script_hooks(move |_| match what {
                "fails" => HookScript::fails(3, "no such table\n"),
                "lost" => HookScript::lost(Duration::from_secs(1)),
                _ => HookScript::never("container main still runs"),
            });
            let world = rig.world.clone();
            let deleter = async {
                if what == "deleted" {
                    tokio::time::sleep(Duration::from_secs(5)).await;
                    let name = world.hook_workloads()[0].hook.name.clone();
                    assert!(world.delete_hook_workload(&name));
                }
                std::future::pending::<()>().await;
            };
            let second = change(2);
            let state = tokio::select! {
                state = rig.change(&second, &plan) => state,
                () = deleter => unreachable!(),
            };
            assert_eq!(state, ChangeState::Failed, "{what}");
            let history = rig.history(&change(2)).await;
            let step = history.step(&pintle_lifecycle::ids::StepId::root(run)).expect("the hook ran");
            assert_eq!(step.ending().map(ToString::to_string).as_deref(), Some(expected), "{what}");
            assert_eq!(rig.world.doubled(), [], "{what}");
        }
    });
}

/// What is stopped at its timeout is judged first and then deleted, whatever dies in between.
#[test]
fn a_hook_that_is_stopped_at_its_timeout_keeps_its_output() {
    on_virtual_time(async {
        let timed = Hook { timeout_ms: Some(30_000), on_timeout: OnTimeout::Stop, ..hook(HookPhase::PreSync, "a", 0) };
        let plan = Plan { hooks: vec![timed], ..upgrade(&guests().module, "look") };
        let mut deaths = 0;
        for stored in 0..14 {
            let mut rig = world().await;
            rig.world.script_hooks(|_| HookScript { output: "half way\n".to_owned(), ..HookScript::never("it waits") });
            rig.journal.stop_after(rig.journal.len() + stored);
            assert_eq!(rig.change(&change(2), &plan).await, ChangeState::Failed, "{stored}");
            let history = rig.history(&change(2)).await;
            assert_whole(&rig.world, &history, &stored.to_string());
            let step = pintle_lifecycle::ids::StepId::root("upgrade-core/sync/pre-sync/a");
            let ending = history.step(&step).and_then(|step| step.ending()).cloned().expect("it has ended");
            let pintle_lifecycle::ending::Ending::TimedOut { output, .. } = ending else {
                panic!("{stored}: {ending}")
            };
            assert_eq!(output.text, "half way\n", "{stored}");
            assert_eq!(rig.world.hook_workloads().len(), 0, "{stored}");
            deaths += rig.deaths;
        }
        assert!(deaths > 8, "{deaths}");
    });
}

/// The delete of the release with hooks around it.
fn delete_with_hooks(block: bool) -> Plan {
    let hooks = vec![hook(HookPhase::PreDelete, "bye", 0), hook(HookPhase::PostDelete, "gone", 0)];
    let around = |phase| Phase { name: phase_name(phase), nodes: vec![Node::Hooks { phase }] };
    let mut plan = crate::plans::delete();
    plan.phases.insert(0, around(HookPhase::PreDelete));
    plan.phases.push(around(HookPhase::PostDelete));
    plan.deletion.block_on_cluster_unreachable = block;
    Plan { hooks: in_order(hooks), ..plan }
}

fn phase_name(phase: HookPhase) -> String {
    phase.as_str().to_owned()
}

#[test]
fn a_delete_waits_for_a_cluster_that_cannot_be_reached_or_leaves_it_alone() {
    on_virtual_time(async {
        for block in [true, false] {
            let mut rig = world().await;
            let unreachable = || Fault::Error(pintle_platform::PlatformError::Unavailable("no route".to_owned()));
            for method in [Method::CreateHook, Method::Remove] {
                rig.world.script_fault(method, rig.world.calls(method) + 1, unreachable());
            }
            rig.world.script_fault(Method::CreateHook, rig.world.calls(Method::CreateHook) + 2, unreachable());
            let state = rig.change(&change(2), &delete_with_hooks(block)).await;
            let history = rig.history(&change(2)).await;
            assert_eq!(state, ChangeState::Succeeded, "block {block}: {:?}", history.finished);
            let endings: Vec<String> = ["pre-delete/bye", "remove", "post-delete/gone"]
                .map(|step| {
                    history.step(&pintle_lifecycle::ids::StepId::root(step)).and_then(|step| step.ending()).cloned()
                })
                .iter()
                .map(|ending| ending.as_ref().map(ToString::to_string).unwrap_or_default())
                .collect();
            let began = rig.world.hook_order().iter().filter(|event| event.to_string().starts_with("began")).count();
            if block {
                assert_eq!((endings, began), (vec!["Succeeded".to_owned(); 3], 2));
            } else {
                let skipped = "Skipped: the cluster is unreachable: no route".to_owned();
                assert_eq!((endings, began), (vec![skipped; 3], 0));
            }
        }
    });
}

#[test]
fn a_delete_with_hooks_goes_on_after_any_record() {
    on_virtual_time(async {
        let mut rig = world().await;
        let before = rig.journal.len();
        assert_eq!(rig.change(&change(2), &delete_with_hooks(true)).await, ChangeState::Succeeded);
        for stored in 0..rig.journal.len() - before {
            let mut rig = world().await;
            rig.journal.stop_after(rig.journal.len() + stored);
            assert_eq!(rig.change(&change(2), &delete_with_hooks(true)).await, ChangeState::Succeeded);
            assert_whole(&rig.world, &rig.history(&change(2)).await, &format!("record {stored}"));
            let order: Vec<String> = rig.world.hook_order().iter().map(ToString::to_string).collect();
            let expected =
                ["began preDelete/bye", "ended preDelete/bye", "began postDelete/gone", "ended postDelete/gone"];
            assert_eq!(order, expected, "record {stored}");
        }
    });
}
