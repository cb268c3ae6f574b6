//! driver.yml as people get it wrong: every mistake, all at once, each with its place and cure.

use pintle_lifecycle::document::driver::{HookName, ModeName, check_workloads};
use pintle_lifecycle::document::{DriverDocument, Problems};
use pintle_lifecycle::plan::{OnFailure, Workload};

use crate::edit::{Edit, report};

pub const DRIVER: &str = include_str!("documents/driver.yml");

pub const EDITS: &[Edit] = &[
    // The document as a whole.
    ("pintle.dev/v1alpha1", "pintle.dev/v1"),
    ("kind: Driver", "kind: Release"),
    ("kind: Driver\n", ""),
    ("metadata: {name: shop, version: 1.2.0}\n", ""),
    ("name: shop, version", "nmae: shop, version"),
    ("version: 1.2.0", "version: 1.2"),
    ("version: 1.2.0", "version: 1.2.0+5"),
    ("name: shop, version", "name: Shop, version"),
    ("spec:\n", "spec:\n  actions: []\n"),
    ("  lifecycle: {}", "---\nkind: Driver"),
    // Components.
    ("    - name: task-worker", "    - name: server"),
    ("    - name: task-worker", "    - label: task-worker"),
    ("name: shop-task-worker", "name: shop-server"),
    ("    - name: task-worker", "    - name: '{{ .release.name }}'"),
    ("workload: {kind: Process, name: shop-server}", "workload: {kind: '{{ .values.kind }}', name: shop-server}"),
    ("workload: {kind: Process, name: shop-server}", "workload: shop-server"),
    ("workload: {kind: Process, name: shop-server}", "container: server"),
    // Content.
    ("manifests: {path: manifests/}", "manifests: {path: ../manifests}"),
    ("manifests: {path: manifests/}", "manifests: {path: ''}"),
    ("manifests: {path: manifests/}", "manifests: {}"),
    ("manifests: {path: manifests/}", "helm: {path: chart}"),
    ("content: {type: manifests, manifests: {path: manifests/}}", "content: {type: helm, helm: {path: chart}}"),
    ("content: {type: manifests, manifests: {path: manifests/}}", "content: {type: manifest}"),
    ("  content: {type: manifests, manifests: {path: manifests/}}\n", ""),
    // Actions.
    ("    - name: upgrade\n", "    - name: pre-setup\n"),
    ("    - name: upgrade\n", "    - name: pre_setup\n"),
    ("    - name: upgrade\n", "    - name: up/grade\n"),
    ("    - name: upgrade\n", "    - title: upgrade\n"),
    ("hook: setup", "hook: install"),
    ("hook: setup", "hook: preSync"),
    ("hook: setup\n", "hook: [setup]\n"),
    ("mode: core", "mode: during"),
    ("      mode: core\n", ""),
    ("mode: post", "mode: core"),
    ("hook: test", "hook: test\n      mode: pre"),
    ("actions.wasm::pre-setup", "actions.wasm"),
    ("actions.wasm::pre-setup", "/lib/actions.wasm::pre-setup"),
    ("      location: \"actions.wasm::upgrade\"\n", ""),
    ("timeout: 30m", "timeuot: 30m"),
    ("timeout: 30m", "timeout: 30"),
    ("timeout: 30m", "timeout: -30m"),
    ("timeout: 30m", "timeout: 0s"),
    ("timeout: 30m", "timeout: half an hour"),
    ("timeout: 30m", "timeout: 30m\n      if: 'true'"),
    ("onFailure: Fail", "onFailure: Abort"),
    ("onFailure: Fail", "onFailure: fail"),
    ("attempts: 2", "attempts: 0"),
    ("attempts: 2", "attempts: two"),
    ("attempts: 2, ", ""),
    ("backoff: 30s", "backoff: soon"),
    ("pivot: false", "pivot: no"),
    ("pivot: false", "pivot: false\n      timeout: 1m"),
    ("description: \"Stop", "description: \"{{ .x }} Stop"),
    // Permissions.
    ("stop: [task-worker]", "stop: [task-workr]"),
    ("stop: [task-worker]", "stop: [database]"),
    ("stop: [task-worker]", "stop: task-worker"),
    ("stop: [task-worker]", "stop: [[task-worker]]"),
    ("envFrom: [server]", "envFrom: [sever]"),
    ("envFrom: [server]", "env_from: [server]"),
    ("images: [server]", "restart: [server]"),
    ("set-version: true", "setVersion: true"),
    ("apiToken: false", "apiToken: true"),
    ("hosts: []", "hosts: [example.com]"),
    ("state: true", "state: read"),
    // Hooks of a lifecycle.
    ("lifecycle: {}", "lifecycle: {preSync: [{name: a, type: Job}, {name: b, type: Pid}, {name: c}]}"),
    ("lifecycle: {}", "lifecycle:\n    preSync:\n      - type: Action\n        if: 'true'"),
    ("lifecycle: {}", "lifecycle: {preSink: []}"),
    // No YAML.
    ("components: {stop", "components: {{stop"),
    ("    - name: look", "   - name: look"),
    ("hook: test", "hook: test: test"),
    ("hook: test", "hook: *test"),
    ("hook: test", "hook: !env HOOK"),
];

