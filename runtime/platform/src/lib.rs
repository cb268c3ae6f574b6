//! Where releases live: the `Platform` trait and what implements it.
//!
//! `local` runs real processes on this machine; `simulated` keeps a world in memory for tests.

mod environment;
mod local;
mod platform;
pub mod simulated;

pub use local::{Local, LocalConfig, shim_main};
pub use platform::{FoundHook, HookLook, HookWorkload, Job, Platform, PlatformError, Status};
pub use simulated::Simulated;
