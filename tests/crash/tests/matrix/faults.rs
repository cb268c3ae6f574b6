//! What is no crash: errors of the platform, faults that pass, traps, timeouts, denials, a clock that jumps, and the verbs of a
//! person. The change ends applied or says why not, and no effect is applied twice.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use pintle_lifecycle::ending::{ChangeState, Ending};
use pintle_lifecycle::ids::StepId;
use pintle_lifecycle::plan::Retry;
use pintle_lifecycle::record::{Event, Verb};
use pintle_platform::PlatformError;
use pintle_platform::simulated::{Fault, Method};

use crate::plans::{TIMEOUT_MS, UID, change, first_action, upgrade, workload};
use crate::rig::Rig;
use crate::{assert_applied, assert_whole, guests, on_virtual_time, set_up, undisturbed};

/// Places in `everything` where it can panic: after each of its calls.
const PANICS: u32 = 15;

/// The upgrade by `action` after `arm` has set the fault.
async fn upgraded(action: &str, arm: impl FnOnce(&Rig)) -> (Rig, ChangeState) {
    let mut rig = set_up().await;
    arm(&rig);
    let state = rig.change(&change(2), &upgrade(&guests().module, action)).await;
    (rig, state)
}

async fn ending(rig: &Rig, action: &str) -> Ending {
    let step = StepId::root("upgrade-core").child(action);
    let history = rig.history(&change(2)).await;
    history.step(&step).and_then(|step| step.ending()).cloned().expect("the action has ended")
}

#[test]
fn a_typed_error_of_any_call_ends_the_change_or_is_passed_by() {
    on_virtual_time(async {
        let (undisturbed, _, calls) = undisturbed(&upgrade(&guests().module, "everything")).await;
        let world = undisturbed.world.to_string();
        for (method, count) in &calls {
            for nth in 1..=*count {
                for error in [
                    PlatformError::Failed("it did not work".to_owned()),
                    PlatformError::Invalid("not so".to_owned()),
                    PlatformError::Conflict("somebody else's".to_owned()),
                ] {
                    for fault in [Fault::Error(error.clone()), Fault::ErrorAfter(error.clone())] {
                        let case = format!("{fault:?} at {method} {nth}");
                        let (rig, state) = upgraded("everything", |rig| {
                            rig.world.script_fault(*method, rig.world.calls(*method) + nth, fault);
                        })
                        .await;
                        let history = rig.history(&change(2)).await;
                        assert_whole(&rig.world, &history, &case);
                        let finished = history.finished.clone().expect("the change has ended");
                        match state {
                            ChangeState::Failed => {
                                assert!(finished.message.contains(&error.to_string()), "{case}: {finished:?}");
                            }
                            ChangeState::Succeeded => assert_applied(&rig.world, &history, &world, &case),
                            other => panic!("{case}: {other}"),
                        }
                    }
                }
            }
        }
    });
}

#[test]
fn a_platform_that_cannot_be_reached_for_a_while_is_asked_again_visibly() {
    on_virtual_time(async {
        let (undisturbed, _, calls) = undisturbed(&upgrade(&guests().module, "everything")).await;
        let world = undisturbed.world.to_string();
        for (method, count) in &calls {
            for nth in 1..=*count {
                let away = PlatformError::Unavailable("nobody answers".to_owned());
                for fault in [Fault::Error(away.clone()), Fault::ErrorAfter(away)] {
                    let case = format!("{fault:?} at {method} {nth}");
                    let (rig, state) = upgraded("everything", |rig| {
                        rig.world.script_fault(*method, rig.world.calls(*method) + nth, fault);
                    })
                    .await;
                    let history = rig.history(&change(2)).await;
                    assert_whole(&rig.world, &history, &case);
                    assert_eq!(state, ChangeState::Succeeded, "{case}: {:?}", history.finished);
                    assert_applied(&rig.world, &history, &world, &case);
                    let said = rig.journal.stored_records().iter().any(|record| {
                        String::from_utf8_lossy(&record.to_json()).contains("nobody answers; trying again in")
                    });
                    // `wait-any` waits for all and drops the waits that lost: their fault may never come.
                    assert!(said || *method == Method::WaitJob, "{case}: the step's log has no line about it");
                }
            }
        }
    });
}

