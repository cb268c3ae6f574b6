//! What calls do to the world, and the looks that may take long. Runs outside the guest, so that the guest can leave memory
//! meanwhile; repeating an effect with its key is safe.

use std::time::Duration;

use futures_util::future::select_all;
use pintle_lifecycle::call::{Answer, Call, CallError, Code, JobResult, JobSpec};
use pintle_lifecycle::decide::{SyncProgress, sync_progress};
use pintle_lifecycle::digest;
use pintle_lifecycle::history::History;
use pintle_lifecycle::plan::Component;
use pintle_lifecycle::record::PreImage;
use pintle_platform::{Job, PlatformError};

use crate::attempt::Attempt;
use crate::gate::unknown_component;
use crate::host::Stop;
use crate::rest::Wait;

/// A call to carry out.
pub(crate) enum Effect {
    /// Only looks, and may wait.
    Look(Call),
    /// Has an effect under a key, after its intent.
    Keyed { call: Call, key: String, pre: PreImage },
}

/// What came of it: the outcome, and a line for the step.
pub(crate) type Done = (Result<Answer, CallError>, Option<String>);

impl Effect {
    pub(crate) fn call(&self) -> &Call {
        match self {
            Self::Look(call) | Self::Keyed { call, .. } => call,
        }
    }

    /// Carries it out, through faults that pass. What is short is boxed, so that waiting for the end of a Job takes little room.
    pub(crate) async fn perform(&self, attempt: &Attempt, ordinal: u32) -> Result<Done, Stop> {
        match self {
            Self::Look(call) => Ok((Box::pin(look(attempt, call)).await?, None)),
            Self::Keyed { call, key, pre } => keyed(attempt, ordinal, call, key, pre).await,
        }
    }
}

async fn look(attempt: &Attempt, call: &Call) -> Result<Result<Answer, CallError>, Stop> {
    match call {
        Call::Images { component } => images(attempt, component).await,
        Call::Status { component } => {
            let Some(component) = attempt.component(component) else { return Ok(unknown(attempt, component)) };
            let target = attempt.target();
            let status = attempt.patiently(|| attempt.platform().status(target, &component.workload)).await?;
            Ok(status.map_err(|error| call_error(&error)).map(|status| Answer::Status {
                desired: status.desired,
                running: status.running,
                ready: status.ready,
            }))
        }
        Call::WaitReady { components, timeout_ms } => wait_ready(attempt, components, *timeout_ms).await,
        Call::JobWaitAny { ids } => wait_any(attempt, ids).await,
        Call::StateGet { key } => {
            let value = attempt.log().journal().state(&attempt.target().uid, key).await.map_err(Stop::Journal)?;
            Ok(Ok(Answer::Value { value: value.map(pintle_lifecycle::call::Bytes) }))
        }
        other => Ok(Err(CallError::new(Code::Invalid, format!("{} is no look", other.name())))),
    }
}

async fn keyed(attempt: &Attempt, ordinal: u32, call: &Call, key: &str, pre: &PreImage) -> Result<Done, Stop> {
    Ok(match call {
        Call::Stop { components } => {
            let stopped = Box::pin(scale(attempt, key, components, |_| 0)).await?;
            (stopped.map(|()| Answer::Stopped { former: pre.replicas.clone() }), None)
        }
        Call::Start { components } => {
            let replicas = |name: &str| pre.replicas.get(name).copied().unwrap_or(1);
            let started = Box::pin(scale(attempt, key, components, replicas)).await?;
            (started.map(|()| Answer::Started { replicas: pre.replicas.clone() }), None)
        }
        Call::SetVersion { .. } | Call::Sync | Call::Restore => (Box::pin(sync(attempt, ordinal)).await, None),
        Call::JobRun { spec } => {
            let id = job_id(attempt, key);
            match Box::pin(start_job(attempt, key, &id, spec, pre)).await? {
                Err(error) => (Err(error), None),
                Ok(note) => (wait_job(attempt, &id).await?.map(|result| Answer::Job { result }), note),
            }
        }
        Call::JobStart { spec } => {
            let id = job_id(attempt, key);
            match Box::pin(start_job(attempt, key, &id, spec, pre)).await? {
                Err(error) => (Err(error), None),
                Ok(note) => (Ok(Answer::JobStarted { id }), note),
            }
        }
        Call::JobCancel { id } => {
            let target = attempt.target();
            let stopped = attempt.patiently(|| attempt.platform().stop_job(key, target, id)).await?;
            (stopped.map(|()| Answer::Nothing).map_err(|error| call_error(&error)), None)
        }
        Call::Sleep { ms } => {
            sleep(attempt, ordinal, *ms).await;
            (Ok(Answer::Nothing), None)
        }
        other => (Err(CallError::new(Code::Invalid, format!("{} has no effect", other.name()))), None),
    })
}

