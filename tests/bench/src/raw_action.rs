//! The raw limit of an action: wasmtime with the same module, instantiated and called, and nothing around it.

use wasmtime::component::{Component, InstancePre, Linker, Val};
use wasmtime::error::Context;
use wasmtime::{Config, Engine, InstanceAllocationStrategy, PoolingAllocationConfig, Result, Store, ensure};

pub struct RawAction {
    engine: Engine,
    module: InstancePre<()>,
}

impl RawAction {
    pub fn new(bytes: &[u8]) -> Result<Self> {
        let engine = engine()?;
        let component = Component::new(&engine, bytes)?;
        let mut linker = Linker::new(&engine);
        linker.define_unknown_imports_as_traps(&component)?;
        Ok(Self { module: linker.instantiate_pre(&component)?, engine })
    }

    /// Instantiates the module and calls the action.
    pub async fn run(&self, action: &str) -> Result<()> {
        let mut store = Store::new(&self.engine, ());
        store.set_epoch_deadline(u64::MAX / 2);
        let instance = self.module.instantiate_async(&mut store).await?;
        let actions = instance.get_export_index(&mut store, None, "pintle:hooks/actions@0.1.0");
        let actions = actions.context("the module exports no actions")?;
        let run = instance.get_export_index(&mut store, Some(&actions), "run").context("the actions have no run")?;
        let run = instance.get_func(&mut store, run).context("run is no function")?;
        let mut returned = [Val::Bool(false)];
        run.call_async(&mut store, &[Val::String(action.to_owned())], &mut returned).await?;
        ensure!(matches!(returned[0], Val::Result(Ok(_))), "the action returned {:?}", returned[0]);
        Ok(())
    }
}

/// As the sandbox has it, as far as it costs: a pool, and code that can be interrupted.
pub fn engine() -> Result<Engine> {
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(32)
        .total_stacks(32)
        .total_core_instances(1_024)
        .total_memories(128)
        .total_tables(256);
    pool.linear_memory_keep_resident(128 << 10).table_keep_resident(64 << 10).async_stack_keep_resident(64 << 10);
    let mut config = Config::new();
    config.concurrency_support(false).epoch_interruption(true).cranelift_nan_canonicalization(true);
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    Engine::new(&config)
}

/// An error of wasmtime as one of ours: its own type is none of the standard library's errors.
pub fn plain(error: &wasmtime::Error) -> anyhow::Error {
    anyhow::anyhow!("{error:#}")
}
