//! Plans of the benches, made by hand: a change whose one hook is an action, in a release with one component.

use pintle_lifecycle::grant::{ComponentPermissions, JobPermissions, Permissions};
use pintle_lifecycle::ids::{ReleaseKey, StepId};
use pintle_lifecycle::json::Json;
use pintle_lifecycle::plan::{
    ActionPlan, ChangeKind, Component, Limits, Mode, Node, OnFailure, Phase, Plan, Render, RenderRef, Retry, Target,
    Workload,
};
use serde_json::json;

pub fn release(name: &str) -> ReleaseKey {
    ReleaseKey::new("bench", name).expect("a name")
}

/// A change of `release` with one step, the action `action` of `module`.
pub fn action(release: &ReleaseKey, module: &str, action: &str) -> Plan {
    let step = StepId::root("pre-upgrade");
    let mode = Mode {
        title: "Run the preUpgrade hook".to_owned(),
        starter: "the preUpgrade hook".to_owned(),
        actions: vec![ActionPlan {
            step: step.child(action),
            name: action.to_owned(),
            description: "An action of the benches".to_owned(),
            module: module.to_owned(),
            export: action.to_owned(),
            wit: "0.1.0".to_owned(),
            has_undo: false,
            timeout_ms: Some(48 * 3_600_000),
            on_failure: OnFailure::Fail,
            retry: Retry::default(),
            pivot: false,
            args: Json::default(),
        }],
        syncs: false,
        step,
    };
    let worker = Workload { kind: "Process".to_owned(), name: format!("{}-worker", release.name) };
    Plan {
        kind: ChangeKind::Upgrade,
        target: Target {
            release: release.clone(),
            uid: "00000000000000aa".to_owned(),
            namespace: "default".to_owned(),
            cluster: "local".to_owned(),
            images: "/images".to_owned(),
        },
        generation: 2,
        from_version: Some("1.0.0".to_owned()),
        to_version: "1.1.0".to_owned(),
        driver: None,
        components: vec![Component {
            name: "worker".to_owned(),
            workload: worker,
            container: None,
            image: None,
            env: std::collections::BTreeMap::new(),
            env_gone: Vec::new(),
        }],
        render: render(release, "1.1.0", 2),
        former: Some(render(release, "1.0.0", 1)),
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
        phases: vec![Phase { name: "preUpgrade".to_owned(), nodes: vec![Node::Mode(mode)] }],
        on_delete: Vec::new(),
        permissions: permissions(),
        limits: Limits { wall_ms: 48 * 3_600_000, ..Limits::default() },
        values: json!({"replicas": 1}).into(),
        document: json!({
            "apiVersion": "pintle.dev/v1alpha1",
            "kind": "Release",
            "metadata": {"name": release.name},
            "spec": {"version": "1.1.0", "driver": "/drivers/bench", "values": {"replicas": 1}},
        })
        .into(),
        driver_dir: None,
        reason: "a bench asked for it".to_owned(),
    }
}

fn render(release: &ReleaseKey, version: &str, generation: u64) -> Render {
    Render {
        reference: RenderRef { digest: "d".repeat(64), generation, version: version.to_owned() },
        objects: vec![
            json!({
                "apiVersion": "pintle.dev/v1alpha1",
                "kind": "Process",
                "metadata": {"name": format!("{}-worker", release.name)},
                "spec": {"image": format!("registry.example/bench:{version}"), "replicas": 1, "env": {"MODE": "bench"}},
            })
            .into(),
        ],
    }
}

fn permissions() -> Permissions {
    let worker = vec!["worker".to_owned()];
    Permissions {
        components: ComponentPermissions { stop: worker.clone(), start: worker, images: Vec::new() },
        jobs: JobPermissions { images: vec!["registry.example/bench:*".to_owned()], env_from: Vec::new() },
        ..Permissions::default()
    }
}
