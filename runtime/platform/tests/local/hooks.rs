//! Workloads of hooks: fenced, let run, waited for, looked at, deleted.

use std::fs;

use pintle_lifecycle::hook::HookRef;
use pintle_platform::{FoundHook, HookWorkload, Platform, PlatformError};
use serde_json::{Value, json};

use crate::harness::{Home, container, hook_job, hook_pod, is_alive, kin, process, render, until, within};

/// Runs until there is a file `go`.
const UNTIL_GO: &str = "echo ran >> runs; until [ -e go ]; do sleep 0.01; done; echo done";

fn one(name: &str, script: &str) -> HookWorkload {
    hook_job(name, json!({"containers": [container("migrate", script, json!({}))]}), json!({}))
}

async fn delete(home: &Home, hook: &HookRef) {
    within(home.local.delete_hook("delete", &home.target, hook, true)).await.unwrap();
}

#[tokio::test]
async fn a_fenced_hook_runs_once_it_is_lifted_and_never_a_second_time() {
    let home = Home::new();
    let job = one("hook", UNTIL_GO);
    let made = home.create_hook(&job).await.unwrap();
    assert_eq!((made.namespace.as_str(), made.name.as_str(), made.uid.len()), ("default", "hook", 16));
    assert_eq!(home.create_hook(&job).await.unwrap(), made, "the same key adopts");
    assert_eq!(home.look_at_hook(&made).await, "fenced");
    let waiting = home.wait_hook(&made);
    tokio::pin!(waiting);
    tokio::select! {
        result = &mut waiting => panic!("it is fenced: {result:?}"),
        () = tokio::task::yield_now() => {}
    }
    assert_eq!(fs::read_dir(home.hook_dir(&job)).unwrap().count(), 1, "nobody even tried to start it");
    let launch: Value =
        serde_json::from_str(&fs::read_to_string(home.hook_dir(&job).join("launch.json")).unwrap()).unwrap();
    assert_eq!(launch["graceMs"], 30_000, "as on a cluster, where nothing is said");
    for _ in 0..2 {
        home.lift_hook(&made).await.unwrap();
    }
    until("the hook", || (home.written("runs") == "ran\n").then_some(())).await;
    assert_eq!(home.look_at_hook(&made).await, "container migrate still runs");
    fs::write(home.data().join("go"), "").unwrap();
    let result = within(waiting).await;
    assert_eq!((result.id.as_str(), result.succeeded, result.exit_code), ("hook", true, Some(0)));
    assert_eq!((result.output.text.as_str(), result.reason.as_str()), ("done", ""));
    assert_eq!(home.create_hook(&job).await.unwrap(), made, "whatever became of it");
    home.lift_hook(&made).await.unwrap();
    assert_eq!(home.wait_hook(&made).await, result);
    assert_eq!(home.look_at_hook(&made).await, "it has ended: exit code 0");
    assert_eq!(home.written("runs"), "ran\n");
}

#[tokio::test]
async fn a_hook_without_a_fence_runs_at_once_and_another_of_its_name_is_a_conflict() {
    let home = Home::new();
    let hook = HookWorkload { fenced: false, ..one("hook", "echo ran >> runs") };
    let made = home.create_hook(&hook).await.unwrap();
    assert!(home.wait_hook(&made).await.succeeded);
    let error = home.local.create_hook("another", &home.target, &hook).await.unwrap_err();
    assert_eq!(error, PlatformError::Conflict("another Job hook is there already".into()));
    let other = HookRef { uid: "0000000000000000".into(), ..made.clone() };
    let gone = PlatformError::NotFound("the Job hook is gone".into());
    assert_eq!(home.lift_hook(&other).await.unwrap_err(), gone);
    assert_eq!(home.wait_hook(&other).await.reason, "DeletedBeforeResult");
    delete(&home, &other).await;
    assert!(home.hook_dir(&hook).exists(), "another uid is another workload");
    delete(&home, &made).await;
    assert!(!home.hook_dir(&hook).exists());
    assert_eq!(home.lift_hook(&made).await.unwrap_err(), gone);
    assert_eq!(home.written("runs"), "ran\n");
    let next = home.local.create_hook("another", &home.target, &hook).await.unwrap();
    assert_ne!(next.uid, made.uid);
}

#[tokio::test]
async fn init_containers_run_in_order_and_the_others_side_by_side_after_them() {
    let home = Home::new();
    // Each of the two waits for the other.
    let pair = |mine: &str, other: &str| {
        let script = format!("echo {mine} >> {mine}; until [ -e {other} ]; do sleep 0.01; done; cat order");
        container(mine, &script, json!({}))
    };
    let first = container("first", "sleep 0.05; echo first >> order; echo from first", json!({}));
    let second = container("second", "echo second >> order", json!({}));
    let pod = json!({"initContainers": [first, second], "containers": [pair("a", "b"), pair("b", "a")]});
    let result = home.run_hook(&hook_pod("hook", pod)).await;
    assert!(result.succeeded, "{}", result.reason);
    let expected = "==> first <==\nfrom first\n==> a <==\nfirst\nsecond\n==> b <==\nfirst\nsecond";
    assert_eq!(result.output.text, expected);
}

