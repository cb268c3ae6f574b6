//! Releases as processes on this machine, without root and without containers.
//!
//! launch → shim → process → exit
//!
//! A process outlives Pintle: its shim holds it, and all that is known of it is in files. So the platform keeps nothing in memory;
//! each call reads what is there, goes on from it, and can be cut off anywhere by a `kill -9` of Pintle or of a shim.

mod component;
mod compose;
mod durable;
mod held;
mod hook;
mod image;
mod instance;
mod job;
mod kin;
mod launch;
mod locks;
mod output;
mod process;
mod ready;
mod release_dir;
mod shim;
mod stray;
mod trouble;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use pintle_lifecycle::call::JobResult;
use pintle_lifecycle::document::manifest::ProcessSpec;
use pintle_lifecycle::hook::HookRef;
use pintle_lifecycle::json::Json;
use pintle_lifecycle::plan::{Render, Target, Workload};

pub use shim::shim_main;

use crate::platform::{FoundHook, HookLook, HookWorkload, Job, Platform, PlatformError, Status};
use durable::{list, remove_dir};
use instance::{Instance, State};
use locks::Locks;
use release_dir::{Applied, ReleaseDir, process_of};
use stray::Stray;

/// Where the local platform works.
#[derive(Debug, Clone)]
pub struct LocalConfig {
    /// Made at need, for the owner alone. One Pintle at a time.
    pub run_dir: PathBuf,
    /// The `pintle` program: its arguments `shim …` go to [`shim_main`].
    pub shim: PathBuf,
    /// Images to take in place of others: `busybox` → `host`. The image `host` is the machine's own PATH.
    pub image_map: BTreeMap<String, String>,
    /// Before a failed Job that has retries is tried for the second time; doubled with each try, up to 10 s.
    pub retry_wait: Duration,
}

/// Runs releases on this machine. Needs a tokio runtime with I/O and time.
#[derive(Debug)]
pub struct Local {
    config: LocalConfig,
    locks: Locks,
    /// Held while `applied.json` of a release is read and written again.
    applied: Mutex<()>,
}

impl LocalConfig {
    #[must_use]
    pub fn new(run_dir: PathBuf, shim: PathBuf) -> Self {
        Self { run_dir, shim, image_map: BTreeMap::new(), retry_wait: Duration::from_secs(1) }
    }
}

impl Local {
    #[must_use]
    pub fn new(mut config: LocalConfig) -> Self {
        // Shims start in another folder.
        for path in [&mut config.run_dir, &mut config.shim] {
            if let Ok(absolute) = std::path::absolute(&*path) {
                *path = absolute;
            }
        }
        Self { config, locks: Locks::default(), applied: Mutex::default() }
    }

    /// The folder that all processes of a release run in by default, and that no change of it touches.
    ///
    /// # Errors
    /// `Invalid` where the target has no usable uid.
    pub fn data_dir(&self, target: &Target) -> Result<PathBuf, PlatformError> {
        Ok(self.release(target)?.data())
    }

    /// The files with the output of a Job that are there, oldest output first.
    ///
    /// # Errors
    /// `Invalid` where `id` is no name of a Job.
    pub fn job_logs(&self, target: &Target, id: &str) -> Result<Vec<PathBuf>, PlatformError> {
        Ok(logs(self.release(target)?.job(id)?.dir()))
    }

    /// The files with the output of each replica of a workload, oldest output first. A replica that ended keeps them until it is
    /// started again.
    ///
    /// # Errors
    /// `Invalid` where the workload has no usable name, `Unavailable` where the folder cannot be read.
    pub fn workload_logs(
        &self,
        target: &Target,
        workload: &Workload,
    ) -> Result<BTreeMap<u32, Vec<PathBuf>>, PlatformError> {
        let dir = self.release(target)?;
        let replicas = release_dir::replicas(&dir.workload(&workload.name)?).map_err(|error| dir.trouble(&error))?;
        Ok(replicas.into_iter().map(|(number, instance)| (number, logs(instance.dir()))).collect())
    }

    fn release(&self, target: &Target) -> Result<ReleaseDir, PlatformError> {
        ReleaseDir::new(&self.config.run_dir, target)
    }

