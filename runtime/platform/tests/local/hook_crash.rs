//! Hooks whose Pintle or shim is killed: what was created fenced never runs by itself, and nothing runs twice.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::Duration;

use pintle_lifecycle::hook::HookRef;
use pintle_platform::{HookWorkload, Local, LocalConfig, Platform, PlatformError};
use serde_json::{Value, json};

use crate::crash::{Random, named_shim, seed, victim};
use crate::harness::{Home, container, hook_job, hook_pod, is_alive, kill, kin, until, within};

fn run_hook(hook: &HookWorkload) -> Value {
    json!({"runHook": {"key": format!("key of {}", hook.name), "object": hook.object}})
}

/// Two containers that run for ever, once each has noted that it runs.
fn lasting(name: &str) -> HookWorkload {
    let one = |name: &str| {
        let script = format!("trap '' TERM; (setsid sleep 1000 &); echo {name} >> runs; while :; do sleep 1; done");
        container(name, &script, json!({}))
    };
    hook_pod(name, json!({"containers": [one("a"), one("b")], "terminationGracePeriodSeconds": 0}))
}

async fn run_lasting(home: &Home, hook: &HookWorkload) -> HookRef {
    let made = home.create_hook(hook).await.unwrap();
    home.lift_hook(&made).await.unwrap();
    until("both containers", || (home.written("runs").lines().count() == 2).then_some(())).await;
    made
}

#[tokio::test]
async fn a_hook_that_was_lifted_and_not_started_is_started_now_or_never() {
    let home = Home::new();
    let broken = Local::new(LocalConfig::new(home.run_dir(), "/no/such/shim".into()));
    let hooks = ["waited", "lifted", "found", "deleted"].map(|name| {
        let script = format!("echo {name} >> runs");
        hook_job(name, json!({"containers": [container("a", &script, json!({}))]}), json!({}))
    });
    let mut made = Vec::new();
    for hook in &hooks {
        let created = home.create_hook(hook).await.unwrap();
        let error = broken.lift_hook("lift", &home.target, &created).await.unwrap_err();
        assert!(matches!(&error, PlatformError::Unavailable(text) if text.contains("/no/such/shim")), "{error}");
        assert_eq!(home.look_at_hook(&created).await, "it is about to start");
        made.push(created);
    }
    assert!(home.wait_hook(&made[0]).await.succeeded);
    home.lift_hook(&made[1]).await.unwrap();
    assert!(home.wait_hook(&made[1]).await.succeeded);
    assert_eq!(home.create_hook(&hooks[2]).await.unwrap(), made[2]);
    assert!(home.wait_hook(&made[2]).await.succeeded);
    within(home.local.delete_hook("delete", &home.target, &made[3], false)).await.unwrap();
    assert_eq!(home.wait_hook(&made[3]).await.reason, "DeletedBeforeResult");
    assert_eq!(home.written("runs"), "waited\nlifted\nfound\n");
}

#[tokio::test]
async fn a_shim_that_somebody_starts_runs_nothing_fenced_suspended_or_deleted() {
    let home = Home::new();
    let pod = json!({"containers": [container("a", "echo ran >> runs", json!({}))]});
    let fenced = hook_job("fenced", pod.clone(), json!({}));
    let suspended = HookWorkload { fenced: false, ..hook_job("suspended", pod.clone(), json!({"suspend": true})) };
    let deleted = hook_job("deleted", pod, json!({}));
    for hook in [&fenced, &suspended, &deleted] {
        home.create_hook(hook).await.unwrap();
    }
    let dir = home.hook_dir(&deleted);
    for mark in ["lifted.json", "deleted.json"] {
        fs::write(dir.join(mark), "\"key\"").unwrap();
    }
    for hook in [&fenced, &suspended, &deleted] {
        let shim = std::process::Command::new(crate::harness::PROBE).arg("shim").arg(home.hook_dir(hook)).status();
        assert!(shim.unwrap().success());
        assert!(!home.hook_dir(hook).join("process.json").exists());
    }
    assert_eq!(home.written("runs"), "");
}

