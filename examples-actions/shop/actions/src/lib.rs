//! The actions of `shop`: what has to happen around a setup and an upgrade that manifests alone cannot say.

use pintle_sdk::prelude::*;

const READY_WITHIN: Duration = Duration::from_secs(30);

/// The key under which setup notes the change that installed the release.
const INSTALLED_BY: &str = "installed-by";

#[action(description = "Note which change installs the release")]
fn pre_setup(ctx: &Context) -> Result<()> {
    info!("installing {} {}", ctx.release(), ctx.target_version());
    state::put(INSTALLED_BY, ctx.change())
}

#[action(description = "Wait until the server and the worker are ready")]
fn post_setup(_ctx: &Context) -> Result<()> {
    components::wait_ready(["server", "task-worker"], READY_WITHIN)
}

#[action(description = "Stop workers, run migration, restart, verify")]
fn upgrade(ctx: &Context) -> Result<()> {
    components::stop(["task-worker"])?;
    releases::set_version(ctx.target_version())?;
    let image = components::images("server")?[0].with_tag(ctx.target_version());
    Job::new(image).command(["shop", "db", "migrate"]).env_from("server").run()?;
    components::start(["task-worker"])?;
    info!("upgrade complete");
    Ok(())
}

#[action(description = "Check that the new version is up")]
fn check(ctx: &Context) -> Result<()> {
    components::wait_ready(["server", "task-worker"], READY_WITHIN)?;
    info!("{} is up at {}", ctx.release(), ctx.target_version());
    Ok(())
}

actions!(pre_setup, post_setup, upgrade, check);

#[cfg(test)]
mod tests;
