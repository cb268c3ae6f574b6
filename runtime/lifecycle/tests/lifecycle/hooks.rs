//! Hooks as people get them wrong: every mistake, all at once, each with its place and cure.

use pintle_lifecycle::document::lifecycle::check_hooks;
use pintle_lifecycle::document::{DriverDocument, HookSpec, LifecycleDocument, Problems, ReleaseDocument, WorkSpec};
use pintle_lifecycle::hook::{Cleanup, CleanupAt, CleanupPolicy, HookKind, HookPhase, HookSource, OnTimeout, RunAfter};
use pintle_lifecycle::plan::{ChangeKind, OnFailure};
use serde_json::json;

use crate::driver::DRIVER;
use crate::edit::{Edit, report};
use crate::release::{RELEASE, good as good_release};

/// Everything that hooks can say.
pub const HOOKS: &str = include_str!("documents/lifecycle.yml");

pub const EDITS: &[Edit] = &[
    // The file and its phases.
    ("kind: Lifecycle", "kind: Release"),
    ("lifecycle:\n", "lifecycles:\n"),
    ("  preSync:\n", "  preSink:\n"),
    ("  postDelete:\n", "  postDelete: []\n  preSync:\n"),
    ("lifecycle:\n", "lifecycle:\n  path: ./hooks.yml\n"),
    // What every hook has.
    ("    - name: settings\n", "    - title: settings\n"),
    ("name: migrate\n      type", "name: data_migration\n      type"),
    ("name: migrate\n      type", "name: settings\n      type"),
    ("name: migrate\n      type", "name: '{{ .a }}'\n      type"),
    ("weight: 10", "weight: 2147483648"),
    ("weight: 10", "weight: '10'"),
    ("weight: 10", "wieght: 10"),
    ("on: [setup, upgrade]", "on: [setup, upgrad]"),
    ("on: [setup, upgrade]", "on: [setup, setup]"),
    ("on: [setup, upgrade]", "on: [setup, delete]"),
    ("on: [setup, upgrade]", "on: []"),
    ("on: [setup, upgrade]", "on: setup"),
    ("on: [delete]", "on: [setup]"),
    ("if: 'cluster.name == \"local\"'", "if: 'cluster.name = \"local\"'"),
    ("if: 'cluster.name == \"local\"'", "if: clusters.name == \"local\""),
    ("if: 'cluster.name == \"local\"'", "if: |\n        cluster.name == \"local\" &&\n          valuse.a"),
    ("if: 'cluster.name == \"local\"'", "if: \"cluster.name == \\\"local\\\" + x\""),
    ("if: 'cluster.name == \"local\"'", "if: true"),
    ("if: 'cluster.name == \"local\"'", "if: '1 + 1'"),
    ("if: 'cluster.name == \"local\"'", "if: '{{ .values.a }}'"),
    ("on: [setup, upgrade]", "runAfter: Applied"),
    ("runAfter: Healthy", "runAfter: Ready"),
    ("timeout: 30s", "timeout: 30"),
    ("timeout: 30s", "timeout: 0s"),
    ("      timeout: 30s\n", ""),
    ("onTimeout: Stop", "onTimeout: Kill"),
    ("onFailure: Fail", "onFailure: Abort"),
    ("cleanup: OnCompletion", "cleanup: Always"),
    ("policy: OnSuccess, ", ""),
    ("at: PhaseEnd", "at: End"),
    ("evenOnFail: true", "evenOnFail: yes"),
    ("evenOnFail: true", "onFail: true"),
    ("deleteBeforeCreation: true", "deleteBeforeCreation: 1"),
    // The type and what it runs.
    ("      type: Pod\n", ""),
    ("      type: Pod\n", "      type: Job\n"),
    ("      type: Pod\n", "      type: Pods\n"),
    ("type: Objects", "type: Object"),
    ("      jobTemplate:\n", "      podTemplate:\n"),
    ("      podTemplate:", "      jobTemplate: {spec: {}}\n      podTemplate:"),
    ("      podTemplate:", "      readyWhen: 'true'\n      podTemplate:"),
    ("      podTemplate:", "      onTimeout: Leave\n      podTemplate:"),
    ("type: Action, on: [delete]", "type: Action, cleanup: Never, fenced: true"),
    ("type: Action, on: [delete]", "type: Action, timeout: 1m, onTimeout: Leave"),
    ("      weight: -5\n", "      fenced: true\n"),
    // Actions.
    ("location: \"actions.wasm::save\"", "location: actions.wasm"),
    ("location: \"actions.wasm::save\"", "location: \"../actions.wasm::save\""),
    ("location: \"actions.wasm::save\"", "locatoin: \"actions.wasm::save\""),
    ("location: \"actions.wasm::save\"", "location: \"actions.wasm::{{ .a }}\""),
    ("args: {text: \"{{ .values.text }}\", deep: [{n: 1}]}", "args: [1]"),
    ("deep: [{n: 1}]", "deep: [{n: 1, n: 2}]"),
    ("deep: [{n: 1}]", "deep: {secretRef: {name: a, key: b}}"),
    ("deep: [{n: 1}]", "\"{{ a }}\": 1"),
    // Objects.
    ("readyWhen: 'size(object.data) > 0'", "readyWhen: 'size(objects.data) > 0'"),
    ("readyWhen: 'size(object.data) > 0'", "readyWhen: ''"),
    ("          kind: ConfigMap\n", "          kind: Secret\n"),
    ("          kind: ConfigMap\n", "          kind: Role\n"),
    ("          kind: ConfigMap\n", "          kind: \"{{ .values.kind }}\"\n"),
    ("name: \"{{ .release.name }}-migration\", ", ""),
    ("data: {from: \"{{ .change.fromVersion }}\"}", "data: {from: 1}"),
];