    /// Notes what the release shall be, and gives the replicas asked for.
    fn note(
        &self,
        dir: &ReleaseDir,
        render: &Render,
        processes: &[(Workload, ProcessSpec)],
        held: &BTreeSet<Workload>,
    ) -> Result<BTreeMap<String, u32>, PlatformError> {
        let _held = self.applied.lock().unwrap_or_else(PoisonError::into_inner);
        let former = dir.applied()?.map(|applied| applied.desired).unwrap_or_default();
        let desired = |(workload, spec): &(Workload, ProcessSpec)| {
            // A manifest that leaves the number to others keeps what is there.
            let there = || former.get(&workload.name).copied().unwrap_or(0).max(1);
            let replicas = if held.contains(workload) { 0 } else { spec.replicas.unwrap_or_else(there) };
            (workload.name.clone(), replicas)
        };
        let desired: BTreeMap<String, u32> = processes.iter().map(desired).collect();
        dir.write_applied(render.clone(), desired.clone())?;
        Ok(desired)
    }

    fn note_replicas(
        &self,
        dir: &ReleaseDir,
        workload: &Workload,
        replicas: u32,
    ) -> Result<ProcessSpec, PlatformError> {
        let _held = self.applied.lock().unwrap_or_else(PoisonError::into_inner);
        let mut applied = applied(dir, workload)?;
        let spec = applied.process(workload)?;
        if applied.desired.insert(workload.name.clone(), replicas) != Some(replicas) {
            dir.write_applied(applied.render, applied.desired)?;
        }
        Ok(spec)
    }
}

fn logs(dir: &Path) -> Vec<PathBuf> {
    output::files(dir).into_iter().filter(|file| file.exists()).collect()
}

fn applied(dir: &ReleaseDir, workload: &Workload) -> Result<Applied, PlatformError> {
    dir.applied()?.ok_or_else(|| PlatformError::NotFound(format!("{workload} is not applied: nothing is")))
}

/// Ends shims whose folder, below this one, was removed while they ran.
async fn end_strays(folder: &Path) -> io::Result<()> {
    for stray in Stray::find(folder)? {
        stray.end().await?;
    }
    Ok(())
}

/// The processes of a render, in order.
fn processes(render: &Render) -> Result<Vec<(Workload, ProcessSpec)>, PlatformError> {
    let mut processes = Vec::new();
    for object in render.objects.iter().map(Json::value) {
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        let workload = Workload { kind: text(&object["kind"]), name: text(&object["metadata"]["name"]) };
        match workload.kind.as_str() {
            release_dir::PROCESS => processes.push((workload, process_of(&object)?)),
            "ConfigMap" | "Secret" => {}
            _ => {
                let cure = "describe what runs as a Process";
                return Err(PlatformError::Invalid(format!("{workload}: the local platform has no such kind: {cure}")));
            }
        }
    }
    Ok(processes)
}

#[async_trait]
impl Platform for Local {
    async fn apply(
        &self,
        _key: &str,
        target: &Target,
        render: &Render,
        held: &BTreeSet<Workload>,
    ) -> Result<(), PlatformError> {
        let dir = self.release(target)?;
        let processes = processes(render)?;
        for (workload, spec) in &processes {
            // Everything that can be found wrong is found before the first process is touched.
            dir.workload(&workload.name)?;
            compose::replica(&self.config, &dir, target, spec, 0)?;
        }
        // What is about to be made may still run from before somebody removed its folder.
        end_strays(&dir.workloads()).await.map_err(|error| dir.trouble(&error))?;
        dir.create().map_err(|error| dir.trouble(&error))?;
        let desired = self.note(&dir, render, &processes, held)?;
        for (workload, spec) in &processes {
            let count = desired.get(&workload.name).copied().unwrap_or(0);
            self.bring(&dir, target, workload, (spec, count)).await?;
        }
        for name in list(&dir.workloads()).map_err(|error| dir.trouble(&error))? {
            if !desired.contains_key(&name) {
                self.prune(&dir, &name).await?;
            }
        }
        Ok(())
    }

    /// The data of the release stays: its folder `dir/` is the one thing that cannot be made anew. What hooks made stays as well: those
    /// of postDelete come after this, and whoever made it deletes it.
    async fn remove(&self, _key: &str, target: &Target) -> Result<(), PlatformError> {
        let dir = self.release(target)?;
        let trouble = |error: io::Error| dir.trouble(&error);
        let mut all = Vec::new();
        for id in list(&dir.jobs()).map_err(trouble)? {
            all.push(dir.job(&id)?);
        }
        let workloads = list(&dir.workloads()).map_err(trouble)?;
        for name in &workloads {
            all.extend(release_dir::replicas(&dir.workload(name)?).map_err(trouble)?.into_values());
        }
        component::stop_all(all.into_iter()).await.map_err(trouble)?;
        end_strays(dir.root()).await.map_err(trouble)?;
        for name in &workloads {
            self.prune(&dir, name).await?;
        }
        remove_dir(&dir.jobs()).map_err(trouble)?;
        remove_dir(&dir.workloads()).map_err(trouble)?;
        dir.forget_applied().map_err(trouble)
    }

