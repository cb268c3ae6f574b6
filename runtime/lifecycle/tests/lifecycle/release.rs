//! release.yml as people get it wrong: every mistake, all at once, each with its place and cure.

use std::path::Path;

use pintle_lifecycle::document::release::{DeletionPolicy, HookSettings};
use pintle_lifecycle::document::{Problems, ReleaseDocument, image_at, release};
use pintle_lifecycle::hook::{Hook, HookPhase};

use crate::decide_hooks;
use crate::edit::{Edit, report};

pub const RELEASE: &str = include_str!("documents/release.yml");

pub const EDITS: &[Edit] = &[
    ("kind: Release", "kind: Relase"),
    ("name: shop, namespace", "name: shop_1, namespace"),
    ("namespace: default", "namespace: Default"),
    ("namespace: default", "labels: {}"),
    ("tenant: acme", "tenant: 12"),
    ("cluster: local", "cluster: prod-eu"),
    ("  cluster: local\n", ""),
    ("  driver: {name: shop, version: 1.2.0, path: ./driver}\n", ""),
    ("path: ./driver", "path: ./driver, digest: x"),
    (", path: ./driver", ""),
    ("name: shop, version: 1.2.0, path", "version: 1.2.0, path"),
    ("  version: 1.2.0", "  version: 1.20"),
    ("  version: 1.2.0", "  version: \"\""),
    ("  version: 1.2.0", "  version: '{{ .v }}'"),
    ("  version: 1.2.0\n", ""),
    ("  version: 1.2.0", "  version: 1.2.0\n  content: {type: manifests, manifests: {path: m}}"),
    ("values: {colour: red", "values: {colour: {secretRef: {name: a, key: b}}"),
    ("values: {colour: red", "values: {colour: \"{{ x }}\""),
    ("values: {colour: red", "values: {colour: red, colour: blue"),
    ("values: {colour: red, deep: [{a: 1}]}", "values: [1]"),
    ("deep: [{a: 1}]", "deep: [{a: {secretRef: {}}}]"),
    ("{{ app.version }}", "{{ app.name }}"),
    ("{{ app.version }}", "{{app.version}}"),
    ("localhost:5000/shop:{{ app.version }}", "localhost:5000/Shop:{{ app.version }}"),
    ("image: \"localhost", "imagee: \"localhost"),
    ("env: {A: b}", "env: {A: 1}"),
    ("env: {A: b}", "env: {A: {secretRef: {name: a, key: b}}}"),
    ("env: {A: b}", "env: {A: {value: b}}"),
    ("env: {A: b}", "env: {'': b}"),
    ("env: {A: b}", "env: {A: \"{{ app.version }}\"}"),
    ("env: {A: b}", "env: [A=b]"),
    ("deadline: 5m", "deadline: 0s"),
    ("deadline: 5m", "dedline: 5m"),
    ("kind: Process, ", ""),
    ("expr: 'object.up'", "expr: 'objects.up'"),
    ("expr: 'object.up'", "expr: '\"a\"'"),
    ("expr: 'object.up'", "expr: ''"),
    ("keepLast: 3", "keepLast: all"),
    ("maxAge: 168h", "maxAge: 168"),
    ("{name: migrate, phase: preSync}", "{}"),
    ("phase: preSync", "phase: presync"),
    ("weight: -5", "weight: 1.5"),
    ("keepWorkloads: false", "keepWorkloads: no"),
    ("blockOnClusterUnreachable: true", "blockOnUnreachable: true"),
    ("hold: false", "hold: maybe"),
    ("lifecycle: {}", "lifecycle: {path: ''}"),
    ("lifecycle: {}", "lifecycle: {path: ./hooks.yml, test: []}"),
    ("lifecycle: {}", "lifecycle: {postSync: [{type: Pod}]}"),
    ("lifecycle: {}", "lifecycle: []"),
    ("lifecycle: {}", "livecycle: {}"),
    ("spec:\n", "spec: [\n"),
];

fn problems_of(text: &str) -> Problems {
    let mut problems = Problems::default();
    ReleaseDocument::read("release.yml", text, &mut problems);
    problems
}

