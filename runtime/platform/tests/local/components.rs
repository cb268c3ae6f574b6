//! Workloads: applied, replaced, stopped, started, pruned.

use std::collections::BTreeSet;
use std::fs;

use pintle_platform::{Platform, PlatformError, Status};
use serde_json::{Value, json};

use crate::harness::{Home, is_alive, kin, process, render, within, workload};

/// A process that notes when it starts and when it is told to end.
const NOTING: &str = "trap 'echo stop $V$PINTLE_REPLICA >> events; exit 0' TERM
    echo start $V$PINTLE_REPLICA >> events; touch ready$V$PINTLE_REPLICA
    while :; do sleep 0.01; done";

fn noting(name: &str, version: &str, replicas: u32) -> Value {
    let ready = json!({"exec": {"command": ["sh", "-c", "[ -e ready$V$PINTLE_REPLICA ]"]}});
    process(name, NOTING, json!({"env": {"V": version}, "replicas": replicas, "ready": ready}))
}

fn lasting(name: &str, version: &str) -> Value {
    process(name, "touch $V; exec sleep 1000", json!({"env": {"V": version}, "ready": {"file": version}}))
}

async fn status(home: &Home, name: &str) -> Status {
    home.local.status(&home.target, &workload(name)).await.unwrap()
}

fn all(n: u32) -> Status {
    Status { desired: n, running: n, ready: n }
}

#[tokio::test]
async fn replicas_are_replaced_one_at_a_time_and_only_where_something_changed() {
    let home = Home::new();
    home.apply(&render("1.0.0", vec![noting("worker", "a", 2), lasting("server", "same")])).await.unwrap();
    assert_eq!(status(&home, "worker").await, all(2));
    let server = home.pid_in(home.replica_dir("server", 0).join("process.json"), "/process/pid").await;
    home.apply(&render("1.1.0", vec![noting("worker", "b", 2), lasting("server", "same")])).await.unwrap();
    assert_eq!(home.written("events"), "start a0\nstart a1\nstop a0\nstart b0\nstop a1\nstart b1\n");
    let now = home.pid_in(home.replica_dir("server", 0).join("process.json"), "/process/pid").await;
    assert_eq!(server, now);
    home.apply(&render("1.2.0", vec![noting("worker", "b", 1)])).await.unwrap();
    assert!(home.written("events").ends_with("start b1\nstop b1\n"));
    assert_eq!(status(&home, "worker").await, all(1));
    assert!(!is_alive(server), "what is gone from the render is pruned");
    assert!(!home.replica_dir("server", 0).exists());
    let error = home.local.status(&home.target, &workload("server")).await.unwrap_err();
    assert_eq!(error, PlatformError::NotFound("Process server is not applied".into()));
}

#[tokio::test]
async fn a_held_workload_stays_at_zero_and_starts_with_the_new_content() {
    let home = Home::new();
    home.apply(&render("1.0.0", vec![noting("worker", "a", 2)])).await.unwrap();
    let worker = workload("worker");
    within(home.local.scale("stop", &home.target, &worker, 0)).await.unwrap();
    assert!(kin(&home.replica_dir("worker", 0)).is_empty());
    assert_eq!(status(&home, "worker").await, all(0));
    home.local.wait_ready(&home.target, &worker).await.unwrap();
    let held: BTreeSet<_> = [worker.clone()].into();
    let next = render("1.1.0", vec![noting("worker", "b", 2)]);
    within(home.local.apply("apply", &home.target, &next, &held)).await.unwrap();
    assert_eq!(status(&home, "worker").await, all(0));
    within(home.local.scale("start", &home.target, &worker, 2)).await.unwrap();
    assert_eq!(status(&home, "worker").await, all(2));
    assert!(home.written("events").ends_with("start b0\nstart b1\n"), "{}", home.written("events"));
    assert_eq!(home.local.images(&home.target, &worker).await.unwrap(), ["host"]);
    let error = home.local.scale("stop", &home.target, &workload("other"), 0).await.unwrap_err();
    assert_eq!(error, PlatformError::NotFound("Process other is not applied".into()));
}

