//! Hooks in a plan: which of them run and why not, what their templates give, and what later changes take from it.

use std::sync::PoisonError;

use pintle_lifecycle::document::release::HookSkip;
use pintle_lifecycle::document::{Manifest, Problems, ReleaseDocument};
use pintle_lifecycle::ending::ChangeState;
use pintle_lifecycle::hook::{Hook, HookPhase, HookWork, OnTimeout};
use pintle_lifecycle::plan::{ChangeKind, OnFailure, Plan};
use pintle_lifecycle::planning::{Again, Folders, PlanError, PlanInput, Planned, Refused, plan, plan_again};
use pintle_lifecycle::view::ReleaseView;
use serde_json::{Value, json};

use crate::story::Story;
use crate::templates::{Paths, now};

const RELEASE: &str = "\
apiVersion: pintle.dev/v1alpha1
kind: Release
metadata: {name: web, namespace: prod}
spec:
  cluster: local
  version: 1.0.0
  content: {type: manifests, manifests: {path: m}}
  values: {colour: red}
";

const MANIFEST: &str = "\
apiVersion: pintle.dev/v1alpha1
kind: Process
metadata: {name: '{{ .release.name }}-server'}
spec: {image: 'host', command: [serve, '--colour={{ .values.colour }}', '{{ .app.version }}{{ .change.kind }}']}
";

fn job(name: &str, rest: &str) -> String {
    let template = "{spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: host, command: ['true']}]}}}}";
    format!("    - {{name: {name}, type: Job, {rest} jobTemplate: {template}}}\n")
}

/// A release with hooks and its past.
#[derive(Clone, Default)]
struct Web {
    lifecycle: String,
    /// Edits of the document.
    edits: Vec<(&'static str, &'static str)>,
    view: Option<ReleaseView>,
    last: Option<Plan>,
    skip: Vec<HookSkip>,
}

impl Web {
    fn with(phases: &[(&str, &[String])]) -> Self {
        let lists = phases.iter().map(|(phase, hooks)| format!("  {phase}:\n{}", hooks.concat()));
        let lists = lists.collect::<String>();
        let lists = if lists.is_empty() { "  {}\n".to_owned() } else { lists };
        Self { lifecycle: format!("lifecycle:\n{lists}"), ..Self::default() }
    }

    fn edited(&self, from: &'static str, to: &'static str) -> Self {
        let mut edited = self.clone();
        edited.edits.push((from, to));
        edited
    }

    fn plan_by(&self, templates: &Paths) -> Result<Planned, PlanError> {
        let mut problems = Problems::default();
        let mut text = format!("{RELEASE}{}", self.lifecycle);
        for (from, to) in &self.edits {
            assert!(text.contains(from), "{from}");
            text = text.replace(from, to);
        }
        let release = ReleaseDocument::read("release.yml", &text, &mut problems).expect("a release");
        let manifests = Manifest::read("m/web.yml", MANIFEST, &mut problems);
        now(plan(
            &PlanInput {
                problems,
                release: &release,
                driver: None,
                lifecycle: &[],
                manifests: &manifests,
                modules: &std::collections::BTreeMap::default(),
                tenant: "acme",
                folders: Folders { release: "/r".into(), driver: None, images: "/i".into() },
                view: self.view.as_ref(),
                former: self.last.as_ref().map(|last| &last.render),
                last_plan: self.last.as_ref(),
                fresh_uid: "00112233445566ff",
                skip_hooks: &self.skip,
            },
            templates,
        ))
    }

    fn plan(&self) -> Plan {
        match self.plan_by(&Paths::default()) {
            Ok(Planned::Change(plan)) => *plan,
            other => panic!("{other:?}"),
        }
    }

    fn nothing(&self) -> String {
        match self.plan_by(&Paths::default()) {
            Ok(Planned::Nothing { reason, .. }) => reason,
            other => panic!("{other:?}"),
        }
    }

    fn problems(&self) -> Vec<String> {
        match self.plan_by(&Paths::default()) {
            Err(PlanError::Problems(problems)) => {
                problems.iter().map(|p| format!("{}: {}", p.place.path, p.message)).collect()
            }
            other => panic!("{other:?}"),
        }
    }

    /// The release after a change with that plan, which succeeded in everything.
    fn after(&self, plan: &Plan) -> Self {
        let mut story = Story::after(self.view.clone(), plan);
        while let Some(line) = story.go().into_iter().find(|line| line.starts_with("run ")) {
            let step = line.split(' ').nth(1).unwrap().to_owned();
            if step.ends_with("apply") { story.apply(&step) } else { story.succeed(&step) }
        }
        assert_eq!(story.history.state(), ChangeState::Succeeded);
        Self { view: story.release, last: Some(plan.clone()), ..self.clone() }
    }