#[test]
fn an_effect_that_nobody_can_judge_makes_the_change_stuck_until_a_person_says_retry() {
    on_virtual_time(async {
        let question = "did the Job run? look at its output";
        let (mut rig, state) = upgraded("upgrade", |rig| {
            let nth = rig.world.calls(Method::WaitJob) + 1;
            let unknown = PlatformError::Unknown(question.to_owned());
            rig.world.script_fault(Method::WaitJob, nth, Fault::Error(unknown));
        })
        .await;
        assert_eq!(state, ChangeState::Stuck);
        let stuck = rig.history(&change(2)).await.stuck.expect("the question is there");
        assert_eq!(stuck.1, question);
        assert_eq!(rig.ask(&change(2), Verb::Retry).await, ChangeState::Succeeded);
        assert_whole(&rig.world, &rig.history(&change(2)).await, "retry");
    });
}

#[test]
fn each_way_to_end_is_told_as_such_and_leaves_a_change_that_failed() {
    on_virtual_time(async {
        for (action, word, in_message) in [
            ("fails", "Failed", "no luck"),
            ("panics", "Trapped", "the roof is on fire"),
            ("denied", "Denied", "components: {stop: [server]}"),
            ("late", "TimedOut", "during `Sleep"),
        ] {
            let (rig, state) = upgraded(action, |_| {}).await;
            let ending = ending(&rig, action).await;
            assert_eq!(ending.word(), word, "{action}: {ending}");
            assert!(ending.to_string().contains(in_message), "{action}: {ending}");
            assert_eq!(state, ChangeState::Failed, "{action}");
            let history = rig.history(&change(2)).await;
            assert_whole(&rig.world, &history, action);
            assert_eq!(history.stopped.len(), 1, "{action}: the worker is known to be stopped");
            assert_eq!(rig.world.release(UID).expect("a release").replicas(&workload("task-worker")), 0);
        }
    });
}

#[test]
fn a_trap_between_any_two_calls_ends_the_change_and_only_once() {
    on_virtual_time(async {
        let mut calls = BTreeSet::new();
        for place in 0..PANICS {
            let mut rig = set_up().await;
            let mut plan = upgrade(&guests().module, "everything");
            first_action(&mut plan).args = serde_json::json!({"panicAt": place}).into();
            assert_eq!(rig.change(&change(2), &plan).await, ChangeState::Failed, "panic {place}");
            assert_eq!(ending(&rig, "everything").await.word(), "Trapped", "panic {place}");
            let history = rig.history(&change(2)).await;
            assert_whole(&rig.world, &history, &format!("panic {place}"));
            let step = StepId::root("upgrade-core").child("everything");
            calls.insert(history.attempt(&step, 1).expect("an attempt").calls.len());
        }
        assert_eq!(
            calls.len(),
            PANICS as usize,
            "each panic was meant to come after another number of calls: {calls:?}"
        );
    });
}

