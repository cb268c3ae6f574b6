//! A folder to be a person in: a copy of the shop, a state of its own, a free port. Whatever runs in it is ended with it.

use std::fs;
use std::net::TcpListener;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, kill_process_group, pidfd_open};
use tempfile::TempDir;

/// Port of the shop's server in its manifests.
const PORT: &str = "18081";

/// What each command line of a transcript may use: `wait_for COMMAND` asks until the answer is yes.
const PRELUDE: &str = "
wait_for() {
    tries=0
    until \"$@\" >/dev/null 2>&1; do
        tries=$((tries + 1))
        if [ $tries -gt 600 ]; then echo \"never came: $*\" >&2; exit 99; fi
        sleep 0.05
    done
}
has_step() { pintle get steps \"$1\" 2>/dev/null | grep -q \"$2\"; }
dead() { ! [ -e /proc/$1 ] || grep -q '^State:.Z' /proc/$1/status; }
# What is left of processes after a reboot: nothing.
reboot() {
    for pid in $(cat state/run/*/workloads/*/*/shim.json | grep -o '\"pid\": *[0-9]*' | grep -o '[0-9]*'); do
        kill -KILL $pid
        wait_for dead $pid
    done
}
";

pub struct Place {
    dir: TempDir,
    pub port: u16,
    /// Process groups of command lines, which may have left something in the background.
    groups: Mutex<Vec<Pid>>,
}

impl Place {
    /// A folder with the shop in `shop/`.
    pub fn new() -> Self {
        let dir = tempfile::Builder::new().prefix("pintle-cli-").tempdir().unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let place = Self { dir, port, groups: Mutex::default() };
        let shop = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples-actions/shop");
        for built in ["actions.wasm", "images/shop/1.0.0/shop"] {
            assert!(shop.join(built).exists(), "{built} of the shop is not built: run `cargo xtask examples` first");
        }
        for part in [
            "driver.yml",
            "release.yml",
            "release-1.1.0.yml",
            "release-1.2.0.yml",
            "actions.wasm",
            "manifests",
            "images",
        ] {
            copy(&shop.join(part), &place.path().join("shop").join(part));
        }
        place.edit("shop/manifests/server.yml", PORT, &port.to_string());
        for folder in ["broken", "hooks", "plain"] {
            copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli").join(folder), &place.path().join(folder));
        }
        copy(&shop.join("actions.wasm"), &place.path().join("broken/modules/actions.wasm"));
        place
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn state(&self) -> PathBuf {
        self.path().join("state")
    }

    /// Copies an example that needs nothing built to where it is in the repository.
    pub fn add_example(&self, name: &str) {
        let folder = Path::new("examples-actions").join(name);
        copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(&folder), &self.path().join(&folder));
    }

    fn edit(&self, file: &str, from: &str, to: &str) {
        let path = self.path().join(file);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{file} has no {from}");
        fs::write(path, text.replace(from, to)).unwrap();
    }

    /// The program, as it is run here.
    pub fn pintle(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pintle"));
        self.settle_in(&mut command);
        command
    }

    /// Runs a line of a shell to its end.
    pub fn shell(&self, line: &str) -> Output {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", &format!("{PRELUDE}\n{line}")]).process_group(0);
        self.settle_in(&mut command);
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        self.groups.lock().unwrap().push(Pid::from_child(&child));
        child.wait_with_output().unwrap()
    }

    fn settle_in(&self, command: &mut Command) {
        let bin = Path::new(env!("CARGO_BIN_EXE_pintle")).parent().unwrap();
        command
            .current_dir(self.path())
            .env_clear()
            .env("PATH", format!("{}:/usr/bin:/bin", bin.display()))
            .env("HOME", self.path())
            .env("USER", "ada")
            .env("LC_ALL", "C.UTF-8")
            .env("PINTLE_STATE", self.state());
    }

    /// Processes whose command line names this folder: shims, which lead sessions of their own.
    fn shims(&self) -> Vec<Pid> {
        let here = self.path().to_string_lossy().into_owned();
        let numbers =
            fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let is_shim = |pid: &i32| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let words: Vec<String> =
                line.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into()).collect();
            words.get(1).is_some_and(|word| word == "shim") && words.iter().any(|word| word.starts_with(&here))
        };
        numbers.filter(is_shim).filter_map(Pid::from_raw).collect()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // A command line that has ended leaves no group, unless it left something in the background.
        for group in self.groups.get_mut().unwrap().drain(..) {
            let _gone_already = kill_process_group(group, Signal::KILL);
        }
        // A shim ends its process when it is told to.
        let shims = self.shims();
        for pid in &shims {
            let _gone_already = kill_process(*pid, Signal::TERM);
        }
        for pid in shims {
            if !ends(pid) {
                let _gone_already = kill_process(pid, Signal::KILL);
            }
        }
    }
}

/// Waits for the end of a process that is no child, for 15 s at most.
fn ends(pid: Pid) -> bool {
    let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else { return true };
    let limit = Timespec { tv_sec: 15, tv_nsec: 0 };
    poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&limit)).is_ok_and(|ready| ready > 0)
}

fn copy(from: &Path, to: &Path) {
    if from.is_dir() {
        for entry in fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            copy(&entry.path(), &to.join(entry.file_name()));
        }
        return;
    }
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    // The program of an image is large, and nothing writes into it.
    if from.file_name().is_some_and(|name| name == "shop") && fs::hard_link(from, to).is_ok() {
        return;
    }
    fs::copy(from, to).unwrap();
}
