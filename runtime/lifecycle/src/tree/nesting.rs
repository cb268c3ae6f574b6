//! Which step nests in which: by its recorded parent, or where that is no node of its own, by the next one around it.

use std::collections::{BTreeMap, BTreeSet};

use crate::history::History;
use crate::ids::StepId;

#[derive(Debug, Default)]
pub(super) struct Nesting {
    roots: Vec<StepId>,
    inside: BTreeMap<StepId, Vec<StepId>>,
}

impl Nesting {
    pub fn of(history: &History) -> Self {
        let known = nodes(history);
        let mut nesting = Self::default();
        for (id, step) in history.steps() {
            match step.parent.as_ref().and_then(|parent| around(parent, &known)) {
                Some(outer) => nesting.inside.entry(outer.clone()).or_default().push(id.clone()),
                None => nesting.roots.push(id.clone()),
            }
        }
        nesting
    }

    pub fn roots(&self) -> impl Iterator<Item = &StepId> {
        self.roots.iter()
    }

    pub fn inside(&self, id: &StepId) -> impl Iterator<Item = &StepId> {
        self.inside.get(id).into_iter().flatten()
    }
}

/// Ids of everything that becomes a node: steps, and calls that have a title.
fn nodes(history: &History) -> BTreeSet<StepId> {
    let mut known = BTreeSet::new();
    for (id, step) in history.steps() {
        known.insert(id.clone());
        for (number, attempt) in (1..).zip(&step.attempts) {
            let shown = (0..).zip(&attempt.calls).filter(|(_, made)| made.call.title().is_some());
            known.extend(shown.map(|(ordinal, _)| id.call(number, ordinal)));
        }
    }
    known
}

/// The node with that id, or the nearest one around it.
fn around<'k>(id: &StepId, known: &'k BTreeSet<StepId>) -> Option<&'k StepId> {
    let mut text = id.as_str();
    loop {
        if let Some(node) = known.get(&StepId::root(text)) {
            return Some(node);
        }
        text = text.rsplit_once('/')?.0;
    }
}