    fn again(&self, again: Again<'_>) -> Result<Plan, Refused> {
        let (view, last) = (self.view.as_ref().unwrap(), self.last.as_ref().unwrap());
        now(plan_again(again, view, last, &self.skip, &Paths::default()))
    }
}

fn skipped(plan: &Plan) -> Vec<(String, String)> {
    plan.hooks.iter().map(|hook| (hook.name.clone(), hook.skip.clone().unwrap_or_default())).collect()
}

fn order(plan: &Plan) -> Vec<String> {
    plan.hooks.iter().map(|hook| format!("{}/{}", hook.phase, hook.name)).collect()
}

fn object(hook: &Hook) -> Value {
    let HookWork::Workload { object, .. } = &hook.work else { panic!("{hook:?}") };
    object.value()
}

#[test]
fn hooks_are_in_the_order_in_which_they_run_with_their_defaults() {
    let objects =
        "    - {name: settings, type: Objects, objects: [{apiVersion: v1, kind: ConfigMap, metadata: {name: s}}]}\n";
    let plan = Web::with(&[
        ("postSync", &[job("z", "")]),
        ("preSync", &[job("b", "weight: 1,"), job("a", "weight: -1,"), job("c", ""), objects.into()]),
        ("preDelete", &[job("bye", "")]),
        ("test", &[job("smoke", "")]),
    ])
    .plan();
    assert_eq!(order(&plan), ["preSync/a", "preSync/settings", "preSync/c", "preSync/b", "postSync/z"]);
    let hook = &plan.hooks[0];
    // As given: Continue where nothing is said, and nothing is said in the status.
    assert_eq!((hook.on_failure, hook.follow_up), (OnFailure::Continue, None));
    assert_eq!((hook.on_timeout, hook.timeout_ms, hook.fenced, hook.pivot), (OnTimeout::Leave, None, true, false));
    let HookWork::Workload { namespace, .. } = &hook.work else { panic!() };
    assert_eq!(namespace, "prod");
    assert_eq!(plan.declared.len(), 7);
}

#[test]
fn a_hook_that_does_not_run_says_why() {
    let web = Web::with(&[(
        "preSync",
        &[
            job("all", ""),
            job("on", "on: [upgrade, rollback],"),
            job("untrue", "if: 'change.kind == \"upgrade\"',"),
            job("holds", "if: 'values.colour == \"red\" && release.tenant == \"acme\" && cluster.name == \"local\"',"),
            job("unknown", "if: 'values.nope == 1',"),
            job("empty", "if: '',"),
            job("heavy", "weight: 7,"),
        ],
    )])
    .edited("  values: ", "  hooks: {skip: [{weight: 7}]}\n  values: ");
    let web = Web { skip: vec![HookSkip { name: Some("empty".into()), phase: None, weight: None }], ..web };
    let plan = web.plan();
    let reasons: Vec<(String, String)> = skipped(&plan);
    let reason = |name: &str| reasons.iter().find(|(hook, _)| hook == name).unwrap().1.as_str();
    assert_eq!(reason("all"), "");
    assert_eq!(reason("on"), "it is for upgrade, rollback alone");
    assert_eq!(reason("untrue"), "`if` is false: change.kind == \"upgrade\"");
    assert_eq!(reason("holds"), "");
    assert!(reason("unknown").starts_with("`if` has no answer: values.nope == 1: "), "{}", reason("unknown"));
    assert_eq!(reason("empty"), "left out with `--skip-hooks`");
    assert_eq!(reason("heavy"), "left out by `spec.hooks.skip`");
}

#[test]
fn templates_see_the_values_as_documented_and_render_in_one_call() {
    let template = "{spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: host, command: [echo, \
                    '{{ .release.name }} {{ .release.namespace }} {{ .release.tenant }} {{ .release.uid }}', \
                    '{{ .cluster.name }} {{ .change.kind }} [{{ .change.fromVersion }}] {{ .change.toVersion }} {{ .change.generation }}', \
                    '{{ .render.digest }} {{ .render.version }}', '{{ .values.colour }} {{ .app.version }} [{{ .nope }}]']}]}}}}";
    let web =
        Web::with(&[("preSync", &[format!("    - {{name: a, type: Job, jobTemplate: {template}}}\n"), job("b", "")])]);
    let templates = Paths::default();
    let Ok(Planned::Change(plan)) = web.plan_by(&templates) else { panic!() };
    let command = object(&plan.hooks[0])["spec"]["template"]["spec"]["containers"][0]["command"].clone();
    let digest = &plan.render.reference.digest;
    assert_eq!(
        command,
        json!([
            "echo",
            "web prod acme 00112233445566ff",
            "local setup [] 1.0.0 1",
            format!("{digest} 1.0.0"),
            "red 1.0.0 []"
        ])
    );
    // Content does not see what kind of change it makes.
    let server = plan.render.objects[0].value();
    assert_eq!(server["metadata"]["name"], "web-server");
    assert_eq!(server["spec"]["command"], json!(["serve", "--colour=red", "1.0.0"]));
    let asked = templates.asked.lock().unwrap_or_else(PoisonError::into_inner);
    assert_eq!(asked.len(), 2, "one call for content, one for hooks");
}

