//! The undo direction: a change that failed is taken back, by the action's own undo or by calls that the host derives, and Pintle dies
//! at every record and around every call on the way.

use pintle_lifecycle::ending::ChangeState;
use pintle_lifecycle::hook::{Hook, HookPhase, in_order};
use pintle_lifecycle::plan::{OnFailure, Plan};
use pintle_lifecycle::record::Verb;
use pintle_platform::PlatformError;
use pintle_platform::simulated::{Fault, Method};

use crate::hooks::{hook, objects};
use crate::kills::WAITING;
use crate::plans::{UID, change, first_action, upgrade, workload};
use crate::rig::Rig;
use crate::{assert_whole, guests, on_virtual_time, set_up};

/// The upgrade by an action that fails in its end and is taken back.
fn undone(action: &str, has_undo: bool) -> Plan {
    let mut plan = upgrade(&guests().module, action);
    let action = first_action(&mut plan);
    action.on_failure = OnFailure::Undo;
    action.has_undo = has_undo;
    plan
}

/// Everything is as it was before the change.
fn assert_back(rig: &Rig, case: &str) {
    let release = rig.world.release(UID).expect("the release is there");
    assert_eq!(release.version(), Some("1.0.0"), "{case}");
    assert_eq!(release.replicas(&workload("task-worker")), 2, "{case}");
    assert_eq!(release.replicas(&workload("server")), 1, "{case}");
    assert!(release.hook_objects.is_empty(), "{case}: {:?}", release.hook_objects);
}

async fn records_of(plan: &Plan) -> (usize, Vec<(Method, u32)>) {
    let mut rig = set_up().await;
    let records = rig.journal.len();
    let before: Vec<u32> = Method::ALL.iter().map(|method| rig.world.calls(*method)).collect();
    let state = rig.change(&change(2), plan).await;
    assert_eq!(state, ChangeState::Undone, "{:?}", rig.history(&change(2)).await.finished);
    assert_back(&rig, "undisturbed");
    let calls = Method::ALL.iter().zip(before).map(|(method, before)| (*method, rig.world.calls(*method) - before));
    (rig.journal.len() - records, calls.filter(|(_, count)| *count > 0).collect())
}

