//! From documents to a plan: which kind of change, which phases, which render, and what is refused.

use pintle_lifecycle::document::{Manifest, Problems, ReleaseDocument, release};
use pintle_lifecycle::ending::ChangeState;
use pintle_lifecycle::ids::{ReleaseKey, is_label};
use pintle_lifecycle::plan::{ChangeKind, DriverRef, Node, Plan, Stopped};
use pintle_lifecycle::plan_view;
use pintle_lifecycle::planning::{Folders, PlanInput, Planned, Refused};

use crate::shop::Shop;
use crate::templates::{deleted, planned};

fn nothing(shop: &Shop) -> (String, Option<String>) {
    match shop.plan() {
        Ok(Planned::Nothing { reason, change }) => (reason, change.map(|change| change.to_string())),
        other => panic!("{other:?}"),
    }
}

fn nodes(plan: &Plan) -> Vec<String> {
    let node = |node: &Node| match node {
        Node::Hooks { phase } => phase.to_string(),
        Node::Mode(mode) => {
            let actions: Vec<&str> = mode.actions.iter().map(|action| action.step.as_str()).collect();
            format!(
                "{} [{}] by {}{}",
                mode.title,
                actions.join(" "),
                mode.starter,
                if mode.syncs { ", syncs" } else { "" }
            )
        }
        Node::Sync { step } => format!("sync {step}"),
        Node::Remove { step } => format!("remove {step}"),
    };
    plan.phases
        .iter()
        .map(|phase| format!("{}: {}", phase.name, phase.nodes.iter().map(node).collect::<Vec<_>>().join("; ")))
        .collect()
}

#[test]
fn a_new_release_is_set_up() {
    let plan = Shop::new().planned();
    assert_eq!(
        nodes(&plan),
        [
            "preSetup: Run the setup pre-hook [setup-pre/pre-setup] by the setup pre-hook",
            "setup: sync sync",
            "postSetup: Run the setup post-hook [setup-post/post-setup] by the setup post-hook",
        ]
    );
    assert_eq!((plan.kind, plan.generation, plan.from_version.as_deref()), (ChangeKind::Setup, 1, None));
    assert_eq!(plan.target.release, ReleaseKey::new("acme", "shop").unwrap());
    assert_eq!((plan.target.uid.as_str(), plan.target.namespace.as_str()), ("00112233445566ff", "default"));
    assert_eq!(plan.document.value()["spec"]["driver"]["path"], "/srv/shop/.");
    assert_eq!(plan.modules(), ["a".repeat(64), "f".repeat(64)]);
    assert_eq!(plan.former, None);
}

#[test]
fn overrides_are_in_the_render_and_in_the_component() {
    let plan = Shop::new().edited(&[("  version: 1.0.0\n  comp", "  version: 1.1.0\n  comp")]).planned();
    let server = plan.component("server").unwrap();
    let object = plan.render.object(&server.workload).unwrap();
    assert_eq!(object["spec"]["image"], "localhost:5000/demo/shop:1.1.0");
    assert_eq!(object["spec"]["env"], serde_json::json!({"LISTEN": "127.0.0.1:18081", "COLOUR": "red"}));
    assert_eq!(server.image.as_deref(), Some("localhost:5000/demo/shop:{{ app.version }}"));
    assert_eq!(server.env["COLOUR"], "red");
    let worker = plan.render.object(&plan.component("task-worker").unwrap().workload).unwrap();
    assert_eq!(worker["spec"]["image"], "localhost:5000/demo/shop:1.0.0");
}

#[test]
fn another_version_of_application_or_driver_is_an_upgrade() {
    let application = [("  version: 1.0.0\n  comp", "  version: 1.1.0\n  comp")];
    let driver = [
        ("{name: shop, version: 1.0.0}", "{name: shop, version: 1.0.1}"),
        ("version: 1.0.0, path", "version: 1.0.1, path"),
    ];
    for (edits, reason) in [
        (&application[..], "the application goes from 1.0.0 to 1.1.0"),
        (&driver[..], "the driver goes from shop 1.0.0 to shop 1.0.1"),
    ] {
        let plan = Shop::new().after(ChangeState::Succeeded).edited(edits).planned();
        assert_eq!((plan.kind, plan.reason.as_str(), plan.generation), (ChangeKind::Upgrade, reason, 2));
        assert_eq!(plan.from_version.as_deref(), Some("1.0.0"));
        assert_eq!(
            nodes(&plan),
            [
                "upgrade: Run the upgrade hook [upgrade-core/upgrade] by the upgrade hook, syncs",
                "postUpgrade: Run the upgrade post-hook [upgrade-post/check] by the upgrade post-hook",
            ]
        );
        assert_eq!(plan.former.unwrap().reference.version, "1.0.0");
    }
}

