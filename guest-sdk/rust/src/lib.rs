//! Write a durable lifecycle action for Pintle.
//!
//! An action is a function that stops, starts and upgrades the components of a release. Pintle runs it as a WebAssembly component
//! and records every call, so an action that was cut off goes on where it was and no effect happens twice.
//!
//! This crate is the door for authors: [`prelude`] has what an action uses, [`fake`] is a host for plain `cargo test`.
#![doc = include_str!("../README.md")]

#[expect(unused_extern_crates, reason = "the generated bindings name this crate as their authors do")]
extern crate self as pintle_sdk;

mod action;
#[doc(hidden)]
pub mod bindings;
pub mod components;
mod context;
pub mod durable;
mod error;
#[cfg(not(target_family = "wasm"))]
pub mod fake;
pub mod jobs;
pub mod logging;
pub mod prelude;
pub mod releases;
pub mod state;

pub use action::ActionDef;
pub use context::{Context, Phase};
pub use error::{Error, Result};
pub use pintle_image::{Image, ImageError, ImageProblem};
pub use pintle_sdk_macros::{action, actions};

#[cfg(target_family = "wasm")]
use bindings::pintle::hooks as imports;
#[cfg(not(target_family = "wasm"))]
use fake::imports;

/// What the macros' output calls. Not for authors.
#[doc(hidden)]
pub mod __private {
    pub use crate::action::{assert_distinct, describe, run, undo};
}
