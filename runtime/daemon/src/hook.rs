//! Running the workload of a hook: created fenced, known by its uid before it may run, waited for, judged, and what is left of it
//! deleted.
//!
//! start of the step → create, fenced → its uid in the journal → lift → wait → end of the step → cleanup
//!
//! Each arrow may be cut by a crash: what is in the journal says from where to go on, and nothing is created a second time after it
//! may have run.

use std::sync::Arc;
use std::time::Duration;

use pintle_journal::change_log::ChangeLog;
use pintle_journal::journal::JournalError;
use pintle_lifecycle::call::{JobResult, Output};
use pintle_lifecycle::condition::Condition;
use pintle_lifecycle::decide::resource;
use pintle_lifecycle::document::duration;
use pintle_lifecycle::ending::Ending;
use pintle_lifecycle::hook::{Hook, HookKind, HookPhase, HookRef, HookWork, Labels, OnTimeout};
use pintle_lifecycle::ids::StepId;
use pintle_lifecycle::json::Json;
use pintle_lifecycle::plan::{Plan, Target};
use pintle_lifecycle::record::Event;
use pintle_lifecycle::stamp::Stamp;
use pintle_platform::{HookWorkload, Platform, PlatformError};
use pintle_sandbox::{Impatience, patiently};
use serde_json::{Value, json};

use crate::drive::WorkEnd;

/// How long earlier workloads of a hook may take to be gone, before it is given up to create the next one.
const GONE_WITHIN: Duration = Duration::from_mins(5);

/// One attempt of the step of a hook.
pub(crate) struct Running {
    log: Arc<ChangeLog>,
    platform: Arc<dyn Platform>,
    plan: Arc<Plan>,
    step: StepId,
    attempt: u32,
    /// Of the effects of this attempt.
    key: String,
}

/// Why a hook does not go on.
enum Stop {
    Ending(Ending),
    Stuck,
    Journal(JournalError),
}

impl Running {
    /// The attempt of a step; `key` is of its effects.
    pub(crate) fn of(log: Arc<ChangeLog>, platform: Arc<dyn Platform>, step: &StepId, attempt: u32) -> Self {
        let (plan, change) = log.look(|history| (Arc::clone(&history.plan), history.key.stored()));
        let key = format!("{change}/{step}/{attempt}");
        Self { log, platform, plan, step: step.clone(), attempt, key }
    }

    /// Runs the hook to its end. Dropping the future leaves the workload as it is: a later run goes on with it.
    pub(crate) async fn run(&self) -> WorkEnd {
        let Some(hook) = self.plan.hook(&self.step) else { return self.unknown() };
        let ended = match &hook.work {
            HookWork::Workload { kind, namespace, object } => self.workload(hook, (*kind, namespace, object)).await,
            HookWork::Objects { objects, ready_when } => self.objects(hook, objects, ready_when.as_deref()).await,
            HookWork::Action { .. } => return self.unknown(),
        };
        work_end(ended)
    }

    /// Takes back the objects that the hook above this step put: what was there before is there again, and the others are gone.
    pub(crate) async fn put_back(&self) -> WorkEnd {
        let of = self.step.parent().and_then(|step| Some((self.plan.hook(&step)?, step)));
        let Some((hook, step)) = of else { return self.unknown() };
        let HookWork::Objects { objects, .. } = &hook.work else { return self.unknown() };
        let objects = self.labelled(hook, objects);
        let before = self
            .log
            .look(|history| history.step(&step)?.attempts.iter().find_map(|attempt| attempt.found.as_deref().cloned()));
        let before = before.unwrap_or_default();
        let found: Vec<Json> = before.iter().flatten().cloned().collect();
        let was_there = |place: usize| before.get(place).is_some_and(Option::is_some);
        let new: Vec<Json> =
            objects.into_iter().enumerate().filter(|(place, _)| !was_there(*place)).map(|(_, object)| object).collect();
        let put = async {
            if !new.is_empty() {
                let key = format!("{}/delete", self.key);
                self.patiently(|| self.platform.delete_objects(&key, self.target(), &new)).await?;
            }
            if !found.is_empty() {
                self.patiently(|| self.platform.put_objects(&self.key, self.target(), &found)).await?;
            }
            Ok(Ending::succeeded())
        };
        work_end(put.await)
    }