#[tokio::test]
async fn a_manifest_without_a_number_keeps_the_replicas_that_are_there() {
    let home = Home::new();
    let server = |version: &str| {
        let mut object = noting("server", version, 0);
        object["spec"].as_object_mut().unwrap().remove("replicas");
        render(version, vec![object])
    };
    home.apply(&server("a")).await.unwrap();
    assert_eq!(status(&home, "server").await, all(1));
    within(home.local.scale("scale", &home.target, &workload("server"), 3)).await.unwrap();
    home.apply(&server("b")).await.unwrap();
    assert_eq!(status(&home, "server").await, all(3));
}

#[tokio::test]
async fn a_process_that_ignores_sigterm_is_killed_with_its_group_after_the_grace() {
    let home = Home::new();
    let script = "trap '' TERM; sleep 1000 & (setsid sleep 1000 &); touch ready; while :; do sleep 1; done";
    let more = json!({"stopGraceSeconds": 1, "ready": {"file": "ready"}});
    home.apply(&render("1.0.0", vec![process("deaf", script, more)])).await.unwrap();
    let dir = home.replica_dir("deaf", 0);
    assert!(kin(&dir).len() >= 3);
    within(home.local.scale("stop", &home.target, &workload("deaf"), 0)).await.unwrap();
    assert!(kin(&dir).is_empty());
    let exit: Value = serde_json::from_str(&fs::read_to_string(dir.join("exit.json")).unwrap()).unwrap();
    assert_eq!((&exit["exit"], &exit["by"]), (&json!({"is": "signal", "signal": 9}), &json!({"is": "stop"})));
}

#[tokio::test]
async fn the_rest_of_a_group_gets_its_grace_when_the_first_ends_sooner() {
    let home = Home::new();
    let child = "trap 'sleep 0.1; echo child >> events; exit 0' TERM; touch ready; while :; do sleep 0.01; done";
    let script = format!("trap 'exit 0' TERM; ({child}) & while :; do sleep 0.01; done");
    home.apply(&render("1.0.0", vec![process("pair", &script, json!({"ready": {"file": "ready"}}))])).await.unwrap();
    within(home.local.scale("stop", &home.target, &workload("pair"), 0)).await.unwrap();
    assert_eq!(home.written("events"), "child\n");
}

#[tokio::test]
async fn removal_ends_everything_but_the_data() {
    let home = Home::new();
    home.apply(&render("1.0.0", vec![noting("worker", "a", 2)])).await.unwrap();
    let job = crate::harness::sh("exec sleep 1000");
    home.local.start_job("key", &home.target, "job-1", &job).await.unwrap();
    let job = home.pid_in(home.job_dir("job-1").join("process.json"), "/process/pid").await;
    for _ in 0..2 {
        within(home.local.remove("remove", &home.target)).await.unwrap();
    }
    assert!(!is_alive(job));
    assert!(home.written("events").contains("stop a0\n") && home.written("events").contains("stop a1\n"));
    let left: Vec<_> = fs::read_dir(home.data().parent().unwrap()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left, ["dir"]);
    let error = home.local.images(&home.target, &workload("worker")).await.unwrap_err();
    assert_eq!(error, PlatformError::NotFound("Process worker is not applied: nothing is".into()));
}

#[tokio::test]
async fn what_is_wrong_is_found_before_anything_is_touched() {
    let home = Home::new();
    home.apply(&render("1.0.0", vec![noting("worker", "a", 1)])).await.unwrap();
    let image = process("other", "true", json!({"image": "shop:9"}));
    let deployment = json!({"kind": "Deployment", "metadata": {"name": "web"}, "spec": {}});
    let unknown = process("other", "true", json!({"volumes": []}));
    for (object, words) in [(image, "ImageNotFound"), (deployment, "Deployment web"), (unknown, "volumes")] {
        let error = home.apply(&render("1.1.0", vec![noting("worker", "b", 1), object])).await.unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
    }
    assert_eq!(home.written("events"), "start a0\n");
    assert_eq!(status(&home, "worker").await, all(1));
}
