//! The worker: when it starts, what it ships, and how it ends.

use std::fs;

use crate::harness::{Shop, assert_refused};

#[test]
fn a_worker_ships_orders_the_way_of_its_version() {
    for (version, states, invoices) in [("1.0.0", false, false), ("1.1.0", true, false), ("1.2.0", true, true)] {
        let shop = Shop::new();
        shop.ship(version, 3);
        let shipped = 20 - shop.count("SELECT count(*) FROM queue");
        let count = |query: &str| shop.database().query_row(query, [], |row| row.get::<_, u32>(0)).ok();
        let expected = |known: bool| known.then_some(shipped);
        assert_eq!(count("SELECT count(*) FROM orders WHERE state = 'shipped'"), expected(states), "{version}");
        assert_eq!(count("SELECT count(*) FROM invoices"), expected(invoices), "{version}");
    }
}

#[test]
fn a_worker_is_ready_while_its_file_is_there() {
    let shop = Shop::new();
    let ready = shop.data().join("worker.ready");
    let mut worker = shop.start_worker("1.0.0");
    assert!(ready.exists());
    assert_eq!(worker.terminate(), Some(0));
    assert!(worker.read_rest().ends_with("worker 1.0.0 has stopped\n"));
    assert!(!ready.exists());

    let elsewhere = shop.data().join("a.ready");
    let mut worker = shop.start("1.0.0", &["worker", "--ready", elsewhere.to_str().unwrap()], "is ready");
    assert!(elsewhere.exists() && !ready.exists());
    worker.kill();
    assert!(elsewhere.exists());
}

#[test]
fn a_worker_refuses_an_older_and_a_newer_schema() {
    let shop = Shop::created("1.1.0");
    let ready = shop.data().join("worker.ready");
    for (version, cure) in [("1.2.0", "run `shop db migrate`"), ("1.0.0", "use shop 1.1.0")] {
        fs::write(&ready, "left over").unwrap();
        assert_refused(&shop.run(version, &["worker"]), 3, cure);
        assert!(!ready.exists());
    }
    assert_eq!(shop.schema(), "1.1.0");
}

#[test]
fn a_worker_does_not_start_while_a_migration_runs() {
    let shop = Shop::created("1.0.0");
    let _migration = shop.hold_as_migration();
    assert_refused(&shop.run("1.0.0", &["worker"]), 5, "a migration is running");
    assert!(!shop.data().join("worker.ready").exists());
}

#[test]
fn several_workers_share_the_orders() {
    let shop = Shop::created("1.2.0");
    let mut workers = [0, 1].map(|replica| {
        let ready = format!("data/worker-{replica}.ready");
        shop.start("1.2.0", &["worker", "--ready", &ready], "is ready")
    });
    let mut shipped = 0;
    while shop.status()["queued"] != 0 {}
    for worker in &mut workers {
        assert_eq!(worker.terminate(), Some(0));
        shipped += worker.read_rest().matches("shipped order").count();
    }
    assert_eq!(shipped, 20);
    assert_eq!(shop.count("SELECT count(*) FROM invoices"), 20);
}
