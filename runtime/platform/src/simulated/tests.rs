//! The simulated platform itself: a fault happens where it was scripted, and a broken promise is counted.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use pintle_lifecycle::call::JobSpec;
use pintle_lifecycle::hook::{HookKind, HookPhase, Labels};
use pintle_lifecycle::ids::ReleaseKey;
use pintle_lifecycle::plan::{Render, RenderRef, Target, Workload};
use serde_json::json;

use super::*;
use crate::platform::{HookWorkload, Job, Platform, Status};

mod hooks;
mod objects;

fn target() -> Target {
    Target {
        release: ReleaseKey::new("acme", "shop").unwrap(),
        uid: "0123456789abcdef".into(),
        namespace: "default".into(),
        cluster: "local".into(),
        images: "/images".into(),
    }
}

fn workload(name: &str) -> Workload {
    Workload { kind: "Process".into(), name: name.into() }
}

fn render(version: &str) -> Render {
    let process = |name: &str| {
        json!({
            "kind": "Process", "metadata": {"name": name},
            "spec": {"image": format!("shop:{version}"), "env": {"LISTEN": "8080"}, "replicas": 2},
        })
    };
    Render {
        reference: RenderRef { digest: version.into(), generation: 1, version: version.into() },
        objects: vec![
            process("server").into(),
            process("worker").into(),
            json!({"kind": "ConfigMap", "metadata": {"name": "c"}}).into(),
        ],
    }
}

fn job() -> Job {
    Job {
        spec: JobSpec { image: "shop:1.1.0".into(), command: vec!["migrate".into()], ..JobSpec::default() },
        env_from: Some(workload("server")),
        env: [("LISTEN".to_owned(), "9090".to_owned())].into(),
        unset: BTreeSet::new(),
        deadline: None,
    }
}

/// The workload of a preSync hook, named as the hook is.
fn hook(name: &str) -> HookWorkload {
    hook_of(&target(), HookKind::Job, name, &json!({}))
}

fn hook_of(target: &Target, kind: HookKind, name: &str, spec: &serde_json::Value) -> HookWorkload {
    let mut object = json!({"kind": kind.as_str(), "spec": spec});
    labels(target, name).set(&mut object, name, "default");
    HookWorkload { kind, namespace: "default".into(), name: name.into(), object: object.into(), fenced: true }
}

fn labels<'a>(target: &'a Target, hook: &'a str) -> Labels<'a> {
    Labels { release_uid: &target.uid, phase: HookPhase::PreSync, hook, change: "shop-1" }
}

/// A `ConfigMap` of a preSync hook.
fn object(of: &str, name: &str, data: &str) -> pintle_lifecycle::json::Json {
    let mut object = json!({"kind": "ConfigMap", "data": {"a": data}});
    labels(&target(), of).set(&mut object, name, "default");
    object.into()
}

async fn applied(world: &Arc<World>, version: &str) -> Simulated {
    let platform = Simulated::new(world.clone());
    platform.apply("setup", &target(), &render(version), &BTreeSet::new()).await.unwrap();
    platform
}

#[tokio::test(start_paused = true)]
async fn a_held_workload_stays_at_zero_through_an_apply_and_starts_with_the_new_content() {
    let world = World::new();
    let platform = applied(&world, "1.0.0").await;
    let worker = workload("worker");
    platform.scale("stop", &target(), &worker, 0).await.unwrap();
    platform.apply("apply", &target(), &render("1.1.0"), &[worker.clone()].into()).await.unwrap();
    assert_eq!(platform.status(&target(), &worker).await.unwrap(), Status::default());
    platform.scale("start", &target(), &worker, 2).await.unwrap();
    assert_eq!(platform.images(&target(), &worker).await.unwrap(), ["shop:1.1.0"]);
    assert_eq!(
        world.to_string(),
        "acme/shop: 1.1.0, generation 1\n  Process server 1.1.0 x2\n  Process worker 1.1.0 x2\n"
    );
    let order: Vec<String> = world.effects().iter().map(ToString::to_string).collect();
    assert_eq!(
        order,
        [
            "apply acme/shop 1.0.0 [setup]",
            "scale Process worker to 0 [stop]",
            "apply acme/shop 1.1.0 [apply]",
            "scale Process worker to 2 [start]",
        ]
    );
}