#[test]
fn an_upgrade_without_actions_records_its_core_step_and_syncs() {
    let mut shop =
        Shop::new().after(ChangeState::Succeeded).edited(&[("  version: 1.0.0\n  comp", "  version: 2.0.0\n  comp")]);
    let start = shop.driver.find("  actions:").unwrap();
    let end = shop.driver.find("  permissions:").unwrap();
    shop.driver.replace_range(start..end, "");
    assert_eq!(nodes(&shop.planned()), ["upgrade: Run the upgrade hook [] by the upgrade hook, syncs"]);
}

#[test]
fn a_core_action_of_a_setup_runs_instead_of_the_sync() {
    let plan = Shop::new()
        .edited(&[("{name: pre_setup, hook: setup, mode: pre,", "{name: pre_setup, hook: setup, mode: core,")])
        .planned();
    assert_eq!(nodes(&plan)[0], "setup: Run the setup hook [setup-core/pre-setup] by the setup hook, syncs");
}

#[test]
fn another_content_alone_is_an_update() {
    let plan =
        Shop::new().after(ChangeState::Succeeded).edited(&[("env: {COLOUR: red}", "env: {SIZE: '5'}")]).planned();
    assert_eq!((plan.kind, nodes(&plan)), (ChangeKind::Update, vec!["sync: sync sync".to_owned()]));
    assert_eq!(plan.component("server").unwrap().env_gone, ["COLOUR"]);
}

#[test]
fn the_same_document_again_is_nothing() {
    let shop = Shop::new().after(ChangeState::Succeeded);
    assert_eq!(nothing(&shop), ("version, driver, content and hooks are as they were applied".to_owned(), None));
    // The order in which a file is written changes nothing.
    let shop = shop.edited(&[(
        "{image: 'localhost:5000/demo/shop:1.0.0', command: [shop, worker]}",
        "{command: [shop, worker], image: 'localhost:5000/demo/shop:1.0.0'}",
    )]);
    assert_eq!(nothing(&shop).1, None);
}

#[test]
fn what_failed_is_for_retry_until_the_plan_differs() {
    let upgrade = [("  version: 1.0.0\n  comp", "  version: 1.1.0\n  comp")];
    let mut shop = Shop::new().after(ChangeState::Succeeded).edited(&upgrade).after(ChangeState::Failed);
    let (reason, change) = nothing(&shop);
    assert_eq!(reason, "the change shop-2 had this very plan and did not succeed");
    assert_eq!(change.as_deref(), Some("shop-2"));
    // A module that was built again is another plan, and still an upgrade although the version is applied.
    shop.modules.get_mut("actions.wasm").unwrap().as_mut().unwrap().digest = "b".repeat(64);
    let plan = shop.planned();
    assert_eq!((plan.kind, plan.reason.as_str()), (ChangeKind::Upgrade, "the upgrade shop-2 did not succeed"));
}

#[test]
fn a_setup_that_failed_is_set_up_again() {
    let mut shop = Shop::new().after(ChangeState::Failed);
    assert_eq!(nothing(&shop).1.as_deref(), Some("shop-1"));
    shop.modules.get_mut("actions.wasm").unwrap().as_mut().unwrap().digest = "b".repeat(64);
    let plan = shop.planned();
    assert_eq!((plan.kind, plan.generation, plan.from_version), (ChangeKind::Setup, 2, None));
    assert!(plan.former.is_some(), "what the failed setup applied is what this one finds");
}

