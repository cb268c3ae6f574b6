//! A disk that is full: a file system of its own, in memory, filled to the last byte.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use pintle_platform::{Local, LocalConfig, Platform, PlatformError};
use serde_json::json;
use tempfile::TempDir;

use crate::harness::{Home, container, hook_job, process, render, sh, until, within};

/// With this variable a test that cannot run fails instead of being left out.
const DEMAND: &str = "PINTLE_DEMAND";
const PAGE: usize = 4096;

struct SmallDisk {
    mount: TempDir,
}

impl SmallDisk {
    /// None, and a line that says so, where this user may not mount.
    fn mount() -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            let why = "left out: a full disk needs a file system of its own, and to mount one needs root";
            assert!(std::env::var_os(DEMAND).is_none(), "{why}");
            println!("{why}");
            return None;
        }
        let mount = tempfile::tempdir().unwrap();
        let mut command = Command::new("mount");
        command.args(["-t", "tmpfs", "-o", "size=2m", "pintle-test"]).arg(mount.path());
        assert!(command.status().unwrap().success());
        Some(Self { mount })
    }

    fn home(&self) -> Home {
        Home::at(tempfile::tempdir_in(self.mount.path()).unwrap())
    }

    fn filler(&self) -> PathBuf {
        self.mount.path().join("filler")
    }

    /// Leaves nothing free.
    fn fill(&self) {
        let mut file = File::options().create(true).append(true).open(self.filler()).unwrap();
        while file.write_all(&[1; PAGE]).is_ok() {}
        assert_eq!(free(self.mount.path()), 0);
    }

    fn release(&self) {
        fs::remove_file(self.filler()).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // What is held open by a process that just ends keeps it busy: it goes with the last one.
        let _reported = Command::new("umount").arg("--lazy").arg(self.mount.path()).status();
    }
}

fn free(path: &Path) -> u64 {
    let stat = rustix::fs::statvfs(path).unwrap();
    stat.f_bavail * stat.f_frsize
}

#[tokio::test]
async fn the_end_of_a_job_is_written_while_the_disk_is_full_and_its_output_is_cut() {
    let Some(disk) = SmallDisk::mount() else { return };
    let outside = tempfile::tempdir().unwrap();
    let (go, home) = (outside.path().join("go"), disk.home());
    let script = format!(
        "echo before; until [ -e {} ]; do sleep 0.01; done; head -c 10000 /dev/zero | tr '\\\\0' x; exit 4",
        go.display()
    );
    home.local.start_job("key", &home.target, "job-1", &sh(&script)).await.unwrap();
    let log = home.job_dir("job-1").join("output.log");
    until("its first output", || fs::read(&log).is_ok_and(|text| text == b"before\n").then_some(())).await;
    disk.fill();
    fs::write(go, "").unwrap();
    let result = within(home.local.wait_job(&home.target, "job-1")).await.unwrap();
    assert_eq!((result.exit_code, result.reason.as_str()), (Some(4), "exit code 4"));
    assert!(result.output.cut);
    assert!(result.output.text.starts_with("before\n"), "{}", result.output.text);
    let end = "bytes of the output are cut: they could not be written, as on a full disk)";
    assert!(result.output.text.ends_with(end), "{}", result.output.text);
    assert_eq!(free(disk.mount.path()), 0);
}

#[tokio::test]
async fn a_job_is_tried_again_while_the_disk_is_full() {
    let Some(disk) = SmallDisk::mount() else { return };
    let outside = tempfile::tempdir().unwrap();
    let (go, tries, home) = (outside.path().join("go"), outside.path().join("tries"), disk.home());
    let (go_shown, tries_shown) = (go.display(), tries.display());
    let mut job = sh(&format!(
        "echo try >> {tries_shown}; until [ -e {go_shown} ]; do sleep 0.01; done; [ $(wc -l < {tries_shown}) -ge 4 ]"
    ));
    job.spec.retries = 5;
    home.local.start_job("key", &home.target, "job-1", &job).await.unwrap();
    disk.fill();
    fs::write(go, "").unwrap();
    let result = within(home.local.wait_job(&home.target, "job-1")).await.unwrap();
    assert!(result.succeeded, "{}", result.reason);
    assert_eq!(fs::read_to_string(tries).unwrap(), "try\n".repeat(4));
}

