//! The wasmtime engine: deterministic, interruptible, and with room for a fixed number of instances.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use wasmtime::{Config, Engine, InstanceAllocationStrategy, PoolingAllocationConfig, WasmBacktraceDetails};

/// How often a guest that computes is interrupted.
const TICK: Duration = Duration::from_millis(10);

// What one component may have. Python components have about 20 core instances, JavaScript ones 3 memories and 3 tables.
const CORE_INSTANCES: u32 = 32;
const MEMORIES: u32 = 4;
const TABLES: u32 = 8;
const TABLE_ELEMENTS: usize = 1 << 16;

const WASM_STACK: usize = 512 << 10;
const FIBER_STACK: usize = 1 << 20;

/// An engine with room for `instances` components at once, each memory of at most `memory_bytes`.
pub(crate) fn engine(instances: u32, memory_bytes: usize) -> wasmtime::Result<Engine> {
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(instances)
        .total_stacks(instances)
        .total_core_instances(instances.saturating_mul(CORE_INSTANCES))
        .max_core_instances_per_component(CORE_INSTANCES)
        .total_memories(instances.saturating_mul(MEMORIES))
        .max_memories_per_component(MEMORIES)
        .total_tables(instances.saturating_mul(TABLES))
        .max_tables_per_component(TABLES)
        .table_elements(TABLE_ELEMENTS)
        .max_memory_size(memory_bytes)
        .linear_memory_keep_resident(128 << 10)
        .table_keep_resident(64 << 10)
        .async_stack_keep_resident(64 << 10);

    let mut config = Config::new();
    config
        .concurrency_support(false)
        .epoch_interruption(true)
        .max_wasm_stack(WASM_STACK)
        .async_stack_size(FIBER_STACK)
        .wasm_memory64(false)
        .relaxed_simd_deterministic(true)
        .cranelift_nan_canonicalization(true)
        // The daemon's own environment must not decide what a guest's backtrace shows.
        .wasm_backtrace_details(WasmBacktraceDetails::Disable)
        .wasm_backtrace_max_frames(std::num::NonZeroUsize::new(64))
        .allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    Engine::new(&config)
}

/// Interrupts the guests of an engine at each tick, while there are any. Its thread ends when it is dropped.
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
        if count.guests == 1 {
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
        let count = self
            .changed
            .wait_while(self.lock(), |count| count.guests == 0 && !count.ended)
            .unwrap_or_else(PoisonError::into_inner);
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
