//! Workloads that are deleted: by Pintle, by a user, and by nobody because something is in the way.

use super::*;
use crate::platform::HookLook;

#[tokio::test(start_paused = true)]
async fn deleted_before_it_was_seen_to_end_it_has_failed_at_once() {
    let world = World::new();
    let platform = Arc::new(Simulated::new(world.clone()));
    world.script_hooks(|_| HookScript { output: "begun".into(), ..HookScript::never("") });
    for (name, by_user) in [("by-user", true), ("by-pintle", false)] {
        let hook = lifted(&platform, &hook(name)).await;
        let waiting = tokio::spawn({
            let (platform, hook) = (platform.clone(), hook.clone());
            async move { ended(&platform, &hook).await }
        });
        tokio::task::yield_now().await;
        if by_user {
            assert!(world.delete_hook_workload(name));
        } else {
            platform.delete_hook("delete", &target(), &hook, true).await.unwrap();
        }
        let result = waiting.await.unwrap();
        assert_eq!((result.succeeded, result.reason.as_str()), (false, "DeletedBeforeResult"));
        assert_eq!(result.output.text, "begun", "who watched it has its output");
        // Who comes later knows nothing of it.
        let later = Simulated::new(world.clone());
        let result = ended(&later, &hook).await;
        assert_eq!((result.reason.as_str(), result.output.text.as_str()), ("DeletedBeforeResult", ""));
        assert_eq!(later.look_at_hook(&target(), &hook).await.unwrap(), HookLook::default());
        assert!(matches!(later.lift_hook("l", &target(), &hook).await, Err(PlatformError::NotFound(_))));
    }
    let ends = ["began", "ended"].map(|moment| format!("{moment} preSync/by-user"));
    assert_eq!(order(&world)[..2], ends);
    assert!(!world.delete_hook_workload("by-user"), "it is gone");
}

