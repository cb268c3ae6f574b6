//! What `pintle plan` shows of hooks, and of a deletion that keeps what it applied.

use pintle_lifecycle::ending::ChangeState;
use pintle_lifecycle::plan_view;
use pintle_lifecycle::planning::{Again, plan_again};

use crate::shop::Shop;
use crate::templates::{Paths, deleted, now};

const HOOKS: &str = "\
lifecycle:
  preSync:
    - name: settings
      type: Objects
      weight: -10
      cleanup: {policy: OnCompletion, at: PhaseEnd, evenOnFail: true}
      objects:
        - {apiVersion: v1, kind: ConfigMap, metadata: {name: migrate-env}}
        - {apiVersion: v1, kind: ConfigMap, metadata: {name: '{{ .release.name }}-env'}}
    - name: migrate
      type: Job
      on: [setup, upgrade]
      timeout: 10m
      onFailure: Fail
      cleanup: OnSuccess
      pivot: true
      jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [
        {name: main, image: 'shop:{{ .app.version }}', command: [shop, db], args: [migrate, \"--all\\nof\"]},
        {name: other, image: host, command: ['true']}]}}}}
    - name: only-red
      type: Job
      if: 'app.version == \"0.0.1\"'
      jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: host, command: ['true']}]}}}}
    - name: notify
      type: Action
      action: {location: 'actions.wasm::check'}
  postSync:
    - name: smoke
      type: Pod
      runAfter: Healthy
      podTemplate: {spec: {restartPolicy: Never, containers: [{name: main, image: 'localhost:5000/tools/smoke'}]}}
  syncFailed:
    - {name: tell, type: Job, timeout: 1m, jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [
        {name: main, image: host, command: [sh, -c, 'echo a very long text that says a lot more than anybody wants to see on one line of a plan, so it is cut']}]}}}}}
  preDelete:
    - {name: backup, type: Job, onFailure: Fail, weight: 1, jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: host, command: ['true']}]}}}}}
    - {name: say, type: Job, weight: 2, jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: host, command: ['true']}]}}}}}
  postDelete:
    - {name: bye, type: Job, jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: host, command: ['true']}]}}}}}
  test:
    - {name: order, type: Job, timeout: 30s, jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: host, command: [curl, -f, localhost]}]}}}}}
";

fn shop() -> Shop {
    let mut shop = Shop::new();
    shop.release += HOOKS;
    shop
}

/// A plan shows hooks where they run: around the apply, also where an action brings it about, and by weight.
#[test]
fn hooks_are_shown_in_the_sync_that_they_belong_to() {
    let shop = shop();
    insta::assert_snapshot!("hooks_of_a_setup", plan_view::text(&shop.planned()));
    let upgrade =
        shop.after(ChangeState::Succeeded).edited(&[("  version: 1.0.0\n  comp", "  version: 1.1.0\n  comp")]);
    insta::assert_snapshot!("hooks_of_an_upgrade", plan_view::text(&upgrade.planned()));
    let update = upgrade.after(ChangeState::Succeeded).edited(&[("env: {COLOUR: red}", "env: {COLOUR: green}")]);
    insta::assert_snapshot!("hooks_of_an_update", plan_view::text(&update.planned()));
}

#[test]
fn hooks_of_deletes_and_tests_are_shown_in_their_phases() {
    let shop = shop().after(ChangeState::Succeeded);
    let (view, last) = (shop.view.as_ref().unwrap(), shop.last.as_ref().unwrap());
    insta::assert_snapshot!("hooks_of_a_delete", plan_view::text(&deleted(view, last).unwrap()));
    let test = now(plan_again(Again::Test, view, last, &[], &Paths::default())).unwrap();
    insta::assert_snapshot!("hooks_of_a_test", plan_view::text(&test));
}

#[test]
fn a_deletion_that_keeps_workloads_changes_no_object() {
    let keep = "  deletionPolicy: {keepWorkloads: true}\n  version: 1.0.0\n  comp";
    let shop = shop().edited(&[("  version: 1.0.0\n  comp", keep)]).after(ChangeState::Succeeded);
    let delete = deleted(shop.view.as_ref().unwrap(), shop.last.as_ref().unwrap()).unwrap();
    assert_eq!(plan_view::differences(&delete), []);
    let text = plan_view::text(&delete);
    assert!(text.contains("backup: Job") && text.ends_with("no object changes\n"), "{text}");
}
