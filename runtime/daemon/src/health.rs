//! The health gate of an apply: waits until everything that was applied is ready, as the release's assessment has it.

use std::collections::BTreeSet;
use std::time::Duration;

use pintle_journal::change_log::ChangeLog;
use pintle_lifecycle::condition::Condition;
use pintle_lifecycle::document::duration;
use pintle_lifecycle::ending::Ending;
use pintle_lifecycle::ids::StepId;
use pintle_lifecycle::plan::{Health, ReadyWhen, Target, Workload};
use pintle_platform::{Platform, PlatformError};
use pintle_sandbox::{Impatience, patiently};
use serde_json::{Value, json};

use crate::drive::WorkEnd;

/// Between two looks at objects whose readiness is a condition.
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);
/// Kinds that have replicas, which their platform says the readiness of.
const WITH_REPLICAS: [&str; 3] = ["Process", "Deployment", "StatefulSet"];

/// Waits until all is healthy, or the deadline of the assessment is over.
pub(crate) async fn wait(log: &ChangeLog, platform: &dyn Platform, step: &StepId, attempt: u32) -> WorkEnd {
    let (plan, started, held) = log.look(|history| {
        let started = history.attempt(step, attempt).map(|attempt| attempt.started);
        let held: BTreeSet<Workload> = history.held().map(|component| component.workload.clone()).collect();
        (history.plan.clone(), started, held)
    });
    let Some((health, started)) = plan.health.as_ref().zip(started) else {
        return WorkEnd::Ended(Ending::failed("the plan has no assessment of health"));
    };
    let workload = |object: Value| {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        Workload { kind: text(&object["kind"]), name: text(&object["metadata"]["name"]) }
    };
    let objects = plan.render.objects.iter().map(|object| workload(object.value()));
    let objects: Vec<Workload> = objects.filter(|workload| !held.contains(workload)).collect();
    let mut last = String::new();
    let mut gate = Gate { health, target: &plan.target, platform, last: &mut last };
    let all = async {
        for workload in &objects {
            let rules = gate.rules(workload);
            // A rule takes the place of what the kind says by itself.
            if rules.is_empty()
                && let Some(end) = by_kind(log, platform, step, attempt, (&plan.target, workload)).await
            {
                return end;
            }
            for rule in rules {
                loop {
                    match gate.holds(&rule, workload).await {
                        Ok(true) => break,
                        Ok(false) => log.clock().sleep(BETWEEN_LOOKS).await,
                        Err(error) => return WorkEnd::Ended(Ending::failed(error)),
                    }
                }
            }
        }
        WorkEnd::Ended(Ending::succeeded())
    };
    let Some(limit) = health.deadline_ms else { return all.await };
    let left = limit.saturating_sub(log.now().since(&started));
    let late = tokio::select! {
        biased;
        end = all => return end,
        () = log.clock().sleep(Duration::from_millis(left)) => duration::shown(limit),
    };
    let why = if last.is_empty() { String::new() } else { format!(": {last}") };
    WorkEnd::Ended(Ending::failed(format!("not healthy after {late}{why}")))
}

/// Waits until a workload is ready as its platform sees it; tells where the step ends by that.
async fn by_kind(
    log: &ChangeLog,
    platform: &dyn Platform,
    step: &StepId,
    attempt: u32,
    (target, workload): (&Target, &Workload),
) -> Option<WorkEnd> {
    if !WITH_REPLICAS.contains(&workload.kind.as_str()) {
        return None;
    }
    match patiently(log, step, attempt, || platform.wait_ready(target, workload)).await {
        Ok(Ok(())) => None,
        Ok(Err(error)) => Some(WorkEnd::Ended(Ending::failed(error.to_string()))),
        Err(impatience) => Some(impatience.into()),
    }
}

/// The conditions of the assessment.
struct Gate<'a> {
    health: &'a Health,
    target: &'a Target,
    platform: &'a dyn Platform,
    /// What is waited for.
    last: &'a mut String,
}

impl Gate<'_> {
    fn rules(&self, workload: &Workload) -> Vec<ReadyWhen> {
        self.health.ready_when.iter().filter(|rule| rule.kind == workload.kind).cloned().collect()
    }

    async fn holds(&mut self, rule: &ReadyWhen, workload: &Workload) -> Result<bool, String> {
        let object = match self.platform.observe(self.target, workload).await {
            Ok(object) => object,
            Err(PlatformError::Unavailable(why) | PlatformError::NotFound(why)) => {
                *self.last = why;
                return Ok(false);
            }
            Err(error) => return Err(error.to_string()),
        };
        if rule.api_version.as_ref().is_some_and(|version| object["apiVersion"] != version.as_str()) {
            return Ok(true);
        }
        let condition = Condition::compile_with(&rule.expr, &["object"]).map_err(|error| error.to_string())?;
        let holds = condition.holds(&json!({ "object": object }));
        *self.last = match &holds {
            Ok(_) => format!("{workload}: `{}` is false", rule.expr),
            Err(why) => format!("{workload}: `{}`: {why}", rule.expr),
        };
        Ok(holds.unwrap_or(false))
    }
}

impl From<Impatience> for WorkEnd {
    fn from(impatience: Impatience) -> Self {
        match impatience {
            Impatience::Stuck => Self::Stuck,
            Impatience::Journal(error) => Self::Journal(error),
        }
    }
}