#[test]
fn a_deleted_release_is_new_with_a_uid_of_its_own() {
    let mut shop = Shop::new().after(ChangeState::Succeeded);
    let view = shop.view.as_mut().unwrap();
    view.deleted = true;
    view.uid = "old".into();
    view.applied = None;
    let plan = shop.planned();
    assert_eq!((plan.kind, plan.generation, plan.target.uid.as_str()), (ChangeKind::Setup, 2, "00112233445566ff"));
}

#[test]
fn an_open_change_comes_first() {
    let mut shop = Shop::new().after(ChangeState::Succeeded).edited(&[("env: {COLOUR: red}", "env: {}")]);
    let view = shop.view.as_mut().unwrap();
    view.open = Some(view.key.change(1));
    assert_eq!(nothing(&shop), ("the change shop-1 is open".to_owned(), Some("shop-1".to_owned())));
}

#[test]
fn plain_content_needs_no_driver() {
    let mut shop = Shop::new();
    shop.release =
        "apiVersion: pintle.dev/v1alpha1\nkind: Release\nmetadata: {name: plain}\nspec:\n  cluster: local\n  \
                    version: '1'\n  content: {type: manifests, manifests: {path: m}}\n"
            .into();
    shop.driver.clear();
    let mut problems = Problems::default();
    let release = ReleaseDocument::read("release.yml", &shop.release, &mut problems).unwrap();
    let manifests = Manifest::read("m/shop.yml", &shop.manifests, &mut problems);
    let input = |release| PlanInput {
        problems: problems.clone(),
        release,
        driver: None,
        manifests: &manifests,
        modules: &shop.modules,
        tenant: "acme",
        folders: Folders { release: "/r".into(), driver: None, images: "/i".into() },
        view: None,
        former: None,
        last_plan: None,
        fresh_uid: "0",
        queued: false,
        lifecycle: &[],
        skip_hooks: &[],
    };
    let Ok(Planned::Change(plan)) = planned(&input(&release)) else { panic!("no plan") };
    assert_eq!(nodes(&plan), ["setup: sync sync"]);
    assert_eq!(plan.document.value()["spec"]["content"]["manifests"]["path"], "/r/m");
    assert_eq!((plan.driver, plan.driver_dir, plan.components.len()), (None, None, 0));
    // What was stored plans the same again, and at another version too.
    let text = release::at_version(&plan.document.value(), "2");
    let again = ReleaseDocument::read("release.json", &text, &mut problems).unwrap();
    assert_eq!(again.spec.version.as_str(), "2");
}

#[test]
fn a_delete_runs_what_was_frozen() {
    let shop = Shop::new().after(ChangeState::Succeeded);
    let (view, last) = (shop.view.as_ref().unwrap(), shop.last.as_ref().unwrap());
    let plan = deleted(view, last).unwrap();
    assert_eq!(
        nodes(&plan),
        ["preDelete: Run the delete pre-hook [delete-pre/save] by the delete pre-hook", "delete: remove remove"]
    );
    assert_eq!((plan.kind, plan.generation), (ChangeKind::Delete, 1));
    assert_eq!(plan.former.as_ref(), Some(&last.render));
    assert_eq!(plan.phase_of(&plan.modes().next().unwrap().actions[0].step), Some("preDelete"));
}

#[test]
fn a_delete_finds_what_is_applied_though_the_newest_change_applied_nothing() {
    let shop = Shop::new().after(ChangeState::Succeeded);
    let first = shop.last.clone().unwrap();
    let mut shop = shop.edited(&[("  version: 1.0.0\n  comp", "  version: 1.1.0\n  comp")]).after(ChangeState::Failed);
    shop.view.as_mut().unwrap().applied = Some(first.render.reference.clone());
    let plan = deleted(shop.view.as_ref().unwrap(), shop.last.as_ref().unwrap()).unwrap();
    assert_eq!(plan.render, first.render);
    assert_eq!(plan.to_version, "1.0.0");
}

#[test]
fn a_delete_is_refused_while_a_change_is_open_and_after_the_end() {
    let mut shop = Shop::new().after(ChangeState::Succeeded);
    let last = shop.last.clone().unwrap();
    let view = shop.view.as_mut().unwrap();
    view.open = Some(view.key.change(3));
    assert_eq!(deleted(view, &last), Err(Refused::Open(view.key.change(3))));
    view.open = None;
    view.deleted = true;
    assert_eq!(deleted(view, &last), Err(Refused::Gone("shop".into())));
}

