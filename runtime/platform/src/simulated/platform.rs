//! The methods of the platform on a simulated world.

use std::collections::BTreeSet;
use std::time::Duration;

use async_trait::async_trait;
use pintle_lifecycle::call::JobResult;
use pintle_lifecycle::hook::HookRef;
use pintle_lifecycle::json::Json;
use pintle_lifecycle::plan::{Render, Target, Workload};
use tokio::sync::watch;
use tokio::time::Instant;

use super::effect::effect;
use super::{Fault, JobScript, JobStart, JobState, Method, Readiness, Simulated, SimulatedJob, State};
use crate::environment;
use crate::platform::{FoundHook, HookLook, HookWorkload, Job, Platform, PlatformError, Status};

/// How long an apply or a start waits for readiness before it has failed, as on the local platform.
const READY_WITHIN: Duration = Duration::from_mins(1);

/// What is still to happen after the effect of a call.
pub(super) enum Late {
    Nothing,
    Error(PlatformError),
    /// Die; where `amid`, with half of the effect.
    Death {
        amid: bool,
    },
}

impl Late {
    /// Whether the whole effect shall happen.
    pub(super) fn is_whole(&self) -> bool {
        !matches!(self, Self::Death { amid: true })
    }
}

impl Simulated {
    /// Counts the call and does what is scripted before it.
    async fn begin(&self, method: Method) -> Result<Late, PlatformError> {
        self.unless_dead().await;
        let fault = self.world.state().called(method);
        match fault {
            None => Ok(Late::Nothing),
            Some(Fault::Error(error)) => Err(error),
            Some(Fault::ErrorAfter(error)) => Ok(Late::Error(error)),
            Some(Fault::DieBefore) => self.die().await,
            Some(Fault::DieAmid) => Ok(Late::Death { amid: true }),
            Some(Fault::DieAfter) => Ok(Late::Death { amid: false }),
            Some(Fault::Delay(delay)) => {
                tokio::time::sleep(delay).await;
                self.unless_dead().await;
                Ok(Late::Nothing)
            }
        }
    }

    async fn end<T>(&self, late: Late, result: Result<T, PlatformError>) -> Result<T, PlatformError> {
        self.unless_dead().await;
        match late {
            Late::Nothing => result,
            Late::Error(error) => result.and(Err(error)),
            Late::Death { .. } => self.die().await,
        }
    }

    /// Changes the world; `act` gets whether the whole effect shall happen.
    fn change<T>(&self, late: &Late, act: impl FnOnce(&mut State, bool) -> T) -> T {
        let result = act(&mut self.world.state(), late.is_whole());
        self.world.tell();
        result
    }

    /// Waits until `look` finds something; it says meanwhile when time alone will change its answer.
    async fn wait<T>(&self, look: impl Fn(&State) -> Result<T, Option<Instant>>) -> T {
        self.wait_on(self.world.changed.subscribe(), look).await
    }

