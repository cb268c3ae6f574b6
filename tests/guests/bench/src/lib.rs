//! Actions for the benches: one that does nothing, one that calls, and two that wait.

use pintle_sdk::prelude::*;

#[action(description = "Does nothing")]
fn noop(_ctx: &Context) -> Result<()> {
    Ok(())
}

#[action(description = "A thousand durable calls, one after another")]
fn calls(_ctx: &Context) -> Result<()> {
    for _ in 0..500 {
        components::stop(["worker"])?;
        components::start(["worker"])?;
    }
    Ok(())
}

#[action(description = "Sleeps for a day")]
fn sleeps(_ctx: &Context) -> Result<()> {
    durable::sleep(Duration::from_hours(24))
}

#[action(description = "Runs a Job that never ends")]
fn waits(_ctx: &Context) -> Result<()> {
    let image: Image = "registry.example/bench:1.0.0".parse()?;
    Job::new(image).command(["wait"]).run().map(drop)
}

actions!(noop, calls, sleeps, waits);
