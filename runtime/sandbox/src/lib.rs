//! The sandbox: action modules are checked, compiled once, and run under bounds, with nothing of the machine in reach.
//!
//! bytes → admission → module → guest → host
//!
//! A guest has no files, no network, no environment, no real clock and no real randomness. What it can do goes through
//! [`Host`]; what it can use is bounded by a [`Budget`]; how it ends is a typed [`Finish`]. This is the only room that names
//! wasmtime.

mod action;
mod admission;
mod attempt;
mod bindings;
mod cache;
mod call_size;
mod compiler;
mod derived;
mod described;
mod effect;
mod gate;
mod guest;
mod heard;
mod host;
mod intent;
mod limits;
mod module;
mod offer;
mod patience;
mod pool;
mod private_file;
mod replay;
mod rest;
mod sandbox;
mod structure;
mod template;
mod ticker;
mod trapped;
mod verdict;
mod wasi;

pub use action::{Action, End, Intents};
pub use admission::{AdmissionError, Interface};
pub use guest::{Entry, Finish};
pub use host::{Facts, Host, Stop};
pub use limits::Budget;
pub use module::{ActionInfo, Inspection, Module, ModuleError};
pub use patience::{Impatience, patiently, pauses};
pub use replay::{NoRoom, Replay};
pub use rest::{Rest, Until};
pub use sandbox::{Sandbox, SandboxConfig, SandboxError};
pub use template::{TemplateBounds, Templates};
pub use verdict::{Behaviour, Difference, Line, OtherLine, Verdict};