    /// Deletes what the hook above this step left.
    pub(crate) async fn clean_up(&self) -> WorkEnd {
        let of = self.step.parent().and_then(|step| Some((self.plan.hook(&step)?, step)));
        let Some((hook, step)) = of else { return self.unknown() };
        let deleted = match &hook.work {
            HookWork::Objects { objects, .. } => {
                let objects = &self.labelled(hook, objects);
                self.patiently(|| self.platform.delete_objects(&self.key, self.target(), objects)).await
            }
            HookWork::Workload { .. } | HookWork::Action { .. } => match self.created(&step) {
                Some(workload) => self.delete(&workload, false).await,
                None => Ok(()),
            },
        };
        work_end(deleted.map(|()| Ending::succeeded()))
    }

    /// Ends what runs of an attempt that is cancelled, and waits until it is gone.
    pub(crate) async fn cancel(&self) -> Result<(), JournalError> {
        match self.stop().await {
            Ok(()) | Err(Stop::Stuck) => Ok(()),
            Err(Stop::Journal(error)) => Err(error),
            Err(Stop::Ending(ending)) => {
                tracing::warn!(step = %self.step, %ending, "the workload of a hook could not be stopped");
                Ok(())
            }
        }
    }

    async fn stop(&self) -> Result<(), Stop> {
        let workload = match self.created(&self.step) {
            Some(workload) => Some(workload),
            // It may have been created without anybody knowing: it has the name that it would get.
            None => match self.plan.hook(&self.step) {
                Some(hook) if matches!(hook.work, HookWork::Workload { .. }) => {
                    let name = self.log.look(|history| resource(history, hook, self.attempt));
                    let found = self.patiently(|| self.platform.hooks(self.target())).await?;
                    found.into_iter().map(|found| found.hook).find(|found| found.name == name)
                }
                _ => None,
            },
        };
        match workload {
            Some(workload) => self.delete(&workload, true).await,
            None => Ok(()),
        }
    }

    async fn workload(&self, hook: &Hook, of: (HookKind, &str, &Json)) -> Result<Ending, Stop> {
        let known = self.attempt(|attempt| attempt.workload.as_deref().cloned());
        let (created, workload) = match known {
            Some(known) => known,
            None => self.create(hook, of).await?,
        };
        if let Some(judged) = self.attempt(|attempt| attempt.judged.as_deref().cloned()) {
            return self.after_judgement(&workload, judged).await;
        }
        if hook.fenced {
            match self.ask(|| self.platform.lift_hook(&self.key, self.target(), &workload)).await? {
                // What became of it, the wait tells.
                Ok(()) | Err(PlatformError::NotFound(_)) => {}
                Err(error) => return Ok(Ending::failed(error.to_string())),
            }
        }
        tokio::select! {
            biased;
            ended = self.ask(|| self.platform.wait_hook(self.target(), &workload)) => Ok(judged(ended?)),
            () = self.time_is_over(hook, created) => self.timed_out(hook, &workload).await,
        }
    }

    /// Creates the workload, and has it in the journal before it may run.
    async fn create(
        &self,
        hook: &Hook,
        (kind, namespace, object): (HookKind, &str, &Json),
    ) -> Result<(Stamp, HookRef), Stop> {
        let (name, change) = self.log.look(|history| (resource(history, hook, self.attempt), history.key.to_string()));
        if hook.delete_before_creation {
            self.clear(hook, &name).await?;
        }
        let mut manifest = object.value();
        let labels = Labels { release_uid: &self.target().uid, phase: hook.phase, hook: &hook.name, change: &change };
        labels.set(&mut manifest, &name, namespace);
        let object = Json::from(manifest);
        let workload = HookWorkload { kind, namespace: namespace.to_owned(), name, object, fenced: hook.fenced };
        let workload = self.patiently(|| self.platform.create_hook(&self.key, self.target(), &workload)).await?;
        let (step, attempt) = (self.step.clone(), self.attempt);
        self.record(Event::HookCreated { step, attempt, workload: workload.clone() }).await?;
        Ok((self.attempt(|attempt| attempt.workload.as_ref().map_or(attempt.started, |known| known.0)), workload))
    }