#[tokio::test]
async fn a_killed_shim_takes_all_containers_along_and_the_hook_is_lost() {
    let home = Home::new();
    let hook = lasting("hook");
    let made = run_lasting(&home, &hook).await;
    let dir = home.hook_dir(&hook);
    kill(home.shim_of(&dir).await);
    let result = home.wait_hook(&made).await;
    assert_eq!((result.succeeded, result.exit_code), (false, None));
    assert_eq!(result.reason, "Lost: its shim was killed while it ran");
    assert!(kin(&dir).is_empty());
    assert_eq!(home.create_hook(&hook).await.unwrap(), made);
    home.lift_hook(&made).await.unwrap();
    assert_eq!(home.wait_hook(&made).await, result);
    assert_eq!(home.written("runs").lines().count(), 2);
}

#[tokio::test]
async fn a_hook_of_another_boot_is_lost_and_one_that_was_fenced_then_can_still_run() {
    let home = Home::new();
    let hook = lasting("hook");
    let made = run_lasting(&home, &hook).await;
    let dir = home.hook_dir(&hook);
    kill(home.shim_of(&dir).await);
    until("the end of its containers", || (!is_alive(named_shim(&dir))).then_some(())).await;
    kin(&dir).into_iter().for_each(kill);
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    for file in ["shim.json", "process.json"] {
        let text = fs::read_to_string(dir.join(file)).unwrap().replace(boot.trim_end(), "another boot");
        fs::write(dir.join(file), text).unwrap();
    }
    assert_eq!(home.wait_hook(&made).await.reason, "Lost: the machine was started anew while it ran");

    let pod = json!({"containers": [container("a", "echo fenced >> runs", json!({}))]});
    let fenced = hook_job("fenced", pod, json!({}));
    let made = home.create_hook(&fenced).await.unwrap();
    // Nothing of it knows a boot.
    assert_eq!(fs::read_dir(home.hook_dir(&fenced)).unwrap().count(), 1);
    home.lift_hook(&made).await.unwrap();
    assert!(home.wait_hook(&made).await.succeeded);
}

#[tokio::test]
async fn a_deletion_that_was_accepted_goes_on_without_the_pintle_that_accepted_it() {
    let home = Home::new();
    let hook = lasting("hook");
    let made = run_lasting(&home, &hook).await;
    // This one ends as soon as it has printed that, in the middle of the rest.
    let call = json!({"deleteHook": {"key": "delete", "hook": made}});
    let out = home.pintle(&call).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&out.stdout), "accepted\n");
    let dir = home.hook_dir(&hook);
    until("the end of all containers", || kin(&dir).is_empty().then_some(())).await;
    // The shim itself may live for a moment longer.
    let gone = async {
        while !home.local.hooks(&home.target).await.unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    within(gone).await;
    assert!(!dir.exists());
}

#[tokio::test]
async fn a_deletion_that_was_only_noted_is_done_by_whoever_looks_for_hooks() {
    let home = Home::new();
    let (runs, fenced) = (lasting("runs"), lasting("fenced"));
    let made = run_lasting(&home, &runs).await;
    home.create_hook(&fenced).await.unwrap();
    for hook in [&runs, &fenced] {
        fs::write(home.hook_dir(hook).join("deleted.json"), "\"key\"").unwrap();
    }
    let found = home.local.hooks(&home.target).await.unwrap();
    assert_eq!(found.iter().map(|found| &found.hook).collect::<Vec<_>>(), [&made], "one that runs is still there");
    assert_eq!(home.wait_hook(&made).await.reason, "DeletedBeforeResult");
    within(home.local.delete_hook("delete", &home.target, &made, true)).await.unwrap();
    assert!(kin(&home.hook_dir(&runs)).is_empty());
    assert_eq!(home.local.hooks(&home.target).await.unwrap(), []);
}