async fn scale(
    attempt: &Attempt,
    key: &str,
    components: &[String],
    replicas: impl Fn(&str) -> u32,
) -> Result<Result<(), CallError>, Stop> {
    for name in components {
        let Some(component) = attempt.component(name) else { return Ok(unknown(attempt, name)) };
        let (target, wanted) = (attempt.target(), replicas(name));
        let key = format!("{key}/{name}");
        let scaled = attempt.patiently(|| attempt.platform().scale(&key, target, &component.workload, wanted)).await?;
        if let Err(error) = scaled {
            return Ok(Err(call_error(&error)));
        }
    }
    Ok(Ok(()))
}

/// Waits for the sync that the intent of this call started; `decide` drives its steps.
async fn sync(attempt: &Attempt, ordinal: u32) -> Result<Answer, CallError> {
    let ended = attempt
        .log()
        .wait_for(|history| match sync_progress(history, attempt.step(), attempt.number(), ordinal) {
            SyncProgress::Going => None,
            ended => Some(ended),
        })
        .await;
    match ended {
        SyncProgress::Failed(ending) => Err(CallError::new(Code::Failed, format!("the sync ended: {ending}"))),
        SyncProgress::Done | SyncProgress::Going => Ok(Answer::Synced { changed: true }),
    }
}

/// Images as applied, the user's override in the first place with the target version, whatever the workload still has.
async fn images(attempt: &Attempt, name: &str) -> Result<Result<Answer, CallError>, Stop> {
    let Some(component) = attempt.component(name) else { return Ok(unknown(attempt, name)) };
    let target = attempt.target();
    let found = attempt.patiently(|| attempt.platform().images(target, &component.workload)).await?;
    Ok(found.map_err(|error| call_error(&error)).map(|mut images| {
        if let Some(image) = component.image_at(&attempt.plan().to_version) {
            match images.first_mut() {
                Some(first) => *first = image,
                None => images.push(image),
            }
        }
        Answer::Images { images }
    }))
}

async fn wait_ready(attempt: &Attempt, names: &[String], timeout_ms: u64) -> Result<Result<Answer, CallError>, Stop> {
    let waiting = async {
        for name in names {
            let Some(component) = attempt.component(name) else { return Ok(unknown(attempt, name)) };
            let target = attempt.target();
            let ready = attempt.patiently(|| attempt.platform().wait_ready(target, &component.workload)).await?;
            if let Err(error) = ready {
                return Ok(Err(call_error(&error)));
            }
        }
        Ok(Ok(Answer::Nothing))
    };
    tokio::select! {
        answer = waiting => answer,
        () = attempt.log().clock().sleep(Duration::from_millis(timeout_ms)) => Ok(Err(CallError::new(
            Code::TimedOut,
            format!("{} not ready after {timeout_ms} ms", names.join(", ")),
        ))),
    }
}

async fn wait_any(attempt: &Attempt, ids: &[String]) -> Result<Result<Answer, CallError>, Stop> {
    if ids.is_empty() {
        return Ok(Err(CallError::new(Code::Invalid, "jobs.wait-any was given no Job")));
    }
    if let Some(id) = ids.iter().find(|id| !attempt.log().look(|history| started_here(history, id))) {
        return Ok(Err(CallError::new(Code::NotFound, format!("this change started no Job `{id}`"))));
    }
    let waits = ids.iter().map(|id| Box::pin(wait_job(attempt, id)));
    let (first, _, _) = select_all(waits).await;
    Ok(first?.map(|result| Answer::Job { result }))
}

async fn wait_job(attempt: &Attempt, id: &str) -> Result<Result<JobResult, CallError>, Stop> {
    let target = attempt.target();
    let wait = || attempt.wait(Wait::Job(id.to_owned()), attempt.platform().wait_job(target, id));
    let ended = attempt.patiently(wait).await?;
    Ok(ended.map_err(|error| call_error(&error)))
}

/// Deletes the Job that is in the way, then starts this one. Gives the line for the step.
async fn start_job(
    attempt: &Attempt,
    key: &str,
    id: &str,
    spec: &JobSpec,
    pre: &PreImage,
) -> Result<Result<Option<String>, CallError>, Stop> {
    let (target, platform) = (attempt.target(), attempt.platform());
    let mut note = None;
    if let Some(left) = &pre.left_job {
        if let Err(error) = clear(attempt, &format!("{key}/left"), left).await? {
            return Ok(Err(call_error(&error)));
        }
        note = Some(format!("deleted the Job {left}, which an earlier action had left"));
    }
    let job = attempt.log().look(|history| job(history, spec, attempt.time_left()));
    let started = attempt.patiently(|| platform.start_job(key, target, id, &job)).await?;
    Ok(started.map(|()| note).map_err(|error| call_error(&error)))
}