#[test]
fn templates_that_are_not_rendered_now_are_read_all_the_same() {
    let bad = |name: &str, rest: &str| {
        format!(
            "    - {{name: {name}, type: Pod, {rest} podTemplate: {{metadata: {{labels: {{a: '{{{{ nope'}}}}, \
                 spec: {{restartPolicy: Never, containers: [{{name: main, image: host, command: ['true']}}]}}}}}}\n"
        )
    };
    let web = Web::with(&[
        ("preSync", &[bad("now", ""), bad("skipped", "on: [upgrade],")]),
        ("preDelete", &[bad("later", "")]),
    ]);
    let problems = web.problems();
    let at = |path: &str| {
        let found =
            problems.iter().find(|problem| problem.starts_with(&format!("{path}: the template gives no text: ")));
        found.unwrap_or_else(|| panic!("{path} {problems:#?}"));
    };
    at("lifecycle.preSync[0].podTemplate.metadata.labels.a");
    at("lifecycle.preSync[1].podTemplate.metadata.labels.a");
    at("lifecycle.preDelete[0].podTemplate.metadata.labels.a");
    assert_eq!(problems.len(), 3, "{problems:#?}");
}

#[test]
fn what_a_release_holds_back_is_no_failure() {
    let web = Web::with(&[("preSync", &[job("a", "")])]).edited("  values: ", "  hold: true\n  values: ");
    assert_eq!(web.nothing(), "the release is held (`spec.hold`): the setup waits until it is not");
}

#[test]
fn other_hooks_or_values_are_another_render_and_the_same_are_nothing_to_do() {
    let web = Web::with(&[("preSync", &[job("a", "")])]);
    let web = web.after(&web.plan());
    assert_eq!(web.nothing(), "version, driver, content and hooks are as they were applied");
    for (from, to, reason) in [
        ("name: a, type", "name: b, type", "the hooks differ"),
        ("values: {colour: red}", "values: {colour: red, size: 1}", "the values differ"),
        ("values: {colour: red}", "values: {colour: blue}", "the versions are the same, the content differs"),
    ] {
        let plan = web.edited(from, to).plan();
        assert_eq!((plan.kind, plan.generation, plan.reason.as_str()), (ChangeKind::Update, 2, reason));
    }
}

#[test]
fn a_delete_and_a_test_open_their_hooks_from_the_plan_alone() {
    let labels = |name: &str, rest: &str| {
        format!(
            "    - {{name: {name}, type: Job, {rest} jobTemplate: {{metadata: {{labels: {{kind: '{{{{ .change.kind }}}}', \
                 v: '{{{{ .app.version }}}}'}}}}, spec: {{template: {{spec: {{restartPolicy: Never, containers: [{{name: main, image: host, command: ['true']}}]}}}}}}}}}}\n"
        )
    };
    let web = Web::with(&[
        ("preDelete", &[labels("bye", ""), job("never", "if: 'change.kind == \"setup\"',")]),
        ("postDelete", &[job("gone", "")]),
        ("test", &[labels("smoke", "")]),
        ("preSync", &[job("a", "")]),
    ]);
    let web = web.after(&web.plan());
    let delete = web.again(Again::Delete).unwrap();
    assert_eq!(order(&delete), ["preDelete/bye", "preDelete/never", "postDelete/gone"]);
    assert_eq!(object(&delete.hooks[0])["metadata"]["labels"], json!({"kind": "delete", "v": "1.0.0"}));
    assert_eq!(delete.hooks[1].skip.as_deref(), Some("`if` is false: change.kind == \"setup\""));
    let names = |plan: &Plan| plan.phases.iter().map(|phase| phase.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&delete), ["preDelete", "delete", "postDelete"]);
    let test = web.again(Again::Test).unwrap();
    assert_eq!((order(&test), names(&test)), (vec!["test/smoke".to_owned()], vec!["test".to_owned()]));
    assert_eq!(object(&test.hooks[0])["metadata"]["labels"], json!({"kind": "test", "v": "1.0.0"}));
    assert_eq!((test.kind, test.generation), (ChangeKind::Test, 1));
    // A test changes nothing of what the next change finds.
    let tested = web.after(&test);
    assert_eq!(tested.nothing(), "version, driver, content and hooks are as they were applied");
    let view = tested.view.as_ref().unwrap();
    assert_eq!((view.last_kind, view.last_state), (ChangeKind::Setup, ChangeState::Succeeded));
    assert_eq!((view.newest().number, view.last().number, view.revision), (2, 1, 1));
    let without = Web::with(&[("preSync", &[job("a", "")])]);
    assert_eq!(without.after(&without.plan()).again(Again::Test), Err(Refused::NoTests));
}

