//! How the schema comes into being, how it is migrated, and what a migration leaves behind that did not end well.

use std::{fs, process::Stdio};

use serde_json::json;

use crate::harness::{Shop, assert_exit, assert_refused};

#[test]
fn processes_that_start_at_once_create_one_schema() {
    // Without the lock around the opening about one round in ten fails: enough rounds make it show.
    for _ in 0..20 {
        let shop = Shop::new();
        let init = || shop.command("1.1.0", &["db", "init"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let children: Vec<_> = (0..8).map(|_| init().unwrap()).collect();
        let outputs: Vec<_> = children.into_iter().map(|child| child.wait_with_output().unwrap()).collect();
        for output in &outputs {
            assert_exit(output, 0);
        }
        let created = outputs.iter().filter(|output| output.stdout.starts_with(b"created")).count();
        assert_eq!(created, 1);
        let expected = json!({"version": "1.2.0", "schema": "1.1.0", "orders": 20, "queued": 20, "migrations": []});
        assert_eq!(shop.status(), expected);
    }
}

#[test]
fn a_look_at_the_status_creates_nothing() {
    let shop = Shop::new();
    let expected = json!({"version": "1.2.0", "schema": null, "orders": 0, "queued": 0, "migrations": []});
    assert_eq!(shop.status(), expected);
    assert!(!shop.data().exists());
}

#[test]
fn the_status_for_people_has_the_same_facts() {
    let shop = Shop::created("1.0.0");
    assert_exit(&shop.migrate("1.1.0"), 0);
    let output = shop.run("1.1.0", &["db", "status"]);
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "program     1.1.0\nschema      1.1.0\norders      20, of them 20 queued\n\
         migrations  to 1.1.0: 1 started, 1 finished\n"
    );
}

#[test]
fn init_does_not_migrate() {
    let shop = Shop::created("1.0.0");
    assert_exit(&shop.run("1.0.0", &["db", "init"]), 0);
    assert_refused(&shop.run("1.1.0", &["db", "init"]), 3, "run `shop db migrate`");
    assert_eq!(shop.schema(), "1.0.0");
}

#[test]
fn each_version_on_the_way_brings_the_orders_along() {
    let shop = Shop::created("1.0.0");
    shop.ship("1.0.0", 3);
    let shipped = 20 - shop.count("SELECT count(*) FROM queue");
    assert!(shipped >= 3);
    assert_exit(&shop.migrate("1.2.0"), 0);
    assert_eq!(shop.count("SELECT count(*) FROM orders WHERE state = 'shipped'"), shipped);
    assert_eq!(shop.count("SELECT count(*) FROM invoices"), shipped);
    let wrong =
        "SELECT count(*) FROM orders JOIN invoices ON id = order_id WHERE total_cents <> quantity * unit_price_cents";
    assert_eq!(shop.count(wrong), 0);
    assert_eq!(shop.status()["migrations"], json!([{"version": "1.2.0", "started": 1, "finished": 1}]));
}

#[test]
fn a_created_schema_is_the_migrated_one() {
    let layout = |shop: &Shop| -> Vec<(String, String)> {
        let database = shop.database();
        let columns = "SELECT s.name, c.name FROM sqlite_schema s, pragma_table_info(s.name) c ORDER BY s.name, c.cid";
        let mut statement = database.prepare(columns).unwrap();
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        rows.map(Result::unwrap).collect()
    };
    for version in ["1.1.0", "1.2.0"] {
        let migrated = Shop::created("1.0.0");
        assert_exit(&migrated.migrate(version), 0);
        assert_eq!(layout(&Shop::created(version)), layout(&migrated));
    }
}

#[test]
fn every_start_is_on_record() {
    let shop = Shop::created("1.0.0");
    assert_exit(&shop.migrate("1.1.0"), 0);
    assert_exit(&shop.migrate("1.1.0"), 0);
    assert_eq!(shop.status()["migrations"], json!([{"version": "1.1.0", "started": 2, "finished": 2}]));
    assert_eq!(shop.status()["orders"], 20);
}

#[test]
fn an_older_program_does_not_migrate_backwards() {
    let shop = Shop::created("1.2.0");
    assert_refused(&shop.migrate("1.1.0"), 3, "use shop 1.2.0");
    assert_eq!(shop.status()["migrations"], json!([]));
}

#[test]
fn a_connected_worker_keeps_the_migration_out() {
    let shop = Shop::created("1.0.0");
    let mut worker = shop.start_worker("1.0.0");
    assert_refused(&shop.migrate("1.1.0"), 4, "a worker is connected");
    assert_eq!(shop.schema(), "1.0.0");
    assert_eq!(shop.status()["migrations"], json!([]));
    assert_eq!(worker.terminate(), Some(0));
    assert_exit(&shop.migrate("1.1.0"), 0);
    assert_eq!(shop.schema(), "1.1.0");
}

#[test]
fn a_killed_worker_is_not_connected() {
    let shop = Shop::created("1.0.0");
    shop.start_worker("1.0.0").kill();
    assert_exit(&shop.migrate("1.1.0"), 0);
}

#[test]
fn a_second_migration_at_once_is_refused_and_on_record() {
    let shop = Shop::created("1.0.0");
    let first = shop.hold_as_migration();
    assert_refused(&shop.migrate("1.1.0"), 5, "a migration is running");
    drop(first);
    assert_exit(&shop.migrate("1.1.0"), 0);
    assert_eq!(shop.status()["migrations"], json!([{"version": "1.1.0", "started": 2, "finished": 1}]));
}

#[test]
fn a_migration_killed_in_the_middle_has_changed_nothing() {
    let shop = Shop::created("1.0.0");
    shop.ship("1.0.0", 2);
    // A minute for each slice: the kill comes in the middle.
    shop.start("1.1.0", &["db", "migrate", "--pace-ms", "600000"], "migrating 1.1.0: 1/10").kill();
    assert_eq!(shop.schema(), "1.0.0");
    assert_eq!(shop.status()["migrations"], json!([{"version": "1.1.0", "started": 1, "finished": 0}]));
    shop.ship("1.0.0", 1);

    assert_exit(&shop.migrate("1.1.0"), 0);
    assert_eq!(shop.schema(), "1.1.0");
    assert_eq!(shop.status()["migrations"], json!([{"version": "1.1.0", "started": 2, "finished": 1}]));
    let queued = shop.count("SELECT count(*) FROM queue");
    assert_eq!(shop.count("SELECT count(*) FROM orders WHERE state = 'placed'"), queued);
}

#[test]
fn a_migration_does_not_need_a_reader() {
    let shop = Shop::created("1.0.0");
    let mut child = shop.command("1.1.0", &["db", "migrate", "--pace-ms", "0"]).stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(shop.schema(), "1.1.0");
}

#[test]
fn a_version_that_nobody_knows_is_refused() {
    let shop = Shop::new();
    assert_refused(&shop.run("1.9.0", &["db", "init"]), 2, "VERSION: there is no shop 1.9.0");
    assert!(!shop.data().exists());
}

#[test]
fn a_schema_that_nobody_knows_is_left_alone() {
    let shop = Shop::created("1.2.0");
    shop.database().execute("UPDATE schema_version SET version = '7.0.0'", []).unwrap();
    assert_refused(&shop.migrate("1.2.0"), 3, "the schema is `7.0.0`");
    assert_refused(&shop.run("1.2.0", &["db", "status"]), 3, "the schema is `7.0.0`");
}

#[test]
fn a_file_that_is_no_database_is_named() {
    let shop = Shop::new();
    fs::create_dir(shop.data()).unwrap();
    fs::write(shop.data().join("shop.db"), "this is a letter, not a database\n".repeat(100)).unwrap();
    assert_refused(&shop.run("1.0.0", &["db", "init"]), 1, "data/shop.db: cannot open the database");
}

#[test]
fn the_environment_is_heard_and_a_flag_wins() {
    let shop = Shop::new();
    let run = |args: &[&str]| shop.command("1.0.0", args).env("SHOP_DATA", "by-env").status().unwrap();
    assert!(run(&["db", "init"]).success());
    assert!(shop.data().with_file_name("by-env").join("shop.db").exists());
    assert!(run(&["db", "init", "--data", "by-flag"]).success());
    assert!(shop.data().with_file_name("by-flag").join("shop.db").exists());
    assert!(!shop.data().exists());

    let migrate =
        |args: &[&str], pace: &str| shop.command("1.1.0", args).env("SHOP_MIGRATE_MS", pace).output().unwrap();
    assert_refused(&migrate(&["db", "migrate"], "soon"), 2, "soon");
    assert_exit(&migrate(&["db", "migrate", "--data", "by-env", "--pace-ms", "0"], "600000"), 0);
}

#[test]
fn without_a_version_file_it_is_the_newest() {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_shop")).arg("--version").output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), concat!("shop ", env!("CARGO_PKG_VERSION"), "\n"));
}