/// Deletes a Job that is in the way once it has ended: inside one change it may still run, and this one waits for its turn. A Job
/// that is gone already is as good as deleted.
async fn clear(attempt: &Attempt, key: &str, left: &str) -> Result<Result<(), PlatformError>, Stop> {
    let (target, platform) = (attempt.target(), attempt.platform());
    let cleared = match attempt.patiently(|| platform.job_ended(target, left)).await? {
        Ok(Some(false)) => attempt.patiently(|| platform.wait_job(target, left)).await?.map(drop),
        ended => ended.map(drop),
    };
    let deleted = match cleared {
        Ok(()) => attempt.patiently(|| platform.delete_job(key, target, left)).await?,
        error => error,
    };
    Ok(match deleted {
        Err(PlatformError::NotFound(_)) => Ok(()),
        deleted => deleted,
    })
}

/// The Job with its environment as the release's new configuration has it, and ended before the action would be.
fn job(history: &History, spec: &JobSpec, left: Duration) -> Job {
    let component = spec.env_from_component.as_ref().and_then(|name| history.plan.component(name));
    let asked = spec.timeout_ms.map_or(left, Duration::from_millis);
    Job {
        spec: spec.clone(),
        env_from: component.map(|component| component.workload.clone()),
        env: component.map(|component| component.env.clone()).unwrap_or_default(),
        unset: component.map(|component| component.env_gone.iter().cloned().collect()).unwrap_or_default(),
        deadline: Some(asked.min(left)),
    }
}

/// What can be refused of a Job before anything is looked at.
pub(crate) fn check_job(history: &History, spec: &JobSpec) -> Result<(), CallError> {
    if let Some(name) = &spec.env_from_component
        && history.plan.component(name).is_none()
    {
        return Err(unknown_component(name, history));
    }
    let later = |what: &str| Err(CallError::new(Code::Invalid, format!("{what} of a Job is not supported yet")));
    if spec.pod_template_json.is_some() {
        return later("pod-template-json");
    }
    if spec.api_token {
        return later("api-token");
    }
    Ok(())
}

/// Whether an action of this change started the Job.
pub(crate) fn started_here(history: &History, id: &str) -> bool {
    let prefix = job_prefix(history);
    id.strip_prefix(&prefix).is_some_and(|hash| hash.len() == 8)
}

/// The Job's name: a valid label that is the same for the same key.
pub(crate) fn job_id(attempt: &Attempt, key: &str) -> String {
    let hash = digest::short(key.as_bytes());
    format!("{}{}", attempt.log().look(job_prefix), &hash[..8])
}

fn job_prefix(history: &History) -> String {
    let name = &history.key.release.name;
    // With the change's number and the hash it stays within the 63 characters of a label.
    let name = name[..name.len().min(32)].trim_end_matches('-');
    format!("{name}-{}-", history.key.number)
}

/// Sleeps for what is left since the intent.
async fn sleep(attempt: &Attempt, ordinal: u32, ms: u64) {
    let began = attempt.look(|made| made.calls.get(ordinal as usize)?.intent.as_ref().map(|intent| intent.at));
    let since = began.unwrap_or_else(|| attempt.log().now());
    let left = Duration::from_millis(ms.saturating_sub(attempt.log().now().since(&since)));
    attempt.wait(Wait::Time { since, ms }, attempt.log().clock().sleep(left)).await;
}

fn unknown<T>(attempt: &Attempt, name: &str) -> Result<T, CallError> {
    Err(attempt.log().look(|history| unknown_component(name, history)))
}

/// A platform's error as the guest sees it.
pub(crate) fn call_error(error: &PlatformError) -> CallError {
    let code = match error {
        PlatformError::Invalid(_) => Code::Invalid,
        PlatformError::NotFound(_) => Code::NotFound,
        PlatformError::Conflict(_) => Code::Conflict,
        PlatformError::Failed(_) => Code::Failed,
        PlatformError::TimedOut(_) => Code::TimedOut,
        PlatformError::Unavailable(_) | PlatformError::Unknown(_) => Code::Unavailable,
    };
    CallError::new(code, error.to_string())
}

impl Attempt {
    pub(crate) fn component(&self, name: &str) -> Option<&Component> {
        self.plan().component(name)
    }
}
