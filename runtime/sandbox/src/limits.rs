//! What an attempt may use up, and the meters that notice. CPU time is the time of the thread while the guest computes: a
//! deadline would end a guest that comes back from a long call.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use pintle_lifecycle::plan::Limits;
use rustix::time::{ClockId, clock_gettime};
use wasmtime::ResourceLimiter;

/// A table element is a pointer.
const TABLE_ELEMENT: u64 = 8;
/// A replay repeats what was charged once, so it cannot take much longer than the whole budget: more is a guest that hangs.
const REPLAY_FACTOR: u64 = 2;
const REPLAY_SLACK_NS: u64 = 1_000_000_000;

/// The bounds of one attempt and what is left of them, shared by every time that the attempt is in memory.
#[derive(Debug)]
pub struct Budget {
    limits: Limits,
    cpu_ns: AtomicU64,
    log_bytes: AtomicU64,
    log_full: AtomicBool,
}

impl Budget {
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        Self {
            limits: *limits,
            cpu_ns: AtomicU64::new(0),
            log_bytes: AtomicU64::new(0),
            log_full: AtomicBool::new(false),
        }
    }

    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// CPU time that the attempt used, in milliseconds.
    #[must_use]
    pub fn cpu_used_ms(&self) -> u64 {
        self.cpu_ns.load(Ordering::Relaxed) / 1_000_000
    }

    /// CPU time that the attempt used, in nanoseconds.
    pub(crate) fn cpu_used_ns(&self) -> u64 {
        self.cpu_ns.load(Ordering::Relaxed)
    }

    fn cpu_limit_ns(&self) -> u64 {
        self.limits.cpu_ms.saturating_mul(1_000_000)
    }

    /// Takes the bytes of a log line.
    pub(crate) fn take_log(&self, bytes: usize) -> Room {
        let bytes = bytes as u64;
        let taken = self.log_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
            used.checked_add(bytes).filter(|sum| *sum <= self.limits.log_bytes)
        });
        match taken {
            Ok(_) if !self.log_full.load(Ordering::Relaxed) => Room::Enough,
            _ if self.log_full.swap(true, Ordering::Relaxed) => Room::Full,
            _ => Room::JustFull,
        }
    }
}

/// Whether a log line still fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Room {
    Enough,
    /// This is the first line that does not fit.
    JustFull,
    Full,
}

/// Measures the CPU time of one guest and charges it to the budget of its attempt.
#[derive(Debug)]
pub(crate) struct Meter {
    budget: Arc<Budget>,
    /// Thread CPU time at which the guest began to compute, in nanoseconds; 0 while it does not.
    since_ns: AtomicU64,
    replayed_ns: AtomicU64,
}

impl Meter {
    pub(crate) fn new(budget: Arc<Budget>) -> Self {
        Self { budget, since_ns: AtomicU64::new(0), replayed_ns: AtomicU64::new(0) }
    }

    /// The guest computes, on this thread, until [`Meter::pause`].
    pub(crate) fn resume(&self) {
        self.since_ns.store(thread_cpu_ns(), Ordering::Relaxed);
    }

    /// The guest does not compute any more. Says whether it has CPU time left.
    pub(crate) fn pause(&self, replaying: bool) -> bool {
        let since = self.since_ns.swap(0, Ordering::Relaxed);
        let spent = if since == 0 { 0 } else { thread_cpu_ns().saturating_sub(since) };
        let limit = self.budget.cpu_limit_ns();
        if replaying {
            let replayed = self.replayed_ns.fetch_add(spent, Ordering::Relaxed).saturating_add(spent);
            return replayed <= limit.saturating_mul(REPLAY_FACTOR).saturating_add(REPLAY_SLACK_NS);
        }
        self.budget.cpu_ns.fetch_add(spent, Ordering::Relaxed).saturating_add(spent) <= limit
    }
}

fn thread_cpu_ns() -> u64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    // Never 0: that means "does not compute".
    seconds.saturating_mul(1_000_000_000).saturating_add(u64::try_from(now.tv_nsec).unwrap_or(0)).max(1)
}

/// The memory of one instance: all its memories and tables together.
#[derive(Debug)]
pub(crate) struct Memory {
    limit: u64,
    used: u64,
    /// Of the growth that was allowed last, in case it does not happen.
    last: u64,
    exceeded: bool,
}

impl Memory {
    pub(crate) fn new(limit: u64) -> Self {
        Self { limit, used: 0, last: 0, exceeded: false }
    }

    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    /// Whether the guest ended because it wanted more than its limit.
    pub(crate) fn exceeded(&self) -> bool {
        self.exceeded
    }

    /// A growth over the limit ends the guest, since Rust, Python and JavaScript all abort on a failed allocation and would
    /// hide the reason. A growth over the memory's own maximum only fails.
    fn grow(&mut self, current: usize, desired: usize, maximum: Option<usize>, unit: u64) -> wasmtime::Result<bool> {
        let more = (desired.saturating_sub(current) as u64).saturating_mul(unit);
        let used = self.used.saturating_add(more);
        if used > self.limit {
            self.exceeded = true;
            return Err(wasmtime::Error::msg("the module wanted more memory than its limit"));
        }
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
        }
        self.used = used;
        self.last = more;
        Ok(true)
    }

    fn shrink_to_last(&mut self) {
        self.used -= std::mem::take(&mut self.last);
    }
}

impl ResourceLimiter for Memory {
    fn memory_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        self.grow(current, desired, maximum, 1)
    }

    fn memory_grow_failed(&mut self, _error: wasmtime::Error) -> wasmtime::Result<()> {
        self.shrink_to_last();
        Ok(())
    }

    fn table_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        self.grow(current, desired, maximum, TABLE_ELEMENT)
    }

    fn table_grow_failed(&mut self, _error: wasmtime::Error) -> wasmtime::Result<()> {
        self.shrink_to_last();
        Ok(())
    }
}
