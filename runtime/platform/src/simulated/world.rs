//! The state of a simulated world: what is applied, what runs, which Jobs there are. Plain data that a test prints and compares.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use pintle_lifecycle::call::{JobResult, Output};
use pintle_lifecycle::ids::ReleaseKey;
use pintle_lifecycle::json::Json;
use pintle_lifecycle::plan::{Render, RenderRef, Workload};
use serde_json::Value;
use tokio::time::Instant;

use super::object::ObjectId;
use super::script::{JobScript, Readiness};
use crate::platform::Job;

/// A release as it is in the world.
#[derive(Debug, Clone)]
pub struct Release {
    pub name: ReleaseKey,
    /// The render that is fully applied; none while the first apply is not through.
    pub applied: Option<RenderRef>,
    pub workloads: BTreeMap<Workload, Running>,
    pub jobs: BTreeMap<String, SimulatedJob>,
    /// Everything that was applied, also what nothing runs of.
    pub objects: Vec<Value>,
    /// What hooks put and nobody deleted yet.
    pub hook_objects: BTreeMap<ObjectId, Value>,
}

/// A workload and the replicas asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Running {
    pub object: Value,
    pub desired: u32,
    /// The version whose render brought this content in.
    pub version: String,
    pub(super) since: Instant,
}

/// A Job and how it ended.
#[derive(Debug, Clone, PartialEq)]
pub struct SimulatedJob {
    pub key: String,
    pub job: Job,
    pub state: JobState,
}

#[derive(Debug, Clone, PartialEq)]
pub enum JobState {
    /// It is there and was not started: Pintle died amid it.
    Fenced,
    /// Ends with this result at that moment, unless it is stopped.
    Runs {
        until: Instant,
        result: JobResult,
    },
    Stopped(JobResult),
}

/// Kinds that have replicas.
const WORKLOADS: [&str; 3] = ["Process", "Deployment", "StatefulSet"];

impl Release {
    pub(super) fn new(name: &ReleaseKey) -> Self {
        Self {
            name: name.clone(),
            applied: None,
            workloads: BTreeMap::new(),
            jobs: BTreeMap::new(),
            objects: Vec::new(),
            hook_objects: BTreeMap::new(),
        }
    }

    /// Replicas asked for; 0 where there is no such workload.
    #[must_use]
    pub fn replicas(&self, workload: &Workload) -> u32 {
        self.workloads.get(workload).map_or(0, |running| running.desired)
    }

    /// Version of the render that is fully applied.
    #[must_use]
    pub fn version(&self) -> Option<&str> {
        self.applied.as_ref().map(|applied| applied.version.as_str())
    }

    /// The workloads as `render` wants them. Content that stays keeps the version that brought it in.
    pub(super) fn wanted(&self, render: &Render, held: &BTreeSet<Workload>) -> BTreeMap<Workload, Running> {
        let wanted = |object: Value| {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let workload = Workload { kind: text(&object["kind"]), name: text(&object["metadata"]["name"]) };
            if !WORKLOADS.contains(&workload.kind.as_str()) {
                return None;
            }
            let replicas = object["spec"]["replicas"].as_u64().and_then(|n| u32::try_from(n).ok());
            // A render that leaves the number to others keeps what is there.
            let replicas = replicas.unwrap_or_else(|| self.replicas(&workload).max(1));
            let desired = if held.contains(&workload) { 0 } else { replicas };
            let running = match self.workloads.get(&workload).filter(|old| old.object == object) {
                Some(old) if old.desired == desired => old.clone(),
                Some(old) => Running { desired, since: Instant::now(), ..old.clone() },
                None => Running { object, desired, version: render.reference.version.clone(), since: Instant::now() },
            };
            Some((workload, running))
        };
        render.objects.iter().map(Json::value).filter_map(wanted).collect()
    }
}

