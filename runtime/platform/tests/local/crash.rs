//! Pintle and shims that are killed, at chosen moments and at random ones.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use pintle_lifecycle::json::Json;
use pintle_platform::{Local, LocalConfig, Platform, PlatformError};
use serde_json::{Value, json};

use crate::harness::{Home, PROBE, is_alive, kill, kin, process, render, sh, until, within, workload};

fn run_job(id: &str, job: &pintle_platform::Job) -> Value {
    json!({"runJob": {"key": format!("key of {id}"), "id": id, "job": job}})
}

#[tokio::test]
async fn a_job_outlives_the_pintle_that_started_it_and_runs_once() {
    let home = Home::new();
    let job = sh("echo ran >> runs; until [ -e go ]; do sleep 0.01; done; echo done");
    let mut pintle = home.pintle(&run_job("job-1", &job)).stdout(Stdio::null()).spawn().unwrap();
    until("the Job", || (home.written("runs") == "ran\n").then_some(())).await;
    pintle.kill().unwrap();
    pintle.wait().unwrap();

    home.local.start_job("key of job-1", &home.target, "job-1", &job).await.unwrap();
    assert_eq!(home.local.job_ended(&home.target, "job-1").await.unwrap(), Some(false));
    fs::write(home.data().join("go"), "").unwrap();
    let result = within(home.local.wait_job(&home.target, "job-1")).await.unwrap();
    assert!(result.succeeded);
    assert_eq!(result.output.text, "done");
    assert_eq!(home.written("runs"), "ran\n");
}

#[tokio::test]
async fn a_killed_shim_takes_its_process_along_and_the_job_is_lost() {
    let home = Home::new();
    let job = sh("sleep 1000 & (setsid sleep 1000 &); echo ran >> runs; exec sleep 1000");
    home.local.start_job("key", &home.target, "job-1", &job).await.unwrap();
    until("the Job", || (home.written("runs") == "ran\n").then_some(())).await;
    let dir = home.job_dir("job-1");
    let leader = home.pid_in(dir.join("process.json"), "/process/pid").await;
    kill(home.shim_of(&dir).await);
    until("the end of the process", || (!is_alive(leader)).then_some(())).await;
    let result = within(home.local.wait_job(&home.target, "job-1")).await.unwrap();
    assert_eq!((result.succeeded, result.exit_code), (false, None));
    assert_eq!(result.reason, "Lost: its shim was killed while it ran");
    assert!(kin(&dir).is_empty(), "the rest of the group is killed as well");
    home.local.start_job("key", &home.target, "job-1", &job).await.unwrap();
    assert_eq!(within(home.local.wait_job(&home.target, "job-1")).await.unwrap(), result);
    assert_eq!(home.written("runs"), "ran\n");
}

#[tokio::test]
async fn a_job_whose_shim_was_never_started_is_started_now_or_never() {
    let home = Home::new();
    let broken = Local::new(LocalConfig::new(home.run_dir(), "/no/such/shim".into()));
    for id in ["job-1", "job-2"] {
        let error = broken.start_job("key", &home.target, id, &sh("echo ran >> runs")).await.unwrap_err();
        assert!(matches!(&error, PlatformError::Unavailable(text) if text.contains("/no/such/shim")), "{error}");
        assert_eq!(home.local.job_ended(&home.target, id).await.unwrap(), Some(false));
    }
    assert!(within(home.local.wait_job(&home.target, "job-1")).await.unwrap().succeeded);
    assert_eq!(home.written("runs"), "ran\n");

    home.local.stop_job("stop", &home.target, "job-2").await.unwrap();
    home.local.start_job("key", &home.target, "job-2", &sh("echo ran >> runs")).await.unwrap();
    let result = home.local.wait_job(&home.target, "job-2").await.unwrap();
    assert_eq!(result.reason, "stopped before it ran");
    assert_eq!(home.written("runs"), "ran\n");
}

#[tokio::test]
async fn a_second_shim_runs_nothing() {
    let home = Home::new();
    let job = sh("echo ran >> runs; until [ -e go ]; do sleep 0.01; done");
    home.local.start_job("key", &home.target, "job-1", &job).await.unwrap();
    let shim = || Command::new(PROBE).arg("shim").arg(home.job_dir("job-1")).status().unwrap();
    assert!(shim().success());
    fs::write(home.data().join("go"), "").unwrap();
    assert!(within(home.local.wait_job(&home.target, "job-1")).await.unwrap().succeeded);
    assert!(shim().success());
    assert_eq!(home.written("runs"), "ran\n");
}

