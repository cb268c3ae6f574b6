//! Ways to crash.
#![expect(clippy::unnecessary_wraps, reason = "every action has the same signature")]

use std::hint::black_box;

use crate::bindings::pintle::hooks::logging;
use crate::bindings::pintle::hooks::types::Error;

pub fn panic() -> Result<(), Error> {
    migrate_schema(black_box(7))
}

#[inline(never)]
fn migrate_schema(version: u32) -> Result<(), Error> {
    panic!("no schema has version {version}");
}

pub fn log_and_panic() -> Result<(), Error> {
    logging::log("info", "began", &[]);
    logging::log("error", "the disk is full", &[]);
    logging::log("error", "giving up", &[]);
    panic()
}

pub fn unreachable() -> Result<(), Error> {
    core::arch::wasm32::unreachable()
}

pub fn exit() -> Result<(), Error> {
    std::process::exit(3)
}

pub fn recurse() -> Result<(), Error> {
    #[inline(never)]
    fn deeper(depth: u64) -> u64 {
        if depth == u64::MAX { 0 } else { black_box(deeper(black_box(depth + 1))) + 1 }
    }
    black_box(deeper(0));
    Ok(())
}
