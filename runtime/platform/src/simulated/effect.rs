//! The count of effects: how often each really changed the world, and how often a repeated call found it done.

use std::collections::BTreeMap;
use std::fmt;

use super::fault::Method;

/// One effect: a key may have several, as a stop of two components has.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Effect {
    pub key: String,
    pub method: Method,
    /// What it acted on and how: `Process shop-worker to 0`.
    pub object: String,
}

/// How often an effect happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Count {
    /// Times that it was really applied. More than one is a broken promise.
    pub applied: u32,
    /// Times that a call with the same key found it done, or finished what was begun.
    pub adopted: u32,
    /// Times that somebody else undid it before anything came of it: to apply it again breaks nothing.
    pub undone: u32,
    /// Begun and not finished: Pintle died amid it.
    pub open: bool,
}

/// All effects that ever happened, in order and by count.
#[derive(Debug, Default)]
pub(super) struct Effects {
    counts: BTreeMap<Effect, Count>,
    order: Vec<Effect>,
}

impl Effects {
    /// Counts a call. `changes` says whether it makes the world another one: a repetition that does was no adoption.
    pub(super) fn count(&mut self, effect: Effect, changes: bool, whole: bool) {
        let count = self.counts.entry(effect.clone()).or_default();
        if count.applied == 0 || (!count.open && changes) {
            count.applied += 1;
            self.order.push(effect);
        } else {
            count.adopted += 1;
        }
        count.open = !whole;
    }

    /// Notes that somebody else undid an effect before anything came of it.
    pub(super) fn undone(&mut self, effect: Effect) {
        let count = self.counts.entry(effect).or_default();
        count.undone += 1;
        count.open = false;
    }

    pub(super) fn counts(&self) -> BTreeMap<Effect, Count> {
        self.counts.clone()
    }

    pub(super) fn order(&self) -> Vec<Effect> {
        self.order.clone()
    }
}

pub(super) fn effect(key: &str, method: Method, object: impl Into<String>) -> Effect {
    Effect { key: key.to_owned(), method, object: object.into() }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} [{}]", self.method, self.object, self.key)
    }
}