/// Files of a Job as of one whose shim and process had the pid of `foreign`.
fn forge(dir: &Path, foreign: i32, change: impl Fn(&mut Value)) {
    let stat = fs::read_to_string(format!("/proc/{foreign}/stat")).unwrap();
    let ticks: u64 = stat.rsplit_once(')').unwrap().1.split_whitespace().nth(19).unwrap().parse().unwrap();
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let mut identity = json!({"pid": foreign, "start": ticks, "boot": boot.trim_end()});
    change(&mut identity);
    let launch = json!({"key": "key", "command": ["true"], "env": {}, "workingDir": "/", "graceMs": 0});
    fs::create_dir_all(dir).unwrap();
    fs::write(dir.join("launch.json"), launch.to_string()).unwrap();
    fs::write(dir.join("shim.json"), json!({"shim": identity, "dir": dir}).to_string()).unwrap();
    let process = json!({"process": identity, "upMs": 1, "attempt": 1});
    fs::write(dir.join("process.json"), process.to_string()).unwrap();
}

#[tokio::test]
async fn a_pid_that_is_anothers_now_is_never_signalled() {
    let home = Home::new();
    let mut foreign = Command::new("sleep").arg("1000").spawn().unwrap();
    let pid = i32::try_from(foreign.id()).unwrap();
    forge(&home.job_dir("reused"), pid, |identity| identity["start"] = json!(7));
    forge(&home.job_dir("rebooted"), pid, |identity| identity["boot"] = json!("another boot"));
    for (id, why) in [
        ("reused", "Lost: its shim was killed while it ran"),
        ("rebooted", "Lost: the machine was started anew while it ran"),
    ] {
        within(home.local.stop_job("stop", &home.target, id)).await.unwrap();
        let result = within(home.local.wait_job(&home.target, id)).await.unwrap();
        assert_eq!(result.reason, why);
    }
    let alive = is_alive(pid);
    foreign.kill().unwrap();
    foreign.wait().unwrap();
    assert!(alive);
}

#[tokio::test]
async fn a_shim_that_hangs_is_killed_with_its_process() {
    let home = Home::new();
    let more = json!({"stopGraceSeconds": 0, "ready": {"file": "ready"}});
    home.apply(&render("1.0.0", vec![process("a", "touch ready; exec sleep 1000", more)])).await.unwrap();
    let dir = home.replica_dir("a", 0);
    let shim = home.shim_of(&dir).await;
    let stop = rustix::process::Signal::STOP;
    rustix::process::kill_process(rustix::process::Pid::from_raw(shim).unwrap(), stop).unwrap();
    within(home.local.scale("stop", &home.target, &workload("a"), 0)).await.unwrap();
    assert!(!is_alive(shim));
    assert!(kin(&dir).is_empty());
}

#[tokio::test]
async fn a_component_whose_shim_was_killed_is_started_again_by_whoever_wants_it_ready() {
    let home = Home::new();
    let more = json!({"ready": {"file": "ready"}});
    let wanted = render("1.0.0", vec![process("a", "echo ran >> runs; touch ready; exec sleep 1000", more)]);
    home.apply(&wanted).await.unwrap();
    kill(home.shim_of(&home.replica_dir("a", 0)).await);
    until("the end of the process", || kin(&home.replica_dir("a", 0)).is_empty().then_some(())).await;
    let status = home.local.status(&home.target, &workload("a")).await.unwrap();
    assert_eq!((status.desired, status.running, status.ready), (1, 0, 0));
    home.local.wait_ready(&home.target, &workload("a")).await.unwrap();
    assert_eq!(home.written("runs"), "ran\nran\n");
    kill(home.shim_of(&home.replica_dir("a", 0)).await);
    until("the end of the process", || kin(&home.replica_dir("a", 0)).is_empty().then_some(())).await;
    home.apply(&wanted).await.unwrap();
    assert_eq!(home.written("runs"), "ran\nran\nran\n");
}

#[tokio::test]
async fn a_process_that_a_damaged_file_names_exactly_is_never_signalled() {
    let home = Home::new();
    // It leads a session and a group, as a shim and its process do, and has a child in both.
    let script = "trap 'echo term >> termed' TERM; sleep 1000 & echo $! > child; while :; do wait; done";
    let folder = tempfile::tempdir().unwrap();
    let mut foreign = Command::new("setsid").args(["sh", "-c", script]).current_dir(folder.path()).spawn().unwrap();
    let pid = i32::try_from(foreign.id()).unwrap();
    let child =
        until("the child", || fs::read_to_string(folder.path().join("child")).ok()?.trim().parse::<i32>().ok()).await;
    for id in ["waited-for", "stopped"] {
        forge(&home.job_dir(id), pid, |_| {});
        // The lock is there as after the death of a shim.
        fs::write(home.job_dir(id).join("lock"), "").unwrap();
    }
    let waited = within(home.local.wait_job(&home.target, "waited-for")).await;
    let stopped = within(home.local.stop_job("stop", &home.target, "stopped")).await;
    let removed = within(home.local.remove("remove", &home.target)).await;
    let alive = [pid, child].map(is_alive);
    kill(child);
    foreign.kill().unwrap();
    foreign.wait().unwrap();
    assert_eq!(waited.unwrap().reason, "Lost: its shim was killed while it ran");
    assert_eq!((stopped, removed), (Ok(()), Ok(())));
    assert_eq!(alive, [true, true]);
    assert!(!folder.path().join("termed").exists(), "it was asked to end");
}

