//! Manifests of the local platform: what is read, and what is refused because it cannot be done there.

use pintle_lifecycle::document::manifest::{Probe, ProcessSpec};
use pintle_lifecycle::document::{Manifest, Problems};

use crate::edit::{Edit, report};

pub const MANIFESTS: &str = r"apiVersion: pintle.dev/v1alpha1
kind: Process
metadata: {name: shop-server, labels: {app: shop}}
spec:
  image: localhost:5000/demo/shop:1.0.0
  command: [shop, server]
  args: [--verbose]
  env: {SHOP_LISTEN: 127.0.0.1:18081}
  workingDir: data
  replicas: 1
  ready: {http: {port: 18081, path: /healthz}, timeoutSeconds: 20}
  stopGraceSeconds: 5
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {colour: red}
---
";

const EDITS: &[Edit] = &[
    ("kind: ConfigMap", "kind: Deployment"),
    ("kind: ConfigMap", "kind: Secret"),
    ("kind: ConfigMap\n", ""),
    ("apiVersion: v1", "apiVersion: v2"),
    ("name: settings", "nmae: settings"),
    ("colour: red", "colour: 5"),
    ("app: shop", "app: 1.0"),
    ("image: localhost:5000/demo/shop:1.0.0", "image: localhost:5000/demo/Shop:1.0.0"),
    ("image: localhost:5000/demo/shop:1.0.0", "image: 'Shop:{{ app.version }}'"),
    ("replicas: 1", "replicas: '{{ .values.replicas }}'"),
    ("colour: red", "'{{ .values.colour }}': red"),
    ("kind: ConfigMap", "kind: '{{ .values.kind }}'"),
    ("  image: localhost:5000/demo/shop:1.0.0\n", ""),
    ("  command: [shop, server]\n  args: [--verbose]\n", ""),
    ("command: [shop, server]", "command: shop server"),
    ("SHOP_LISTEN: 127.0.0.1:18081", "SHOP_PORT: 18081"),
    ("replicas: 1", "replicas: -1"),
    ("replicas: 1", "replicas: many"),
    ("replicas: 1", "replicas: 1.5"),
    ("workingDir: data", "volumes: []"),
    ("path: /healthz", "path: healthz"),
    ("port: 18081, ", "port: 70000, "),
    ("port: 18081, ", ""),
    ("http: {port: 18081, path: /healthz}", "tcp: {port: 18081, path: /}"),
    ("http: {port: 18081, path: /healthz}", "exec: {command: []}"),
    ("http: {port: 18081, path: /healthz}", "file: a, tcp: {port: 1}"),
    ("http: {port: 18081, path: /healthz}, ", ""),
    ("timeoutSeconds: 20", "timeoutSeconds: 0"),
    ("stopGraceSeconds: 5", "stopGraceSeconds: 5s"),
    ("stopGraceSeconds: 5", "stopGrace: 5"),
];

fn read(text: &str) -> (Vec<Manifest>, Problems) {
    let mut problems = Problems::default();
    let manifests = Manifest::read("shop.yml", text, &mut problems);
    (manifests, problems)
}

pub fn good(text: &str) -> Vec<Manifest> {
    let (manifests, problems) = read(text);
    problems.check().unwrap_or_else(|problems| panic!("{problems}"));
    manifests
}

#[test]
fn every_mistake_is_told_with_its_line_and_cure() {
    insta::assert_snapshot!("manifest_problems", report(MANIFESTS, EDITS, |text| read(text).1));
}

#[test]
fn what_the_reader_takes_is_what_the_object_says() {
    let manifests = good(MANIFESTS);
    assert_eq!(manifests.len(), 2);
    assert_eq!(manifests[1].workload.to_string(), "ConfigMap settings");
    assert_eq!(manifests[1].place.line, 14);
    let process: ProcessSpec = serde_json::from_value(manifests[0].object["spec"].clone()).unwrap();
    assert_eq!(manifests[0].process.as_ref(), Some(&process));
    let ready = process.ready.unwrap();
    assert_eq!(ready.probe, Probe::Http { port: 18081, path: "/healthz".into(), host: "127.0.0.1".into() });
    assert_eq!((ready.timeout_seconds, process.stop_grace_seconds), (20, 5));
}

#[test]
fn a_process_reads_the_same_by_both_ways_in_every_form() {
    for spec in [
        "{image: host, command: [sleep, '9']}",
        "{image: 'a:1', args: [x], ready: {tcp: {port: 80, host: localhost}}, replicas: 3}",
        "{image: 'a:1', command: [x], ready: {exec: {command: [true-ish]}, timeoutSeconds: 7}}",
        "{image: 'a:1', command: [x], ready: {file: data/ready}, env: {A: ''}}",
        "{image: 'a:1', command: [x], ready: {http: {port: 1}}, stopGraceSeconds: 0, workingDir: /tmp}",
    ] {
        let text = format!("apiVersion: pintle.dev/v1alpha1\nkind: Process\nmetadata: {{name: a}}\nspec: {spec}\n");
        let manifest = good(&text).remove(0);
        let process: ProcessSpec = serde_json::from_value(manifest.object["spec"].clone()).unwrap();
        assert_eq!(manifest.process, Some(process), "{spec}");
    }
}

#[test]
fn two_objects_cannot_share_kind_and_name() {
    let mut manifests = good(MANIFESTS);
    manifests.extend(good(MANIFESTS));
    let mut problems = Problems::default();
    Manifest::check_unique(&manifests, &mut problems);
    let lines: Vec<String> = problems.to_string().lines().map(str::to_owned).collect();
    assert_eq!(lines[0], "shop.yml:1:1: metadata.name: Process shop-server is there already, in shop.yml:1:1");
}

#[test]
fn templates_stand_in_texts_and_what_they_gave_is_looked_at() {
    let text = MANIFESTS
        .replace("shop:1.0.0", "shop:{{ .app.version }}")
        .replace("name: settings", "name: '{{ .release.name }}-settings'")
        .replace("colour: red", "colour/x: '{{ .values.colour }}'");
    let manifests = good(&text);
    let pointers = |place: usize| manifests[place].templates.iter().map(|t| t.pointer.as_str()).collect::<Vec<_>>();
    assert_eq!((pointers(0), pointers(1)), (vec!["/spec/image"], vec!["/metadata/name", "/data/colour~1x"]));
    let mut problems = Problems::default();
    let process = manifests[0].rendered(&["localhost:5000/demo/shop:2".into()], &mut problems).unwrap();
    let settings = manifests[1].rendered(&["a-settings".into(), "{{ red".into()], &mut problems).unwrap();
    assert_eq!(problems, Problems::default());
    assert_eq!(process.process.unwrap().image, "localhost:5000/demo/shop:2");
    assert_eq!((settings.workload.name.as_str(), settings.place.line), ("a-settings", 14));
    assert_eq!(settings.object["data"]["colour/x"], "{{ red");
    assert!(settings.templates.is_empty());
    assert_eq!(manifests[1].rendered(&["A".into(), String::new()], &mut problems), None);
    assert!(problems.to_string().starts_with("shop.yml:16:18: metadata.name: `A` is no DNS label"), "{problems}");
}
