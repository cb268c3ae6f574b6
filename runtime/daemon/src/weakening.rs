//! Rules of durability that a negative control leaves out, to show that the crash tests find what comes of it. No flag and no
//! variable of `pintle` reaches them: only a program of the tests does.

use pintle_journal::Acknowledge;
use pintle_sandbox::Intents;

/// What is left out; by default nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Weakening {
    pub acknowledge: Acknowledge,
    pub intents: Intents,
}