/// The shim that a file of a folder names.
pub fn named_shim(dir: &Path) -> i32 {
    let value: Value = serde_json::from_str(&fs::read_to_string(dir.join("shim.json")).unwrap()).unwrap();
    value["shim"]["pid"].as_i64().unwrap().try_into().unwrap()
}

#[tokio::test]
async fn a_copy_of_a_folder_has_no_shim() {
    let home = Home::new();
    home.local.start_job("key", &home.target, "job-1", &sh("echo ran >> runs; sleep 1000")).await.unwrap();
    until("the Job", || (home.written("runs") == "ran\n").then_some(())).await;
    let (dir, copy) = (home.job_dir("job-1"), home.job_dir("copy"));
    assert!(Command::new("cp").arg("-a").args([&dir, &copy]).status().unwrap().success());
    within(home.local.stop_job("stop", &home.target, "copy")).await.unwrap();
    assert!(is_alive(named_shim(&dir)));
    assert_eq!(home.local.job_ended(&home.target, "job-1").await.unwrap(), Some(false));
    within(home.local.stop_job("stop", &home.target, "job-1")).await.unwrap();
}

#[tokio::test]
async fn a_component_whose_folder_was_removed_is_replaced_and_never_doubled() {
    let home = Home::new();
    let more = json!({"ready": {"file": "ready"}});
    let wanted = render("1.0.0", vec![process("a", "touch ready; exec sleep 1000", more)]);
    home.apply(&wanted).await.unwrap();
    let dir = home.replica_dir("a", 0);
    let former = named_shim(&dir);
    fs::remove_dir_all(home.run_dir()).unwrap();
    home.apply(&wanted).await.unwrap();
    assert!(!is_alive(former), "the shim of the removed folder is ended");
    assert_eq!(running(&home.run_dir()), 1);
    assert!(!dir.join("exit.json").exists(), "the former one wrote its end into a folder of another");
    fs::remove_dir_all(home.run_dir()).unwrap();
    within(home.local.remove("remove", &home.target)).await.unwrap();
    assert_eq!(running(&home.run_dir()), 0);
}

#[tokio::test]
async fn a_job_whose_folder_was_removed_is_not_started_a_second_time() {
    let home = Home::new();
    let outside = tempfile::tempdir().unwrap();
    let (runs, go) = (outside.path().join("runs"), outside.path().join("go"));
    let job = sh(&format!("echo ran >> {}; until [ -e {} ]; do sleep 0.01; done", runs.display(), go.display()));
    home.local.start_job("key", &home.target, "job-1", &job).await.unwrap();
    until("the Job", || runs.exists().then_some(())).await;
    let shim = named_shim(&home.job_dir("job-1"));
    fs::remove_dir_all(home.run_dir()).unwrap();
    let error = home.local.start_job("key", &home.target, "job-1", &job).await.unwrap_err();
    assert!(matches!(&error, PlatformError::Conflict(text) if text.contains(&format!("`kill {shim}`"))), "{error}");
    fs::write(go, "").unwrap();
    until("the end of its shim, which has nowhere to write", || (!is_alive(shim)).then_some(())).await;
    assert_eq!(fs::read_to_string(runs).unwrap(), "ran\n");
}

#[tokio::test]
async fn a_file_in_place_of_the_run_folder_needs_a_person_who_is_told_what_to_do() {
    let home = Home::new();
    fs::write(home.run_dir(), "").unwrap();
    let wanted = render("1.0.0", vec![process("a", "exec sleep 1000", json!({}))]);
    let words = format!("{} has to be a folder: move what is there away", home.run_dir().display());
    let asks = |error: PlatformError| matches!(&error, PlatformError::Unknown(text) if text.ends_with(&words));
    assert!(asks(home.apply(&wanted).await.unwrap_err()));
    assert!(asks(home.local.start_job("key", &home.target, "job-1", &sh("true")).await.unwrap_err()));
    assert!(asks(home.local.remove("remove", &home.target).await.unwrap_err()));
    fs::remove_file(home.run_dir()).unwrap();
    home.apply(&wanted).await.unwrap();
}

/// Numbers from a seed: splitmix64.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % end
    }
}

pub fn seed() -> u64 {
    let seed = std::env::var("PINTLE_TEST_SEED").ok().and_then(|text| text.parse().ok());
    let seed = seed.unwrap_or_else(|| u64::from(std::process::id()));
    println!("PINTLE_TEST_SEED={seed}");
    seed
}