/// Templates of Jobs and Pods.
pub const TEMPLATE_EDITS: &[Edit] = &[
    ("{namespace: other, labels: {a: b}, annotations: {c: d}}", "{name: migrate}"),
    ("{namespace: other, labels: {a: b}, annotations: {c: d}}", "{finalizers: [a]}"),
    ("namespace: other", "namespace: Other"),
    ("annotations: {c: d}", "annotations: {c: 1}"),
    ("metadata: {labels: {e: f}}", "metadata: {namespace: other}"),
    ("        spec:\n          backoffLimit: 2\n", "        specs:\n          backoffLimit: 2\n"),
    ("backoffLimit: 2", "backoffLimit: -1"),
    ("backoffLimit: 2", "backoffLimit: \"{{ .values.tries }}\""),
    ("suspend: false", "suspend: \"{{ .values.wait }}\""),
    ("completions: 1", "completions: 3"),
    ("parallelism: 1", "completionMode: Indexed"),
    ("parallelism: 1", "podFailurePolicy: {}"),
    ("parallelism: 1", "selector: {}"),
    ("restartPolicy: OnFailure", "restartPolicy: Always"),
    ("              restartPolicy: OnFailure\n", ""),
    ("restartPolicy: OnFailure", "nodeSelector: {a: b}\n              restartPolicy: OnFailure"),
    ("restartPolicy: OnFailure", "volumes: [{name: a, emptyDir: {}}]\n              restartPolicy: OnFailure"),
    ("restartPolicy: OnFailure", "hostNetwork: true\n              restartPolicy: OnFailure"),
    ("restartPolicy: OnFailure", "serviceAccountName: a\n              restartPolicy: OnFailure"),
    ("restartPolicy: OnFailure", "tolerance: []\n              restartPolicy: OnFailure"),
    ("containers: [{name: a, image: host, command: [\"true\"]}]", "containers: []"),
    ("containers: [{name: a, image: host, command: [\"true\"]}]", "initContainers: []"),
    ("containers: [{name: a, image: host, command: [\"true\"]}]", "activeDeadlineSeconds: 5"),
    ("- name: migrate\n                  image", "- name: wait\n                  image"),
    ("image: host, command: [sleep, '1']", "command: [sleep, '1']"),
    ("image: host, command: [sleep, '1']", "image: HOST"),
    ("command: [shop, db]", "command: shop db"),
    ("imagePullPolicy: IfNotPresent", "imagePullPolicy: Sometimes"),
    ("imagePullPolicy: IfNotPresent", "resources: {limits: {cpu: 1}}"),
    ("imagePullPolicy: IfNotPresent", "livenessProbe: {}"),
    ("imagePullPolicy: IfNotPresent", "volumeMounts: []"),
    ("imagePullPolicy: IfNotPresent", "comand: []"),
    ("{name: MODE, value: fast}", "{name: MODE, value: 5}"),
    ("{name: MODE, value: fast}", "{name: 'MO=DE', value: fast}"),
    ("{name: MODE, value: fast}", "{name: MODE, value: fast, valueFrom: {configMapKeyRef: {name: a, key: b}}}"),
    ("{name: MODE, value: fast}", "{name: MODE, valueFrom: {fieldRef: {fieldPath: status.podIP}}}"),
    ("{name: MODE, value: fast}", "{name: MODE, valueFrom: {}}"),
    ("key: from, ", ""),
    ("{configMapRef: {name: settings}, prefix: SET_}", "{prefix: SET_}"),
    ("{configMapRef: {name: settings}, prefix: SET_}", "{configMapRef: {name: a}, secretRef: {name: b}}"),
    ("containerPort: 80, ", "containerPort: 80, hostPort: 80, "),
];

