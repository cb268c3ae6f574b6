//! Records, one a line, whatever they say: what is read is written the same, and a change whose records make sense together can
//! be decided on, shown and viewed, however little sense they make otherwise.

use pintle_lifecycle::decide::{Decision, decide, sync_progress};
use pintle_lifecycle::history::History;
use pintle_lifecycle::ids::StepId;
use pintle_lifecycle::plan::{Node, Plan};
use pintle_lifecycle::plan_view;
use pintle_lifecycle::planning::{Again, plan_again};
use pintle_lifecycle::record::{Event, Record};
use pintle_lifecycle::tree::{ChangeTree, NodeKind, StepNode, Style};
use pintle_lifecycle::view::{ChangeView, ReleaseView};

use crate::templates::{StandIn, now};

/// The lowest bit of the first byte: the records are numbered anew, as those of the first one's change.
pub const LINED_UP: u8 = 1;

/// Reads the lines and folds what they tell.
///
/// # Panics
/// Where the lifecycle does what its documentation says it does not.
pub fn run(bytes: &[u8]) {
    let Some((&how, bytes)) = bytes.split_first() else { return };
    let mut records: Vec<Record> = bytes.split(|byte| *byte == b'\n').filter_map(read).collect();
    if let Some(change) = records.first().filter(|_| how & LINED_UP != 0).map(|record| record.change.clone()) {
        for (record, seq) in records.iter_mut().zip(0..) {
            record.change.clone_from(&change);
            record.seq = seq;
        }
    }
    view(&records);
    fold(&records);
}

fn read(line: &[u8]) -> Option<Record> {
    let record = match Record::from_json(line) {
        Ok(record) => record,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return None;
        }
    };
    let json = record.to_json();
    assert!(json.iter().all(|byte| *byte >= b' '), "a stored record has no byte below 0x20");
    let again = Record::from_json(&json).expect("what was written is read");
    assert_eq!(again, record);
    assert_eq!(again.to_json(), json);
    Some(record)
}

/// The small folds, which take any record in any order.
fn view(records: &[Record]) {
    let (mut change, mut release) = (None::<ChangeView>, None);
    for record in records.iter().filter(|record| record.seq < u64::MAX) {
        match &mut change {
            Some(view) => view.apply(record),
            None => change = ChangeView::open(record),
        }
        release = ReleaseView::after(release, record);
    }
    if let Some(view) = change {
        let json = serde_json::to_vec(&view).expect("its keys are strings");
        assert_eq!(serde_json::from_slice::<ChangeView>(&json).expect("what was written is read"), view);
    }
    if let Some(view) = release {
        let json = serde_json::to_vec(&view).expect("its keys are strings");
        assert_eq!(serde_json::from_slice::<ReleaseView>(&json).expect("what was written is read"), view);
    }
    for record in records {
        if let Event::ChangeOpened { plan, .. } = &record.event {
            look_at_plan(plan);
            if let Some(view) = ReleaseView::after(None, record) {
                let view = ReleaseView { open: None, ..view };
                if let Ok(deleted) = now(plan_again(Again::Delete, &view, plan, &[], &StandIn)) {
                    look_at_plan(&deleted);
                }
            }
        }
    }
}

fn look_at_plan(plan: &Plan) {
    assert!(plan_view::text(plan).ends_with('\n'));
    for difference in plan_view::differences(plan) {
        assert!(!difference.object.to_string().is_empty());
    }
    for step in plan.phases.iter().flat_map(|phase| &phase.nodes).filter_map(Node::step) {
        assert!(plan.phase_of(step).is_some());
    }
    assert!(plan.modules().is_sorted());
}

/// The whole fold, up to the first record that does not fit.
fn fold(records: &[Record]) {
    let Some(first) = records.first() else { return };
    let mut history = match History::open(first) {
        Ok(history) => history,
        Err(broken) => {
            assert!(broken.to_string().contains(&first.change.to_string()));
            return;
        }
    };
    assert_possible(&history);
    let mut fitting = 1;
    for record in &records[1..] {
        if let Err(broken) = history.apply(record) {
            assert!(broken.to_string().contains(&record.change.to_string()));
            break;
        }
        fitting += 1;
        assert_possible(&history);
    }
    look_at(&history);
    let again = History::of(&records[..fitting]).expect("there is one").expect("they fitted before");
    assert_eq!(again.next, fitting as u64);
    assert_eq!(decide(&again), decided(records, fitting));
}

/// What is decided on records that went through their stored form.
fn decided(records: &[Record], fitting: usize) -> Vec<Decision> {
    let stored: Vec<Record> =
        records[..fitting].iter().map(|r| Record::from_json(&r.to_json()).expect("read")).collect();
    decide(&History::of(&stored).expect("there is one").expect("they fitted before"))
}

/// Whatever is decided can be done.
fn assert_possible(history: &History) {
    for decision in decide(history) {
        if let Decision::Run { step, attempt, .. }
        | Decision::Stop { step, attempt }
        | Decision::Finish { step, attempt, .. } = &decision
        {
            assert!(history.attempt(step, *attempt).is_some(), "what was never started shall go on: {decision:?}");
        }
    }
}

fn look_at(history: &History) {
    for (id, step) in history.steps() {
        for (number, attempt) in (1..).zip(&step.attempts) {
            for ordinal in (0..).zip(&attempt.calls).map(|(ordinal, _)| ordinal) {
                assert_eq!(sync_progress(history, id, number, ordinal), sync_progress(history, id, number, ordinal));
            }
        }
        assert!(history.attempt(id, step.attempt_number()).is_none() == step.attempts.is_empty());
    }
    assert!(history.attempt(&StepId::root(""), 0).is_none());
    assert!(history.held().count() <= history.plan.components.len());
    let tree = ChangeTree::of(history);
    let attempts: usize = history.steps().map(|(_, step)| step.attempts.len()).sum();
    assert_eq!(steps(&tree.steps), attempts, "each step is in one place");
    for style in [Style::Tree, Style::Plain] {
        assert!(tree.text(style, true).ends_with('\n'));
    }
    assert!(serde_json::to_vec(&tree).is_ok());
}

/// Nodes of steps, not of calls.
fn steps(nodes: &[StepNode]) -> usize {
    nodes.iter().map(|node| usize::from(node.kind != NodeKind::Call) + steps(&node.children)).sum()
}