    /// As [`Self::wait`], looking again when `changed` says so; its sender lives in the world.
    pub(super) async fn wait_on<T>(
        &self,
        mut changed: watch::Receiver<u64>,
        look: impl Fn(&State) -> Result<T, Option<Instant>>,
    ) -> T {
        loop {
            changed.borrow_and_update();
            let until = match look(&self.world.state()) {
                Ok(found) => return found,
                Err(until) => until,
            };
            let time = async {
                match until {
                    Some(until) => tokio::time::sleep_until(until).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                // The sender lives in the world, which `self` holds.
                _closed = changed.changed() => {}
                () = time => {}
            }
        }
    }

    /// Waits until all of `workloads` are ready.
    async fn ready(&self, target: &Target, workloads: &[Workload]) -> Result<(), PlatformError> {
        for workload in workloads {
            self.wait(|state| {
                let running = match state.workload(target, workload) {
                    Ok(running) if running.desired > 0 => running,
                    _ => return Ok(Ok(())),
                };
                match state.readiness(workload) {
                    Readiness::Ends(words) => Ok(Err(PlatformError::Failed(format!("{workload} ended: {words}")))),
                    readiness if running.ready(&readiness) == running.desired => Ok(Ok(())),
                    Readiness::After(wait) => Err(Some(running.since + wait)),
                    Readiness::AtOnce | Readiness::Never => Err(None),
                }
            })
            .await?;
        }
        Ok(())
    }

    async fn ready_in_time(&self, target: &Target, workloads: &[Workload]) -> Result<(), PlatformError> {
        let late = |_| PlatformError::Failed(format!("not ready after {} s", READY_WITHIN.as_secs()));
        tokio::time::timeout(READY_WITHIN, self.ready(target, workloads)).await.map_err(late)?
    }
}

#[async_trait]
impl Platform for Simulated {
    async fn apply(
        &self,
        key: &str,
        target: &Target,
        render: &Render,
        held: &BTreeSet<Workload>,
    ) -> Result<(), PlatformError> {
        let late = self.begin(Method::Apply).await?;
        let workloads = self.change(&late, |state, whole| {
            let release = state.release(target);
            let wanted = release.wanted(render, held);
            let changes = release.workloads != wanted || release.applied.as_ref() != Some(&render.reference);
            let names = wanted.keys().cloned().collect::<Vec<_>>();
            if whole {
                release.workloads = wanted;
                release.applied = Some(render.reference.clone());
                release.objects = render.objects.iter().map(Json::value).collect();
            } else {
                release.workloads.extend(wanted.into_iter().take(names.len() / 2));
            }
            let object = format!("{} {}", target.release, render.reference.version);
            state.effects.count(effect(key, Method::Apply, object), changes, whole);
            names
        });
        let result = match late {
            Late::Death { .. } => Ok(()),
            _ => self.ready_in_time(target, &workloads).await,
        };
        self.end(late, result).await
    }

    async fn remove(&self, key: &str, target: &Target) -> Result<(), PlatformError> {
        let late = self.begin(Method::Remove).await?;
        self.change(&late, |state, whole| {
            let changes = state.remove_release(target, whole);
            state.effects.count(effect(key, Method::Remove, target.release.to_string()), changes, whole);
        });
        self.end(late, Ok(())).await
    }

    async fn scale(&self, key: &str, target: &Target, workload: &Workload, replicas: u32) -> Result<(), PlatformError> {
        let late = self.begin(Method::Scale).await?;
        let mut result = self.change(&late, |state, whole| {
            state.workload(target, workload)?;
            let mut changes = false;
            if let Some(running) = state.release(target).workloads.get_mut(workload) {
                changes = running.desired != replicas;
                if whole && changes {
                    running.desired = replicas;
                    running.since = Instant::now();
                }
            }
            let object = format!("{workload} to {replicas}");
            state.effects.count(effect(key, Method::Scale, object), changes, whole);
            Ok(())
        });
        if result.is_ok() && !matches!(late, Late::Death { .. }) {
            result = self.ready_in_time(target, std::slice::from_ref(workload)).await;
        }
        self.end(late, result).await
    }

    async fn status(&self, target: &Target, workload: &Workload) -> Result<Status, PlatformError> {
        let late = self.begin(Method::Status).await?;
        let result = {
            let state = self.world.state();
            let readiness = state.readiness(workload);
            state.workload(target, workload).map(|running| Status {
                desired: running.desired,
                running: if matches!(readiness, Readiness::Ends(_)) { 0 } else { running.desired },
                ready: running.ready(&readiness),
            })
        };
        self.end(late, result).await
    }

    async fn wait_ready(&self, target: &Target, workload: &Workload) -> Result<(), PlatformError> {
        let late = self.begin(Method::WaitReady).await?;
        let known = self.world.state().workload(target, workload).map(|_| ());
        let result = match known {
            Ok(()) => self.ready(target, std::slice::from_ref(workload)).await,
            Err(error) => Err(error),
        };
        self.end(late, result).await
    }

