//! Objects of hooks: they are of the hook that made them, and stay when the release goes.

use super::*;

#[tokio::test(start_paused = true)]
async fn objects_are_put_changed_shown_and_deleted() {
    let world = World::new();
    let platform = applied(&world, "1.0.0").await;
    platform.put_objects("a", &target(), &[object("settings", "a", "1"), object("settings", "b", "1")]).await.unwrap();
    platform.put_objects("b", &target(), &[object("settings", "a", "2")]).await.unwrap();
    let put = world.release(&target().uid).unwrap().hook_objects;
    let data: Vec<_> = put.iter().map(|(id, object)| (id.to_string(), object["data"]["a"].clone())).collect();
    assert_eq!(data, [("ConfigMap default/a".to_owned(), json!("2")), ("ConfigMap default/b".to_owned(), json!("1"))]);
    assert!(world.to_string().ends_with("x2\n  ConfigMap default/a of a hook\n  ConfigMap default/b of a hook\n"));

    platform
        .delete_objects("c", &target(), &[object("settings", "a", "2"), object("settings", "z", "")])
        .await
        .unwrap();
    let left: Vec<_> = world.release(&target().uid).unwrap().hook_objects.into_keys().map(|id| id.name).collect();
    assert_eq!(left, ["b"]);
    assert_eq!(world.doubled(), []);
    let order: Vec<_> = world.effects().iter().skip(1).map(ToString::to_string).collect();
    assert_eq!(
        order,
        [
            "put_objects ConfigMap default/a, ConfigMap default/b [a]",
            "put_objects ConfigMap default/a [b]",
            "delete_objects ConfigMap default/a, ConfigMap default/z [c]",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn objects_that_others_made_are_in_the_way_and_nothing_is_put() {
    let world = World::new();
    let platform = applied(&world, "1.0.0").await;
    platform.put_objects("a", &target(), &[object("settings", "a", "1")]).await.unwrap();
    world.put_stranger(&json!({"kind": "ConfigMap", "metadata": {"name": "s"}}));
    let other = Target { uid: "fedcba9876543210".into(), ..target() };
    for (target, hook, name, why) in [
        (target(), "others", "a", "another hook made it"),
        (other, "settings", "a", "another release made it"),
        (target(), "settings", "s", "a stranger made it"),
        (target(), "settings", "c", "the release has it"),
    ] {
        let objects = [object(hook, "free", ""), object(hook, name, "2")];
        let error = platform.put_objects("b", &target, &objects).await.unwrap_err();
        let words = format!("ConfigMap default/{name} is there and was not made by the hook");
        assert_eq!(error, PlatformError::Conflict(words), "{why}");
    }
    // Nor is it deleted by another one.
    platform.delete_objects("c", &target(), &[object("others", "a", "1")]).await.unwrap();
    let put: Vec<_> = world.release(&target().uid).unwrap().hook_objects.into_keys().map(|id| id.name).collect();
    assert_eq!(put, ["a"]);
}

#[tokio::test(start_paused = true)]
async fn objects_outlive_their_release() {
    let world = World::new();
    let platform = applied(&world, "1.0.0").await;
    let objects = [object("settings", "a", "1")];
    platform.put_objects("a", &target(), &objects).await.unwrap();
    platform.remove("b", &target()).await.unwrap();
    platform.remove("b", &target()).await.unwrap();
    assert_eq!(world.to_string(), "acme/shop: nothing applied\n  ConfigMap default/a of a hook\n");
    platform.delete_objects("c", &target(), &objects).await.unwrap();
    assert!(world.release(&target().uid).is_none());
    assert_eq!(world.doubled(), []);
}

#[tokio::test(start_paused = true)]
async fn a_death_amid_leaves_half_of_the_objects() {
    let world = World::new();
    let objects = [object("settings", "a", ""), object("settings", "b", "")];
    let there = || world.release(&target().uid).map_or(vec![], |release| release.hook_objects.into_keys().collect());
    let names = |ids: Vec<ObjectId>| ids.into_iter().map(|id| id.name).collect::<Vec<_>>();
    for (method, left) in [(Method::PutObjects, ["a"]), (Method::DeleteObjects, ["b"])] {
        world.script_fault(method, world.calls(method) + 1, Fault::DieAmid);
        let first = Simulated::new(world.clone());
        let call = async {
            match method {
                Method::PutObjects => first.put_objects("put", &target(), &objects).await,
                _ => first.delete_objects("delete", &target(), &objects).await,
            }
        };
        tokio::select! {
            _ = call => panic!("{method} did not die"),
            () = first.died() => {}
        }
        assert_eq!(names(there()), left);
        let second = Simulated::new(world.clone());
        match method {
            Method::PutObjects => second.put_objects("put", &target(), &objects).await,
            _ => second.delete_objects("delete", &target(), &objects).await,
        }
        .unwrap();
    }
    assert_eq!(there(), []);
    assert_eq!(world.doubled(), []);
}
