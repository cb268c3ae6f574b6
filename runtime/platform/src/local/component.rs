//! Replicas of a workload: brought to a number and a content, one after the other, each ready before the next is touched.

use std::io;
use std::path::Path;
use std::time::Duration;

use pintle_lifecycle::document::manifest::{Probe, ProcessSpec};
use pintle_lifecycle::plan::{Target, Workload};

use super::durable::{create_dirs, remove_dir};
use super::instance::{Instance, State};
use super::launch::{Ended, Launch};
use super::ready::{self, NotReady};
use super::release_dir::{ReleaseDir, replicas};
use super::{Local, compose, output};
use crate::platform::{PlatformError, Status};

/// A replica whose shim is killed before it is ready is started again so often.
const STARTS_OF_LOST: u32 = 10;

impl Local {
    /// Brings a workload to `count` ready replicas of `spec`; all others are stopped first.
    pub(super) async fn bring(
        &self,
        dir: &ReleaseDir,
        target: &Target,
        workload: &Workload,
        (spec, count): (&ProcessSpec, u32),
    ) -> Result<(), PlatformError> {
        let folder = dir.workload(&workload.name)?;
        let _held = self.locks.hold(&folder).await;
        let trouble = |error: io::Error| dir.trouble(&error);
        create_dirs(&folder).map_err(trouble)?;
        let surplus = replicas(&folder).map_err(trouble)?.split_off(&count);
        stop_all(surplus.into_values()).await.map_err(trouble)?;
        for number in 0..count {
            let launch = compose::replica(&self.config, dir, target, spec, number)?;
            let instance = Instance::at(folder.join(number.to_string()));
            let name = if count == 1 { workload.to_string() } else { format!("{workload}, replica {number}") };
            self.bring_replica(&folder, &instance, &launch, spec, &name).await.map_err(trouble)??;
        }
        Ok(())
    }

    /// The outer error is of this machine, the inner one of the process.
    async fn bring_replica(
        &self,
        folder: &Path,
        instance: &Instance,
        launch: &Launch,
        spec: &ProcessSpec,
        name: &str,
    ) -> io::Result<Result<(), PlatformError>> {
        let within = spec.ready.as_ref().map(|ready| Duration::from_secs(ready.timeout_seconds.into()));
        for _ in 0..STARTS_OF_LOST {
            self.start_replica(folder, instance, launch, spec).await?;
            return Ok(match ready::wait(instance, launch, spec.ready.as_ref(), within).await? {
                Ok(()) => Ok(()),
                Err(NotReady::Gone(None)) => continue,
                Err(NotReady::Gone(Some(ended))) if ended.is_lost() => continue,
                Err(NotReady::Gone(Some(ended))) => Err(ended_early(instance, name, &ended)?),
                Err(NotReady::Late(found)) => {
                    let waited = within.unwrap_or_default().as_secs();
                    Err(PlatformError::Failed(format!("{name} is not ready after {waited} s: {found}")))
                }
            });
        }
        let why = "its shim was killed again and again before it was ready";
        Ok(Err(PlatformError::Failed(format!("{name} does not start: {why}"))))
    }

    /// Leaves an instance of the same launch that runs; replaces any other.
    async fn start_replica(
        &self,
        folder: &Path,
        instance: &Instance,
        launch: &Launch,
        spec: &ProcessSpec,
    ) -> io::Result<()> {
        let same = instance.launch()?.is_some_and(|there| there.key == launch.key);
        match instance.judge().await? {
            State::Held(_) | State::Waiting if same => {}
            State::Missing => make(folder, instance, launch, spec)?,
            _ => {
                // Stopped before the new one starts: both would want the same port.
                instance.stop().await?;
                instance.remove()?;
                make(folder, instance, launch, spec)?;
            }
        }
        instance.start(&self.config.shim).await
    }

    /// Stops a workload that is not applied any more and removes what is known of it.
    pub(super) async fn prune(&self, dir: &ReleaseDir, name: &str) -> Result<(), PlatformError> {
        let folder = dir.workload(name)?;
        let _held = self.locks.hold(&folder).await;
        let trouble = |error: io::Error| dir.trouble(&error);
        stop_all(replicas(&folder).map_err(trouble)?.into_values()).await.map_err(trouble)?;
        remove_dir(&folder).map_err(trouble)
    }