fn plans() -> [(&'static str, Plan); 3] {
    let settings = Hook { on_failure: OnFailure::Undo, ..objects(HookPhase::PreSync, "settings") };
    let with_objects = Plan { hooks: vec![settings], ..undone("moves", false) };
    [
        ("derived", undone("moves", false)),
        ("derived, with objects", with_objects),
        ("the guest's own", undone("breaks", true)),
    ]
}

#[test]
fn after_any_record_the_way_back_goes_on() {
    on_virtual_time(async {
        for (what, plan) in plans() {
            let (records, _) = records_of(&plan).await;
            for waiting in WAITING {
                for (stored, lost) in (0..records).flat_map(|stored| [(stored, true), (stored + 1, false)]) {
                    let case = format!("{what}, waiting {waiting:?}, record {stored}, lost {lost}");
                    let mut rig = set_up().await;
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
                    assert_eq!(state, ChangeState::Undone, "{case}: {:?}", history.finished);
                    assert_back(&rig, &case);
                }
            }
        }
    });
}

#[test]
fn around_any_call_of_the_platform_the_way_back_goes_on() {
    on_virtual_time(async {
        for (what, plan) in plans() {
            let (_, calls) = records_of(&plan).await;
            for (method, count) in &calls {
                for nth in 1..=*count {
                    for fault in [Fault::DieBefore, Fault::DieAmid, Fault::DieAfter] {
                        let case = format!("{what}, {fault:?} at {method} {nth}");
                        let mut rig = set_up().await;
                        rig.world.script_fault(*method, rig.world.calls(*method) + nth, fault);
                        let state = rig.change(&change(2), &plan).await;
                        let history = rig.history(&change(2)).await;
                        assert_whole(&rig.world, &history, &case);
                        assert_eq!(state, ChangeState::Undone, "{case}: {:?}", history.finished);
                        assert_back(&rig, &case);
                    }
                }
            }
        }
    });
}

/// A typed error anywhere on the way there or back: the end is applied, taken back, or a question.
#[test]
fn a_typed_error_ends_in_a_question_or_all_the_way_back() {
    on_virtual_time(async {
        for (what, plan) in plans() {
            let (_, calls) = records_of(&plan).await;
            let mut stuck = 0;
            for (method, count) in &calls {
                for nth in 1..=*count {
                    let case = format!("{what}, an error at {method} {nth}");
                    let mut rig = set_up().await;
                    let error = PlatformError::Failed("it did not work".to_owned());
                    rig.world.script_fault(*method, rig.world.calls(*method) + nth, Fault::Error(error));
                    let state = rig.change(&change(2), &plan).await;
                    let history = rig.history(&change(2)).await;
                    assert_whole(&rig.world, &history, &case);
                    match state {
                        ChangeState::Undone => assert_back(&rig, &case),
                        ChangeState::Stuck => {
                            stuck += 1;
                            let state = rig.ask(&change(2), Verb::Retry).await;
                            let history = rig.history(&change(2)).await;
                            assert_eq!(state, ChangeState::Undone, "{case}, tried again: {:?}", history.stuck);
                            assert_back(&rig, &case);
                        }
                        other => panic!("{case}: {other}, {:?}", history.finished),
                    }
                    assert_eq!(rig.world.doubled(), [], "{case}");
                }
            }
            assert!(stuck > 0, "{what}: no error met the way back");
        }
    });
}

#[test]
fn what_somebody_changed_since_is_asked_about() {
    on_virtual_time(async {
        let plan = undone("fails", false);
        let mut rig = set_up().await;
        // The action stops the worker and fails; somebody else starts one replica before the undo looks.
        let world = rig.world.clone();
        let nth = rig.world.calls(Method::Status) + 2;
        rig.world.script_fault(Method::Status, nth, Fault::Delay(std::time::Duration::from_mins(1)));
        let somebody = async {
            tokio::time::sleep(std::time::Duration::from_secs(10)).await;
            world.scale_as_somebody(UID, &workload("task-worker"), 5);
            std::future::pending::<()>().await;
        };
        let second = change(2);
        let state = tokio::select! {
            state = rig.change(&second, &plan) => state,
            () = somebody => unreachable!(),
        };
        assert_eq!(state, ChangeState::Stuck);
        let question = rig.history(&change(2)).await.stuck.expect("it asks").1;
        assert!(question.contains("has 5 replicas, and not the 0 that this change left"), "{question}");
        // As it is again, it goes on.
        rig.world.scale_as_somebody(UID, &workload("task-worker"), 0);
        let state = rig.ask(&change(2), Verb::Retry).await;
        assert_eq!(state, ChangeState::Undone, "{:?}", rig.history(&change(2)).await.stuck);
        assert_back(&rig, "after the question");
    });
}

#[test]
fn a_job_that_nobody_can_take_back_is_a_question_before_anything_is_undone() {
    on_virtual_time(async {
        let mut rig = set_up().await;
        let plan = undone("breaks", false);
        assert_eq!(rig.change(&change(2), &plan).await, ChangeState::Stuck);
        let history = rig.history(&change(2)).await;
        let question = history.stuck.expect("it asks").1;
        assert!(question.contains("the action has no undo"), "{question}");
        assert_eq!(rig.world.release(UID).expect("it is there").version(), Some("1.1.0"), "nothing is undone yet");
        assert_eq!(rig.ask(&change(2), Verb::Skip).await, ChangeState::Undone);
    });
}

#[test]
fn a_person_takes_back_what_failed() {
    on_virtual_time(async {
        let mut plan = undone("moves", false);
        first_action(&mut plan).on_failure = OnFailure::Fail;
        plan.hooks = in_order(vec![hook(HookPhase::PreSync, "a", 0)]);
        let mut rig = set_up().await;
        assert_eq!(rig.change(&change(2), &plan).await, ChangeState::Failed);
        assert_eq!(rig.ask(&change(2), Verb::Undo).await, ChangeState::Undone);
        assert_back(&rig, "asked for");
        let began = rig.world.hook_order().iter().filter(|event| event.to_string().starts_with("began")).count();
        assert_eq!(began, 1, "the way back runs no hooks");
    });
}

/// The second change of a hook's objects is taken back to what the first one put, and no further.
#[test]
fn objects_that_were_there_before_are_there_again() {
    on_virtual_time(async {
        let first = Plan { hooks: vec![objects(HookPhase::PreSync, "settings")], ..upgrade(&guests().module, "look") };
        let mut other = objects(HookPhase::PreSync, "settings");
        let changed = serde_json::json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"a": "changed"}
        });
        other.work = pintle_lifecycle::hook::HookWork::Objects { objects: vec![changed.into()], ready_when: None };
        let mut second = Plan { hooks: vec![other], ..undone("moves", false) };
        second.render.reference.generation = 3;
        second.former = Some(first.render.clone());
        let data = |rig: &Rig| {
            let release = rig.world.release(UID).expect("it is there");
            release.hook_objects.values().map(|object| object["data"]["a"].to_string()).collect::<Vec<_>>()
        };
        let mut records = None;
        for stored in 0.. {
            let mut rig = set_up().await;
            assert_eq!(rig.change(&change(2), &first).await, ChangeState::Succeeded);
            assert_eq!(data(&rig), ["\"b\""]);
            let before = rig.journal.len();
            if records.is_some() {
                rig.journal.stop_after(before + stored);
            }
            assert_eq!(rig.change(&change(3), &second).await, ChangeState::Undone, "{stored}");
            assert_eq!(data(&rig), ["\"b\""], "record {stored}");
            assert_whole(&rig.world, &rig.history(&change(3)).await, &format!("record {stored}"));
            if stored >= *records.get_or_insert(rig.journal.len() - before) {
                break;
            }
        }
    });
}
