//! Workloads of hooks: fenced, run, judged and deleted, and counted when they run twice.

use pintle_lifecycle::hook::FENCE;
use tokio::time::timeout;

use super::*;

mod deleted;
mod many;

/// Longer than anything that ends.
const DAY: Duration = Duration::from_hours(24);

/// Creates a hook's workload under its name as the key.
async fn created(platform: &Simulated, workload: &HookWorkload) -> HookRef {
    platform.create_hook(&format!("create {}", workload.name), &target(), workload).await.unwrap()
}

/// Creates a hook's workload and lifts its fence.
async fn lifted(platform: &Simulated, workload: &HookWorkload) -> HookRef {
    let hook = created(platform, workload).await;
    platform.lift_hook(&format!("lift {}", workload.name), &target(), &hook).await.unwrap();
    hook
}

/// How a hook's workload ended, which it must.
async fn ended(platform: &Simulated, hook: &HookRef) -> JobResult {
    timeout(DAY, platform.wait_hook(&target(), hook)).await.unwrap().unwrap()
}

fn order(world: &World) -> Vec<String> {
    world.hook_order().iter().map(ToString::to_string).collect()
}

fn doubled(world: &World) -> Vec<String> {
    world.doubled().iter().map(ToString::to_string).collect()
}

/// Lets a new Pintle die in `call`.
async fn dies(world: &Arc<World>, call: impl AsyncFnOnce(&Simulated)) {
    let platform = Simulated::new(world.clone());
    tokio::select! {
        () = call(&platform) => panic!("it did not die"),
        () = platform.died() => {}
    }
}