/// Each death at each effect, and the next Pintle that repeats it with the same key: one effect, whatever the moment.
#[tokio::test(start_paused = true)]
async fn a_repeated_effect_is_adopted_after_any_death() {
    for fault in [Fault::DieBefore, Fault::DieAmid, Fault::DieAfter] {
        for method in Method::ALL.into_iter().filter(|method| method.has_effect()) {
            let world = World::new();
            applied(&world, "1.0.0").await;
            world.script_jobs(|_| JobScript::lasting(Duration::from_hours(1)));
            let migrate = HookRef {
                kind: HookKind::Job,
                namespace: "default".into(),
                name: "migrate".into(),
                uid: "migrate.1".into(),
            };
            let objects = [object("settings", "a", ""), object("settings", "b", "")];
            let nth = world.calls(method) + 1;
            world.script_fault(method, nth, fault.clone());
            let run = async |platform: &Simulated| {
                platform.put_objects("put", &target(), &objects).await.unwrap();
                platform.create_hook("create", &target(), &hook("migrate")).await.unwrap();
                platform.lift_hook("lift", &target(), &migrate).await.unwrap();
                platform.delete_hook("gone", &target(), &migrate, true).await.unwrap();
                platform.delete_objects("unput", &target(), &objects).await.unwrap();
                platform.start_job("start", &target(), "job-1", &job()).await.unwrap();
                platform.stop_job("end", &target(), "job-1").await.unwrap();
                platform.delete_job("delete", &target(), "job-1").await.unwrap();
                platform.scale("stop", &target(), &workload("worker"), 0).await.unwrap();
                platform.apply("apply", &target(), &render("1.1.0"), &BTreeSet::new()).await.unwrap();
                platform.remove("remove", &target()).await.unwrap();
            };
            // The first Pintle dies in its first call of `method`; the second one repeats that call alone, and goes on.
            let first = Simulated::new(world.clone());
            tokio::select! {
                () = run(&first) => panic!("{method} did not die"),
                () = first.died() => {}
            }
            let second = Simulated::new(world.clone());
            let target = target();
            match method {
                Method::StartJob => second.start_job("start", &target, "job-1", &job()).await,
                Method::StopJob => second.stop_job("end", &target, "job-1").await,
                Method::DeleteJob => second.delete_job("delete", &target, "job-1").await,
                Method::Scale => second.scale("stop", &target, &workload("worker"), 0).await,
                Method::Apply => second.apply("apply", &target, &render("1.1.0"), &BTreeSet::new()).await,
                Method::CreateHook => second.create_hook("create", &target, &hook("migrate")).await.map(|_| ()),
                Method::LiftHook => second.lift_hook("lift", &target, &migrate).await,
                Method::DeleteHook => second.delete_hook("gone", &target, &migrate, true).await,
                Method::PutObjects => second.put_objects("put", &target, &objects).await,
                Method::DeleteObjects => second.delete_objects("unput", &target, &objects).await,
                _ => second.remove("remove", &target).await,
            }
            .unwrap();
            assert_eq!(world.doubled(), [], "{method} {fault:?}");
            let adopted: u32 = world.counts().values().map(|count| count.adopted).sum();
            assert_eq!(adopted, u32::from(fault != Fault::DieBefore), "{method} {fault:?}");
            // The dead one has no effect any more.
            let server = workload("server");
            let late = first.scale("late", &target, &server, 0);
            assert!(tokio::time::timeout(Duration::from_secs(1), late).await.is_err());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_repetition_that_changes_the_world_again_is_counted_as_doubled() {
    let world = World::new();
    let platform = applied(&world, "1.0.0").await;
    platform.scale("stop", &target(), &workload("worker"), 0).await.unwrap();
    platform.scale("start", &target(), &workload("worker"), 2).await.unwrap();
    platform.scale("stop", &target(), &workload("worker"), 0).await.unwrap();
    let doubled: Vec<String> = world.doubled().iter().map(ToString::to_string).collect();
    assert_eq!(doubled, ["scale Process worker to 0 [stop]"]);
}

#[tokio::test(start_paused = true)]
async fn a_job_sees_the_world_at_its_start() {
    let world = World::new();
    let platform = applied(&world, "1.0.0").await;
    world.script_jobs(|start| {
        assert_eq!(start.env["LISTEN"], "9090");
        match start.release.replicas(&workload("worker")) {
            0 => JobScript::default(),
            n => JobScript::fails(4, format!("{n} workers are connected")),
        }
    });
    platform.start_job("a", &target(), "job-1", &job()).await.unwrap();
    let result = platform.wait_job(&target(), "job-1").await.unwrap();
    assert_eq!((result.exit_code, result.output.text.as_str()), (Some(4), "2 workers are connected"));
    assert_eq!(result.reason, "exit code 4");
    assert!(matches!(
        platform.start_job("b", &target(), "job-1", &job()).await,
        Err(PlatformError::Conflict(text)) if text.contains("job-1")
    ));
    platform.scale("stop", &target(), &workload("worker"), 0).await.unwrap();
    platform.start_job("c", &target(), "job-2", &job()).await.unwrap();
    assert!(platform.wait_job(&target(), "job-2").await.unwrap().succeeded);
}

#[tokio::test(start_paused = true)]
async fn a_job_ends_at_its_deadline_or_when_it_is_stopped() {
    let world = World::new();
    let platform = Arc::new(applied(&world, "1.0.0").await);
    world.script_jobs(|_| JobScript::lasting(Duration::from_hours(1)));
    let bounded = Job { deadline: Some(Duration::from_secs(30)), ..job() };
    platform.start_job("a", &target(), "job-1", &bounded).await.unwrap();
    assert_eq!(platform.job_ended(&target(), "job-1").await.unwrap(), Some(false));
    assert_eq!(platform.wait_job(&target(), "job-1").await.unwrap().reason, "deadline of 30 s passed");

    platform.start_job("b", &target(), "job-2", &job()).await.unwrap();
    let waiting = tokio::spawn({
        let platform = platform.clone();
        async move { platform.wait_job(&target(), "job-2").await }
    });
    platform.stop_job("c", &target(), "job-2").await.unwrap();
    assert_eq!(waiting.await.unwrap().unwrap().reason, "stopped");
    assert_eq!(platform.job_ended(&target(), "job-3").await.unwrap(), None);
}

#[tokio::test(start_paused = true)]
async fn readiness_is_waited_for_and_can_fail() {
    let world = World::new();
    world.script_readiness(workload("server"), Readiness::After(Duration::from_secs(5)));
    let begun = tokio::time::Instant::now();
    let platform = applied(&world, "1.0.0").await;
    assert!(begun.elapsed() >= Duration::from_secs(5));
    world.script_readiness(workload("worker"), Readiness::Ends("exit code 3".into()));
    let error = platform.apply("up", &target(), &render("1.1.0"), &BTreeSet::new()).await.unwrap_err();
    assert_eq!(error, PlatformError::Failed("Process worker ended: exit code 3".into()));
    world.script_readiness(workload("worker"), Readiness::Never);
    let error = platform.scale("start", &target(), &workload("worker"), 3).await.unwrap_err();
    assert_eq!(error, PlatformError::Failed("not ready after 60 s".into()));
}

#[tokio::test(start_paused = true)]
async fn an_error_comes_with_or_without_the_effect_as_scripted() {
    let world = World::new();
    let platform = applied(&world, "1.0.0").await;
    let gone = PlatformError::Unavailable("the machine is out of processes".into());
    world.script_fault(Method::Scale, 1, Fault::Error(gone.clone()));
    world.script_fault(Method::Scale, 2, Fault::ErrorAfter(gone.clone()));
    let worker = workload("worker");
    assert_eq!(platform.scale("stop", &target(), &worker, 0).await, Err(gone.clone()));
    assert_eq!(platform.status(&target(), &worker).await.unwrap().desired, 2);
    assert_eq!(platform.scale("stop", &target(), &worker, 0).await, Err(gone));
    assert_eq!(platform.status(&target(), &worker).await.unwrap().desired, 0);
    platform.scale("stop", &target(), &worker, 0).await.unwrap();
    assert_eq!(world.doubled(), []);
}
