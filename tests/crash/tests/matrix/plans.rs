//! Plans of the matrix, made by hand: the documents and their planning have tests of their own.

use pintle_lifecycle::grant::{ComponentPermissions, JobPermissions, Permissions, ReleasePermissions};
use pintle_lifecycle::ids::{ChangeKey, ReleaseKey, StepId};
use pintle_lifecycle::json::Json;
use pintle_lifecycle::plan::{
    ActionPlan, ChangeKind, Component, Limits, Mode, Node, OnFailure, Phase, Plan, Render, RenderRef, Retry, Target,
    Workload,
};
use serde_json::json;

pub const UID: &str = "00000000000000aa";
/// The action's own wall time, in milliseconds.
pub const TIMEOUT_MS: u64 = 60_000;

pub fn release() -> ReleaseKey {
    ReleaseKey::new("default", "shop").expect("a name")
}

pub fn change(number: u64) -> ChangeKey {
    release().change(number)
}

pub fn workload(component: &str) -> Workload {
    Workload { kind: "Process".to_owned(), name: format!("shop-{component}") }
}

pub fn render(version: &str, generation: u64) -> Render {
    let object = |component: &str, replicas: u32| {
        json!({
            "apiVersion": "pintle.dev/v1alpha1",
            "kind": "Process",
            "metadata": {"name": format!("shop-{component}")},
            "spec": {"image": format!("localhost:5000/demo/shop:{version}"), "replicas": replicas, "env": {"A": "b"}},
        })
    };
    Render {
        reference: RenderRef { digest: format!("digest-of-{version}"), generation, version: version.to_owned() },
        objects: vec![object("server", 1).into(), object("task-worker", 2).into()],
    }
}

/// The setup at 1.0.0: a sync by itself.
pub fn setup() -> Plan {
    plan(
        ChangeKind::Setup,
        None,
        vec![Phase { name: "setup".to_owned(), nodes: vec![Node::Sync { step: StepId::root("sync") }] }],
    )
}

/// The upgrade to 1.1.0 whose core hook is `action` of the module.
pub fn upgrade(module: &str, action: &str) -> Plan {
    let step = StepId::root("upgrade-core");
    let mode = Mode {
        title: "Run the upgrade hook".to_owned(),
        starter: "the upgrade hook".to_owned(),
        actions: vec![ActionPlan {
            step: step.child(action),
            name: action.to_owned(),
            description: String::new(),
            module: module.to_owned(),
            export: action.to_owned(),
            wit: "0.1.0".to_owned(),
            has_undo: false,
            timeout_ms: Some(TIMEOUT_MS),
            on_failure: OnFailure::Fail,
            retry: Retry::default(),
            pivot: false,
            args: Json::default(),
        }],
        syncs: true,
        step,
    };
    let phase = Phase { name: "upgrade".to_owned(), nodes: vec![Node::Mode(mode)] };
    plan(ChangeKind::Upgrade, Some(render("1.0.0", 1)), vec![phase])
}

/// The removal of what the upgrade left.
pub fn delete() -> Plan {
    let phase = Phase { name: "delete".to_owned(), nodes: vec![Node::Remove { step: StepId::root("remove") }] };
    plan(ChangeKind::Delete, Some(render("1.0.0", 1)), vec![phase])
}

pub fn first_action(plan: &mut Plan) -> &mut ActionPlan {
    plan.phases
        .iter_mut()
        .flat_map(|phase| &mut phase.nodes)
        .find_map(|node| match node {
            Node::Mode(mode) => mode.actions.first_mut(),
            _ => None,
        })
        .expect("the plan has an action")
}

fn plan(kind: ChangeKind, former: Option<Render>, phases: Vec<Phase>) -> Plan {
    let render = match &former {
        None => render("1.0.0", 1),
        Some(_) => render("1.1.0", 2),
    };
    let component = |name: &str| Component {
        name: name.to_owned(),
        workload: workload(name),
        container: None,
        image: None,
        env: std::collections::BTreeMap::new(),
        env_gone: Vec::new(),
    };
    Plan {
        kind,
        target: Target {
            release: release(),
            uid: UID.to_owned(),
            namespace: "default".to_owned(),
            cluster: "simulated".to_owned(),
            images: "/images".to_owned(),
        },
        generation: render.reference.generation,
        from_version: former.as_ref().map(|former| former.reference.version.clone()),
        to_version: render.reference.version.clone(),
        driver: None,
        components: vec![component("server"), component("task-worker")],
        render,
        former,
        stopped: std::collections::BTreeMap::new(),
        left_job: None,
        hooks: Vec::new(),
        declared: Vec::new(),
        skips: Vec::new(),
        retention: None,
        on_test: Vec::new(),
        on_rollback: Vec::new(),
        deletion: pintle_lifecycle::plan::Deletion::default(),
        health: None,
        phases,
        on_delete: Vec::new(),
        permissions: permissions(),
        limits: Limits::default(),
        values: Json::default(),
        document: Json::default(),
        driver_dir: None,
        reason: "matrix".to_owned(),
    }
}

fn permissions() -> Permissions {
    let worker = vec!["task-worker".to_owned()];
    Permissions {
        components: ComponentPermissions { stop: worker.clone(), start: worker, images: vec!["server".to_owned()] },
        releases: ReleasePermissions { set_version: true },
        jobs: JobPermissions {
            images: vec!["localhost:5000/demo/shop:*".to_owned()],
            env_from: vec!["server".to_owned()],
        },
        state: true,
    }
}