#[test]
fn a_call_that_outlasts_the_timeout_ends_the_action_and_its_jobs() {
    on_virtual_time(async {
        let (undisturbed, _, calls) = undisturbed(&upgrade(&guests().module, "everything")).await;
        let world = undisturbed.world.to_string();
        for (method, count) in &calls {
            for nth in 1..=*count {
                let case = format!("{method} {nth} takes an hour");
                let (rig, state) = upgraded("everything", |rig| {
                    let fault = Fault::Delay(Duration::from_hours(1));
                    rig.world.script_fault(*method, rig.world.calls(*method) + nth, fault);
                })
                .await;
                let history = rig.history(&change(2)).await;
                assert_whole(&rig.world, &history, &case);
                // `wait-any` waits for all and drops the waits that lost.
                if state == ChangeState::Succeeded {
                    assert_applied(&rig.world, &history, &world, &case);
                    continue;
                }
                // The action itself waits for readiness for 30 s only.
                let expected = if *method == Method::WaitReady { "Failed" } else { "TimedOut" };
                assert_eq!(ending(&rig, "everything").await.word(), expected, "{case}");
                let release = rig.world.release(UID).expect("a release");
                let running = release.jobs.iter().filter(|(_, job)| job.result().is_none());
                assert_eq!(running.count(), 0, "{case}: a Job outlived its action: {release}");
            }
        }
    });
}

#[test]
fn a_trap_after_any_death_is_the_same_trap() {
    on_virtual_time(async {
        let (rig, _) = upgraded("panics", |_| {}).await;
        let (expected, total) = (ending(&rig, "panics").await, rig.journal.len());
        let before = set_up().await.journal.len();
        for stored in before..total {
            let (rig, state) = upgraded("panics", |rig| rig.journal.stop_after(stored)).await;
            assert_eq!(state, ChangeState::Failed);
            assert_eq!(ending(&rig, "panics").await, expected, "a death after record {stored}");
            assert_whole(&rig.world, &rig.history(&change(2)).await, "panics");
        }
    });
}

#[test]
fn a_timeout_counts_from_the_start_of_the_attempt_through_deaths_and_clock_jumps() {
    on_virtual_time(async {
        let (rig, _) = upgraded("late", |_| {}).await;
        let total = rig.journal.len();
        let before = set_up().await.journal.len();
        for (stored, jump) in (before..total).zip([0_i64, 86_400_000, -86_400_000].into_iter().cycle()) {
            let began = tokio::time::Instant::now();
            let (rig, state) = upgraded("late", |rig| {
                rig.journal.stop_after(stored);
                rig.clock.jump(jump);
            })
            .await;
            assert_eq!(state, ChangeState::Failed);
            assert_eq!(ending(&rig, "late").await.word(), "TimedOut");
            let took = u64::try_from(began.elapsed().as_millis()).expect("short");
            assert!((TIMEOUT_MS..TIMEOUT_MS + 2_000).contains(&took), "timed out after {took} ms");
        }
    });
}

#[test]
fn a_clock_that_jumps_in_the_middle_neither_ends_nor_prolongs_a_sleep() {
    on_virtual_time(async {
        for jump in [86_400_000_i64, -86_400_000] {
            let mut rig = set_up().await;
            let clock = rig.clock.clone();
            let jumps = tokio::spawn(async move {
                tokio::time::sleep(Duration::from_secs(2)).await;
                clock.jump(jump);
            });
            let began = tokio::time::Instant::now();
            let state = rig.change(&change(2), &upgrade(&guests().module, "everything")).await;
            jumps.await.expect("the clock jumped");
            assert_eq!(state, ChangeState::Succeeded);
            let took = began.elapsed();
            // 5 s of sleep, 2 s and 3 s of Jobs.
            assert!(took >= Duration::from_secs(10) && took < Duration::from_secs(12), "took {took:?}");
        }
    });
}

