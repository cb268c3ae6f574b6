//! Moments of the real clock: a soak kills at them, and waits by it.

use std::{
    thread,
    time::{Duration, Instant},
};

#[expect(clippy::disallowed_methods, reason = "a soak kills at moments of the real clock")]
pub fn pause(time: Duration) {
    thread::sleep(time);
}

#[expect(clippy::disallowed_methods, reason = "a soak kills at moments of the real clock")]
pub fn now() -> Instant {
    Instant::now()
}

pub fn in_future(time: Duration) -> Instant {
    now() + time
}

pub fn passed(end: Instant) -> bool {
    now() >= end
}
