//! Jobs: started once for each key, known until they are deleted.

use std::collections::BTreeMap;
use std::io;

use pintle_lifecycle::call::JobResult;
use pintle_lifecycle::plan::Target;

use super::instance::{Instance, State};
use super::launch::Ended;
use super::release_dir::ReleaseDir;
use super::stray::Stray;
use super::{Local, compose, output};
use crate::platform::{Job, PlatformError};

impl Local {
    pub(super) async fn begin_job(&self, key: &str, target: &Target, id: &str, job: &Job) -> Result<(), PlatformError> {
        let dir = self.release(target)?;
        let trouble = |error: io::Error| dir.trouble(&error);
        let instance = dir.job(id)?;
        let _held = self.locks.hold(instance.dir()).await;
        match instance.launch().map_err(trouble)? {
            Some(launch) if launch.key == key => {}
            Some(_) => return Err(PlatformError::Conflict(format!("another Job is named {id}"))),
            None => {
                let copied = copied(&dir, job)?;
                let launch = compose::job(&self.config, &dir, target, (key, id, job), copied)?;
                refuse_stray(&instance, &format!("Job {id}")).map_err(trouble)??;
                dir.create().map_err(trouble)?;
                instance.create(&launch).map_err(trouble)?;
            }
        }
        instance.start(&self.config.shim).await.map_err(trouble)
    }

    pub(super) async fn end_of_job(&self, target: &Target, id: &str) -> Result<JobResult, PlatformError> {
        let dir = self.release(target)?;
        let trouble = |error: io::Error| dir.trouble(&error);
        let instance = dir.job(id)?;
        if matches!(instance.look().map_err(trouble)?, State::Missing) {
            return Err(PlatformError::NotFound(format!("there is no Job {id}")));
        }
        let ended = instance.wait(&self.config.shim).await.map_err(trouble)?;
        result(&instance, id, &ended).map_err(trouble)
    }

    pub(super) async fn remove_job(&self, target: &Target, id: &str) -> Result<(), PlatformError> {
        let dir = self.release(target)?;
        let trouble = |error: io::Error| dir.trouble(&error);
        let instance = dir.job(id)?;
        let _held = self.locks.hold(instance.dir()).await;
        match instance.judge().await.map_err(trouble)? {
            State::Missing | State::Ended(_) => instance.remove().map_err(trouble),
            State::Waiting | State::Held(_) | State::Orphaned => {
                Err(PlatformError::Conflict(format!("the Job {id} still runs: stop it first")))
            }
        }
    }
}

/// The environment of the workload that the Job names.
fn copied(dir: &ReleaseDir, job: &Job) -> Result<BTreeMap<String, String>, PlatformError> {
    let Some(workload) = &job.env_from else { return Ok(BTreeMap::new()) };
    let not_applied = || PlatformError::NotFound(format!("{workload} is not applied: nothing to copy env from"));
    Ok(dir.applied()?.ok_or_else(not_applied)?.process(workload)?.env)
}

/// What ran while its folder was removed is not started a second time. The outer error is of this machine.
pub(super) fn refuse_stray(instance: &Instance, shown: &str) -> io::Result<Result<(), PlatformError>> {
    let Some(stray) = Stray::find(instance.dir())?.pop() else { return Ok(Ok(())) };
    let (dir, pid) = (instance.dir().display(), stray.pid());
    Ok(Err(PlatformError::Conflict(format!(
        "the {shown} still runs, and its folder {dir} was removed: wait until it has ended, or end it with `kill {pid}`"
    ))))
}

fn result(instance: &Instance, id: &str, ended: &Ended) -> io::Result<JobResult> {
    Ok(ended.job_result(id, output::tail_without(instance.dir(), ended.output_lost)?))
}