    /// Deletes all earlier workloads of the hook, and waits until they are gone.
    async fn clear(&self, hook: &Hook, name: &str) -> Result<(), Stop> {
        let found = self.patiently(|| self.platform.hooks(self.target())).await?;
        let earlier = found
            .into_iter()
            .filter(|found| found.phase == hook.phase.as_str() && found.name == hook.name && found.hook.name != name);
        for earlier in earlier.map(|found| found.hook) {
            let deleted = self.delete(&earlier, true);
            let clock = self.log.clock();
            tokio::select! {
                deleted = deleted => deleted?,
                () = clock.sleep(GONE_WITHIN) => {
                    let look = self.patiently(|| self.platform.look_at_hook(self.target(), &earlier)).await;
                    let why = look.map(|look| look.waits_for).unwrap_or_default();
                    let why = if why.is_empty() { why } else { format!(": {why}") };
                    return Err(Stop::Ending(Ending::failed(format!(
                        "{earlier} of an earlier run is still there after {}{why}",
                        duration::shown(GONE_WITHIN.as_millis().try_into().unwrap_or(u64::MAX)),
                    ))));
                }
            }
        }
        Ok(())
    }

    /// The objects of a hook with the labels that they are known by.
    fn labelled(&self, hook: &Hook, objects: &[Json]) -> Vec<Json> {
        let change = self.log.look(|history| history.key.to_string());
        let labels = Labels { release_uid: &self.target().uid, phase: hook.phase, hook: &hook.name, change: &change };
        let labelled = objects.iter().map(|object| {
            let mut manifest = object.value();
            let text = |pointer: &str| manifest.pointer(pointer).and_then(|value| value.as_str()).map(str::to_owned);
            let name = text("/metadata/name").unwrap_or_default();
            let namespace = text("/metadata/namespace").unwrap_or_else(|| self.target().namespace.clone());
            labels.set(&mut manifest, &name, &namespace);
            Json::from(manifest)
        });
        labelled.collect()
    }

    /// What the platform has of objects is what was put, as far as kinds go that it has: none of them gets ready later.
    async fn objects(&self, hook: &Hook, objects: &[Json], ready_when: Option<&str>) -> Result<Ending, Stop> {
        let objects = &self.labelled(hook, objects);
        if self.attempt(|attempt| attempt.found.is_none()) {
            let found = self.patiently(|| self.platform.find_objects(self.target(), objects)).await?;
            let (step, attempt) = (self.step.clone(), self.attempt);
            self.record(Event::ObjectsFound { step, attempt, found }).await?;
        }
        if hook.delete_before_creation {
            let key = format!("{}/clear", self.key);
            self.patiently(|| self.platform.delete_objects(&key, self.target(), objects)).await?;
        }
        self.patiently(|| self.platform.put_objects(&self.key, self.target(), objects)).await?;
        for object in objects.iter().map(Json::value) {
            if let Some(why) = ready_when.and_then(|expr| unready(expr, &object)) {
                let named = format!("{} {}", text(&object["kind"]), text(&object["metadata"]["name"]));
                return Ok(Ending::failed(format!("{named} is not ready: {why}")));
            }
        }
        Ok(Ending::succeeded())
    }

    /// Returns when the time of the hook is over; never where it has no bound.
    async fn time_is_over(&self, hook: &Hook, created: Stamp) {
        match hook.timeout_ms {
            None => std::future::pending().await,
            Some(limit) => {
                let left = limit.saturating_sub(self.log.now().since(&created));
                self.log.clock().sleep(Duration::from_millis(left)).await;
            }
        }
    }

    async fn timed_out(&self, hook: &Hook, workload: &HookRef) -> Result<Ending, Stop> {
        let limit = duration::shown(hook.timeout_ms.unwrap_or_default());
        let look = self.patiently(|| self.platform.look_at_hook(self.target(), workload)).await?;
        let why = if look.waits_for.is_empty() { String::new() } else { format!(": {}", look.waits_for) };
        let ending = Ending::TimedOut { message: format!("not done after {limit}{why}"), output: look.output };
        if hook.on_timeout == OnTimeout::Leave {
            return Ok(ending);
        }
        // What was seen is durable before it can be seen no more.
        let (step, attempt) = (self.step.clone(), self.attempt);
        self.record(Event::HookJudged { step, attempt, ending: ending.clone() }).await?;
        self.after_judgement(workload, ending).await
    }

