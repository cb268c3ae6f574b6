//! The views that the index keeps say the same as the histories they are folded beside, and outlive their changes.

use pintle_lifecycle::call::{Answer, Call, JobResult, JobSpec};
use pintle_lifecycle::decide::decide;
use pintle_lifecycle::ending::{ChangeState, Ending};
use pintle_lifecycle::history::History;
use pintle_lifecycle::ids::StepId;
use pintle_lifecycle::json::Json;
use pintle_lifecycle::plan::{ChangeKind, LeftJob, Plan, Stopped};
use pintle_lifecycle::record::{Event, FORMAT, Record, Verb};
use pintle_lifecycle::stamp::Stamp;
use pintle_lifecycle::view::{ChangeView, ReleaseView};

use crate::decide::{setup_plan, upgrade_plan};
use crate::story::Story;

const UPGRADE: &str = "upgrade-core/upgrade";

#[test]
fn a_change_in_a_list_follows_its_records() {
    let mut story = Story::of(&upgrade_plan());
    story.go();
    assert_eq!((story.change.state, story.change.kind), (ChangeState::Running, ChangeKind::Upgrade));
    assert_eq!((story.change.from_version.as_deref(), story.change.to_version.as_str()), (Some("1.0.0"), "1.1.0"));
    story.record(Event::ChangeStuck { step: StepId::root(UPGRADE), question: "did it run?".into() });
    assert_eq!((story.change.state, story.change.message.as_str()), (ChangeState::Stuck, "did it run?"));
    story.ask(Verb::Retry);
    assert_eq!((story.change.state, story.change.message.as_str()), (ChangeState::Running, ""));
    story.wait(70);
    story.end(UPGRADE, Ending::Denied { message: "no".into() });
    story.go();
    assert_eq!((story.change.state, story.change.message.as_str()), (ChangeState::Failed, "upgrade: Denied: no"));
    assert_eq!(story.change.finished.unwrap().since(&story.change.opened), 70);
    assert_eq!(story.change.records, story.records.len() as u64);
}

#[test]
fn a_release_keeps_what_its_changes_left() {
    let mut setup = Story::of(&setup_plan());
    assert_eq!(setup.release.as_ref().unwrap().open, Some(setup.history.key.clone()));
    setup.go();
    setup.succeed("setup-pre/pre-setup");
    setup.go();
    setup.apply("sync/apply");
    assert_eq!(setup.release.as_ref().unwrap().applied, setup.history.applied);
    setup.go();
    setup.succeed("setup-post/post-setup");
    setup.go();
    let view = setup.release.unwrap();
    assert_eq!(
        (view.open.as_ref(), view.revision, view.changes, view.last_state),
        (None, 1, 1, ChangeState::Succeeded)
    );

    let mut upgrade = Story::after(Some(view), &upgrade_plan());
    upgrade.go();
    upgrade.intent(UPGRADE, Call::Stop { components: vec!["task-worker".into()] });
    upgrade.outcome(UPGRADE, Ok(Answer::Stopped { former: [("task-worker".to_owned(), 2)].into() }), None);
    upgrade.intent(UPGRADE, Call::JobRun { spec: JobSpec::default() });
    let result = JobResult { id: "job-1".into(), ..JobResult::default() };
    upgrade.outcome(UPGRADE, Ok(Answer::Job { result }), None);
    upgrade.look(UPGRADE, Call::JobWaitAny { ids: vec!["job-0".into()] }, {
        Answer::Job { result: JobResult { id: "job-0".into(), ..JobResult::default() } }
    });
    upgrade.end(UPGRADE, Ending::Denied { message: "no".into() });
    upgrade.go();
    let view = upgrade.release.unwrap();
    assert_eq!(view.stopped["task-worker"], Stopped { former: 2, since: "shop-2".into() });
    assert_eq!(view.left_job, Some(LeftJob { id: "job-1".into(), change: "shop-2".into() }));
    assert_eq!(view.left_job, upgrade.history.left_job);
    assert_eq!((view.last_state, view.revision, view.open.as_ref()), (ChangeState::Failed, 1, None));
    assert_eq!(view.applied.unwrap().version, "1.0.0", "nothing was applied since the setup");
}

