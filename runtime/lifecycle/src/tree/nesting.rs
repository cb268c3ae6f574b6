//! Which step nests in which: by its recorded parent, or where that is no node of its own, by the next one around it. A step nests
//! in what started before it only, so that whatever records say each step is in one place and nothing is inside itself.

use std::collections::BTreeMap;

use crate::history::History;
use crate::ids::StepId;

/// No change nests deeper; what does, in records that nobody wrote, is shown beside the others.
const MAX_DEPTH: usize = 64;

#[derive(Debug, Default)]
pub(super) struct Nesting {
    roots: Vec<StepId>,
    in_steps: BTreeMap<StepId, Vec<StepId>>,
    in_calls: BTreeMap<StepId, Vec<StepId>>,
}

/// What becomes a node: a step, or a call that has a title.
#[derive(Debug, Clone, Copy)]
struct Known {
    is_call: bool,
    /// Of the step, or of the step that made the call.
    depth: usize,
}

impl Nesting {
    pub fn of(history: &History) -> Self {
        let mut known = BTreeMap::new();
        let mut nesting = Self::default();
        for (id, step) in history.steps() {
            let outer = step.parent.as_ref().and_then(|parent| around(parent, &known));
            let outer = outer.filter(|(_, known)| known.depth < MAX_DEPTH);
            if let Some((outer, known)) = outer {
                let inside = if known.is_call { &mut nesting.in_calls } else { &mut nesting.in_steps };
                inside.entry(outer.clone()).or_default().push(id.clone());
            } else {
                nesting.roots.push(id.clone());
            }
            let depth = outer.map_or(0, |(_, known)| known.depth + 1);
            known.insert(id.clone(), Known { is_call: false, depth });
            for (number, attempt) in (1..).zip(&step.attempts) {
                let shown = (0..).zip(&attempt.calls).filter(|(_, made)| made.call.title().is_some());
                for (ordinal, _) in shown {
                    known.entry(id.call(number, ordinal)).or_insert(Known { is_call: true, depth });
                }
            }
        }
        nesting
    }

    pub fn roots(&self) -> impl Iterator<Item = &StepId> {
        self.roots.iter()
    }

    /// Steps directly in a step.
    pub fn inside(&self, step: &StepId) -> &[StepId] {
        self.in_steps.get(step).map_or(&[], Vec::as_slice)
    }

    /// Steps directly in a call.
    pub fn inside_call(&self, call: &StepId) -> &[StepId] {
        self.in_calls.get(call).map_or(&[], Vec::as_slice)
    }
}

/// The node with that id, or the nearest one around it.
fn around<'k>(id: &StepId, known: &'k BTreeMap<StepId, Known>) -> Option<(&'k StepId, Known)> {
    let mut text = id.as_str();
    loop {
        if let Some((node, is)) = known.get_key_value(&StepId::root(text)) {
            return Some((node, *is));
        }
        text = text.rsplit_once('/')?.0;
    }
}