    async fn after_judgement(&self, workload: &HookRef, ending: Ending) -> Result<Ending, Stop> {
        self.delete(workload, true).await?;
        Ok(ending)
    }

    async fn delete(&self, workload: &HookRef, wait: bool) -> Result<(), Stop> {
        let key = format!("{}/delete/{}", self.key, workload.name);
        self.patiently(|| self.platform.delete_hook(&key, self.target(), workload, wait)).await
    }

    /// The newest workload of a hook's step.
    fn created(&self, step: &StepId) -> Option<HookRef> {
        self.log.look(|history| Some(history.step(step)?.last()?.workload.as_ref()?.1.clone()))
    }

    /// Whether the hook is left out where the cluster cannot be reached.
    fn is_skippable(&self) -> bool {
        let phase = self.plan.hook(&self.step).map(|hook| hook.phase);
        let of_delete = matches!(phase, Some(HookPhase::PreDelete | HookPhase::PostDelete));
        of_delete && !self.plan.deletion.block_on_cluster_unreachable && self.created(&self.step).is_none()
    }

    fn target(&self) -> &Target {
        &self.plan.target
    }

    fn attempt<T>(&self, look: impl FnOnce(&pintle_lifecycle::history::Attempt) -> T) -> T {
        self.log.look(|history| {
            look(history.attempt(&self.step, self.attempt).expect("only an attempt that has started is run"))
        })
    }

    async fn record(&self, event: Event) -> Result<(), Stop> {
        let receipt = self.log.record(event);
        let receipt = receipt.map_err(|broken| Stop::Journal(JournalError::Damaged { problem: broken.to_string() }))?;
        receipt.await.map_err(Stop::Journal)
    }

    async fn ask<T, F>(&self, ask: impl FnMut() -> F) -> Result<Result<T, PlatformError>, Stop>
    where
        F: Future<Output = Result<T, PlatformError>>,
    {
        let mut ask = ask;
        if self.is_skippable() {
            // A deletion that shall not wait for its cluster asks once.
            return match ask().await {
                Err(PlatformError::Unavailable(why)) => {
                    Err(Stop::Ending(Ending::Skipped { reason: format!("the cluster is unreachable: {why}") }))
                }
                answer => Ok(answer),
            };
        }
        patiently(&self.log, &self.step, self.attempt, ask).await.map_err(|impatience| match impatience {
            Impatience::Stuck => Stop::Stuck,
            Impatience::Journal(error) => Stop::Journal(error),
        })
    }

    /// The same where an error is the end of the step.
    async fn patiently<T, F>(&self, ask: impl FnMut() -> F) -> Result<T, Stop>
    where
        F: Future<Output = Result<T, PlatformError>>,
    {
        self.ask(ask).await?.map_err(|error| Stop::Ending(Ending::failed(error.to_string())))
    }

    fn unknown(&self) -> WorkEnd {
        WorkEnd::Ended(Ending::failed(format!("the plan has no hook for the step {}", self.step)))
    }
}

fn work_end(ended: Result<Ending, Stop>) -> WorkEnd {
    match ended {
        Ok(ending) | Err(Stop::Ending(ending)) => WorkEnd::Ended(ending),
        Err(Stop::Stuck) => WorkEnd::Stuck,
        Err(Stop::Journal(error)) => WorkEnd::Journal(error),
    }
}

fn judged(ended: Result<JobResult, PlatformError>) -> Ending {
    match ended {
        Ok(result) if result.succeeded => Ending::succeeded(),
        Ok(JobResult { exit_code, output, reason, .. }) => Ending::Failed { message: reason, output, exit_code },
        Err(error) => Ending::Failed { message: error.to_string(), output: Output::default(), exit_code: None },
    }
}

/// Why an object is not ready; none where it is.
fn unready(expr: &str, object: &Value) -> Option<String> {
    match Condition::compile_with(expr, &["object"]).map(|condition| condition.holds(&json!({ "object": object }))) {
        Ok(Ok(true)) => None,
        Ok(Ok(false)) => Some(format!("`{expr}` is false")),
        Ok(Err(why)) => Some(format!("`{expr}`: {why}")),
        Err(error) => Some(error.to_string()),
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