#[test]
fn what_does_not_fit_together_is_told_at_once_with_both_places() {
    let mut shop = Shop::new().edited(&[
        ("version: 1.0.0, path", "version: 1.5.0, path"),
        ("    server:\n", "    sever:\n"),
        ("name: shop-task-worker}\nspec", "name: shop-taskworker}\nspec"),
        ("location: 'actions.wasm::upgrade'", "location: 'actions.wasm::upgrad'"),
        ("location: 'actions.wasm::check', onFailure: Continue", "location: 'checks.wasm::check', onFail: Continue"),
        ("kind: ConfigMap\nmetadata: {name: settings}", "kind: ConfigMap\nmetadata: {name: settings}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}"),
    ]);
    shop.modules.insert("farewell.wasm".into(), Err("it is no component: it starts with `\\x7fELF`".into()));
    insta::assert_snapshot!("planning_problems", shop.plan().unwrap_err().to_string());
}

#[test]
fn a_wrong_workload_a_container_and_a_newer_wit_are_told() {
    let mut shop = Shop::new().edited(&[
        ("workload: {kind: Process, name: shop-server}", "workload: {kind: ConfigMap, name: settings}"),
        (
            "workload: {kind: Process, name: shop-task-worker}",
            "workload: {kind: Process, name: shop-task-worker}\n      container: main",
        ),
    ]);
    shop.modules.get_mut("farewell.wasm").unwrap().as_mut().unwrap().actions.clear();
    insta::assert_snapshot!("planning_problems_of_workloads", shop.plan().unwrap_err().to_string());
}

#[test]
fn a_release_cannot_move() {
    let shop = Shop::new()
        .after(ChangeState::Succeeded)
        .edited(&[("metadata: {name: shop}\n", "metadata: {name: shop, namespace: b}\n")]);
    assert_eq!(
        shop.plan().unwrap_err().to_string(),
        "release.yml:3:35: metadata.namespace: the release is in the namespace `default`, and a release cannot move\n    \
         keep the namespace, or delete the release first"
    );
}

#[test]
fn a_driver_that_cannot_be_read_blames_nothing_else() {
    let shop = Shop::new().edited(&[("kind: Driver", "kind: [")]);
    let problems = shop.plan().unwrap_err();
    assert_eq!(problems.iter().count(), 1, "{problems}");
    assert_eq!(&*problems.iter().next().unwrap().place.file, "driver.yml");
}

#[test]
fn plans_survive_their_stored_form_and_have_labels_as_steps() {
    let mut shop = Shop::new().after(ChangeState::Succeeded).edited(&[("env: {COLOUR: red}", "env: {}")]);
    let view = shop.view.as_mut().unwrap();
    view.stopped.insert("server".into(), Stopped { former: 2, since: "shop-1".into() });
    view.driver = Some(DriverRef { name: "shop".into(), version: "0.9.0".into() });
    let plan = shop.planned();
    assert_eq!(plan.stopped["server"].former, 2);
    let stored = serde_json::to_string(&plan).unwrap();
    assert_eq!(serde_json::from_str::<Plan>(&stored).unwrap(), plan);
    for mode in plan.modes() {
        for action in &mode.actions {
            assert!(action.step.as_str().split('/').all(is_label), "{}", action.step);
        }
    }
}

#[test]
fn a_plan_reads_as_a_tree_and_what_it_changes() {
    insta::assert_snapshot!("plan_of_setup", plan_view::text(&Shop::new().planned()));
    let shop = Shop::new().after(ChangeState::Succeeded);
    let delete = deleted(shop.view.as_ref().unwrap(), shop.last.as_ref().unwrap()).unwrap();
    insta::assert_snapshot!("plan_of_delete", plan_view::text(&delete));
    let shop = shop.edited(&[
        ("  version: 1.0.0\n  comp", "  version: 1.1.0\n  comp"),
        ("kind: ConfigMap\nmetadata: {name: settings}", "kind: ConfigMap\nmetadata: {name: colours}"),
    ]);
    insta::assert_snapshot!("plan_of_upgrade", plan_view::text(&shop.planned()));
}