/// Whoever works on an instance now, and may be killed.
pub async fn victim(dir: &Path, pintle: u32, random: &mut Random) -> i32 {
    if random.below(2) == 0 {
        return i32::try_from(pintle).unwrap();
    }
    let shim = || {
        let value: Value = serde_json::from_str(&fs::read_to_string(dir.join("shim.json")).ok()?).ok()?;
        value["shim"]["pid"].as_i64().and_then(|pid| i32::try_from(pid).ok())
    };
    until("a shim, or the end", || shim().or_else(|| (!is_alive(pintle.cast_signed())).then_some(0))).await;
    shim().unwrap_or(0)
}

#[tokio::test]
async fn a_job_runs_at_most_once_whoever_is_killed_and_whenever() {
    let mut random = Random(seed());
    let home = Home::new();
    for n in 0..40 {
        let id = format!("job-{n}");
        let job = sh(&format!("echo begin >> {id}; sleep 0.02; echo end >> {id}"));
        let mut pintle = home.pintle(&run_job(&id, &job)).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let dir = home.job_dir(&id);
        let victim = victim(&dir, pintle.id(), &mut random).await;
        tokio::time::sleep(Duration::from_micros(random.below(40_000))).await;
        if victim != 0 && is_alive(victim) {
            kill(victim);
        }
        if random.below(2) == 0 {
            pintle.kill().unwrap();
        }
        pintle.wait().unwrap();

        home.local.start_job(&format!("key of {id}"), &home.target, &id, &job).await.unwrap();
        let result = within(home.local.wait_job(&home.target, &id)).await.unwrap();
        let ran = home.written(&id);
        assert!(kin(&dir).is_empty(), "{id}");
        if result.succeeded {
            assert_eq!(ran, "begin\nend\n", "{id}");
        } else {
            assert!(result.reason.starts_with("Lost: "), "{id}: {}", result.reason);
            assert!(ran.is_empty() || ran.starts_with("begin\n") && ran.matches("begin").count() == 1, "{id}: {ran}");
        }
    }
}

#[tokio::test]
async fn an_apply_is_finished_by_the_next_whoever_is_killed_and_whenever() {
    let mut random = Random(seed());
    let home = Home::new();
    let script = "touch ready-$0-$V-$PINTLE_REPLICA; exec sleep 1000";
    let object = |name: &str, version: &str, replicas: u64| {
        let ready = json!({"exec": {"command": ["sh", "-c", format!("[ -e ready-{name}-$V-$PINTLE_REPLICA ]")]}});
        let more = json!({"args": [name], "env": {"V": version}, "replicas": replicas, "ready": ready});
        process(name, script, more)
    };
    for n in 0..12 {
        let version = format!("1.{n}.0");
        let mut objects = vec![object("server", &version, 1 + random.below(2)), object("steady", "same", 1)];
        objects.extend((random.below(2) == 0).then(|| object("worker", &version, 2)));
        let wanted = render(&version, objects);
        let call = json!({"apply": {"key": version, "render": wanted}});
        let mut pintle = home.pintle(&call).stderr(Stdio::null()).spawn().unwrap();
        let victim = victim(&home.replica_dir("server", 0), pintle.id(), &mut random).await;
        tokio::time::sleep(Duration::from_micros(random.below(60_000))).await;
        if victim != 0 && is_alive(victim) {
            kill(victim);
        }
        pintle.kill().unwrap();
        pintle.wait().unwrap();

        within(home.local.apply(&version, &home.target, &wanted, &BTreeSet::new())).await.unwrap();
        let mut expected = 0;
        for object in wanted.objects.iter().map(Json::value) {
            let name = object["metadata"]["name"].as_str().unwrap();
            let replicas = u32::try_from(object["spec"]["replicas"].as_u64().unwrap()).unwrap();
            expected += replicas;
            let status = home.local.status(&home.target, &workload(name)).await.unwrap();
            assert_eq!((status.desired, status.running), (replicas, replicas), "{name} {version}");
        }
        let all = home.run_dir();
        until("as many processes as are wanted", || (running(&all) == expected as usize).then_some(())).await;
    }
    within(home.local.remove("remove", &home.target)).await.unwrap();
    assert_eq!(running(&home.run_dir()), 0);
}

/// Living processes that came of any instance in this run directory.
fn running(run_dir: &Path) -> usize {
    let mark = format!("PINTLE_FOLDER={}", run_dir.display());
    let pids = fs::read_dir("/proc").unwrap().flatten();
    let marked = |entry: &fs::DirEntry| {
        let environ = fs::read(entry.path().join("environ")).unwrap_or_default();
        String::from_utf8_lossy(&environ).split('\0').any(|entry| entry.starts_with(&mark))
    };
    pids.filter(marked).count()
}
