//! Where releases live: the `Platform` trait and what implements it.
//!
//! `local` runs real processes on this machine; `simulated` keeps a world in memory for tests.

mod platform;

pub use platform::{Job, Platform, PlatformError, Status};
