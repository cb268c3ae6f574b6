//! Changes that take random turns: whatever is decided is accepted by the history, and what is stored tells the same again.

use proptest::prelude::*;

use pintle_lifecycle::call::{Answer, Call, CallError, Code, JobResult, JobSpec};
use pintle_lifecycle::decide::{Decision, SyncProgress, Work, decide, sync_progress};
use pintle_lifecycle::ending::{ChangeState, Ending};
use pintle_lifecycle::history::History;
use pintle_lifecycle::ids::StepId;
use pintle_lifecycle::record::{Event, Record, Verb};
use pintle_lifecycle::tree::{ChangeTree, Style};

use crate::decide::{setup_plan, upgrade_plan};
use crate::story::{Story, event};

/// One random turn of a change.
fn turn(story: &mut Story, dice: u8, more: u8) {
    story.wait(u64::from(more));
    match dice {
        0..6 => person(story, more),
        6..10 if story.history.finished.is_none() => {
            let step = story.history.steps().next().map(|(id, _)| id.clone());
            if let Some(step) = step {
                story.record(Event::ChangeStuck { step, question: "what now?".into() });
            }
        }
        _ => {
            let decisions = decide(&story.history);
            if decisions.is_empty() {
                person(story, more);
            } else {
                follow(story, &decisions[usize::from(dice) % decisions.len()], more);
            }
        }
    }
}

fn person(story: &mut Story, more: u8) {
    match story.history.state() {
        ChangeState::Succeeded => {}
        ChangeState::Failed | ChangeState::Cancelled | ChangeState::Superseded => story.ask(Verb::Retry),
        _ => story.ask(if more.is_multiple_of(2) { Verb::Retry } else { Verb::Cancel }),
    }
}

fn follow(story: &mut Story, decision: &Decision, more: u8) {
    match decision {
        Decision::Run { step, work: Work::Action, attempt } => act(story, step, *attempt, more),
        Decision::Run { step, work: Work::Apply(render), .. } => {
            let applied = Ending::Succeeded { applied: Some(render.clone()) };
            story.end(step.as_str(), if more < 200 { applied } else { Ending::failed("no luck") });
        }
        Decision::Run { step, work: Work::Remove, .. } => story.end(step.as_str(), ending(more)),
        other => story.record(event(other).expect("only work has no record")),
    }
}

/// What a running action may do next.
fn act(story: &mut Story, step: &StepId, attempt: u32, more: u8) {
    let calls = &story.history.attempt(step, attempt).unwrap().calls;
    let ordinal = u32::try_from(calls.len()).unwrap();
    let step = step.as_str();
    let open = calls.last().filter(|made| made.outcome.is_none()).map(|made| made.call.clone());
    let Some(call) = open else {
        match more % 8 {
            0 => story.end(step, ending(more)),
            1 => story.look(step, Call::Now, Answer::Time { ms: 5 }),
            2 => story.intent(step, Call::Stop { components: vec!["task-worker".into()] }),
            3 => story.intent(step, Call::Start { components: vec!["task-worker".into()] }),
            4 => story.intent(step, Call::JobRun { spec: JobSpec::default() }),
            5 => story.intent(step, Call::Sync),
            _ => story.intent(step, Call::SetVersion { target: story.history.plan.to_version.clone() }),
        }
        return;
    };
    // An action may time out inside a call.
    if more > 240 {
        story.end(
            step,
            Ending::TimedOut { message: "too long".into(), output: pintle_lifecycle::call::Output::default() },
        );
        return;
    }
    let answer = match call {
        Call::Stop { .. } => Answer::Stopped { former: [("task-worker".to_owned(), 1)].into() },
        Call::Start { .. } => Answer::Started { replicas: [("task-worker".to_owned(), 1)].into() },
        Call::JobRun { .. } => Answer::Job {
            result: JobResult { id: "j".into(), succeeded: more.is_multiple_of(2), ..JobResult::default() },
        },
        _ => match sync_progress(&story.history, &StepId::root(step), attempt, ordinal - 1) {
            SyncProgress::Going => return,
            SyncProgress::Done => Answer::Synced { changed: true },
            SyncProgress::Failed(ending) => {
                story.outcome(step, Err(CallError::new(Code::Failed, ending.to_string())), None);
                return;
            }
        },
    };
    story.outcome(step, Ok(answer), None);
}

fn ending(more: u8) -> Ending {
    match more % 5 {
        0..3 => Ending::succeeded(),
        3 => Ending::failed("no luck"),
        _ => Ending::Trapped { kind: "panic".into(), message: "oh".into(), backtrace: vec!["f".into()] },
    }
}

/// Goes to the end with everything that is asked for succeeding.
fn to_the_end(story: &mut Story) {
    for _ in 0..200 {
        if story.history.state() == ChangeState::Succeeded {
            return;
        }
        let decisions = decide(&story.history);
        if decisions.is_empty() {
            story.ask(Verb::Retry);
        }
        for decision in decisions {
            match &decision {
                Decision::Run { step, work: Work::Action, attempt } => {
                    let open =
                        story.history.attempt(step, *attempt).unwrap().calls.iter().any(|made| made.outcome.is_none());
                    if open { act(story, step, *attempt, 0) } else { story.succeed(step.as_str()) }
                }
                other => follow(story, other, 0),
            }
        }
    }
    panic!("no end in 200 rounds: {:?}", decide(&story.history));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_decision_fits_and_every_change_can_end(
        upgrade: bool, turns in proptest::collection::vec(any::<(u8, u8)>(), 0..120),
    ) {
        let mut story = Story::of(&if upgrade { upgrade_plan() } else { setup_plan() });
        for (dice, more) in turns {
            turn(&mut story, dice, more);
        }
        let stored: Vec<Record> =
            story.records.iter().map(|record| Record::from_json(&record.to_json()).unwrap()).collect();
        prop_assert_eq!(&stored, &story.records);
        let recovered = History::of(&stored).unwrap().unwrap();
        prop_assert_eq!(decide(&recovered), decide(&story.history));
        prop_assert_eq!(recovered.state(), story.history.state());
        prop_assert_eq!(story.change.state, story.history.state());
        let release = story.release.clone().unwrap();
        prop_assert_eq!(&release.stopped, &story.history.stopped);
        prop_assert_eq!(&release.left_job, &story.history.left_job);
        let tree = ChangeTree::of(&story.history);
        let attempts: usize = story.history.steps().map(|(_, step)| step.attempts.len()).sum();
        prop_assert!(count(&tree.steps) >= attempts, "a step is missing in\n{}", tree.text(Style::Tree, true));
        to_the_end(&mut story);
        prop_assert!(story.history.is_applied());
    }
}

fn count(nodes: &[pintle_lifecycle::tree::StepNode]) -> usize {
    nodes.iter().map(|node| 1 + count(&node.children)).sum()
}
