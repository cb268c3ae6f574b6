//! The actions of `shop` against the fake host: which calls they make in which order, and what is left when one fails.

use pintle_sdk::fake::Host;
use pintle_sdk::prelude::*;

use crate::ACTIONS;

fn shop() -> Host {
    Host::new()
        .release("shop")
        .component("server", ["registry.example.com/shop/shop:1.0.0"])
        .component("task-worker", ["registry.example.com/shop/shop:1.0.0"])
}

#[test]
fn offers_what_its_driver_names() {
    let names: Vec<&str> = ACTIONS.iter().map(|action| action.name).collect();
    assert_eq!(names, ["pre-setup", "post-setup", "upgrade", "check"]);
}

#[test]
fn setup_notes_its_change_and_waits() {
    let host = shop().installs("1.0.0").install();
    assert_eq!(host.run(ACTIONS, "pre-setup"), Ok(()));
    assert_eq!(host.run(ACTIONS, "post-setup"), Ok(()));
    assert_eq!(host.calls(), ["state.put installed-by shop-1", "components.wait-ready server, task-worker within 30s"]);
    assert_eq!(host.logs(), ["info installing shop 1.0.0"]);
    assert_eq!(host.state("installed-by"), Some(b"shop-1".to_vec()));
}

#[test]
fn upgrade_migrates_with_the_new_image_while_the_worker_is_stopped() {
    let host = shop().upgrades("1.0.0", "1.1.0").install();
    assert_eq!(host.run(ACTIONS, "upgrade"), Ok(()));
    assert_eq!(
        host.calls(),
        [
            "components.stop task-worker",
            "releases.set-version 1.1.0",
            "components.images server",
            "jobs.run registry.example.com/shop/shop:1.1.0 [shop db migrate] env-from=server",
            "components.start task-worker",
        ]
    );
    assert_eq!(host.logs(), ["info upgrade complete"]);
}

#[test]
fn a_failed_migration_does_not_start_the_worker() {
    let host = shop().upgrades("1.0.0", "1.1.0").job_fails(1, "a worker is connected").install();
    let error = host.run(ACTIONS, "upgrade").expect_err("the migration failed");
    assert!(matches!(&error, Error::Failed(message) if message.ends_with("a worker is connected")), "{error:?}");
    assert_eq!(host.stopped(), ["task-worker"]);
    assert!(host.logs().is_empty());
}

#[test]
fn check_logs_only_when_all_is_up() {
    let host =
        shop().upgrades("1.0.0", "1.1.0").fails("components.wait-ready", Error::TimedOut("30 s".to_owned())).install();
    assert_eq!(host.run(ACTIONS, "check"), Err(Error::TimedOut("30 s".to_owned())));
    assert!(host.logs().is_empty());
    assert_eq!(host.run(ACTIONS, "check"), Ok(()));
    assert_eq!(host.logs(), ["info shop is up at 1.1.0"]);
}
