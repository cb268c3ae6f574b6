//! Pintle dies: before an intent, after it, amid its effect, after the effect, after the outcome; of every call and step.

use std::time::Duration;

use pintle_lifecycle::ending::ChangeState;
use pintle_platform::simulated::{Fault, Method};

use crate::plans::{change, delete, upgrade};
use crate::rig::Rig;
use crate::{assert_applied, assert_whole, guests, on_virtual_time, set_up, undisturbed};

/// Lets a guest stay while it waits, or leave at once and be replayed.
const RESIDENCIES: [Duration; 2] = [Duration::from_hours(1), Duration::ZERO];

/// Drives the upgrade after `arm` has set the fault, and checks that it ends applied. Returns how often Pintle died.
async fn survives(residency: Duration, arm: impl FnOnce(&Rig), undisturbed: &str, case: &str) -> u32 {
    let mut rig = set_up().await;
    rig.residency = residency;
    arm(&rig);
    let plan = upgrade(&guests().module, "everything");
    let state = rig.change(&change(2), &plan).await;
    let history = rig.history(&change(2)).await;
    assert_whole(&rig.world, &history, case);
    assert_eq!(state, ChangeState::Succeeded, "{case}: {:?}", history.finished);
    assert_applied(&rig.world, &history, undisturbed, case);
    rig.deaths
}

#[test]
fn after_any_record_the_change_goes_on() {
    on_virtual_time(async {
        let plan = upgrade(&guests().module, "everything");
        let (rig, records, _) = undisturbed(&plan).await;
        let (world, before) = (rig.world.to_string(), rig.journal.len() - records);
        assert!(records > 30, "the action was to make every kind of call, and made {records} records");
        for residency in RESIDENCIES {
            // With all records stored nothing dies.
            for stored in before..before + records {
                let lost = format!("{residency:?} in memory, the record after {stored} is lost");
                assert_eq!(survives(residency, |rig| rig.journal.stop_after(stored), &world, &lost).await, 1, "{lost}");
            }
            for stored in before + 1..=before + records {
                let unheard = format!("{residency:?} in memory, record {stored} is stored and not acknowledged");
                let deaths = survives(residency, |rig| rig.journal.stop_at(stored), &world, &unheard).await;
                assert_eq!(deaths, 1, "{unheard}");
            }
        }
    });
}

#[test]
fn around_any_call_of_the_platform_the_change_goes_on() {
    on_virtual_time(async {
        let plan = upgrade(&guests().module, "everything");
        let (rig, _, calls) = undisturbed(&plan).await;
        let world = rig.world.to_string();
        let methods: Vec<Method> = calls.iter().map(|(method, _)| *method).collect();
        for needed in
            [Method::Apply, Method::Scale, Method::StartJob, Method::StopJob, Method::DeleteJob, Method::WaitJob]
        {
            assert!(methods.contains(&needed), "the action was to make the platform {needed}");
        }
        for residency in RESIDENCIES {
            for (method, count) in &calls {
                for nth in 1..=*count {
                    for fault in [Fault::DieBefore, Fault::DieAmid, Fault::DieAfter] {
                        let case = format!("{residency:?} in memory, {fault:?} at {method} {nth}");
                        let arm = |rig: &Rig| {
                            let earlier = rig.world.calls(*method);
                            rig.world.script_fault(*method, earlier + nth, fault.clone());
                        };
                        let deaths = survives(residency, arm, &world, &case).await;
                        // `wait-any` waits for all and drops the waits that lost: their fault may never come.
                        assert!(deaths == 1 || *method == Method::WaitJob, "{case}: {deaths} deaths");
                    }
                }
            }
        }
    });
}

#[test]
fn a_setup_and_a_delete_go_on_after_any_record() {
    on_virtual_time(async {
        for stored in 0..12 {
            let mut rig = Rig::new(&guests().sandbox);
            rig.journal.stop_after(stored);
            assert_eq!(rig.change(&change(1), &crate::plans::setup()).await, ChangeState::Succeeded);
            assert_whole(&rig.world, &rig.history(&change(1)).await, "setup");
            rig.journal.stop_after(rig.journal.len() + stored);
            assert_eq!(rig.change(&change(2), &delete()).await, ChangeState::Succeeded);
            assert_whole(&rig.world, &rig.history(&change(2)).await, "delete");
            let left = rig.world.release(crate::plans::UID).map(|release| release.workloads.len());
            assert_eq!(left.unwrap_or(0), 0, "the delete left workloads");
        }
    });
}

/// Several deaths in one change: at each record in turn, one life after another gets one record further.
#[test]
fn a_death_after_every_single_record_of_one_change_changes_nothing() {
    on_virtual_time(async {
        let plan = upgrade(&guests().module, "upgrade");
        let (rig, records, _) = undisturbed(&plan).await;
        let world = rig.world.to_string();
        let mut rig = set_up().await;
        rig.dies_after_each = Some(1);
        let state = rig.change(&change(2), &plan).await;
        let history = rig.history(&change(2)).await;
        assert_whole(&rig.world, &history, "a death after each record");
        assert_eq!(state, ChangeState::Succeeded, "{:?}", history.finished);
        assert!(rig.deaths as usize + 1 >= records, "{} deaths in {records} records", rig.deaths);
        assert_applied(&rig.world, &history, &world, "a death after each record");
    });
}