#[test]
fn a_delete_that_keeps_workloads_runs_its_hooks_all_the_same() {
    let keep = "  deletionPolicy: {keepWorkloads: true}\n  values: ";
    let web =
        Web::with(&[("preDelete", &[job("bye", "")]), ("postDelete", &[job("gone", "")])]).edited("  values: ", keep);
    let web = web.after(&web.plan());
    let delete = web.again(Again::Delete).unwrap();
    assert_eq!(order(&delete), ["preDelete/bye", "postDelete/gone"]);
    let names: Vec<&str> = delete.phases.iter().map(|phase| phase.name.as_str()).collect();
    assert_eq!(names, ["preDelete", "postDelete"]);
    let gone = web.after(&delete);
    assert!(gone.view.unwrap().deleted);
}

#[test]
fn a_rollback_brings_an_old_render_as_a_new_one_with_its_hooks() {
    let web = Web::with(&[("preSync", &[job("back", "on: [rollback],"), job("up", "on: [upgrade],")])]);
    let first = web.plan();
    let web = web.after(&first);
    let web = web.edited("version: 1.0.0", "version: 1.1.0");
    let second = web.plan();
    assert_eq!(second.kind, ChangeKind::Upgrade);
    let web = web.after(&second);
    let back = web.again(Again::Rollback(&first)).unwrap();
    assert_eq!((back.kind, back.generation), (ChangeKind::Rollback, 3));
    assert_eq!((back.from_version.as_deref(), back.to_version.as_str()), (Some("1.1.0"), "1.0.0"));
    assert_eq!(back.render.reference.digest, first.render.reference.digest);
    assert_eq!(back.former.as_ref().map(|former| &former.reference), Some(&second.render.reference));
    assert_eq!(skipped(&back)[0], ("back".to_owned(), String::new()));
    assert_eq!(skipped(&back)[1].1, "it is for upgrade alone");
    let web = web.after(&back);
    assert_eq!(web.view.as_ref().unwrap().revision, 3);
    assert_eq!(web.view.as_ref().unwrap().applied.as_ref().unwrap().version, "1.0.0");
    // Phases of later changes come from where it went back to.
    assert_eq!(order(&web.again(Again::Rollback(&second)).unwrap()), ["preSync/back", "preSync/up"]);
    assert_eq!(HookPhase::PreSync.as_str(), "preSync");
}

#[test]
fn a_hook_to_be_left_out_that_is_not_there_is_told() {
    let mut web = Web::with(&[("preSync", &[job("migrate", "")])]);
    web.skip = vec![HookSkip { name: Some("migrat".into()), phase: None, weight: None }];
    let refused = web.plan_by(&Paths::default()).unwrap_err();
    assert_eq!(refused.to_string(), "no hook of the release is name=migrat");
    // All of a phase are left out, however many there are.
    web.skip = vec![HookSkip { name: None, phase: Some(HookPhase::PostSync), weight: None }];
    assert!(matches!(web.plan_by(&Paths::default()), Ok(Planned::Change(_))));
}

#[test]
fn a_test_that_fails_has_failed_where_nothing_else_is_said() {
    let web = Web::with(&[("test", &[job("smoke", ""), job("lax", "onFailure: Continue,")])]);
    let web = web.after(&web.plan());
    let test = web.again(Again::Test).unwrap();
    let by: Vec<OnFailure> = test.hooks.iter().map(|hook| hook.on_failure).collect();
    assert_eq!(by, [OnFailure::Fail, OnFailure::Continue]);
}

#[test]
fn what_was_taken_back_can_be_tried_anew() {
    let web = Web::with(&[]);
    let web = web.after(&web.plan());
    let next = web.edited("version: 1.0.0", "version: 1.1.0");
    let second = next.plan();
    for (state, anew) in [(ChangeState::Undone, true), (ChangeState::Failed, false)] {
        let mut tried = Web { last: Some(second.clone()), ..next.clone() };
        let view = tried.view.as_mut().unwrap();
        (view.last_kind, view.last_state, view.changes) = (ChangeKind::Upgrade, state, 2);
        let planned = tried.plan_by(&Paths::default()).unwrap();
        assert_eq!(matches!(planned, Planned::Change(_)), anew, "{state}: {planned:?}");
    }
}
