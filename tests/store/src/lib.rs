//! File systems that fail, for tests of the store: real ones (ext4 on a loop device, tmpfs) that are full, read-only or forbidden,
//! and one of our own in memory, which fails at the n-th request or loses power and with it what was not flushed.
//!
//! [`suite`] runs cases in processes with mounts of their own; [`disk::FaultyDisk`] is the file system of our own, served by a
//! second process so that the kernel never waits for whoever waits for it; [`load`] writes to a store and remembers what was
//! acknowledged.

#[path = "../../../runtime/journal/tests/journal/dice.rs"]
#[expect(clippy::must_use_candidate, reason = "the tests of the journal have it as a module of their own")]
pub mod dice;
pub mod disk;
mod files;
pub mod load;
pub mod mounts;
mod planned;
#[path = "../../../runtime/journal/tests/journal/sample.rs"]
#[expect(
    clippy::must_use_candidate,
    clippy::missing_panics_doc,
    reason = "the tests of the journal have it as a module of their own"
)]
pub mod sample;
mod sectors;
mod server;
pub mod suite;
mod wire;