#[tokio::test]
async fn a_hook_whose_folder_was_removed_is_gone_for_its_waiter_and_never_doubled() {
    let home = Home::new();
    let outside = tempfile::tempdir().unwrap();
    let runs = outside.path().join("runs");
    let script = format!("echo ran >> {}; exec sleep 1000", runs.display());
    let hook = hook_job("hook", json!({"containers": [container("a", &script, json!({}))]}), json!({}));
    let made = home.create_hook(&hook).await.unwrap();
    home.lift_hook(&made).await.unwrap();
    until("the hook", || runs.exists().then_some(())).await;
    let shim = named_shim(&home.hook_dir(&hook));
    fs::remove_dir_all(home.run_dir()).unwrap();
    assert_eq!(home.wait_hook(&made).await.reason, "DeletedBeforeResult");
    let error = home.create_hook(&hook).await.unwrap_err();
    let cure = format!("`kill {shim}`");
    assert!(matches!(&error, PlatformError::Conflict(text) if text.contains(&cure)), "{error}");
    within(home.local.delete_hook("delete", &home.target, &made, true)).await.unwrap();
    assert!(!is_alive(shim));
    assert_eq!(fs::read_to_string(runs).unwrap(), "ran\n");
}

#[tokio::test]
async fn a_hook_runs_at_most_once_and_never_before_it_is_lifted_whoever_is_killed_and_whenever() {
    let mut random = Random(seed());
    let home = Home::new();
    let mut seen = [0; 3];
    for n in 0..40 {
        let name = format!("hook-{n}");
        let script = |word: &str| format!("echo {word} >> {name}; sleep 0.01");
        let pod = json!({
            "initContainers": [container("init", &script("init"), json!({}))],
            "containers": [container("a", &script("run"), json!({})), container("b", &script("run"), json!({}))]
        });
        let hook = hook_job(&name, pod, json!({}));
        let mut pintle = home.pintle(&run_hook(&hook)).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let dir = home.hook_dir(&hook);
        let out = pintle.stdout.take().unwrap();
        if random.below(3) == 0 {
            // In its first moments, around the creation.
            tokio::time::sleep(Duration::from_micros(random.below(20_000))).await;
            pintle.kill().unwrap();
        } else {
            let victim = victim(&dir, pintle.id(), &mut random).await;
            tokio::time::sleep(Duration::from_micros(random.below(60_000))).await;
            if victim != 0 && is_alive(victim) {
                kill(victim);
            }
            if random.below(2) == 0 {
                pintle.kill().unwrap();
            }
        }
        pintle.wait().unwrap();
        let said: Vec<String> = BufReader::new(out).lines().map_while(Result::ok).collect();
        let uid = uid_in(&dir);
        if !dir.join("lifted.json").exists() {
            assert!(!said.contains(&"lifted".to_owned()), "{name}");
            assert_eq!(home.written(&name), "", "{name} ran before it was lifted");
            seen[0] += 1;
        }
        let made = home.create_hook(&hook).await.unwrap();
        assert!(uid.is_none_or(|uid| uid == made.uid), "{name} was made twice");
        home.lift_hook(&made).await.unwrap();
        let result = home.wait_hook(&made).await;
        let ran = home.written(&name);
        assert!(kin(&dir).is_empty(), "{name}");
        if result.succeeded {
            assert_eq!(ran, "init\nrun\nrun\n", "{name}");
            seen[1] += 1;
        } else {
            assert!(result.reason.starts_with("Lost: "), "{name}: {}", result.reason);
            assert!("init\nrun\nrun\n".starts_with(&ran), "{name}: {ran}");
            seen[2] += 1;
        }
    }
    println!("{seen:?} were fenced when it happened, ended well, were lost");
}

fn uid_in(dir: &std::path::Path) -> Option<String> {
    let launch: Value = serde_json::from_str(&fs::read_to_string(dir.join("launch.json")).ok()?).unwrap();
    launch["hook"]["uid"].as_str().map(str::to_owned)
}