#[test]
fn a_retry_opens_the_release_again() {
    let mut story = Story::of(&upgrade_plan());
    story.go();
    story.end(UPGRADE, Ending::Denied { message: "no".into() });
    story.go();
    assert_eq!(story.release.as_ref().unwrap().open, None);
    story.ask(Verb::Retry);
    let view = story.release.unwrap();
    assert_eq!((view.open, view.last_state), (Some(story.history.key), ChangeState::Running));
}

#[test]
fn a_release_of_the_same_name_after_a_delete_starts_afresh() {
    let mut first = Story::of(&setup_plan());
    first.go();
    let mut view = first.release.unwrap();
    view.stopped.insert("server".into(), Stopped { former: 1, since: "shop-1".into() });
    view.revision = 4;
    let mut plan = setup_plan();
    plan.target.uid = "ffff".into();
    let second = Story::after(Some(view), &plan).release.unwrap();
    assert_eq!((second.changes, second.revision, second.stopped.len()), (2, 0, 0));
}

#[test]
fn fields_of_a_newer_pintle_are_kept() {
    let mut story = Story::of(&setup_plan());
    story.go();
    let mut json = serde_json::to_value(&story.change).unwrap();
    json["colour"] = "red".into();
    let mut change: ChangeView = serde_json::from_value(json).unwrap();
    change.apply(story.records.last().unwrap());
    assert_eq!(serde_json::to_value(&change).unwrap()["colour"], "red");
    let mut json = serde_json::to_value(&story.release).unwrap();
    json["size"] = 5.into();
    let release: ReleaseView = serde_json::from_value(json).unwrap();
    let after = ReleaseView::after(Some(release), &story.records[0]).unwrap();
    assert_eq!(serde_json::to_value(&after).unwrap()["size"], 5);
}

#[test]
fn records_that_do_not_fit_are_refused() {
    let story = {
        let mut story = Story::of(&upgrade_plan());
        story.go();
        story
    };
    let refused = |event: Event, seq: Option<u64>, problem: &str| {
        let mut history = story.history.clone();
        let last = story.records.last().unwrap();
        let record = Record { event, seq: seq.unwrap_or(history.next), ..last.clone() };
        let error = history.apply(&record).unwrap_err().to_string();
        assert!(error.contains(problem), "{error}");
    };
    let (step, other) = (StepId::root(UPGRADE), StepId::root("nowhere"));
    let finished =
        |step: &StepId, attempt| Event::StepFinished { step: step.clone(), attempt, ending: Ending::succeeded() };
    let outcome = |ordinal, call| Event::CallOutcome {
        step: step.clone(),
        attempt: 1,
        ordinal,
        call,
        outcome: Ok(Answer::Nothing),
        note: None,
    };
    refused(finished(&step, 1), Some(9), "expected record");
    refused(finished(&other, 1), None, "attempt 1 of nowhere was not started");
    refused(finished(&step, 2), None, "attempt 2 of");
    refused(finished(&step, 0), None, "attempt 0 of");
    refused(outcome(0, None), None, "not waiting for one");
    refused(outcome(1, Some(Call::Now)), None, "not waiting for one");
    refused(story.records[0].event.clone(), None, "open already");
    assert!(History::open(&story.records[1]).unwrap_err().to_string().contains("starts with its plan"));
    assert!(History::of(&[]).is_none());
}

#[test]
fn an_attempt_ends_once() {
    let mut story = Story::of(&upgrade_plan());
    story.go();
    let (before, step) = (story.history.next, StepId::root(UPGRADE));
    story.fail(UPGRADE);
    for ending in [Ending::succeeded(), Ending::failed("no luck"), Ending::Cancelled] {
        let again = Event::StepFinished { step: step.clone(), attempt: 1, ending };
        let error = story.try_record(again).unwrap_err().to_string();
        assert!(error.contains("attempt 1 of") && error.contains("has ended already"), "{error}");
    }
    assert_eq!(story.history.next, before + 1, "what is refused leaves no trace");
    assert_eq!(story.history.attempt(&step, 1).unwrap().finished.as_ref().unwrap().1, Ending::failed("no luck"));
}

