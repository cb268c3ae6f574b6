//! The server: healthy on every schema that it knows, whatever an upgrade has done so far.

use serde_json::json;

use crate::harness::{Running, Shop, assert_exit, assert_refused, request};

fn start(shop: &Shop, version: &str) -> Running {
    shop.start(version, &["server", "--listen", "127.0.0.1:0"], "listens on")
}

#[test]
fn it_creates_the_schema_and_counts_orders() {
    let shop = Shop::new();
    let mut server = start(&shop, "1.0.0");
    assert_eq!(request(&server, "GET /healthz", ""), (200, json!({"version": "1.0.0", "schema": "1.0.0"})));
    assert_eq!(request(&server, "GET /", ""), (200, json!({"orders": 20, "queued": 20})));
    assert_eq!(server.terminate(), Some(0));
    assert_eq!(server.read_rest(), "server 1.0.0 has stopped\n");
}

#[test]
fn it_is_healthy_before_and_after_the_migration() {
    let shop = Shop::created("1.0.0");
    let server = start(&shop, "1.1.0");
    let old_server = start(&shop, "1.0.0");
    assert_eq!(request(&server, "GET /healthz", ""), (200, json!({"version": "1.1.0", "schema": "1.0.0"})));
    assert_exit(&shop.migrate("1.1.0"), 0);
    assert_eq!(request(&server, "GET /healthz", ""), (200, json!({"version": "1.1.0", "schema": "1.1.0"})));
    assert_eq!(request(&old_server, "GET /healthz", ""), (200, json!({"version": "1.0.0", "schema": "1.1.0"})));
}

#[test]
fn it_starts_on_an_old_schema_and_leaves_it() {
    let shop = Shop::created("1.0.0");
    start(&shop, "1.2.0");
    assert_eq!(shop.schema(), "1.0.0");
}

#[test]
fn it_is_not_healthy_without_a_schema_that_it_knows() {
    let shop = Shop::new();
    let server = start(&shop, "1.0.0");
    for (sql, part) in [
        ("UPDATE schema_version SET version = '7.0.0'", "the schema is `7.0.0`"),
        ("DROP TABLE schema_version", "there is no schema any more"),
    ] {
        shop.database().execute(sql, []).unwrap();
        let (status, body) = request(&server, "GET /healthz", "");
        assert_eq!(status, 503);
        assert!(body["error"].as_str().unwrap().contains(part), "{body}");
    }
}

#[test]
fn a_placed_order_is_shipped_on_each_schema() {
    let shop = Shop::created("1.0.0");
    let server = start(&shop, "1.2.0");
    for version in ["1.0.0", "1.1.0", "1.2.0"] {
        assert_exit(&shop.migrate(version), 0);
        let queued = shop.count("SELECT count(*) FROM queue");
        let order = r#"{"item": "rudder", "quantity": 2, "unit_price_cents": 4999}"#;
        let (status, body) = request(&server, "POST /orders", order);
        assert_eq!(status, 201, "{body}");
        shop.ship(version, queued + 1);
    }
    assert_eq!(request(&server, "GET /", ""), (200, json!({"orders": 23, "queued": 0})));
    assert_eq!(shop.count("SELECT total_cents FROM invoices WHERE order_id = 23"), 9998);
    assert_eq!(shop.count("SELECT count(*) FROM invoices"), 23);
}

#[test]
fn a_wrong_order_is_not_placed() {
    let shop = Shop::new();
    let server = start(&shop, "1.0.0");
    for order in [
        r#"{"item": "rudder", "quantity": 0, "unit_price_cents": 1}"#,
        r#"{"item": "rudder", "quantity": 1, "unit_price_cents": -1}"#,
        r#"{"item": "rudder", "quantity": 1}"#,
        r#"{"item": "rudder", "quantity": 1, "unit_price_cents": 1, "colour": "red"}"#,
    ] {
        assert_eq!(request(&server, "POST /orders", order).0, 422, "{order}");
    }
    assert_eq!(shop.status()["orders"], 20);
}

#[test]
fn a_taken_address_is_named() {
    let shop = Shop::new();
    let server = start(&shop, "1.0.0");
    let address = server.line.trim().rsplit_once("http://").unwrap().1;
    assert_refused(&shop.run("1.0.0", &["server", "--listen", address]), 1, address);
    let by_env = shop.command("1.0.0", &["server"]).env("SHOP_LISTEN", address).output().unwrap();
    assert_refused(&by_env, 1, address);
}
