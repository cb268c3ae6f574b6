//! The action that the design prints, word for word, against the fake host: its calls in order, and what stops it.

use pintle_sdk::fake::{Host, Installed};
use pintle_sdk::prelude::*;

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

actions!(upgrade);

const STOP: &str = "components.stop task-worker";
const SET_VERSION: &str = "releases.set-version 1.1.0";
const IMAGES: &str = "components.images server";
const MIGRATE: &str = "jobs.run host:5000/shop/server:1.1.0 [shop db migrate] env-from=server";
const START: &str = "components.start task-worker";

fn shop() -> Host {
    Host::new()
        .release("shop")
        .upgrades("1.0.0", "1.1.0")
        .component("server", ["host:5000/shop/server:1.0.0", "envoy:1"])
        .component("task-worker", ["host:5000/shop/server:1.0.0"])
}

fn run(host: Host) -> (Installed, Result<()>) {
    let host = host.install();
    let result = upgrade(&host.context());
    (host, result)
}

#[test]
fn makes_its_five_calls_in_order() {
    let (host, result) = run(shop());
    assert_eq!(result, Ok(()));
    assert_eq!(host.calls(), [STOP, SET_VERSION, IMAGES, MIGRATE, START]);
    assert_eq!(host.logs(), ["info upgrade complete"]);
    assert_eq!(host.version().as_deref(), Some("1.1.0"));
    assert!(host.stopped().is_empty());
}

#[test]
fn a_failed_migration_leaves_the_worker_stopped() {
    let (host, result) = run(shop().job_fails(3, "step 4: no such table"));
    assert_eq!(result, Err(Error::failed("the Job job-1 failed: exit code 3\nstep 4: no such table")));
    assert_eq!(host.calls(), [STOP, SET_VERSION, IMAGES, MIGRATE]);
    assert_eq!(host.stopped(), ["task-worker"]);
    assert!(host.logs().is_empty());
}

#[test]
fn ends_at_the_call_that_fails() {
    let all = [STOP, SET_VERSION, IMAGES, MIGRATE, START];
    for (at, line) in all.iter().enumerate() {
        let call = line.split(' ').next().expect("a call has a name");
        let (host, result) = run(shop().fails(call, Error::Unavailable("no answer".to_owned())));
        assert_eq!(result, Err(Error::Unavailable("no answer".to_owned())), "{call}");
        assert_eq!(host.calls(), all[..=at], "{call}");
    }
}

#[test]
fn a_version_that_is_no_tag_is_invalid_at_the_job() {
    let (host, result) = run(shop().upgrades("1.0.0", "1.1.0+5"));
    assert!(matches!(&result, Err(Error::Invalid(message)) if message.contains("`1.1.0+5`")), "{result:?}");
    assert_eq!(host.calls(), [STOP, "releases.set-version 1.1.0+5", IMAGES]);
}

#[test]
fn the_component_runs_it_by_its_name() {
    let host = shop().install();
    assert_eq!(host.run(ACTIONS, "upgrade"), Ok(()));
    assert_eq!(host.calls().len(), 5);
    assert_eq!(ACTIONS[0].description, "Stop workers, run migration, restart, verify");
}