    pub(super) async fn count(&self, folder: &Path, spec: &ProcessSpec, desired: u32) -> io::Result<Status> {
        let mut status = Status { desired, ..Status::default() };
        for instance in replicas(folder)?.into_values() {
            let (State::Held(_), Some(launch)) = (instance.look()?, instance.launch()?) else { continue };
            status.running += 1;
            let found = ready::look(&instance, &launch, spec.ready.as_ref()).await;
            // What ended meanwhile is not ready, whatever answered in its place.
            if found.is_ok() && matches!(instance.look()?, State::Held(_)) {
                status.ready += 1;
            }
        }
        Ok(status)
    }

    /// Waits for all replicas that are asked for. One that this machine lost, by a reboot or with its shim, is started again: what
    /// is asked for has not changed. One that ended by itself is a failure.
    pub(super) async fn all_ready(
        &self,
        dir: &ReleaseDir,
        target: &Target,
        workload: &Workload,
        (spec, desired): (&ProcessSpec, u32),
    ) -> Result<(), PlatformError> {
        let folder = dir.workload(&workload.name)?;
        let trouble = |error: io::Error| dir.trouble(&error);
        for _ in 0..STARTS_OF_LOST {
            match replicas_ready(&folder, workload, spec, desired).await.map_err(trouble)? {
                Replicas::Ready => return Ok(()),
                Replicas::Failed(error) => return Err(error),
                Replicas::Lost => self.bring(dir, target, workload, (spec, desired)).await?,
            }
        }
        Err(PlatformError::Failed(format!("{workload} does not stay: its shims are killed again and again")))
    }
}

/// What came of a wait for the replicas of a workload.
enum Replicas {
    Ready,
    /// One is gone, and not by itself.
    Lost,
    Failed(PlatformError),
}

async fn replicas_ready(folder: &Path, workload: &Workload, spec: &ProcessSpec, desired: u32) -> io::Result<Replicas> {
    for number in 0..desired {
        let instance = Instance::at(folder.join(number.to_string()));
        let Some(launch) = instance.launch()? else { return Ok(Replicas::Lost) };
        match ready::wait(&instance, &launch, spec.ready.as_ref(), None).await? {
            Ok(()) => {}
            Err(NotReady::Gone(Some(ended))) if !ended.is_lost() => {
                return Ok(Replicas::Failed(ended_early(&instance, &workload.to_string(), &ended)?));
            }
            Err(NotReady::Gone(_) | NotReady::Late(_)) => return Ok(Replicas::Lost),
        }
    }
    Ok(Replicas::Ready)
}

/// Makes an instance that is about to start. A file that shall tell its readiness is removed, where it can only be of one that ran
/// before.
fn make(folder: &Path, instance: &Instance, launch: &Launch, spec: &ProcessSpec) -> io::Result<()> {
    if let Some(Probe::File(file)) = spec.ready.as_ref().map(|ready| &ready.probe) {
        let mut others = replicas(folder)?.into_values();
        let alone = others.try_fold(true, |alone, other| Ok::<_, io::Error>(alone && !is_held(&other)?))?;
        let file = launch.working_dir.join(file);
        if alone && file.is_file() {
            std::fs::remove_file(file)?;
        }
    }
    instance.create(launch)
}

fn is_held(instance: &Instance) -> io::Result<bool> {
    Ok(matches!(instance.look()?, State::Held(_)))
}

/// Asks all to stop and then waits for each, so that their times of grace run side by side.
pub(super) async fn stop_all(instances: impl Iterator<Item = Instance>) -> io::Result<()> {
    let instances: Vec<Instance> = instances.collect();
    for instance in &instances {
        instance.ask_to_stop()?;
    }
    for instance in &instances {
        instance.stop().await?;
    }
    Ok(())
}

fn ended_early(instance: &Instance, name: &str, ended: &Ended) -> io::Result<PlatformError> {
    let output = output::tail_without(instance.dir(), ended.output_lost)?.text;
    let said = if output.is_empty() { "; it printed nothing".to_owned() } else { format!("; it printed:\n{output}") };
    Ok(PlatformError::Failed(format!("{name} ended before it was ready: {ended}{said}")))
}
