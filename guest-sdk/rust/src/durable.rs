//! The only clock and the only randomness of an action. Their answers are recorded, so a replay gets the same ones.

use std::time::{Duration, SystemTime};

use crate::imports::durable as host;
use crate::{Error, Result};

/// The time of the first run, to the millisecond.
#[must_use]
pub fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(host::now())
}

/// Random bytes; at most 4,096 at a time.
#[must_use]
pub fn random(len: u32) -> Vec<u8> {
    host::random(len)
}

/// Waits, outside memory: it may take days and survives a restart of Pintle. It counts against the action's timeout.
///
/// # Errors
///
/// [`Error::Cancelled`] or [`Error::Superseded`] when the change ends meanwhile.
pub fn sleep(duration: Duration) -> Result<()> {
    host::sleep(milliseconds(duration)).map_err(Error::from_host)
}

/// Rounded up, so that a short wait does not become none.
pub(crate) fn milliseconds(duration: Duration) -> u64 {
    let started = u64::from(duration.subsec_nanos().div_ceil(1_000_000));
    duration.as_secs().saturating_mul(1_000).saturating_add(started)
}
