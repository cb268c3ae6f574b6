//! One sandbox with the hostile guest for all tests, and short ways to run it.

use std::path::Path;
use std::sync::Arc;

use pintle_lifecycle::ending::Ending;
use pintle_lifecycle::plan::Limits;
use pintle_sandbox::{Budget, Entry, Finish, Module, Sandbox, SandboxConfig};
use tempfile::TempDir;
use tokio::sync::OnceCell;

use crate::script::Script;

/// Guests that the shared sandbox has room for.
pub const INSTANCES: u32 = 4;

const FOLDER: &str = env!("CARGO_TARGET_TMPDIR");

fn prefix(pid: u32) -> String {
    format!("sandbox-{pid}-")
}

/// What is static is never dropped, so the shared sandbox leaves its directory behind.
fn remove_what_the_last_run_left() {
    for entry in std::fs::read_dir(FOLDER).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap_or_default();
        let pid = name.strip_prefix("sandbox-").and_then(|rest| rest.split('-').next()?.parse::<u32>().ok());
        if pid.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
            std::fs::remove_dir_all(entry.path()).unwrap();
        }
    }
}

pub struct Rig {
    pub sandbox: Sandbox,
    pub module: Arc<Module>,
    _dir: TempDir,
}

impl Rig {
    /// A sandbox of its own with the hostile guest.
    pub async fn new(instances: u32) -> Self {
        let dir = tempfile::Builder::new().prefix(&prefix(std::process::id())).tempdir_in(FOLDER).unwrap();
        let sandbox = Sandbox::new(SandboxConfig { instances, ..SandboxConfig::new(dir.path()) }).unwrap();
        let module = sandbox.admit(&guest_artifacts::bytes("guest-hostile")).await.unwrap();
        Self { sandbox, module, _dir: dir }
    }

    /// The one that all tests share.
    pub async fn shared() -> &'static Self {
        static SHARED: OnceCell<Rig> = OnceCell::const_new();
        let make = || {
            remove_what_the_last_run_left();
            Self::new(INSTANCES)
        };
        SHARED.get_or_init(make).await
    }

    pub async fn run(&self, action: &str, host: &Arc<Script>) -> Finish {
        self.run_within(action, host, &Arc::new(Budget::new(&Limits::default()))).await
    }

    pub async fn run_within(&self, action: &str, host: &Arc<Script>, budget: &Arc<Budget>) -> Finish {
        self.run_seeded(action, host, budget, [1; 32]).await
    }

    pub async fn run_seeded(&self, action: &str, host: &Arc<Script>, budget: &Arc<Budget>, seed: [u8; 32]) -> Finish {
        let entry = Entry::Run(action.to_owned());
        self.sandbox.run(&self.module, entry, Arc::clone(host) as _, Arc::clone(budget), seed).await
    }
}

/// Runs an action in the shared sandbox with the default limits.
pub async fn ending(action: &str, host: &Arc<Script>) -> Ending {
    ended(Rig::shared().await.run(action, host).await)
}

pub async fn ending_within(action: &str, host: &Arc<Script>, limits: Limits) -> Ending {
    ended(Rig::shared().await.run_within(action, host, &Arc::new(Budget::new(&limits))).await)
}

pub fn ended(finish: Finish) -> Ending {
    match finish {
        Finish::Ending(ending) => ending,
        other => panic!("the guest did not end: {other:?}"),
    }
}
