//! The crash matrix, forward: every call of an action and every step, each with every fault at every place. A loop finds the
//! places: it counts the records and the platform's calls of an undisturbed change, then lets Pintle die at each.
//!
//! Whatever happens, no effect is applied twice, nothing is lost, and the change ends applied or says why not.

mod faults;
mod hooks;
mod kills;
mod model;
mod plans;
mod rig;
mod undo;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use pintle_lifecycle::call::{Answer, Call};
use pintle_lifecycle::ending::ChangeState;
use pintle_lifecycle::history::History;
use pintle_lifecycle::plan::Plan;
use pintle_platform::simulated::{JobScript, Method, World};
use pintle_sandbox::{Sandbox, SandboxConfig};

use crate::plans::{UID, change, workload};
use crate::rig::Rig;

/// The sandbox and the digest of the module; compiled once for all cases.
pub(crate) struct Guests {
    pub sandbox: Sandbox,
    pub module: String,
    _folder: tempfile::TempDir,
}

/// Runs a case on virtual time.
pub(crate) fn on_virtual_time<T>(case: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    runtime.expect("a runtime").block_on(case)
}

pub(crate) fn guests() -> &'static Guests {
    static GUESTS: OnceLock<Guests> = OnceLock::new();
    // On a thread of its own: a case that asks first is inside a runtime of its own.
    GUESTS.get_or_init(|| std::thread::spawn(compile).join().expect("the guests are compiled"))
}

fn compile() -> Guests {
    let bytes = guest_artifacts::bytes("guest-changes");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let sandbox = Sandbox::new(SandboxConfig::new(folder.path())).expect("a sandbox");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let module = runtime.block_on(sandbox.admit(&bytes)).expect("the module is admitted");
    Guests { module: module.digest.clone(), sandbox, _folder: folder }
}

/// A rig whose world has the release at 1.0.0, set up by change 1.
pub(crate) async fn set_up() -> Rig {
    let mut rig = Rig::new(&guests().sandbox);
    rig.world.script_jobs(|start| match start.job.spec.command.first().map(String::as_str) {
        // The migration of the shop: refuses to run while a worker is connected.
        Some("migrate") if start.release.replicas(&workload("task-worker")) > 0 => {
            JobScript::fails(4, "a worker is connected\n")
        }
        Some("migrate") => JobScript::lasting(Duration::from_secs(3)),
        Some("first") => JobScript::lasting(Duration::from_secs(2)),
        Some("stray") => JobScript::lasting(Duration::from_hours(1)),
        _ => JobScript::lasting(Duration::from_millis(700)),
    });
    assert_eq!(rig.change(&change(1), &plans::setup()).await, ChangeState::Succeeded);
    rig
}

/// The undisturbed upgrade by `everything`: how many records it makes, and how often it calls each method of the platform.
pub(crate) async fn undisturbed(plan: &Plan) -> (Rig, usize, Vec<(Method, u32)>) {
    let mut rig = set_up().await;
    let before: Vec<u32> = Method::ALL.iter().map(|method| rig.world.calls(*method)).collect();
    let records = rig.journal.len();
    let state = rig.change(&change(2), plan).await;
    assert_eq!(state, ChangeState::Succeeded, "{:?}", rig.history(&change(2)).await.finished);
    let calls = Method::ALL.iter().zip(before).map(|(method, before)| (*method, rig.world.calls(*method) - before));
    let calls: Vec<(Method, u32)> = calls.filter(|(_, count)| *count > 0).collect();
    let records = rig.journal.len() - records;
    (rig, records, calls)
}

/// What must hold after any life, whatever its faults.
pub(crate) fn assert_whole(world: &Arc<World>, history: &History, case: &str) {
    assert_eq!(world.doubled(), [], "{case}: effects were applied twice");
    for (step, made) in history.steps().flat_map(|(id, step)| step.attempts.iter().map(move |made| (id, made))) {
        if history.finished.is_some() {
            assert!(made.finished.is_some(), "{case}: {step} has no end although the change has");
        }
    }
}

/// What must hold where a change succeeded: the world is that of an undisturbed change.
pub(crate) fn assert_applied(world: &Arc<World>, history: &History, undisturbed: &str, case: &str) {
    assert_eq!(world.to_string(), undisturbed, "{case}");
    let release = world.release(UID).expect("the release is there");
    assert_eq!(release.version(), Some("1.1.0"), "{case}");
    assert_eq!(release.replicas(&workload("task-worker")), 2, "{case}: the worker was started again");
    let puts = history.steps().flat_map(|(_, step)| &step.attempts).flat_map(|made| &made.calls);
    let puts: Vec<_> = puts.filter(|made| matches!(made.call, Call::StatePut { .. })).collect();
    assert!(puts.iter().all(|made| matches!(made.outcome.as_ref().map(|o| &o.result), Some(Ok(Answer::Nothing)))));
}