#[tokio::test]
async fn a_failed_container_fails_its_pod_once_all_have_ended_and_its_output_comes_first() {
    let home = Home::new();
    let good = container("good", "until [ -e failed ]; do sleep 0.01; done; echo good", json!({}));
    let bad = container("bad", "(sleep 1000 &); echo bad; touch failed; exit 3", json!({}));
    let hook = hook_pod("hook", json!({"containers": [good, bad]}));
    let result = home.run_hook(&hook).await;
    assert_eq!((result.succeeded, result.exit_code), (false, Some(3)));
    assert_eq!(result.reason, "container bad: exit code 3");
    assert_eq!(result.output.text, "==> bad <==\nbad\n==> good <==\ngood");
    assert!(kin(&home.hook_dir(&hook)).is_empty());

    let init = container("prepare", "echo no disk >&2; exit 4", json!({}));
    let never = container("migrate", "echo ran >> runs", json!({}));
    let hook = hook_job("other", json!({"initContainers": [init], "containers": [never]}), json!({}));
    let result = home.run_hook(&hook).await;
    assert_eq!((result.exit_code, result.reason.as_str()), (Some(4), "container prepare: exit code 4"));
    assert_eq!(result.output.text, "no disk");
    assert_eq!(home.written("runs"), "");
}

#[tokio::test]
async fn what_a_container_leaves_ends_with_it_and_not_with_the_pod() {
    let home = Home::new();
    // `$$$$`: a `$$` is one `$` on a cluster.
    let left = "(setsid sh -c 'echo $$$$ > left; exec sleep 1000' &); until [ -s left ]; do sleep 0.01; done";
    let other = container("other", "until [ -e go ]; do sleep 0.01; done", json!({}));
    let hook = hook_pod("hook", json!({"containers": [container("brief", left, json!({})), other]}));
    let made = home.create_hook(&hook).await.unwrap();
    home.lift_hook(&made).await.unwrap();
    let pid: i32 = until("what is left", || home.written("left").trim().parse().ok()).await;
    until("its end", || (!is_alive(pid)).then_some(())).await;
    assert_eq!(home.look_at_hook(&made).await, "container other still runs");
    fs::write(home.data().join("go"), "").unwrap();
    assert!(home.wait_hook(&made).await.succeeded);
}

#[tokio::test]
async fn a_failed_try_of_a_job_is_followed_by_others_up_to_its_limit() {
    let home = Home::new();
    let script = "echo try >> tries; [ $(wc -l < tries) -ge 3 ] || exit 5";
    for (name, policy, limit, tries) in [
        ("never", "Never", json!({"backoffLimit": 2}), Ok(3)),
        ("in-place", "OnFailure", json!({"backoffLimit": 2}), Ok(3)),
        ("less", "Never", json!({"backoffLimit": 1}), Err("container migrate: exit code 5, after 2 tries")),
        ("default", "Never", json!({"backoffLimit": null}), Err("container migrate: exit code 9, after 7 tries")),
    ] {
        let script = if name == "default" { "echo try >> tries; exit 9" } else { script };
        let pod = json!({
            "restartPolicy": policy,
            "initContainers": [container("prepare", "echo init >> inits", json!({}))],
            "containers": [container("migrate", script, json!({}))]
        });
        let result = home.run_hook(&hook_job(name, pod, limit)).await;
        let count = home.written("tries").lines().count();
        assert_eq!(home.written("inits").lines().count(), count, "{name}: the whole Pod is tried again");
        match tries {
            Ok(tries) => assert_eq!((result.succeeded, count), (true, tries), "{name}"),
            Err(reason) => assert_eq!(result.reason, reason, "{name}"),
        }
        fs::remove_file(home.data().join("tries")).unwrap();
        fs::remove_file(home.data().join("inits")).unwrap();
    }
    let script = "echo try >> tries; [ $(wc -l < tries) -ge 9 ]";
    let pod = json!({"restartPolicy": "OnFailure", "containers": [container("a", script, json!({}))]});
    assert!(home.run_hook(&hook_pod("pod", pod)).await.succeeded, "a Pod has no limit");
    assert_eq!(home.written("tries").lines().count(), 9);
}

