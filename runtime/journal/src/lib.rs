//! Durable records: every step and call of a change, in order, acknowledged once they are on disk.
//!
//! append → log (truth) → index (disposable) → views
//!
//! This is the only room that names sled.

pub mod change_log;
pub mod clock;
mod index;
pub mod journal;
mod log;
pub mod memory;
pub mod store;
mod views;

pub use log::LogError;
pub use log::position::Position;
pub use log::recover::TornTail;
pub use memory::MemoryJournal;
pub use store::{Acknowledge, IndexState, OpenError, OpenReport, Store, StoreOptions};