    async fn observe(&self, target: &Target, workload: &Workload) -> Result<serde_json::Value, PlatformError> {
        let late = self.begin(Method::Observe).await?;
        let result = {
            let state = self.world.state();
            let readiness = state.readiness(workload);
            let is_it = |object: &&serde_json::Value| {
                object["kind"] == workload.kind.as_str() && object["metadata"]["name"] == workload.name.as_str()
            };
            let object = state.find(target).and_then(|release| {
                let found = release.objects.iter().find(is_it).cloned();
                found.ok_or_else(|| PlatformError::NotFound(format!("{workload} is not applied of {}", target.release)))
            });
            object.map(|mut object| {
                if let Ok(running) = state.workload(target, workload) {
                    let ready = running.ready(&readiness);
                    object["status"] = serde_json::json!({"replicas": running.desired, "readyReplicas": ready});
                }
                object
            })
        };
        self.end(late, result).await
    }

    async fn images(&self, target: &Target, workload: &Workload) -> Result<Vec<String>, PlatformError> {
        let late = self.begin(Method::Images).await?;
        let result = self.world.state().workload(target, workload).map(super::Running::images);
        self.end(late, result).await
    }

    async fn start_job(&self, key: &str, target: &Target, id: &str, job: &Job) -> Result<(), PlatformError> {
        let late = self.begin(Method::StartJob).await?;
        let result = self.change(&late, |state, whole| state.start_job(key, target, id, job, whole));
        self.end(late, result).await
    }

    async fn wait_job(&self, target: &Target, id: &str) -> Result<JobResult, PlatformError> {
        let late = self.begin(Method::WaitJob).await?;
        let result = self
            .wait(|state| {
                let Some(job) = state.releases.get(&target.uid).and_then(|release| release.jobs.get(id)) else {
                    return Ok(Err(PlatformError::NotFound(format!("there is no Job {id}"))));
                };
                match (&job.state, job.result()) {
                    (_, Some(result)) => Ok(Ok(result.clone())),
                    (JobState::Runs { until, .. }, None) => Err(Some(*until)),
                    (JobState::Fenced | JobState::Stopped(_), None) => Err(None),
                }
            })
            .await;
        self.end(late, result).await
    }

    async fn job_ended(&self, target: &Target, id: &str) -> Result<Option<bool>, PlatformError> {
        let late = self.begin(Method::JobEnded).await?;
        let ended = {
            let state = self.world.state();
            let job = state.releases.get(&target.uid).and_then(|release| release.jobs.get(id));
            job.map(|job| job.result().is_some())
        };
        self.end(late, Ok(ended)).await
    }

    async fn stop_job(&self, key: &str, target: &Target, id: &str) -> Result<(), PlatformError> {
        let late = self.begin(Method::StopJob).await?;
        self.change(&late, |state, whole| {
            let job = state.releases.get_mut(&target.uid).and_then(|release| release.jobs.get_mut(id));
            let mut changes = false;
            if let Some(job) = job.filter(|job| job.result().is_none()) {
                changes = true;
                if whole {
                    job.stop(id);
                }
            }
            state.effects.count(effect(key, Method::StopJob, id), changes, whole);
        });
        self.end(late, Ok(())).await
    }

    async fn delete_job(&self, key: &str, target: &Target, id: &str) -> Result<(), PlatformError> {
        let late = self.begin(Method::DeleteJob).await?;
        let result = self.change(&late, |state, whole| {
            let mut changes = false;
            if let Some(release) = state.releases.get_mut(&target.uid) {
                let job = release.jobs.get(id);
                if job.is_some_and(|job| job.result().is_none()) {
                    return Err(PlatformError::Conflict(format!("the Job {id} still runs: stop it first")));
                }
                changes = job.is_some();
                if whole {
                    release.jobs.remove(id);
                }
            }
            state.effects.count(effect(key, Method::DeleteJob, id), changes, whole);
            Ok(())
        });
        self.end(late, result).await
    }