    async fn scale(
        &self,
        _key: &str,
        target: &Target,
        workload: &Workload,
        replicas: u32,
    ) -> Result<(), PlatformError> {
        let dir = self.release(target)?;
        let spec = self.note_replicas(&dir, workload, replicas)?;
        self.bring(&dir, target, workload, (&spec, replicas)).await
    }

    async fn status(&self, target: &Target, workload: &Workload) -> Result<Status, PlatformError> {
        let dir = self.release(target)?;
        let applied = applied(&dir, workload)?;
        let spec = applied.process(workload)?;
        let desired = applied.desired.get(&workload.name).copied().unwrap_or(0);
        self.count(&dir.workload(&workload.name)?, &spec, desired).await.map_err(|error| dir.trouble(&error))
    }

    async fn wait_ready(&self, target: &Target, workload: &Workload) -> Result<(), PlatformError> {
        let dir = self.release(target)?;
        let applied = applied(&dir, workload)?;
        let spec = applied.process(workload)?;
        let desired = applied.desired.get(&workload.name).copied().unwrap_or(0);
        self.all_ready(&dir, target, workload, (&spec, desired)).await
    }

    async fn observe(&self, target: &Target, workload: &Workload) -> Result<serde_json::Value, PlatformError> {
        let dir = self.release(target)?;
        let applied = applied(&dir, workload)?;
        let not_applied = || PlatformError::NotFound(format!("{workload} is not applied"));
        let mut object = applied.render.object(workload).ok_or_else(not_applied)?;
        if workload.kind == release_dir::PROCESS {
            let status = self.status(target, workload).await?;
            object["status"] = serde_json::json!({"replicas": status.running, "readyReplicas": status.ready});
        }
        Ok(object)
    }

    async fn images(&self, target: &Target, workload: &Workload) -> Result<Vec<String>, PlatformError> {
        let dir = self.release(target)?;
        Ok(vec![applied(&dir, workload)?.process(workload)?.image])
    }

    async fn start_job(&self, key: &str, target: &Target, id: &str, job: &Job) -> Result<(), PlatformError> {
        self.begin_job(key, target, id, job).await
    }

    async fn wait_job(&self, target: &Target, id: &str) -> Result<JobResult, PlatformError> {
        self.end_of_job(target, id).await
    }

    async fn job_ended(&self, target: &Target, id: &str) -> Result<Option<bool>, PlatformError> {
        let dir = self.release(target)?;
        match dir.job(id)?.judge().await.map_err(|error| dir.trouble(&error))? {
            State::Missing => Ok(None),
            State::Ended(_) => Ok(Some(true)),
            State::Waiting | State::Held(_) | State::Orphaned => Ok(Some(false)),
        }
    }

    async fn stop_job(&self, _key: &str, target: &Target, id: &str) -> Result<(), PlatformError> {
        let dir = self.release(target)?;
        let job: Instance = dir.job(id)?;
        job.stop().await.map_err(|error| dir.trouble(&error))
    }

    async fn delete_job(&self, _key: &str, target: &Target, id: &str) -> Result<(), PlatformError> {
        self.remove_job(target, id).await
    }

    async fn create_hook(&self, key: &str, target: &Target, hook: &HookWorkload) -> Result<HookRef, PlatformError> {
        self.make_hook(key, target, hook).await
    }

    async fn lift_hook(&self, key: &str, target: &Target, hook: &HookRef) -> Result<(), PlatformError> {
        self.release_hook(key, target, hook).await
    }

    async fn wait_hook(&self, target: &Target, hook: &HookRef) -> Result<JobResult, PlatformError> {
        self.end_of_hook(target, hook).await
    }

    async fn look_at_hook(&self, target: &Target, hook: &HookRef) -> Result<HookLook, PlatformError> {
        self.hook_now(target, hook).await
    }

    async fn delete_hook(&self, key: &str, target: &Target, hook: &HookRef, wait: bool) -> Result<(), PlatformError> {
        self.remove_hook(key, target, hook, wait).await
    }

    async fn hooks(&self, target: &Target) -> Result<Vec<FoundHook>, PlatformError> {
        self.find_hooks(target).await
    }

    async fn find_objects(&self, target: &Target, objects: &[Json]) -> Result<Vec<Option<Json>>, PlatformError> {
        self.read_objects(target, objects).await
    }

    async fn put_objects(&self, key: &str, target: &Target, objects: &[Json]) -> Result<(), PlatformError> {
        self.write_objects(key, target, objects).await
    }

    async fn delete_objects(&self, key: &str, target: &Target, objects: &[Json]) -> Result<(), PlatformError> {
        self.remove_objects(key, target, objects).await
    }
}
