//! A run directory of its own for each test, and the end of every process that the test caused, also when it fails.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use pintle_lifecycle::call::{JobResult, JobSpec};
use pintle_lifecycle::hook::{HookKind, HookPhase, HookRef, Labels};
use pintle_lifecycle::ids::ReleaseKey;
use pintle_lifecycle::json::Json;
use pintle_lifecycle::plan::{Render, RenderRef, Target, Workload};
use pintle_platform::{HookWorkload, Job, Local, LocalConfig, Platform, PlatformError};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

pub const PROBE: &str = env!("CARGO_BIN_EXE_pintle-platform-probe");
/// What is waited for comes long before; a test that waits so long has failed.
const PATIENCE: Duration = Duration::from_mins(1);

pub struct Home {
    pub local: Local,
    pub target: Target,
    root: TempDir,
}

impl Home {
    pub fn new() -> Self {
        Self::at(tempfile::tempdir().unwrap())
    }

    pub fn at(root: TempDir) -> Self {
        let target = Target {
            release: ReleaseKey::new("acme", "shop").unwrap(),
            uid: "0123456789abcdef".into(),
            namespace: "default".into(),
            cluster: "local".into(),
            images: root.path().join("images").to_str().unwrap().into(),
        };
        let local = Local::new(LocalConfig::new(root.path().join("run"), PROBE.into()));
        let mut home = Self { local, target, root };
        home.configure(|_| {});
        home
    }

    fn configure(&mut self, change: impl FnOnce(&mut LocalConfig)) {
        let mut config = LocalConfig::new(self.run_dir(), PROBE.into());
        config.retry_wait = Duration::from_millis(1);
        change(&mut config);
        self.local = Local::new(config);
    }

    pub fn set_retry_wait(&mut self, wait: Duration) {
        self.configure(|config| config.retry_wait = wait);
    }

    pub fn map_image(&mut self, image: &str, other: &str) {
        self.configure(|config| config.image_map = [(image.to_owned(), other.to_owned())].into());
    }

    pub fn run_dir(&self) -> PathBuf {
        self.root.path().join("run")
    }

    /// The folder that processes run in.
    pub fn data(&self) -> PathBuf {
        self.local.data_dir(&self.target).unwrap()
    }

    pub fn job_dir(&self, id: &str) -> PathBuf {
        self.data().with_file_name("jobs").join(id)
    }

    pub fn hook_dir(&self, hook: &HookWorkload) -> PathBuf {
        self.data().with_file_name("hooks").join(format!("{}.{}.{}", hook.kind, hook.namespace, hook.name))
    }

    pub fn replica_dir(&self, workload: &str, replica: u32) -> PathBuf {
        self.data().with_file_name("workloads").join(workload).join(replica.to_string())
    }

    /// A Pintle of its own that makes one call.
    pub fn pintle(&self, call: &Value) -> Command {
        let mut command = Command::new(PROBE);
        command.arg(self.run_dir()).arg(serde_json::to_string(&self.target).unwrap()).arg(call.to_string());
        command
    }

    pub async fn run_job(&self, id: &str, job: &Job) -> JobResult {
        self.local.start_job(&format!("key of {id}"), &self.target, id, job).await.unwrap();
        within(self.local.wait_job(&self.target, id)).await.unwrap()
    }

    pub async fn create_hook(&self, hook: &HookWorkload) -> Result<HookRef, PlatformError> {
        self.local.create_hook(&format!("key of {}", hook.name), &self.target, hook).await
    }

    pub async fn lift_hook(&self, hook: &HookRef) -> Result<(), PlatformError> {
        self.local.lift_hook("lift", &self.target, hook).await
    }

    pub async fn wait_hook(&self, hook: &HookRef) -> JobResult {
        within(self.local.wait_hook(&self.target, hook)).await.unwrap()
    }

    /// What it waits for.
    pub async fn look_at_hook(&self, hook: &HookRef) -> String {
        self.local.look_at_hook(&self.target, hook).await.unwrap().waits_for
    }

    /// From the creation to the end.
    pub async fn run_hook(&self, hook: &HookWorkload) -> JobResult {
        let made = self.create_hook(hook).await.unwrap();
        self.lift_hook(&made).await.unwrap();
        self.wait_hook(&made).await
    }

    pub async fn apply(&self, render: &Render) -> Result<(), pintle_platform::PlatformError> {
        within(self.local.apply("apply", &self.target, render, &BTreeSet::new())).await
    }

    /// What processes wrote into a file of their folder.
    pub fn written(&self, file: &str) -> String {
        fs::read_to_string(self.data().join(file)).unwrap_or_default()
    }

    /// Pid in one of the files of an instance, once it is there.
    pub async fn pid_in(&self, file: PathBuf, pointer: &str) -> i32 {
        until(&format!("a pid in {}", file.display()), || {
            let value: Value = serde_json::from_str(&fs::read_to_string(&file).ok()?).ok()?;
            i32::try_from(value.pointer(pointer)?.as_i64()?).ok()
        })
        .await
    }

