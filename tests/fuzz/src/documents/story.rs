//! A change that meets no trouble: what is decided is recorded, and all work succeeds at once.

use pintle_lifecycle::decide::{Decision, Work, decide};
use pintle_lifecycle::ending::{ChangeState, Ending};
use pintle_lifecycle::history::History;
use pintle_lifecycle::record::{Event, Record};

/// All records of the change that `opened` opens, up to its success.
///
/// # Panics
/// Where it comes to no end, or to another one.
pub fn to_success(opened: Record) -> Vec<Record> {
    let mut history = History::open(&opened).expect("it opens a change");
    let mut records = vec![opened];
    while history.finished.is_none() {
        let decisions = decide(&history);
        assert!(!decisions.is_empty(), "it waits for nobody: {:?}", history.plan);
        assert!(records.len() < 100_000, "it comes to no end: {:?}", history.plan);
        for decision in decisions {
            let first = &records[0];
            let record = Record { seq: history.next, event: event(decision), ..first.clone() };
            history.apply(&record).expect("what is decided fits");
            records.push(record);
        }
    }
    assert_eq!(history.state(), ChangeState::Succeeded);
    records
}

fn event(decision: Decision) -> Event {
    match decision {
        Decision::Start { step, attempt, parent, kind, title, hook, .. } => {
            Event::StepStarted { step, attempt, parent, kind, title, hook }
        }
        Decision::Run { step, attempt, work } => {
            let applied = if let Work::Apply(render) = work { Some(render) } else { None };
            Event::StepFinished { step, attempt, ending: Ending::Succeeded { applied } }
        }
        Decision::Stop { step, attempt } => Event::StepFinished { step, attempt, ending: Ending::Cancelled },
        Decision::Finish { step, attempt, ending } => Event::StepFinished { step, attempt, ending },
        Decision::Close { state, message } => Event::ChangeFinished { state, message },
        Decision::EndHooks => Event::HooksEnded,
        Decision::Undo { reason } => Event::UndoBegan { reason },
        Decision::Stuck { step, question } => Event::ChangeStuck { step, question },
    }
}
