//! Where releases live: the `Platform` trait and what implements it.
//!
//! `simulated` keeps a world in memory for tests.

mod environment;
mod platform;
pub mod simulated;

pub use platform::{Job, Platform, PlatformError, Status};
pub use simulated::Simulated;
