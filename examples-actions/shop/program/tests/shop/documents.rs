//! The documents of the example, as texts: what they must not contain, and what they must agree on with the program. That
//! Pintle accepts them is shown where it reads them.

use std::fs;

use crate::harness::example_folder;

fn read(name: &str) -> String {
    fs::read_to_string(example_folder().join(name)).unwrap()
}

#[test]
fn the_releases_differ_in_the_version_alone() {
    let first = read("release.yml");
    assert!(first.contains("\n  version: 1.0.0\n"));
    for version in ["1.1.0", "1.2.0"] {
        let expected = first.replace("\n  version: 1.0.0\n", &format!("\n  version: {version}\n"));
        assert_eq!(read(&format!("release-{version}.yml")), expected);
    }
}

#[test]
fn the_version_is_the_only_template() {
    for name in ["driver.yml", "manifests/server.yml", "manifests/task-worker.yml", "release.yml"] {
        let text = read(name).replace("demo/shop:{{ app.version }}\"", "");
        assert!(!text.contains("{{"), "{name}");
    }
}

#[test]
fn the_server_is_asked_for_its_health_where_it_listens() {
    let manifest = read("manifests/server.yml");
    assert!(manifest.contains("SHOP_LISTEN: \"127.0.0.1:18081\""));
    assert!(manifest.contains("ready: {http: {port: 18081, path: /healthz}}"));
}
