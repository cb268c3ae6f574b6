//! The one place that reads clocks. Everything else gets stamps and waits from here, so that tests can give it a clock that
//! jumps or one that is virtual.

use std::time::Duration;

use async_trait::async_trait;
use pintle_lifecycle::stamp::Stamp;

/// Moments and waits.
#[async_trait]
pub trait Clock: Send + Sync + 'static {
    fn now(&self) -> Stamp;

    /// Waits by the clock that counts since boot, whatever the wall clock does.
    async fn sleep(&self, duration: Duration);
}

/// The clocks of this machine.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock {
    boot: u32,
}

impl SystemClock {
    /// Reads which boot this is; machines that do not tell count as one boot, so that elapsed time is then never below zero.
    #[must_use]
    pub fn new() -> Self {
        let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        Self { boot: u32::from_str_radix(id.get(..8).unwrap_or_default(), 16).unwrap_or(0) }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the clock module is where clocks are read")]
    fn now(&self) -> Stamp {
        let wall = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let up = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        let up = u64::try_from(up.tv_sec).unwrap_or(0) * 1_000 + u64::try_from(up.tv_nsec).unwrap_or(0) / 1_000_000;
        Stamp { wall: u64::try_from(wall.as_millis()).unwrap_or(u64::MAX), up, boot: self.boot }
    }

    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }
}

/// A clock that runs on tokio's time: virtual where the runtime is paused, and with a wall clock that a test can set.
#[derive(Debug)]
pub struct VirtualClock {
    start: tokio::time::Instant,
    /// Wall time at `start`, milliseconds since 1970.
    wall: std::sync::atomic::AtomicU64,
}

impl VirtualClock {
    /// Starts now, on 2026-01-01.
    #[must_use]
    pub fn new() -> Self {
        Self { start: tokio::time::Instant::now(), wall: std::sync::atomic::AtomicU64::new(1_767_225_600_000) }
    }

    /// Lets the wall clock jump by `ms` milliseconds, back where negative.
    pub fn jump(&self, ms: i64) {
        let jumped = |wall: u64| Some(wall.saturating_add_signed(ms));
        let _previous =
            self.wall.fetch_update(std::sync::atomic::Ordering::Relaxed, std::sync::atomic::Ordering::Relaxed, jumped);
    }
}

impl Default for VirtualClock {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl Clock for VirtualClock {
    fn now(&self) -> Stamp {
        let up = u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX);
        Stamp { wall: self.wall.load(std::sync::atomic::Ordering::Relaxed).saturating_add(up), up: up + 1, boot: 1 }
    }

    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }
}