/// A change of a release that waits for its turn behind the newest one.
fn queued(view: ReleaseView, plan: &Plan, number: u64) -> (ReleaseView, Record) {
    let change = view.key.change(number);
    let event = Event::ChangeQueued { plan: plan.clone().into(), request: Json::default(), by: "bo".into() };
    let record = Record { v: FORMAT, change, seq: 0, at: Stamp::default(), event };
    (ReleaseView::after(Some(view), &record).unwrap(), record)
}

#[test]
fn a_change_that_waits_says_nothing_of_the_release_until_its_turn() {
    let plan = upgrade_plan();
    let mut story = Story::of(&plan);
    story.go();
    let (view, record) = queued(story.release.clone().unwrap(), &plan, 2);
    assert_eq!((view.changes, view.newest().number), (2, 1));
    assert_eq!((view.waiting.as_ref().unwrap().number, view.open.as_ref().unwrap().number), (2, 1));
    let mut waiting = History::open(&record).unwrap();
    assert_eq!((waiting.state(), decide(&waiting)), (ChangeState::Waiting, Vec::new()));
    // A newer one takes its place, and what becomes of it changes nothing else.
    let (newer, _) = queued(view.clone(), &plan, 3);
    assert_eq!((newer.changes, newer.waiting.as_ref().unwrap().number), (3, 3));
    let finished = |change: u64| Record {
        v: FORMAT,
        change: newer.key.change(change),
        seq: 1,
        at: Stamp::default(),
        event: Event::ChangeFinished { state: ChangeState::Superseded, message: "shop-3 came after it".into() },
    };
    let after = ReleaseView::after(Some(newer.clone()), &finished(2)).unwrap();
    assert_eq!(
        (after.last_state, after.open.clone(), after.waiting.clone()),
        (newer.last_state, newer.open, newer.waiting)
    );
    let cancelled = ReleaseView::after(Some(after.clone()), &finished(3)).unwrap();
    assert_eq!((cancelled.waiting, cancelled.open), (None, after.open.clone()));
    // Its turn comes.
    let turn = Record {
        v: FORMAT,
        change: record.change.clone(),
        seq: 1,
        at: Stamp::default(),
        event: Event::ChangeOpened { plan: Plan { generation: 9, ..plan.clone() }.into(), by: "bo".into() },
    };
    waiting.apply(&turn).unwrap();
    assert_eq!((waiting.state(), waiting.plan.generation), (ChangeState::Running, 9));
    assert_eq!(decide(&waiting).len(), 1);
    let opened = ReleaseView::after(Some(view), &turn).unwrap();
    assert_eq!((opened.newest().number, opened.waiting, opened.generation), (2, None, 9));
    assert!(waiting.apply(&Record { seq: 2, ..turn }).is_err(), "it is open once");
}

#[test]
fn a_test_in_between_takes_no_verb_from_the_change_that_failed() {
    let mut failed = Story::of(&upgrade_plan());
    failed.go();
    failed.fail(UPGRADE);
    while failed.history.finished.is_none() {
        failed.wait(100_000);
        failed.go();
        if failed.history.finished.is_none() {
            failed.fail(UPGRADE);
        }
    }
    let test = Plan { kind: ChangeKind::Test, phases: Vec::new(), ..upgrade_plan() };
    let mut tested = Story::after(failed.release.clone(), &test);
    assert_eq!(tested.go(), ["close Succeeded"]);
    let view = tested.release.clone().unwrap();
    assert_eq!((view.newest().number, view.last().number, view.last_state), (2, 1, ChangeState::Failed));
    failed.release = Some(view);
    failed.ask(Verb::Retry);
    let view = failed.release.as_ref().unwrap();
    assert_eq!((view.newest().number, view.last().number, view.last_state), (1, 1, ChangeState::Running));
    assert_eq!(view.open.as_ref().unwrap().number, 1);
    failed.go();
    failed.succeed(UPGRADE);
    failed.go();
    failed.apply("upgrade-core/sync/apply");
    failed.go();
    assert_eq!(failed.release.unwrap().last_state, failed.history.state());
}