#[tokio::test(start_paused = true)]
async fn a_fenced_workload_runs_when_its_fence_is_lifted_and_only_once() {
    let world = World::new();
    let platform = Simulated::new(world.clone());
    let hook = created(&platform, &hook("migrate")).await;
    assert!(timeout(DAY, platform.wait_hook(&target(), &hook)).await.is_err());
    assert_eq!(world.to_string(), "Job default/migrate (preSync/migrate) fenced\n");
    assert_eq!(order(&world), [""; 0]);
    for _ in 0..2 {
        platform.lift_hook("lift", &target(), &hook).await.unwrap();
        let result = ended(&platform, &hook).await;
        assert!(result.succeeded, "{result:?}");
    }
    assert_eq!(created(&platform, &super::hook("migrate")).await, hook, "one that has ended is adopted");
    assert_eq!(world.to_string(), "Job default/migrate (preSync/migrate) succeeded\n");
    assert_eq!(order(&world), ["began preSync/migrate", "ended preSync/migrate"]);
    let effects: Vec<_> = world.effects().iter().map(ToString::to_string).collect();
    assert_eq!(
        effects,
        [
            "create_hook Job default/migrate [create migrate]",
            "lift_hook Job default/migrate [lift]",
            "lift_hook Job default/migrate [run migrate]",
        ]
    );
    assert_eq!(doubled(&world), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn an_unfenced_workload_runs_at_its_creation() {
    let world = World::new();
    let platform = Simulated::new(world.clone());
    let hook = created(&platform, &HookWorkload { fenced: false, ..hook("migrate") }).await;
    assert!(ended(&platform, &hook).await.succeeded);
    platform.lift_hook("lift", &target(), &hook).await.unwrap();
    assert_eq!(doubled(&world), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn what_its_author_suspended_stays_so_until_somebody_resumes_it() {
    let world = World::new();
    let platform = Simulated::new(world.clone());
    let gates = |name: &str| json!({"schedulingGates": [{"name": name}]});
    for (kind, name, spec) in
        [(HookKind::Job, "job", json!({"suspend": true})), (HookKind::Pod, "pod", gates("example.com/quota"))]
    {
        for fenced in [true, false] {
            let name = format!("{name}-{fenced}");
            let workload = HookWorkload { fenced, ..hook_of(&target(), kind, &name, &spec) };
            let hook = lifted(&platform, &workload).await;
            assert!(timeout(DAY, platform.wait_hook(&target(), &hook)).await.is_err(), "{name} runs");
            let look = platform.look_at_hook(&target(), &hook).await.unwrap();
            assert_eq!(look.waits_for, "its author suspended it");
            assert!(world.resume_hook_workload(&name));
            assert!(ended(&platform, &hook).await.succeeded);
            assert!(!world.resume_hook_workload(&name), "{name} has run");
        }
    }
    // A gate of ours is no wish of the author.
    let ours = lifted(&platform, &hook_of(&target(), HookKind::Pod, "ours", &gates(FENCE))).await;
    assert!(ended(&platform, &ours).await.succeeded);
    assert_eq!(doubled(&world), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_script_sees_the_world_when_the_hook_begins_to_run() {
    let world = World::new();
    let platform = Simulated::new(world.clone());
    world.script_hooks(|start| {
        assert_eq!((start.phase, start.name, start.hook.kind), ("preSync", start.hook.name.as_str(), HookKind::Job));
        assert_eq!(start.labels["pintle.dev/change"], "shop-1");
        assert_eq!(start.object["metadata"]["name"], start.name);
        HookScript::fails(3, start.release.and_then(Release::version).unwrap_or("nothing"))
    });
    let first = lifted(&platform, &hook("first")).await;
    let second = created(&platform, &hook("second")).await;
    platform.apply("setup", &target(), &render("1.0.0"), &BTreeSet::new()).await.unwrap();
    platform.lift_hook("lift second", &target(), &second).await.unwrap();
    platform.remove("remove", &target()).await.unwrap();
    let third = lifted(&platform, &hook("third")).await;
    for (hook, saw) in [(first, "nothing"), (second, "1.0.0"), (third, "nothing")] {
        let result = ended(&platform, &hook).await;
        assert_eq!((result.id.as_str(), result.exit_code), (hook.name.as_str(), Some(3)));
        assert_eq!((result.output.text.as_str(), result.reason.as_str()), (saw, "exit code 3"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_workload_lasts_is_lost_or_never_ends_as_scripted() {
    let world = World::new();
    let platform = Simulated::new(world.clone());
    world.script_hooks(|start| match start.name {
        "lasts" => HookScript { output: "half".into(), ..HookScript::lasting(Duration::from_mins(5)) },
        "lost" => HookScript::lost(Duration::from_mins(2)),
        _ => HookScript::never("ImagePullBackOff"),
    });
    let begun = tokio::time::Instant::now();
    let lasts = lifted(&platform, &hook("lasts")).await;
    let lost = lifted(&platform, &hook("lost")).await;
    let never = lifted(&platform, &hook("never")).await;
    let look = platform.look_at_hook(&target(), &lasts).await.unwrap();
    assert_eq!((look.waits_for.as_str(), look.output.text.as_str()), ("container lasts still runs", "half"));
    assert_eq!(platform.look_at_hook(&target(), &never).await.unwrap().waits_for, "ImagePullBackOff");

    let result = ended(&platform, &lost).await;
    assert_eq!((result.succeeded, result.exit_code, result.reason.as_str()), (false, None, "Evicted"));
    assert_eq!(begun.elapsed(), Duration::from_mins(2));
    assert!(ended(&platform, &lasts).await.succeeded);
    assert_eq!(begun.elapsed(), Duration::from_mins(5));
    assert_eq!(platform.look_at_hook(&target(), &lasts).await.unwrap().waits_for, "");
    assert!(timeout(DAY, platform.wait_hook(&target(), &never)).await.is_err());
    assert_eq!(order(&world)[3..], ["ended preSync/lost", "ended preSync/lasts"]);
    assert_eq!(world.hook_order()[3].at, Duration::from_mins(2));
}

#[tokio::test(start_paused = true)]
async fn the_name_of_another_one_is_a_conflict_and_a_wrong_manifest_invalid() {
    let world = World::new();
    let platform = Simulated::new(world.clone());
    let hook = created(&platform, &hook("migrate")).await;
    let conflict = platform.create_hook("other", &target(), &super::hook("migrate")).await.unwrap_err();
    assert_eq!(conflict, PlatformError::Conflict("another Job is named migrate".into()));
    // Kinds and namespaces have names of their own.
    let pod = hook_of(&target(), HookKind::Pod, "migrate", &json!({}));
    let elsewhere = HookWorkload { namespace: "other".into(), ..super::hook("migrate") };
    for workload in [pod, elsewhere] {
        let other = platform.create_hook("other", &target(), &workload).await.unwrap();
        assert_ne!(other, hook);
    }
    let wrong = HookWorkload { name: "named".into(), ..super::hook("otherwise") };
    assert!(matches!(platform.create_hook("wrong", &target(), &wrong).await, Err(PlatformError::Invalid(_))));
}

#[tokio::test(start_paused = true)]
async fn workloads_are_found_by_their_labels_oldest_first_also_when_the_release_is_gone() {
    let world = World::new();
    let platform = applied(&world, "1.0.0").await;
    world.set_date(1_000_000);
    let other = Target { uid: "fedcba9876543210".into(), ..target() };
    let strange = platform.create_hook("strange", &other, &hook_of(&other, HookKind::Job, "strange", &json!({}))).await;
    let second = created(&platform, &hook("b")).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    let first = lifted(&platform, &hook("a")).await;
    platform.remove("remove", &target()).await.unwrap();
    let found = platform.hooks(&target()).await.unwrap();
    let seen: Vec<_> = found.iter().map(|found| (found.hook.clone(), found.created_ms, found.ended)).collect();
    assert_eq!(seen, [(second, 1_000_000, false), (first, 1_005_000, true)]);
    let labels = (found[0].phase.as_str(), found[0].name.as_str(), found[0].change.as_str());
    assert_eq!(labels, ("preSync", "b", "shop-1"));
    assert_eq!(platform.hooks(&other).await.unwrap()[0].hook, strange.unwrap());
}

#[tokio::test(start_paused = true)]
async fn deaths_amid_leave_what_they_say() {
    let world = World::new();
    world.script_fault(Method::CreateHook, 1, Fault::DieAmid);
    world.script_fault(Method::CreateHook, 2, Fault::DieAmid);
    world.script_fault(Method::LiftHook, 1, Fault::DieAmid);
    world.script_fault(Method::DeleteHook, 1, Fault::DieAmid);
    let state = |name: &str| world.hook_workload(name).unwrap().to_string();
    dies(&world, async |platform| drop(created(platform, &hook("fenced")).await)).await;
    assert_eq!(state("fenced"), "Job default/fenced (preSync/fenced) fenced");
    world.script_hooks(|_| HookScript::never(""));
    let unfenced = HookWorkload { fenced: false, ..hook("unfenced") };
    dies(&world, async |platform| drop(created(platform, &unfenced).await)).await;
    assert_eq!(state("unfenced"), "Job default/unfenced (preSync/unfenced) runs");
    dies(&world, async |platform| drop(lifted(platform, &hook("fenced")).await)).await;
    assert_eq!(state("fenced"), "Job default/fenced (preSync/fenced) fenced");
    let hook = world.hook_workload("unfenced").unwrap().hook;
    dies(&world, async |platform| platform.delete_hook("d", &target(), &hook, true).await.unwrap()).await;
    assert_eq!(state("unfenced"), "Job default/unfenced (preSync/unfenced) cut, being deleted");
    Simulated::new(world.clone()).delete_hook("d", &target(), &hook, true).await.unwrap();
    assert!(world.hook_workload("unfenced").is_none());
    assert_eq!(doubled(&world), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn faults_happen_at_every_method_of_hooks() {
    let lost = PlatformError::Unavailable("the connection is lost".into());
    let methods = Method::ALL.into_iter().skip_while(|method| *method != Method::CreateHook);
    for method in methods {
        let world = World::new();
        let platform = Simulated::new(world.clone());
        let hook = lifted(&platform, &hook("migrate")).await;
        let nth = world.calls(method) + 1;
        world.script_fault(method, nth, Fault::Error(lost.clone()));
        world.script_fault(method, nth + 1, Fault::ErrorAfter(lost.clone()));
        world.script_fault(method, nth + 2, Fault::Delay(Duration::from_mins(1)));
        world.script_fault(method, nth + 3, Fault::DieBefore);
        let call = async || {
            let target = target();
            match method {
                Method::CreateHook => platform.create_hook("c", &target, &super::hook("new")).await.map(|_| ()),
                Method::LiftHook => platform.lift_hook("l", &target, &hook).await,
                Method::WaitHook => platform.wait_hook(&target, &hook).await.map(|_| ()),
                Method::LookAtHook => platform.look_at_hook(&target, &hook).await.map(|_| ()),
                Method::DeleteHook => platform.delete_hook("d", &target, &hook, true).await,
                Method::Hooks => platform.hooks(&target).await.map(|_| ()),
                Method::FindObjects => platform.find_objects(&target, &[object("o", "a", "")]).await.map(|_| ()),
                Method::PutObjects => platform.put_objects("p", &target, &[object("o", "a", "")]).await,
                _ => platform.delete_objects("p", &target, &[object("o", "a", "")]).await,
            }
        };
        let before = world.effects().len();
        assert_eq!(call().await, Err(lost.clone()), "{method}");
        assert_eq!(world.effects().len(), before, "{method} had an effect");
        assert_eq!(call().await, Err(lost.clone()), "{method}");
        assert_eq!(world.effects().len(), before + usize::from(method.has_effect()), "{method} had no effect");
        let begun = tokio::time::Instant::now();
        assert_eq!(call().await, Ok(()), "{method}");
        assert_eq!(begun.elapsed(), Duration::from_mins(1), "{method}");
        assert!(timeout(DAY, call()).await.is_err(), "{method}");
        assert_eq!(doubled(&world), [""; 0], "{method}");
    }
}