#[tokio::test(start_paused = true)]
async fn a_verdict_that_was_seen_survives_the_deletion_in_the_pintle_that_saw_it() {
    let world = World::new();
    let platform = Simulated::new(world.clone());
    world.script_hooks(|_| HookScript::lasting(Duration::from_secs(5)));
    let seen = lifted(&platform, &hook("seen")).await;
    let unseen = lifted(&platform, &hook("unseen")).await;
    assert!(ended(&platform, &seen).await.succeeded);
    world.delete_hook_workload("seen");
    world.delete_hook_workload("unseen");
    assert!(ended(&platform, &seen).await.succeeded);
    assert_eq!(ended(&platform, &unseen).await.reason, "DeletedBeforeResult");
    let second = Simulated::new(world.clone());
    assert_eq!(ended(&second, &seen).await.reason, "DeletedBeforeResult");
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_goes_on_sees_an_end_right_before_the_deletion() {
    let world = World::new();
    let platform = Simulated::new(world.clone());
    world.script_hooks(|_| HookScript::fails(7, "last words"));
    let hook = created(&platform, &hook("migrate")).await;
    let release = target();
    let (result, ()) = tokio::join!(platform.wait_hook(&release, &hook), async {
        platform.lift_hook("lift", &target(), &hook).await.unwrap();
        world.delete_hook_workload("migrate");
    });
    let result = result.unwrap();
    assert_eq!((result.exit_code, result.output.text.as_str()), (Some(7), "last words"));
}

#[tokio::test(start_paused = true)]
async fn a_blocked_deletion_is_waited_for_until_it_is_unblocked() {
    let world = World::new();
    let platform = Simulated::new(world.clone());
    world.script_hooks(|_| HookScript::never(""));
    world.block_deletion("migrate");
    let hook = lifted(&platform, &hook("migrate")).await;
    platform.delete_hook("a", &target(), &hook, false).await.unwrap();
    assert_eq!(world.to_string(), "Job default/migrate (preSync/migrate) cut, being deleted\n");
    // What runs of it is ended, and so is the wait for it; its name is not free.
    assert_eq!(ended(&platform, &hook).await.reason, "DeletedBeforeResult");
    let look = platform.look_at_hook(&target(), &hook).await.unwrap();
    assert_eq!(look.waits_for, "the finalizer example.com/blocks blocks its deletion");
    assert!(platform.hooks(&target()).await.unwrap()[0].ended);
    let taken = platform.create_hook("other", &target(), &super::hook("migrate")).await;
    assert!(matches!(taken, Err(PlatformError::Conflict(_))), "{taken:?}");

    assert!(timeout(DAY, platform.delete_hook("a", &target(), &hook, true)).await.is_err());
    let unblock = async {
        tokio::time::sleep(Duration::from_secs(9)).await;
        world.unblock_deletion("migrate");
    };
    let release = target();
    let (gone, ()) = tokio::join!(platform.delete_hook("a", &release, &hook, true), unblock);
    gone.unwrap();
    assert_eq!(world.to_string(), "");
    assert_eq!(platform.hooks(&target()).await.unwrap(), []);
    assert_eq!(world.hook_events().last().unwrap().to_string(), "gone preSync/migrate");
    platform.create_hook("other", &target(), &super::hook("migrate")).await.unwrap();
    // Without effect where it is gone, although another one has its name.
    platform.delete_hook("b", &target(), &hook, true).await.unwrap();
    assert!(world.hook_workload("migrate").is_some());
}

#[tokio::test(start_paused = true)]
async fn one_that_was_deleted_before_it_ran_may_be_created_again() {
    let world = World::new();
    let platform = Simulated::new(world.clone());
    let first = created(&platform, &hook("migrate")).await;
    assert!(world.delete_hook_workload("migrate"));
    let second = lifted(&platform, &hook("migrate")).await;
    assert_eq!((first.uid.as_str(), second.uid.as_str()), ("migrate.1", "migrate.2"));
    assert!(ended(&platform, &second).await.succeeded);
    assert_eq!(doubled(&world), [""; 0]);
    assert_eq!(ended(&platform, &first).await.reason, "DeletedBeforeResult");
}

#[tokio::test(start_paused = true)]
async fn one_that_is_created_anew_after_it_ran_is_counted_as_doubled() {
    for (again, fenced) in [("create migrate", true), ("create migrate", false), ("other", true), ("other", false)] {
        let world = World::new();
        let platform = Simulated::new(world.clone());
        let workload = HookWorkload { fenced, ..hook("migrate") };
        lifted(&platform, &workload).await;
        assert!(world.delete_hook_workload("migrate"));
        let hook = platform.create_hook(again, &target(), &workload).await.unwrap();
        platform.lift_hook("lift again", &target(), &hook).await.unwrap();
        let ran = "lift_hook Job default/migrate [run migrate]";
        let created = "create_hook Job default/migrate [create migrate]";
        let expected: &[&str] = if again == "other" { &[ran] } else { &[created, ran] };
        assert_eq!(doubled(&world), expected, "{again} {fenced}");
    }
}

#[tokio::test(start_paused = true)]
async fn one_that_is_deleted_while_it_runs_has_ended_then_and_not_again() {
    let world = World::new();
    let platform = Simulated::new(world.clone());
    world.script_hooks(|_| HookScript::lasting(Duration::from_secs(9)));
    let hook = lifted(&platform, &hook("migrate")).await;
    tokio::time::sleep(Duration::from_secs(4)).await;
    platform.delete_hook("delete", &target(), &hook, true).await.unwrap();
    tokio::time::sleep(DAY).await;
    let events: Vec<_> = world.hook_events().iter().map(|event| (event.at.as_secs(), event.moment)).collect();
    let (begun, ended) = ([HookMoment::Created, HookMoment::Began], [HookMoment::Ended, HookMoment::Gone]);
    assert_eq!(events, [begun.map(|moment| (0, moment)), ended.map(|moment| (4, moment))].concat());
}