fn problems_of(text: &str) -> Problems {
    let mut problems = Problems::default();
    DriverDocument::read("driver.yml", text, &mut problems);
    problems
}

#[test]
fn every_mistake_is_told_with_its_line_and_cure() {
    insta::assert_snapshot!("driver_problems", report(DRIVER, EDITS, problems_of));
}

#[test]
fn all_mistakes_are_told_at_once_in_the_order_of_lines() {
    let mut text = DRIVER.to_owned();
    for (from, to) in [
        ("version: 1.2.0", "version: 1.2"),
        ("name: shop-task-worker", "name: shop-server"),
        ("hook: setup", "hook: install"),
        ("timeout: 30m", "timeout: -30m"),
        ("pivot: false", "pivto: false"),
        ("stop: [task-worker]", "stop: [database]"),
        ("lifecycle: {}", "lifecycle: {preSync: [{type: Job}]}"),
    ] {
        text = text.replace(from, to);
    }
    let lines: Vec<u32> = problems_of(&text).iter().map(|problem| problem.place.line).collect();
    assert_eq!(lines, [3, 9, 13, 21, 24, 34, 39, 39]);
}

#[test]
fn an_empty_file_and_a_list_are_no_driver() {
    for (text, message) in
        [("", "the file is empty"), ("# nothing\n", "the file is empty"), ("- 1\n", "expected a map"), ("x", "a map")]
    {
        let problems = problems_of(text).to_string();
        assert!(problems.starts_with("driver.yml:1:1: ") && problems.contains(message), "{text:?}: {problems}");
    }
}

#[test]
fn a_driver_reads_as_it_is_written() {
    let mut problems = Problems::default();
    let driver = DriverDocument::read("driver.yml", DRIVER, &mut problems).unwrap();
    problems.check().unwrap();
    assert_eq!((driver.metadata.name.as_str(), driver.metadata.version.as_str()), ("shop", "1.2.0"));
    assert_eq!(driver.modules(), ["actions.wasm"]);
    let upgrade = driver.actions_of(HookName::Upgrade, Some(ModeName::Core)).next().unwrap();
    assert_eq!(upgrade.timeout_ms, Some(1_800_000));
    assert_eq!((upgrade.retry.attempts, upgrade.retry.backoff_ms), (2, 30_000));
    assert_eq!(upgrade.on_failure, OnFailure::Fail);
    assert_eq!((upgrade.location.place.line, upgrade.location.place.column), (19, 17));
    let setup = driver.actions_of(HookName::Setup, Some(ModeName::Pre)).next().unwrap();
    assert_eq!((setup.step_name().as_str(), setup.retry.attempts, setup.timeout_ms), ("pre-setup", 1, None));
    assert_eq!(driver.spec.actions[3].on_failure, OnFailure::Continue);
    assert_eq!(driver.spec.components[0].template(), None);
    insta::assert_snapshot!("driver_as_json", serde_json::to_string_pretty(&driver).unwrap());
}

#[test]
fn the_name_of_a_workload_may_be_a_template_and_is_looked_at_once_it_is_rendered() {
    let mut problems = Problems::default();
    let text = DRIVER.replace("name: shop-", "name: \"{{ .release.name }}-").replace("server}", "server\"}");
    let text = text.replace("worker}", "worker\"}").replace("onFailure: Fail", "onFailure: Undo");
    let driver = DriverDocument::read("driver.yml", &text, &mut problems).unwrap();
    assert_eq!(problems, Problems::default());
    assert_eq!(driver.spec.actions[1].on_failure, OnFailure::Undo);
    let components = &driver.spec.components;
    assert_eq!(components[1].template().unwrap().as_str(), "{{ .release.name }}-task-worker");
    let named = |names: [&str; 2]| {
        let mut problems = Problems::default();
        let workloads = names.map(|name| Workload { kind: "Process".into(), name: name.into() });
        check_workloads(components.iter().zip(&workloads), &mut problems);
        problems.to_string()
    };
    assert_eq!(named(["a", "b"]), "");
    assert!(named(["a", "a"]).contains("Process a is the workload of the component `server` already"));
    assert!(named(["a", "A"]).starts_with("driver.yml:9:39: spec.components[1].workload.name: the template gives `A`"));
}
