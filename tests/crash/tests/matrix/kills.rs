//! Pintle dies: before an intent, after it, amid its effect, after the effect, after the outcome; of every call and step.

use std::time::Duration;

use pintle_journal::journal::Journal;
use pintle_lifecycle::decide::{concerns, decide};
use pintle_lifecycle::ending::ChangeState;
use pintle_lifecycle::history::History;
use pintle_lifecycle::record::Event;
use pintle_platform::simulated::{Fault, Method};

use crate::plans::{change, delete, upgrade};
use crate::rig::Rig;
use crate::{assert_applied, assert_whole, guests, on_virtual_time, set_up, undisturbed};

/// How a change waits.
#[derive(Debug, Clone, Copy)]
pub enum Waiting {
    /// Its guest stays in memory.
    Inside,
    /// Its guest leaves at once and is replayed.
    Outside,
    /// All of the change leaves at once and is taken up from the journal.
    AtRest,
}

pub const WAITING: [Waiting; 3] = [Waiting::Inside, Waiting::Outside, Waiting::AtRest];

impl Waiting {
    pub fn set(self, rig: &mut Rig) {
        rig.residency = if matches!(self, Self::Inside) { Duration::from_hours(1) } else { Duration::ZERO };
        rig.rests = matches!(self, Self::AtRest);
    }
}

/// Drives the upgrade after `arm` has set the fault, and checks that it ends applied. Returns how often Pintle died.
async fn survives(waiting: Waiting, arm: impl FnOnce(&Rig), undisturbed: &str, case: &str) -> u32 {
    let mut rig = set_up().await;
    waiting.set(&mut rig);
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
        for waiting in WAITING {
            // With all records stored nothing dies.
            for stored in before..before + records {
                let lost = format!("waiting {waiting:?}, the record after {stored} is lost");
                assert_eq!(survives(waiting, |rig| rig.journal.stop_after(stored), &world, &lost).await, 1, "{lost}");
            }
            for stored in before + 1..=before + records {
                let unheard = format!("waiting {waiting:?}, record {stored} is stored and not acknowledged");
                let deaths = survives(waiting, |rig| rig.journal.stop_at(stored), &world, &unheard).await;
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
        for waiting in WAITING {
            for (method, count) in &calls {
                for nth in 1..=*count {
                    for fault in [Fault::DieBefore, Fault::DieAmid, Fault::DieAfter] {
                        let case = format!("waiting {waiting:?}, {fault:?} at {method} {nth}");
                        let arm = |rig: &Rig| {
                            let earlier = rig.world.calls(*method);
                            rig.world.script_fault(*method, earlier + nth, fault.clone());
                        };
                        let deaths = survives(waiting, arm, &world, &case).await;
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
        for waiting in WAITING {
            let case = format!("waiting {waiting:?}, a death after each record");
            let mut rig = set_up().await;
            waiting.set(&mut rig);
            rig.dies_after_each = Some(1);
            let state = rig.change(&change(2), &plan).await;
            let history = rig.history(&change(2)).await;
            assert_whole(&rig.world, &history, &case);
            assert_eq!(state, ChangeState::Succeeded, "{case}: {:?}", history.finished);
            assert!(rig.deaths as usize + 1 >= records, "{case}: {} deaths in {records} records", rig.deaths);
            assert_applied(&rig.world, &history, &world, &case);
        }
    });
}

/// Each wait is left and taken up once, and the change makes the same records as one that stays.
#[test]
fn a_change_that_waits_rests_and_goes_on() {
    on_virtual_time(async {
        let plan = upgrade(&guests().module, "everything");
        let (rig, records, calls) = undisturbed(&plan).await;
        let mut rested = set_up().await;
        Waiting::AtRest.set(&mut rested);
        let (before, waits) = (rested.journal.len(), rested.world.calls(Method::WaitJob));
        assert_eq!(rested.change(&change(2), &plan).await, ChangeState::Succeeded);
        assert_eq!(rested.journal.len() - before, records);
        assert_eq!(rested.world.to_string(), rig.world.to_string());
        let staying = calls.iter().find(|(method, _)| *method == Method::WaitJob).map_or(0, |(_, count)| *count);
        // The wait that is left, the one that wakes the change, and that of the effect that goes on.
        assert!(rested.world.calls(Method::WaitJob) - waits >= 2 * staying, "no wait of {staying} was rested");
    });
}

/// A rest is no new start: what an action may use up is not given anew.
#[test]
fn bounds_go_on_through_a_rest() {
    on_virtual_time(async {
        let mut plan = upgrade(&guests().module, "chatty");
        plan.limits.log_bytes = 10_000;
        for waiting in WAITING {
            let mut rig = set_up().await;
            waiting.set(&mut rig);
            let state = rig.change(&change(2), &plan).await;
            let finished = rig.history(&change(2)).await.finished;
            assert_eq!(state, ChangeState::Succeeded, "waiting {waiting:?}: {finished:?}");
            let records = rig.journal.records(&change(2)).await.expect("the journal reads");
            let lines: Vec<&str> = records
                .iter()
                .filter_map(|record| match &record.event {
                    Event::StepLog { message, .. } => Some(message.as_str()),
                    _ => None,
                })
                .collect();
            assert_eq!(lines.len(), 11, "waiting {waiting:?}: {lines:?}");
            assert!(lines[10].contains("The log of this attempt is full"), "waiting {waiting:?}: {}", lines[10]);
        }
    });
}

/// A drive asks again only after records that concern its decisions.
#[test]
fn records_that_concern_no_decision_change_none() {
    on_virtual_time(async {
        let (rig, _, _) = undisturbed(&upgrade(&guests().module, "everything")).await;
        let records = rig.journal.records(&change(2)).await.expect("the journal reads");
        let decided = |count: usize| {
            let history = History::of(&records[..count]).expect("there are some").expect("they fit together");
            decide(&history)
        };
        let passed_over = (1..records.len()).filter(|place| !concerns(&records[*place].event));
        let passed_over = passed_over.inspect(|place| {
            assert_eq!(decided(*place), decided(place + 1), "{:?}", records[*place].event);
        });
        assert!(passed_over.count() > 15, "the action was to make very many calls");
    });
}
