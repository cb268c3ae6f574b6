//! The tick that interrupts guests that compute, so that they are charged and leave the thread to others.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use wasmtime::Engine;

/// How often a guest that computes is interrupted.
const TICK: Duration = Duration::from_millis(10);

/// Ticks without a guest, after which the thread sleeps until one comes: waking it costs more than a tick.
const IDLE_TICKS: u32 = 100;

/// Interrupts guests at each tick, while there are any, and a second longer. Its thread ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Ticker {
    guests: Arc<Guests>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Guests {
    count: Mutex<Count>,
    /// The first guest came, or the end.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Count {
    guests: usize,
    /// Ticks since there was a guest.
    idle_ticks: u32,
    /// The thread waits for a guest.
    sleeps: bool,
    ended: bool,
}

/// A guest is in memory.
#[derive(Debug)]
pub(crate) struct Ticking(Arc<Guests>);

impl Ticker {
    pub(crate) fn start(engine: &Engine) -> std::io::Result<Self> {
        let guests = Arc::<Guests>::default();
        let engine = engine.clone();
        let seen = Arc::clone(&guests);
        let thread = std::thread::Builder::new().name("pintle-ticker".to_owned()).spawn(move || {
            while seen.wait_for_tick() {
                engine.increment_epoch();
            }
        })?;
        Ok(Self { guests, thread: Some(thread) })
    }

    /// Ticks until the answer is dropped.
    pub(crate) fn tick(&self) -> Ticking {
        let mut count = self.guests.lock();
        count.guests += 1;
        if count.sleeps {
            self.guests.changed.notify_all();
        }
        Ticking(Arc::clone(&self.guests))
    }
}

impl Guests {
    fn lock(&self) -> MutexGuard<'_, Count> {
        self.count.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a tick is due; false when there will be none.
    fn wait_for_tick(&self) -> bool {
        let mut count = self.lock();
        count.idle_ticks = if count.guests == 0 { count.idle_ticks.saturating_add(1) } else { 0 };
        if count.idle_ticks > IDLE_TICKS {
            count.sleeps = true;
            let nobody = |count: &mut Count| count.guests == 0 && !count.ended;
            count = self.changed.wait_while(count, nobody).unwrap_or_else(PoisonError::into_inner);
            (count.sleeps, count.idle_ticks) = (false, 0);
        }
        let (count, _) =
            self.changed.wait_timeout_while(count, TICK, |count| !count.ended).unwrap_or_else(PoisonError::into_inner);
        !count.ended
    }
}

impl Drop for Ticking {
    fn drop(&mut self) {
        self.0.lock().guests -= 1;
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.guests.lock().ended = true;
        self.guests.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // A ticker that panicked has nothing to say that matters now.
            drop(thread.join());
        }
    }
}
