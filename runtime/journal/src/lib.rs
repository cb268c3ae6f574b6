//! Durable records: every step and call of a change, in order, acknowledged once they are on disk.
//!
//! append → log (truth) → index (disposable) → views
//!
//! [`journal::Journal`] is what the rest of Pintle sees. [`Store`] keeps it on this machine's disk, [`Reader`] looks into a store
//! that another process writes, [`MemoryJournal`] is for tests and can die after any record. [`change_log::ChangeLog`] is the
//! journal of one change that runs. The files and their rules are described in `docs/store.md`.
//!
//! This is the only room that names sled.

pub mod change_log;
pub mod check;
pub mod clock;
mod index;
pub mod journal;
mod log;
pub mod memory;
#[cfg(test)]
#[path = "../tests/journal/sample.rs"]
#[expect(dead_code, reason = "the integration tests use all of it")]
mod sample;
pub mod store;
mod views;

pub use check::check_store;
pub use log::LogError;
pub use log::position::Position;
pub use log::recover::TornTail;
pub use memory::MemoryJournal;
pub use store::{
    Acknowledge, ExportError, Holder, IndexState, OpenError, OpenReport, Reader, Store, StoreOptions, export,
};
