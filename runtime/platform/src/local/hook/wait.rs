//! How the workload of a hook ended, waited for or looked at.

use std::io;
use std::time::Duration;

use pintle_lifecycle::call::{JobResult, Output};
use pintle_lifecycle::hook::HookRef;
use pintle_lifecycle::plan::Target;

use super::launch_of;
use crate::local::instance::{Instance, State};
use crate::local::launch::{By, DELETED, Ended, LIFTED, Launch, Pod};
use crate::local::{Local, output};
use crate::platform::{HookLook, PlatformError};

/// Between looks at one that may not run.
const LOOK: Duration = Duration::from_millis(100);
/// The reason of a workload that was gone before it was seen to end.
const DELETED_BEFORE_RESULT: &str = "DeletedBeforeResult";

impl Local {
    pub(in crate::local) async fn end_of_hook(
        &self,
        target: &Target,
        hook: &HookRef,
    ) -> Result<JobResult, PlatformError> {
        let dir = self.release(target)?;
        let trouble = |error: io::Error| dir.trouble(&error);
        let instance = dir.hook(hook.kind, &hook.namespace, &hook.name)?;
        loop {
            let there = || launch_of(&instance, hook);
            let Some(launch) = there().map_err(trouble)? else { return Ok(deleted(hook, Output::default())) };
            match instance.judge().await.map_err(trouble)? {
                State::Held(shim) => shim.ended().await.map_err(trouble)?,
                State::Ended(ended) => return result(&instance, hook, &launch, &ended).map_err(trouble),
                State::Waiting if is_deleted(&instance) => return Ok(deleted(hook, Output::default())),
                State::Waiting if launch.may_run(instance.dir()) => {
                    if let Err(error) = instance.start(&self.config.shim).await
                        && there().map_err(trouble)?.is_some()
                    {
                        return Err(dir.trouble(&error));
                    }
                }
                State::Waiting => tokio::time::sleep(LOOK).await,
                // The next look finds it gone, or ended.
                State::Missing | State::Orphaned => tokio::task::yield_now().await,
            }
        }
    }

    pub(in crate::local) async fn hook_now(&self, target: &Target, hook: &HookRef) -> Result<HookLook, PlatformError> {
        let dir = self.release(target)?;
        let trouble = |error: io::Error| dir.trouble(&error);
        let instance = dir.hook(hook.kind, &hook.namespace, &hook.name)?;
        let gone = || HookLook { waits_for: "it is gone".to_owned(), output: Output::default() };
        let Some(launch) = launch_of(&instance, hook).map_err(trouble)? else { return Ok(gone()) };
        let state = instance.judge().await.map_err(trouble)?;
        let ended = if let State::Ended(ended) = &state { Some(ended) } else { None };
        let output = printed(&instance, &launch, ended).map_err(trouble)?;
        let waits_for = match state {
            State::Missing | State::Orphaned => return Ok(gone()),
            State::Ended(ended) => format!("it has ended: {ended}"),
            _ if is_deleted(&instance) => "it is being deleted".to_owned(),
            State::Held(_) => running(&instance, &launch).map_err(trouble)?,
            State::Waiting => held_back(&instance, &launch).to_owned(),
        };
        Ok(HookLook { waits_for, output })
    }
}

fn is_deleted(instance: &Instance) -> bool {
    instance.dir().join(DELETED).exists() || !instance.dir().exists()
}

fn deleted(hook: &HookRef, output: Output) -> JobResult {
    let reason = DELETED_BEFORE_RESULT.to_owned();
    JobResult { id: hook.name.clone(), succeeded: false, exit_code: None, output, reason }
}

fn result(instance: &Instance, hook: &HookRef, launch: &Launch, ended: &Ended) -> io::Result<JobResult> {
    let output = printed(instance, launch, Some(ended))?;
    let is_another = instance.launch()?.is_some() && launch_of(instance, hook)?.is_none();
    if is_another {
        return Ok(deleted(hook, Output::default()));
    }
    // Its end is that of the deletion, and not its own.
    if ended.by == Some(By::Stop) && is_deleted(instance) {
        return Ok(deleted(hook, output));
    }
    Ok(ended.job_result(&hook.name, output))
}

/// What the containers printed, the one that failed first.
fn printed(instance: &Instance, launch: &Launch, ended: Option<&Ended>) -> io::Result<Output> {
    let mut names: Vec<&str> = launch.pod.iter().flat_map(Pod::all).map(|container| container.name.as_str()).collect();
    let failed = ended.and_then(|ended| ended.container.as_deref());
    names.sort_by_key(|name| Some(*name) != failed);
    let folders = names.into_iter().map(|name| (name, output::of_container(instance.dir(), name)));
    output::tails(folders, ended.map_or(0, |ended| ended.output_lost))
}

/// What a shim that lives waits for.
fn running(instance: &Instance, launch: &Launch) -> io::Result<String> {
    let Some(started) = instance.started()? else { return Ok("it is about to start".to_owned()) };
    if let Some(failed) = started.failed {
        // A number without an end says nothing.
        let bound = if launch.retries < u32::MAX - 1 { format!(" of {}", launch.retries) } else { String::new() };
        return Ok(format!("waits for retry {}{bound}: {failed}", started.attempt));
    }
    let mut names = Vec::new();
    for container in &started.containers {
        if container.process.open()?.is_some() {
            names.push(container.name.as_str());
        }
    }
    Ok(match names.as_slice() {
        [] => "it is about to go on or to end".to_owned(),
        [name] => format!("container {name} still runs"),
        names => format!("containers {} still run", names.join(", ")),
    })
}

fn held_back(instance: &Instance, launch: &Launch) -> &'static str {
    match &launch.hook {
        Some(note) if note.fenced && !instance.dir().join(LIFTED).exists() => "fenced",
        Some(note) if note.suspended => "suspended",
        _ => "it is about to start",
    }
}
