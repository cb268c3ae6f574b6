//! Durable records: every step and call of a change, in order, acknowledged once they are on disk.
//!
//! append → log (truth) → index (disposable) → views
//!
//! This is the only room that names sled.

pub mod change_log;
pub mod clock;
pub mod journal;
pub mod memory;
mod views;

pub use memory::MemoryJournal;
