//! Ways to use too much.
#![expect(clippy::unnecessary_wraps, reason = "every action has the same signature")]

use std::hint::black_box;

use crate::bindings::pintle::hooks::types::Error;
use crate::bindings::pintle::hooks::{components, durable, logging, state};
use crate::number;

const MIB: usize = 1 << 20;

pub fn spin_forever() -> Result<(), Error> {
    let mut count = 0_u64;
    loop {
        count = black_box(count.wrapping_add(1));
    }
}

/// So many million rounds.
pub fn spin() -> Result<(), Error> {
    rounds(number() * 1_000_000);
    Ok(())
}

fn rounds(count: u64) {
    for round in 0..count {
        black_box(round);
    }
}

/// Never computes for as long as a tick, and never ends.
pub fn spin_and_call() -> Result<(), Error> {
    loop {
        rounds(100_000);
        components::status("server")?;
    }
}

/// Waits so many times.
pub fn wait() -> Result<(), Error> {
    (0..number()).try_for_each(|_| durable::sleep(1))
}

pub fn many_calls() -> Result<(), Error> {
    (0..number()).try_for_each(|_| components::status("server").map(drop))
}

pub fn ask_the_time() -> Result<(), Error> {
    for _ in 0..number() {
        durable::now();
    }
    Ok(())
}

pub fn take_memory() -> Result<(), Error> {
    let mut taken = Vec::new();
    loop {
        taken.push(black_box(vec![1_u8; MIB]));
    }
}

/// So many MiB, each touched.
pub fn use_memory() -> Result<(), Error> {
    let size = usize::try_from(number()).unwrap_or(0) * MIB;
    black_box(vec![1_u8; size]);
    Ok(())
}

/// So many lines of 1,000 bytes.
pub fn log() -> Result<(), Error> {
    let line = "x".repeat(1000);
    (0..number()).for_each(|_| logging::log("info", &line, &[]));
    Ok(())
}

/// So many lines of nothing.
pub fn log_nothing() -> Result<(), Error> {
    (0..number()).for_each(|_| logging::log("info", "", &[]));
    Ok(())
}

pub fn log_forever() -> Result<(), Error> {
    loop {
        logging::log("info", "and on", &[("and".to_owned(), "on".to_owned())]);
    }
}

pub fn print_forever() -> Result<(), Error> {
    loop {
        println!("and on");
    }
}

/// One instruction of the machine that works for long, again and again.
pub fn fill_forever() -> Result<(), Error> {
    let mut memory = vec![0_u8; 32 * MIB];
    loop {
        memory.fill(black_box(1));
    }
}

pub fn long_line() -> Result<(), Error> {
    logging::log("info", &"ä".repeat(20_000), &[]);
    Ok(())
}

/// The error is the guest's to see.
pub fn large_argument() -> Result<(), Error> {
    let kib = usize::try_from(number()).unwrap_or(0);
    state::put("large", &vec![0; kib << 10])
}

/// The argument of `large-argument`, without end.
pub fn put_often() -> Result<(), Error> {
    loop {
        large_argument()?;
    }
}

pub fn huge_argument() -> Result<(), Error> {
    state::put("huge", &vec![0; 100 * MIB])
}

pub fn much_randomness() -> Result<(), Error> {
    durable::random(4097);
    Ok(())
}