fn problems_of(text: &str) -> Problems {
    let mut problems = Problems::default();
    LifecycleDocument::read("hooks.yml", text, &mut problems);
    problems
}

/// The hooks of a document without mistakes.
fn good(text: &str) -> Vec<HookSpec> {
    let mut problems = Problems::default();
    let hooks = LifecycleDocument::read("hooks.yml", text, &mut problems);
    problems.check().unwrap_or_else(|problems| panic!("{problems}"));
    hooks
}

fn named<'a>(hooks: &'a [HookSpec], name: &str) -> &'a HookSpec {
    hooks.iter().find(|hook| *hook.name == name).unwrap()
}

#[test]
fn every_mistake_is_told_with_its_line_and_cure() {
    insta::assert_snapshot!("hook_problems", report(HOOKS, EDITS, problems_of));
}

#[test]
fn what_cannot_be_done_locally_is_refused_by_name() {
    insta::assert_snapshot!("hook_template_problems", report(HOOKS, TEMPLATE_EDITS, problems_of));
}

#[test]
fn hooks_read_as_they_are_written() {
    let hooks = good(HOOKS);
    insta::assert_snapshot!("hooks_as_json", serde_json::to_string_pretty(&hooks).unwrap());
    let migrate = named(&hooks, "migrate");
    assert_eq!((migrate.phase, migrate.source, migrate.weight), (HookPhase::PreSync, HookSource::Release, 10));
    assert_eq!(migrate.on, Some(vec![ChangeKind::Setup, ChangeKind::Upgrade]));
    assert_eq!((migrate.timeout_ms, migrate.on_timeout), (Some(30_000), Some(OnTimeout::Stop)));
    let cleanup = Cleanup { policy: CleanupPolicy::OnSuccess, at: CleanupAt::PhaseEnd, even_on_fail: true };
    assert_eq!((migrate.cleanup, migrate.fenced, migrate.pivot), (cleanup, false, true));
    assert_eq!(migrate.work.namespace(), Some("other"));
    assert_eq!((migrate.place.path.as_str(), migrate.place.line), ("lifecycle.preSync[1]", 14));
    assert_eq!(named(&hooks, "check").run_after, RunAfter::Healthy);
    assert_eq!(named(&hooks, "check").on_failure, Some(OnFailure::Undo));
    assert_eq!(named(&hooks, "notice").cleanup.policy, CleanupPolicy::OnCompletion);
}

#[test]
fn what_is_left_out_has_its_default() {
    let hooks = good(HOOKS);
    let smoke = named(&hooks, "smoke");
    assert_eq!((smoke.weight, &smoke.on, smoke.condition.as_str()), (0, &None, ""));
    assert_eq!((smoke.timeout_ms, smoke.on_failure, smoke.on_timeout), (None, None, None));
    assert_eq!((smoke.cleanup, smoke.run_after), (Cleanup::default(), RunAfter::Applied));
    assert_eq!((smoke.delete_before_creation, smoke.fenced, smoke.pivot), (false, true, false));
    assert_eq!(*smoke.work.json(), json!({}));
}

#[test]
fn templates_lead_back_to_their_texts_and_lines() {
    let hooks = good(HOOKS);
    let mut count = 0;
    for hook in &hooks {
        for template in &hook.templates {
            let text = hook.work.json().pointer(&template.pointer).and_then(serde_json::Value::as_str);
            assert_eq!(text, Some(template.text.as_str()), "{}", template.pointer);
            let line = HOOKS.lines().nth(template.text.place.line as usize - 1).unwrap();
            assert!(line.contains(template.text.as_str()), "{line}");
            count += 1;
        }
    }
    assert_eq!(count, HOOKS.matches("{{").count());
}