impl Running {
    pub(super) fn ready(&self, readiness: &Readiness) -> u32 {
        match readiness {
            Readiness::AtOnce => self.desired,
            Readiness::After(wait) if Instant::now() >= self.since + *wait => self.desired,
            _ => 0,
        }
    }

    /// Containers of a Pod template, or the process itself.
    fn containers(&self) -> Vec<&Value> {
        match self.object["spec"]["template"]["spec"]["containers"].as_array() {
            Some(containers) => containers.iter().collect(),
            None => vec![&self.object["spec"]],
        }
    }

    pub(super) fn images(&self) -> Vec<String> {
        self.containers().iter().filter_map(|container| container["image"].as_str()).map(str::to_owned).collect()
    }

    /// Of the first container: a map, or a list of names and values.
    pub(super) fn env(&self) -> BTreeMap<String, String> {
        let pair = |name: &str, value: &Value| Some((name.to_owned(), value.as_str()?.to_owned()));
        match self.containers().first().map(|container| &container["env"]) {
            Some(Value::Object(map)) => map.iter().filter_map(|(name, value)| pair(name, value)).collect(),
            Some(Value::Array(list)) => {
                list.iter().filter_map(|item| pair(item["name"].as_str()?, &item["value"])).collect()
            }
            _ => BTreeMap::new(),
        }
    }
}

impl SimulatedJob {
    /// The result, once it has ended.
    #[must_use]
    pub fn result(&self) -> Option<&JobResult> {
        match &self.state {
            JobState::Fenced => None,
            JobState::Runs { until, result } => (Instant::now() >= *until).then_some(result),
            JobState::Stopped(result) => Some(result),
        }
    }

    /// Starts it: what the script says, unless the deadline comes first.
    pub(super) fn start(&mut self, id: &str, script: JobScript) {
        let (runs, result) = match self.job.deadline {
            Some(deadline) if script.runs > deadline => {
                let reason = format!("deadline of {} s passed", deadline.as_secs());
                (deadline, failed(id, None, script.output, reason))
            }
            _ => (script.runs, judged(id, script.exit_code, script.output, script.reason)),
        };
        self.state = JobState::Runs { until: Instant::now() + runs, result };
    }

    pub(super) fn stop(&mut self, id: &str) {
        self.state = JobState::Stopped(failed(id, None, String::new(), "stopped".to_owned()));
    }
}

pub(super) fn judged(id: &str, exit_code: i32, output: String, reason: Option<String>) -> JobResult {
    match reason {
        Some(reason) => failed(id, None, output, reason),
        None if exit_code != 0 => failed(id, Some(exit_code), output, format!("exit code {exit_code}")),
        None => JobResult {
            id: id.to_owned(),
            succeeded: true,
            exit_code: Some(0),
            output: Output { text: output, cut: false },
            reason: String::new(),
        },
    }
}

pub(super) fn failed(id: &str, exit_code: Option<i32>, output: String, reason: String) -> JobResult {
    JobResult { id: id.to_owned(), succeeded: false, exit_code, output: Output { text: output, cut: false }, reason }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let applied = |r: &RenderRef| format!("{}, generation {}", r.version, r.generation);
        writeln!(f, "{}: {}", self.name, self.applied.as_ref().map_or("nothing applied".to_owned(), applied))?;
        for (workload, running) in &self.workloads {
            writeln!(f, "  {workload} {} x{}", running.version, running.desired)?;
        }
        for (id, job) in &self.jobs {
            let state = match (&job.state, job.result()) {
                (JobState::Fenced, _) => "fenced".to_owned(),
                (_, None) => "runs".to_owned(),
                (_, Some(result)) if result.succeeded => "succeeded".to_owned(),
                (_, Some(result)) => format!("failed: {}", result.reason),
            };
            writeln!(f, "  Job {id} {state}")?;
        }
        self.hook_objects.keys().try_for_each(|id| writeln!(f, "  {id} of a hook"))
    }
}