pub fn good(text: &str) -> ReleaseDocument {
    let mut problems = Problems::default();
    let release = ReleaseDocument::read("release.yml", text, &mut problems);
    problems.check().unwrap_or_else(|problems| panic!("{problems}"));
    release.unwrap()
}

#[test]
fn every_mistake_is_told_with_its_line_and_cure() {
    insta::assert_snapshot!("release_problems", report(RELEASE, EDITS, problems_of));
}

#[test]
fn a_release_reads_as_it_is_written() {
    let release = good(RELEASE);
    assert_eq!(release.spec.tenant.as_deref(), Some("acme"));
    assert_eq!(release.spec.values["deep"][0]["a"], 1);
    let health = release.spec.health_assessment.as_ref().unwrap();
    assert_eq!((health.deadline_ms, health.ready_when[0].expr.as_str()), (Some(300_000), "object.up"));
    let retention = release.spec.hooks.retention.unwrap();
    assert_eq!((retention.keep_last, retention.max_age_ms), (Some(3), Some(604_800_000)));
    let skip: Vec<_> = release.spec.hooks.skip.iter().map(|skip| (skip.phase, skip.weight)).collect();
    assert_eq!(skip, [(Some(HookPhase::PreSync), None), (None, Some(-5))]);
    let image = release.spec.components["server"].image.as_deref().unwrap();
    assert_eq!(image_at(image, "1.3.0"), "localhost:5000/shop:1.3.0");
    insta::assert_snapshot!("release_as_json", serde_json::to_string_pretty(&release).unwrap());
}

#[test]
fn what_is_left_out_has_its_default() {
    let release = good(
        "apiVersion: pintle.dev/v1alpha1\nkind: Release\nmetadata: {name: plain}\n\
         spec: {cluster: local, version: v1, content: {type: manifests, manifests: {path: .}}}\n",
    );
    assert_eq!(release.metadata.namespace.as_str(), "default");
    assert_eq!(release.spec.tenant, None);
    assert_eq!(release.spec.values, serde_json::json!({}));
    assert_eq!(release.spec.content.unwrap().path().as_str(), ".");
    assert_eq!(
        release.spec.deletion_policy,
        DeletionPolicy { keep_workloads: false, block_on_cluster_unreachable: true }
    );
    assert_eq!((release.spec.health_assessment, release.spec.hooks), (None, HookSettings::default()));
    assert!(!release.spec.hold && release.lifecycle.is_empty() && release.lifecycle_path.is_none());
}

#[test]
fn a_stored_release_reads_again_at_another_version_from_anywhere() {
    let text = RELEASE.replace("lifecycle: {}", "lifecycle: {path: ./hooks.yml}");
    assert_eq!(good(&text).lifecycle_path.as_ref().unwrap().as_str(), "./hooks.yml");
    let stored = good(&text).stored(Path::new("/srv/shop"));
    let again = good(&release::at_version(&stored, "1.3.0"));
    assert_eq!(again.spec.version.as_str(), "1.3.0");
    assert_eq!(again.spec.driver.as_ref().unwrap().path.as_str(), "/srv/shop/./driver");
    assert_eq!(again.lifecycle_path.as_ref().unwrap().as_str(), "/srv/shop/./hooks.yml");
    assert_eq!(again.spec.components["server"].value, good(RELEASE).spec.components["server"].value);
    assert_eq!(again.stored(Path::new("/elsewhere"))["spec"]["driver"]["path"], "/srv/shop/./driver");
}

#[test]
fn a_hook_is_left_out_by_all_that_is_said_of_it() {
    let hook = |phase: HookPhase, name: &str, weight: i32| Hook { weight, ..decide_hooks::hook(phase, name) };
    let skip = good(RELEASE).spec.hooks.skip;
    for (hook, by) in [
        (hook(HookPhase::PreSync, "migrate", 0), [true, false]),
        (hook(HookPhase::PostSync, "migrate", 0), [false, false]),
        (hook(HookPhase::PreSync, "other", -5), [false, true]),
        (hook(HookPhase::PreSync, "migrate", -5), [true, true]),
    ] {
        assert_eq!([skip[0].fits(&hook), skip[1].fits(&hook)], by, "{}", hook.name);
    }
}