#[test]
fn a_retry_of_the_plan_makes_new_attempts_and_a_person_may_allow_more() {
    on_virtual_time(async {
        let mut rig = set_up().await;
        let mut plan = upgrade(&guests().module, "fails-once");
        first_action(&mut plan).retry = Retry { attempts: 2, backoff_ms: 30_000 };
        let began = tokio::time::Instant::now();
        assert_eq!(rig.change(&change(2), &plan).await, ChangeState::Succeeded);
        assert!(began.elapsed() >= Duration::from_secs(30), "the backoff was not waited for");
        assert_whole(&rig.world, &rig.history(&change(2)).await, "retry of the plan");
        assert_eq!(rig.world.release(UID).expect("a release").version(), Some("1.1.0"), "the sync ran at the end");

        let (mut rig, state) = upgraded("fails-once", |_| {}).await;
        assert_eq!(state, ChangeState::Failed);
        assert_eq!(rig.ask(&change(2), Verb::Retry).await, ChangeState::Succeeded);
        let history = rig.history(&change(2)).await;
        assert_whole(&rig.world, &history, "retry of a person");
        let step = StepId::root("upgrade-core").child("fails-once");
        assert_eq!(history.step(&step).expect("the step").attempts.len(), 2);
    });
}

#[test]
fn a_panic_is_never_retried_by_the_plan() {
    on_virtual_time(async {
        let mut rig = set_up().await;
        let mut plan = upgrade(&guests().module, "panics");
        first_action(&mut plan).retry = Retry { attempts: 5, backoff_ms: 1 };
        assert_eq!(rig.change(&change(2), &plan).await, ChangeState::Failed);
        let step = StepId::root("upgrade-core").child("panics");
        assert_eq!(rig.history(&change(2)).await.step(&step).expect("the step").attempts.len(), 1);
    });
}

#[test]
fn an_action_that_does_not_sync_leaves_the_sync_to_the_change() {
    on_virtual_time(async {
        let (rig, state) = upgraded("look", |_| {}).await;
        assert_eq!(state, ChangeState::Succeeded);
        assert_eq!(rig.world.release(UID).expect("a release").version(), Some("1.1.0"));
    });
}

/// The upgrade by `everything` dies after its first `calls` recorded calls, and goes on with a module that does `other` instead.
async fn replayed_by_another(calls: usize, other: &str) -> (Rig, ChangeState) {
    let mut rig = set_up().await;
    let plan = upgrade(&guests().module, "everything");
    let before = rig.journal.len();
    // The opening, the starts of mode and action, and the first two log lines and calls.
    rig.journal.stop_after(before + 3 + calls);
    rig.die_once(&change(2), &plan).await;
    let records = rig.journal.stored_records();
    let records = records.iter().map(|record| {
        let mut record = pintle_lifecycle::record::Record::clone(record);
        if let (Event::ChangeOpened { plan, .. }, 2) = (&mut record.event, record.change.number) {
            other.clone_into(&mut first_action(Arc::make_mut(plan)).export);
        }
        record
    });
    rig.journal = pintle_journal::MemoryJournal::of(records.collect::<Vec<_>>()).expect("the records fit");
    let state = rig.change(&change(2), &plan).await;
    (rig, state)
}

#[test]
fn a_replay_that_asks_for_something_else_is_told_once_with_both_calls_and_not_retried() {
    on_virtual_time(async {
        let (rig, state) = replayed_by_another(6, "look").await;
        assert_eq!(state, ChangeState::Failed);
        let Ending::Nondeterministic { expected, got } = ending(&rig, "everything").await else {
            panic!("another ending")
        };
        assert!(expected.starts_with("components.stop("), "{expected}");
        assert!(got.starts_with("components.status("), "{got}");
        let history = rig.history(&change(2)).await;
        assert_eq!(
            history.step(&StepId::root("upgrade-core").child("everything")).expect("the step").attempts.len(),
            1
        );
        assert_whole(&rig.world, &history, "another call");
    });
}

#[test]
fn a_replay_that_ends_before_its_records_do_is_a_broken_one() {
    on_virtual_time(async {
        let (rig, state) = replayed_by_another(6, "fails").await;
        assert_eq!(state, ChangeState::Failed);
        let Ending::Nondeterministic { expected, got } = ending(&rig, "everything").await else {
            panic!("another ending")
        };
        assert!(expected.starts_with("state.get("), "{expected}");
        assert_eq!(got, "the end of the action");
    });
}
