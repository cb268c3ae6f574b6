//! Many releases at once: the world tells each wait of its own workload alone, and its order holds.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Wake, Waker};

use super::*;

const RELEASES: usize = 1_000;

/// Three hooks one after the other, each deleted at its end.
async fn three(platform: &Simulated, target: &Target, number: usize) {
    for hook in ["a", "b", "c"] {
        let name = format!("{hook}-{number}");
        let workload = hook_of(target, HookKind::Job, &name, &json!({}));
        let created = platform.create_hook(&format!("create {name}"), target, &workload).await.unwrap();
        platform.lift_hook(&format!("lift {name}"), target, &created).await.unwrap();
        assert!(platform.wait_hook(target, &created).await.unwrap().succeeded);
        platform.delete_hook(&format!("delete {name}"), target, &created, true).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_thousand_releases_run_their_hooks_each_in_order() {
    let world = World::new();
    let platform = Arc::new(Simulated::new(world.clone()));
    // Different times, so that the releases mix.
    world.script_hooks(|start| HookScript::lasting(Duration::from_millis(start.hook.name.len() as u64 * 700)));
    let run = |number: usize| {
        let platform = platform.clone();
        let target = Target { uid: format!("{number:016x}"), ..target() };
        tokio::spawn(async move { three(&platform, &target, number).await })
    };
    let runs: Vec<_> = (0..RELEASES).map(run).collect();
    for run in runs {
        run.await.unwrap();
    }
    let mut of_release = BTreeMap::<_, Vec<_>>::new();
    let events = world.hook_order();
    assert!(events.is_sorted_by_key(|event| event.at));
    for event in events {
        of_release.entry(event.release).or_default().push((event.moment, event.name));
    }
    assert_eq!(of_release.len(), RELEASES);
    for (number, events) in of_release.into_values().enumerate() {
        let both =
            |hook: &str| [HookMoment::Began, HookMoment::Ended].map(|moment| (moment, format!("{hook}-{number}")));
        assert_eq!(events, ["a", "b", "c"].map(both).concat());
    }
    assert_eq!(world.effects().len(), RELEASES * 3 * 4);
    assert_eq!(doubled(&world), [""; 0]);
    assert_eq!(world.to_string(), "");
}

/// Whether a future was woken.
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

fn ends<T>(future: Pin<&mut impl Future<Output = T>>, woken: &Arc<Woken>) -> bool {
    future.poll(&mut Context::from_waker(&Waker::from(woken.clone()))).is_ready()
}

#[tokio::test(start_paused = true)]
async fn what_happens_to_one_workload_wakes_no_wait_for_another() {
    let world = World::new();
    let platform = Simulated::new(world.clone());
    world.script_hooks(|_| HookScript::never(""));
    let waited = lifted(&platform, &hook("waited")).await;
    let target = target();
    let mut wait = pin!(platform.wait_hook(&target, &waited));
    let woken = Arc::new(Woken(AtomicBool::new(false)));
    assert!(!ends(wait.as_mut(), &woken));
    let other = lifted(&platform, &hook("other")).await;
    platform.put_objects("put", &target, &[object("settings", "a", "")]).await.unwrap();
    platform.delete_hook("delete", &target, &other, true).await.unwrap();
    assert!(!woken.0.load(Ordering::SeqCst));
    world.delete_hook_workload("waited");
    assert!(woken.0.load(Ordering::SeqCst));
    assert!(ends(wait.as_mut(), &woken));
}