#[tokio::test]
async fn one_that_waits_for_a_retry_says_so_with_the_output_so_far() {
    let mut home = Home::new();
    home.set_retry_wait(std::time::Duration::from_secs(1000));
    let hook = hook_job(
        "hook",
        json!({"containers": [container("migrate", "echo no; exit 3", json!({}))]}),
        json!({"backoffLimit": 4}),
    );
    let made = home.create_hook(&hook).await.unwrap();
    home.lift_hook(&made).await.unwrap();
    let file = home.hook_dir(&hook).join("process.json");
    until("the failed try", || fs::read_to_string(&file).ok()?.contains("failed").then_some(())).await;
    let look = home.local.look_at_hook(&home.target, &made).await.unwrap();
    assert_eq!(look.waits_for, "waits for retry 1 of 4: container migrate: exit code 3");
    assert_eq!(look.output.text, "no");
    delete(&home, &made).await;
}

#[tokio::test]
async fn a_deadline_ends_all_containers() {
    let home = Home::new();
    let sleeps = |name| container(name, "sleep 1000 & sleep 1000", json!({}));
    let both = json!({"containers": [sleeps("a"), sleeps("b")], "terminationGracePeriodSeconds": 0});
    let job = hook_job("job", both.clone(), json!({"activeDeadlineSeconds": 1, "backoffLimit": 6}));
    let mut pod = both;
    pod["activeDeadlineSeconds"] = json!(1);
    for hook in [job, hook_pod("pod", pod)] {
        let result = home.run_hook(&hook).await;
        assert_eq!((result.succeeded, result.reason.as_str()), (false, "deadline of 1 s passed"));
        assert!(kin(&home.hook_dir(&hook)).is_empty());
    }
}

#[tokio::test]
async fn one_that_its_author_suspended_stays_so_until_it_is_deleted() {
    let home = Home::new();
    let run = json!({"containers": [container("migrate", "echo ran >> runs", json!({}))]});
    let mut gated = run.clone();
    gated["schedulingGates"] = json!([{"name": "example.com/quota"}]);
    let suspended = hook_job("job", run, json!({"suspend": true}));
    for hook in [suspended.clone(), HookWorkload { fenced: false, ..suspended }, hook_pod("pod", gated)] {
        let made = home.create_hook(&hook).await.unwrap();
        assert_eq!(home.look_at_hook(&made).await, if hook.fenced { "fenced" } else { "suspended" });
        home.lift_hook(&made).await.unwrap();
        assert_eq!(home.look_at_hook(&made).await, "suspended");
        let waiting = home.wait_hook(&made);
        tokio::pin!(waiting);
        tokio::select! {
            result = &mut waiting => panic!("it is suspended: {result:?}"),
            () = tokio::task::yield_now() => {}
        }
        delete(&home, &made).await;
        assert_eq!(within(waiting).await.reason, "DeletedBeforeResult");
    }
    assert_eq!(home.written("runs"), "");
}

#[tokio::test]
async fn a_deletion_gives_the_grace_and_then_ends_the_whole_group() {
    let home = Home::new();
    let polite = "trap 'echo term >> events; exit 0' TERM; touch up-a; while :; do sleep 0.01; done";
    let deaf = "trap '' TERM; (setsid sleep 1000 &); touch up-b; while :; do sleep 1; done";
    let pod = json!({
        "containers": [container("a", polite, json!({})), container("b", deaf, json!({}))],
        "terminationGracePeriodSeconds": 1
    });
    for (name, wait) in [("waited", true), ("accepted", false)] {
        let hook = hook_pod(name, pod.clone());
        let made = home.create_hook(&hook).await.unwrap();
        home.lift_hook(&made).await.unwrap();
        let up = |name: &str| home.data().join(name).exists();
        until("both containers", || (up("up-a") && up("up-b")).then_some(())).await;
        let waiting = home.wait_hook(&made);
        tokio::pin!(waiting);
        tokio::select! {
            result = &mut waiting => panic!("it runs: {result:?}"),
            () = tokio::task::yield_now() => {}
        }
        within(home.local.delete_hook("delete", &home.target, &made, wait)).await.unwrap();
        if wait {
            assert!(!home.hook_dir(&hook).exists() && kin(&home.hook_dir(&hook)).is_empty());
        }
        let result = within(waiting).await;
        assert_eq!((result.succeeded, result.reason.as_str()), (false, "DeletedBeforeResult"));
        // Again, and this one waits until it is really gone.
        delete(&home, &made).await;
        assert!(!home.hook_dir(&hook).exists() && kin(&home.hook_dir(&hook)).is_empty());
        assert_eq!(home.written("events"), "term\n");
        for file in ["events", "up-a", "up-b"] {
            fs::remove_file(home.data().join(file)).unwrap();
        }
    }
    let ended = one("ended", "true");
    let made = home.create_hook(&ended).await.unwrap();
    home.lift_hook(&made).await.unwrap();
    assert!(home.wait_hook(&made).await.succeeded);
    within(home.local.delete_hook("delete", &home.target, &made, false)).await.unwrap();
    assert!(!home.hook_dir(&ended).exists(), "nothing of it runs, so it is done at once");
}

