//! The undo direction: first everything stops that still runs, then each step is undone, newest first, in a step of its own.

use super::leaf::Leaf;
use super::{Decision, Progress, Work};
use crate::ending::{ChangeState, Ending};
use crate::history::History;
use crate::ids::StepId;
use crate::plan::Retry;
use crate::record::StepKind;
use crate::undo::{UNDO, is_of_undo, items};

/// What ought to happen of a change that is taken back.
pub(super) fn decide(history: &History, reason: &str) -> Vec<Decision> {
    let stops = stops(history);
    if !stops.is_empty() {
        return stops;
    }
    let items = items(history);
    let left = |step: &StepId| history.skipped.contains(&step.child(UNDO));
    let in_the_way =
        items.iter().find_map(|(step, undoing)| undoing.as_ref().err().filter(|_| !left(step)).map(|why| (step, why)));
    // Before anything is undone: half a way back helps nobody.
    if let Some((step, why)) = in_the_way {
        let title = history.step(step).map(|step| step.title.clone()).unwrap_or_default();
        return vec![Decision::Stuck {
            step: step.child(UNDO),
            question: format!(
                "the change cannot be taken back: {title}: {why}. Take it back by hand or decide to keep it, then `skip`; or `cancel` \
                 the undo"
            ),
        }];
    }
    for (step, undoing) in &items {
        if undoing.is_err() {
            continue;
        }
        let inside = step.child(UNDO);
        let Some(undone) = history.step(step) else { continue };
        let title = format!("Undo: {}", undone.title);
        let leaf = Leaf {
            step: &inside,
            parent: None,
            kind: StepKind::Undo,
            title: &title,
            retry: Retry::default(),
            work: Work::Undo,
        };
        match leaf.progress(history) {
            Progress::Done => {}
            Progress::Going(mut decisions) => {
                decisions.extend(super::sync::syncs_of_open_calls(history, &inside));
                return decisions;
            }
            Progress::Failed(ending) => {
                return vec![Decision::Stuck {
                    step: inside,
                    question: format!("{title}: {ending}. `retry` tries it again, `skip` leaves it as it is"),
                }];
            }
        }
    }
    vec![Decision::Close { state: ChangeState::Undone, message: reason.to_owned() }]
}

/// Ends of all that runs forward.
fn stops(history: &History) -> Vec<Decision> {
    let open = || {
        let open = history.steps().filter(|(id, step)| step.ending().is_none() && !is_of_undo(id));
        open.filter(|(id, _)| !super::goes_on(history, id))
    };
    let holds = |kind| matches!(kind, StepKind::Mode | StepKind::Sync);
    let works: Vec<Decision> = open()
        .filter(|(_, step)| !holds(step.kind))
        .map(|(id, step)| Decision::Stop { step: id.clone(), attempt: step.attempt_number() })
        .collect();
    if !works.is_empty() {
        return works;
    }
    let mut held: Vec<Decision> = open()
        .map(|(id, step)| Decision::Finish {
            step: id.clone(),
            attempt: step.attempt_number(),
            ending: Ending::Cancelled,
        })
        .collect();
    held.reverse();
    held
}
