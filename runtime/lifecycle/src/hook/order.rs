//! The order of hooks in a phase: groups by ascending weight; in a group objects first, then the others in parallel.

use super::{Hook, HookPhase};

/// Hooks of one weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Group<'a> {
    pub weight: i32,
    /// Those that make objects come first.
    pub hooks: &'a [Hook],
}

/// Puts hooks into the order in which they run: by phase, then weight, then objects before the others, each as they were declared.
#[must_use]
pub fn in_order(mut hooks: Vec<Hook>) -> Vec<Hook> {
    hooks.sort_by_key(|hook| (hook.phase, hook.weight, !hook.makes_objects()));
    hooks
}

impl<'a> Group<'a> {
    /// The groups of a phase, of hooks that are in order.
    pub fn of(hooks: &'a [Hook], phase: HookPhase) -> impl Iterator<Item = Self> {
        let begin = hooks.partition_point(|hook| hook.phase < phase);
        let end = hooks.partition_point(|hook| hook.phase <= phase);
        let groups = hooks[begin..end].chunk_by(|a, b| a.weight == b.weight);
        groups.map(|hooks| Self { weight: hooks[0].weight, hooks })
    }
}