#[tokio::test]
async fn the_containers_of_a_hook_go_on_and_are_tried_again_while_the_disk_is_full() {
    let Some(disk) = SmallDisk::mount() else { return };
    let outside = tempfile::tempdir().unwrap();
    let (go, tries, home) = (outside.path().join("go"), outside.path().join("tries"), disk.home());
    let (go_shown, tries_shown) = (go.display(), tries.display());
    let wait = format!("echo try >> {tries_shown}; until [ -e {go_shown} ]; do sleep 0.01; done");
    let judge = format!("[ $(wc -l < {tries_shown}) -ge 3 ]");
    let pod = json!({
        "initContainers": [container("wait", &wait, json!({}))],
        "containers": [container("judge", &judge, json!({})), container("other", "true", json!({}))]
    });
    let hook = hook_job("hook", pod, json!({"backoffLimit": 5}));
    let made = home.create_hook(&hook).await.unwrap();
    home.lift_hook(&made).await.unwrap();
    disk.fill();
    fs::write(go, "").unwrap();
    let result = home.wait_hook(&made).await;
    assert!(result.succeeded, "{}", result.reason);
    assert_eq!(fs::read_to_string(tries).unwrap(), "try\n".repeat(3));
    within(home.local.delete_hook("delete", &home.target, &made, true)).await.unwrap();
}

#[tokio::test]
async fn a_killed_shim_is_known_to_be_lost_while_the_disk_is_full() {
    let Some(disk) = SmallDisk::mount() else { return };
    let home = disk.home();
    home.local.start_job("key", &home.target, "job-1", &sh("exec sleep 1000")).await.unwrap();
    disk.fill();
    crate::harness::kill(home.shim_of(&home.job_dir("job-1")).await);
    let result = within(home.local.wait_job(&home.target, "job-1")).await.unwrap();
    assert_eq!(result.reason, "Lost: its shim was killed while it ran");
}

#[tokio::test]
async fn what_cannot_start_on_a_full_disk_says_how_much_is_free_and_starts_when_there_is_room() {
    let Some(disk) = SmallDisk::mount() else { return };
    let home = disk.home();
    let is_full = |error: &PlatformError| {
        let words = ["No space left on device", " 0 bytes are free: free some space, and it goes on by itself"];
        matches!(error, PlatformError::Unavailable(text) if words.iter().all(|word| text.contains(word)))
    };
    disk.fill();
    let wanted = render("1.0.0", vec![process("a", "exec sleep 1000", json!({}))]);
    let error = home.apply(&wanted).await.unwrap_err();
    assert!(is_full(&error), "{error}");
    let job = sh("echo ran >> runs");
    let error = home.local.start_job("key", &home.target, "job-1", &job).await.unwrap_err();
    assert!(is_full(&error), "{error}");
    disk.release();
    home.apply(&wanted).await.unwrap();
    assert!(home.run_job("job-2", &job).await.succeeded);

    // Here all that Pintle itself needs is there, and it is the shim that has no room.
    let broken = Local::new(LocalConfig::new(home.run_dir(), "/no/such/shim".into()));
    broken.start_job("key", &home.target, "job-3", &job).await.unwrap_err();
    disk.fill();
    let error = home.local.start_job("key", &home.target, "job-3", &job).await.unwrap_err();
    assert!(is_full(&error) && error.to_string().contains("the shim of "), "{error}");
    disk.release();
    assert!(within(home.local.wait_job(&home.target, "job-3")).await.unwrap().succeeded);
    assert_eq!(home.written("runs"), "ran\nran\n");
}