    pub async fn shim_of(&self, dir: &Path) -> i32 {
        self.pid_in(dir.join("shim.json"), "/shim/pid").await
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let root = self.root.path().to_str().unwrap().to_owned();
        // Until none is left: a shim may start its process while it is killed.
        loop {
            let ours: Vec<i32> = pids()
                .into_iter()
                .filter(|pid| *pid != std::process::id().cast_signed())
                .filter(|pid| environ(*pid).contains(&root) || cmdline(*pid).contains(&root))
                .collect();
            if ours.is_empty() {
                return;
            }
            ours.into_iter().for_each(kill);
            std::thread::yield_now();
        }
    }
}

pub fn kill(pid: i32) {
    // One that is gone is as good.
    let _gone = kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL);
}

fn pids() -> Vec<i32> {
    let name = |entry: fs::DirEntry| entry.file_name().to_str()?.parse().ok();
    fs::read_dir("/proc").unwrap().flatten().filter_map(name).collect()
}

/// Pids of the living processes that came of an instance, its shim not counted.
pub fn kin(dir: &Path) -> Vec<i32> {
    let mark = format!("PINTLE_FOLDER={}", dir.display());
    pids().into_iter().filter(|pid| environ(*pid).split('\0').any(|entry| entry == mark)).collect()
}

pub fn is_alive(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.starts_with(" Z") && !rest.starts_with(" X"))
}

fn environ(pid: i32) -> String {
    String::from_utf8_lossy(&fs::read(format!("/proc/{pid}/environ")).unwrap_or_default()).into_owned()
}

fn cmdline(pid: i32) -> String {
    String::from_utf8_lossy(&fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default()).into_owned()
}

/// Waits until `look` finds something.
pub async fn until<T>(what: &str, look: impl Fn() -> Option<T>) -> T {
    let wait = async {
        loop {
            if let Some(found) = look() {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(PATIENCE, wait).await.unwrap_or_else(|_| panic!("waited in vain for {what}"))
}

pub async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.expect("it ends long before")
}

pub fn sh(script: &str) -> Job {
    Job {
        spec: JobSpec {
            image: "host".into(),
            command: vec!["sh".into(), "-c".into(), script.into()],
            ..JobSpec::default()
        },
        env_from: None,
        env: [].into(),
        unset: [].into(),
        deadline: None,
    }
}

pub fn workload(name: &str) -> Workload {
    Workload { kind: "Process".into(), name: name.into() }
}

/// A process that runs a shell script, with more of its spec.
pub fn process(name: &str, script: &str, more: Value) -> Value {
    let mut spec = json!({"image": "host", "command": ["sh", "-c", script]});
    let Value::Object(more) = more else { panic!("{more} is no object") };
    spec.as_object_mut().unwrap().extend(more);
    json!({"apiVersion": "pintle.dev/v1alpha1", "kind": "Process", "metadata": {"name": name}, "spec": spec})
}

pub fn render(version: &str, objects: Vec<Value>) -> Render {
    Render {
        reference: RenderRef { digest: format!("digest of {version}"), generation: 1, version: version.into() },
        objects: objects.into_iter().map(Json::from).collect(),
    }
}

/// A container that runs a shell script, with more of its spec.
pub fn container(name: &str, script: &str, more: Value) -> Value {
    let mut spec = json!({"name": name, "image": "host", "command": ["sh", "-c", script]});
    let Value::Object(more) = more else { panic!("{more} is no object") };
    spec.as_object_mut().unwrap().extend(more);
    spec
}

/// The fenced Job of a hook whose Pod has this spec, with more of the Job's own.
pub fn hook_job(name: &str, pod: Value, more: Value) -> HookWorkload {
    let mut pod = pod;
    pod.as_object_mut().unwrap().entry("restartPolicy").or_insert("Never".into());
    let mut spec = json!({"template": {"spec": pod}, "backoffLimit": 0});
    let Value::Object(more) = more else { panic!("{more} is no object") };
    spec.as_object_mut().unwrap().extend(more);
    hook(HookKind::Job, name, &spec)
}

/// The fenced Pod of a hook.
pub fn hook_pod(name: &str, spec: Value) -> HookWorkload {
    let mut spec = spec;
    spec.as_object_mut().unwrap().entry("restartPolicy").or_insert("Never".into());
    hook(HookKind::Pod, name, &spec)
}

pub fn hook(kind: HookKind, name: &str, spec: &Value) -> HookWorkload {
    let mut object = json!({"apiVersion": kind.api_version(), "kind": kind.as_str(), "spec": spec});
    let labels = Labels { release_uid: "0123456789abcdef", phase: HookPhase::PreSync, hook: name, change: "shop-3" };
    labels.set(&mut object, name, "default");
    HookWorkload { kind, namespace: "default".into(), name: name.into(), object: object.into(), fenced: true }
}
