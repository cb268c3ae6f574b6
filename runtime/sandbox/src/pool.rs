//! How wasmtime is set up: deterministic, interruptible, and with a pool that has room for a fixed number of instances.

use wasmtime::{Config, Enabled, Engine, InstanceAllocationStrategy, PoolingAllocationConfig, WasmBacktraceDetails};

// What one component may have. Python components have about 20 core instances, JavaScript ones 3 memories and 3 tables.
const CORE_INSTANCES: u32 = 32;
pub(crate) const MEMORIES: u32 = 4;
pub(crate) const TABLES: u32 = 8;
const TABLE_ELEMENTS: usize = 1 << 16;

const WASM_STACK: usize = 512 << 10;
const FIBER_STACK: usize = 1 << 20;

/// A wasmtime with room for `instances` components at once, each memory of at most `memory_bytes`.
pub(crate) fn open(instances: u32, memory_bytes: usize) -> wasmtime::Result<Engine> {
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(instances)
        .total_stacks(instances)
        .total_core_instances(instances.saturating_mul(CORE_INSTANCES))
        .max_core_instances_per_component(CORE_INSTANCES)
        .total_memories(instances.saturating_mul(MEMORIES))
        .max_memories_per_component(MEMORIES)
        .max_memories_per_module(MEMORIES)
        .total_tables(instances.saturating_mul(TABLES))
        .max_tables_per_component(TABLES)
        .max_tables_per_module(TABLES)
        .table_elements(TABLE_ELEMENTS)
        .max_memory_size(memory_bytes)
        .linear_memory_keep_resident(128 << 10)
        .table_keep_resident(64 << 10)
        .async_stack_keep_resident(64 << 10)
        // Finds the pages that a guest has written, wherever they are, and resets them in place: nothing faults in the next guest.
        .pagemap_scan(Enabled::Auto);

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