#[tokio::test]
async fn hooks_are_found_by_their_labels_oldest_first_and_a_removal_leaves_them() {
    let home = Home::new();
    home.apply(&render("1.0.0", vec![process("server", "exec sleep 1000", json!({}))])).await.unwrap();
    assert_eq!(home.local.hooks(&home.target).await.unwrap(), []);
    let (second, first) = (one("a", UNTIL_GO), one("z", "true"));
    let ended = home.create_hook(&first).await.unwrap();
    home.lift_hook(&ended).await.unwrap();
    home.wait_hook(&ended).await;
    let runs = home.create_hook(&second).await.unwrap();
    home.lift_hook(&runs).await.unwrap();
    within(home.local.remove("remove", &home.target)).await.unwrap();
    let found = home.local.hooks(&home.target).await.unwrap();
    let expected = |found: &FoundHook, hook: &HookRef, ended| FoundHook {
        hook: hook.clone(),
        phase: "preSync".into(),
        name: hook.name.clone(),
        change: "shop-3".into(),
        created_ms: found.created_ms,
        ended,
    };
    assert_eq!(found, [expected(&found[0], &ended, true), expected(&found[1], &runs, false)]);
    assert!(found[0].created_ms <= found[1].created_ms && found[0].created_ms > 1_700_000_000_000);
    fs::write(home.data().join("go"), "").unwrap();
    assert!(home.wait_hook(&runs).await.succeeded);
    delete(&home, &ended).await;
    delete(&home, &runs).await;
    assert_eq!(home.local.hooks(&home.target).await.unwrap(), []);
}

#[tokio::test]
async fn what_this_machine_cannot_do_is_refused_with_its_path_and_what_means_nothing_here_is_not() {
    let home = Home::new();
    let pod = |more: Value| {
        let mut pod = json!({"containers": [container("a", "true", json!({}))]});
        pod.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        pod
    };
    let volume = json!([{"name": "data", "emptyDir": {}}]);
    let sidecar = container("proxy", "true", json!({"restartPolicy": "Always"}));
    let mount = container("a", "true", json!({"volumeMounts": [{"name": "data", "mountPath": "/data"}]}));
    let root = container("a", "true", json!({"securityContext": {"runAsUser": 0}}));
    let twice = json!([container("a", "true", json!({}))]);
    let number = container("a", "true", json!({"env": [{"name": "A", "value": 1}]}));
    for (hook, words) in [
        (hook_job("b", pod(json!({"volumes": volume})), json!({})), "Job b: spec.template.spec.volumes: "),
        (hook_pod("b", pod(json!({"nodeSelector": {"disk": "ssd"}}))), "Pod b: spec.nodeSelector: "),
        (hook_pod("b", pod(json!({"initContainers": [sidecar]}))), "spec.initContainers[0].restartPolicy: "),
        (hook_pod("b", json!({"containers": [mount]})), "spec.containers[0].volumeMounts: "),
        (hook_pod("b", json!({"containers": [root]})), "spec.containers[0].securityContext.runAsUser: "),
        (hook_pod("b", pod(json!({"initContainers": twice}))), "two containers are named a"),
        (hook_pod("b", pod(json!({"restartPolicy": "Always"}))), "spec.restartPolicy: a hook has to end"),
        (hook_pod("b", json!({"containers": [number]})), "spec.containers[0]: invalid type: integer `1`"),
        (hook_pod("b", json!({"containers": []})), "spec.containers: there is none"),
        (hook_pod("b", json!({"containers": [{"name": "a", "image": "host"}]})), "nothing says what to run"),
        (hook_pod("b", json!({"containers": [{"name": "a", "command": ["true"]}]})), "container a: it has no image"),
        (hook_job("b", pod(json!({})), json!({"completions": 2})), "one Pod of a Job"),
        (hook_job("..", pod(json!({})), json!({})), "`..` is no name"),
    ] {
        let error = home.create_hook(&hook).await.unwrap_err();
        assert!(matches!(&error, PlatformError::Invalid(text) if text.contains(words)), "{error:?} and not {words}");
    }
    assert_eq!(home.local.hooks(&home.target).await.unwrap(), []);
    let idle = pod(json!({
        "volumes": [], "nodeSelector": null, "serviceAccountName": "shop", "enableServiceLinks": false,
        "securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [container("a", "true", json!({
            "imagePullPolicy": "Always", "resources": {"limits": {"cpu": "1"}},
            "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}}
        }))]
    }));
    assert!(home.run_hook(&hook_job("b", idle, json!({"ttlSecondsAfterFinished": 0}))).await.succeeded);
}