    async fn create_hook(&self, key: &str, target: &Target, hook: &HookWorkload) -> Result<HookRef, PlatformError> {
        let late = self.begin(Method::CreateHook).await?;
        let result = self.change_hooks(&late, |state, whole| state.create_hook(key, target, hook, whole));
        self.end(late, result).await
    }

    async fn lift_hook(&self, key: &str, _target: &Target, hook: &HookRef) -> Result<(), PlatformError> {
        let late = self.begin(Method::LiftHook).await?;
        let result = self.change_hooks(&late, |state, whole| state.lift_hook(key, hook, whole));
        self.end(late, result).await
    }

    async fn wait_hook(&self, _target: &Target, hook: &HookRef) -> Result<JobResult, PlatformError> {
        let late = self.begin(Method::WaitHook).await?;
        let result = self.hook_result(hook).await;
        self.end(late, Ok(result)).await
    }

    async fn look_at_hook(&self, _target: &Target, hook: &HookRef) -> Result<HookLook, PlatformError> {
        let late = self.begin(Method::LookAtHook).await?;
        let look = self.world.state().look_at_hook(hook);
        self.end(late, Ok(look)).await
    }

    async fn delete_hook(&self, key: &str, _target: &Target, hook: &HookRef, wait: bool) -> Result<(), PlatformError> {
        let late = self.begin(Method::DeleteHook).await?;
        self.change_hooks(&late, |state, whole| state.delete_hook(key, hook, whole));
        if wait && !matches!(late, Late::Death { .. }) {
            self.hook_gone(hook).await;
        }
        self.end(late, Ok(())).await
    }

    async fn hooks(&self, target: &Target) -> Result<Vec<FoundHook>, PlatformError> {
        let late = self.begin(Method::Hooks).await?;
        let found = self.world.state().hooks.found(&target.uid);
        self.end(late, Ok(found)).await
    }

    async fn find_objects(&self, target: &Target, objects: &[Json]) -> Result<Vec<Option<Json>>, PlatformError> {
        let late = self.begin(Method::FindObjects).await?;
        self.end(late, Ok(self.world.find_objects(target, objects))).await
    }

    async fn put_objects(&self, key: &str, target: &Target, objects: &[Json]) -> Result<(), PlatformError> {
        let late = self.begin(Method::PutObjects).await?;
        let result = self.change_hooks(&late, |state, whole| state.put_objects(key, target, objects, whole));
        self.end(late, result).await
    }

    async fn delete_objects(&self, key: &str, target: &Target, objects: &[Json]) -> Result<(), PlatformError> {
        let late = self.begin(Method::DeleteObjects).await?;
        self.change_hooks(&late, |state, whole| state.delete_objects(key, target, objects, whole));
        self.end(late, Ok(())).await
    }
}

impl State {
    fn start_job(&mut self, key: &str, target: &Target, id: &str, job: &Job, whole: bool) -> Result<(), PlatformError> {
        let there = self.release(target).jobs.get(id);
        if there.is_some_and(|there| there.key != key) {
            return Err(PlatformError::Conflict(format!("another Job is named {id}")));
        }
        let fenced = there.is_none_or(|there| there.state == JobState::Fenced);
        let mut begun = SimulatedJob { key: key.to_owned(), job: job.clone(), state: JobState::Fenced };
        if fenced && whole {
            let copied = match &job.env_from {
                Some(workload) => self.workload(target, workload)?.env(),
                None => std::collections::BTreeMap::new(),
            };
            let env = environment::of_job(copied, job);
            let release = self.find(target)?;
            let start = JobStart { target, id, job, env: &env, release };
            let script = self.scripts.job.as_ref().map_or_else(JobScript::default, |rule| rule(&start));
            begun.start(id, script);
        }
        if fenced {
            self.release(target).jobs.insert(id.to_owned(), begun);
        }
        self.effects.count(effect(key, Method::StartJob, id), fenced, whole);
        Ok(())
    }
}