#[test]
fn what_templates_gave_is_looked_at_as_if_it_had_been_written() {
    let hooks = good(HOOKS);
    let migrate = named(&hooks, "migrate");
    let mut problems = Problems::default();
    let work = migrate.rendered(&["host:5000/shop:2".into(), "--to=2".into()], &mut problems);
    assert_eq!(problems, Problems::default());
    let WorkSpec::Workload { kind: HookKind::Job, template } = &work else { panic!("{work:?}") };
    assert_eq!((&template["kind"], &template["apiVersion"]), (&json!("Job"), &json!("batch/v1")));
    let container = template.pointer("/spec/template/spec/containers/0").unwrap();
    assert_eq!((&container["image"], &container["args"][1]), (&json!("host:5000/shop:2"), &json!("--to=2")));

    drop(migrate.rendered(&["Not An Image".into(), "{{ braces are a text now".into()], &mut problems));
    drop(named(&hooks, "settings").rendered(&["shop_1-migration".into(), String::new()], &mut problems));
    let shown: Vec<String> =
        problems.iter().map(|problem| format!("{}: {}", problem.place.position(), problem.place.path)).collect();
    assert_eq!(
        shown,
        [
            "hooks.yml:12:28: lifecycle.preSync[0].objects[0].metadata.name",
            "hooks.yml:44:26: lifecycle.preSync[1].jobTemplate.spec.template.spec.containers[0].image",
        ],
        "{problems}"
    );
}

#[test]
fn a_name_of_a_hook_is_unique_in_its_phase_over_both_documents() {
    let mut problems = Problems::default();
    let hook = "{name: look, type: Action, action: {location: 'actions.wasm::look'}}";
    let driver = DRIVER.replace("lifecycle: {}", &format!("lifecycle: {{preSync: [{hook}], test: [{hook}]}}"));
    let driver = DriverDocument::read("driver.yml", &driver, &mut problems).unwrap();
    assert_eq!(driver.modules(), ["actions.wasm"]);
    let release = good_release(&RELEASE.replace("lifecycle: {}", &format!("lifecycle: {{preSync: [{hook}]}}")));
    assert_eq!(problems, Problems::default());
    let hooks: Vec<HookSpec> = driver.spec.lifecycle.into_iter().chain(release.lifecycle).collect();
    assert_eq!(hooks[0].source, HookSource::Driver);
    check_hooks(&hooks, true, &mut problems);
    let problems = problems.to_string();
    let first = problems.lines().next().unwrap();
    let expected = "lifecycle.preSync[0].name: the hook `look` is in preSync twice; the first is at driver.yml:39:32";
    assert!(first.starts_with("release.yml:18:") && first.ends_with(expected), "{problems}");
    assert_eq!(problems.lines().count(), 2);
}

#[test]
fn actions_need_a_driver_that_brings_them() {
    let hook = "{name: look, type: Action, action: {location: 'actions.wasm::look'}}";
    let text = format!(
        "apiVersion: pintle.dev/v1alpha1\nkind: Release\nmetadata: {{name: plain}}\n\
         spec: {{cluster: local, version: v1, content: {{type: manifests, manifests: {{path: .}}}}}}\n\
         lifecycle: {{preSync: [{hook}]}}\n"
    );
    let mut problems = Problems::default();
    ReleaseDocument::read("release.yml", &text, &mut problems);
    let problems = problems.to_string();
    assert!(problems.contains("lifecycle.preSync[0].action.location: the hook `look` is an action"), "{problems}");
}

#[test]
fn the_examples_of_the_documentation_are_accepted() {
    let page = include_str!("../../../../docs/lifecycle.md");
    let examples: Vec<&str> = page.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    let [release, settings] = examples[..] else { panic!("two examples, and not {}", examples.len()) };
    let hooks = good_release(release).lifecycle;
    assert_eq!(hooks.iter().map(|hook| hook.name.as_str()).collect::<Vec<_>>(), ["migrate", "notice"]);
    let settings = settings.strip_prefix("spec:\n").unwrap();
    let spec = good_release(&release.replace("lifecycle:\n", &format!("{settings}lifecycle:\n"))).spec;
    assert_eq!((spec.hooks.skip.len(), spec.health_assessment.unwrap().deadline_ms), (2, Some(300_000)));
    // Each field that a reader asks for is in the reference.
    let known = problems_of(&HOOKS.replace("    - name: settings\n", "    - zzzzzzzz: settings\n")).to_string();
    let known = known.lines().find_map(|line| line.trim().strip_prefix("known here: ")).unwrap();
    for field in known.split(", ") {
        assert!(page.contains(&format!("`{field}`")), "the reference says nothing of `{field}`");
    }
}
