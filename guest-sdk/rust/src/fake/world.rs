//! What the fake host knows, and what calls do to it. It follows the rules that an action can notice: names must exist, a version
//! is the target or the current one, a stopped component stays stopped.

use std::collections::{BTreeMap, VecDeque};

use crate::bindings::pintle::hooks::jobs::{JobResult, JobSpec};
use crate::{Error, Phase, Result};

/// 2026-01-01T00:00:00Z in milliseconds: any fixed moment makes tests repeatable.
const START_OF_TIME: u64 = 1_767_225_600_000;

#[derive(Debug)]
pub(super) struct World {
    pub constants: Constants,
    pub components: BTreeMap<String, Component>,
    pub version: Option<String>,
    pub endings: VecDeque<Ending>,
    pub jobs: Vec<JobResult>,
    pub state: BTreeMap<String, Vec<u8>>,
    pub now: u64,
    pub random: u64,
    pub refusals: Vec<Refusal>,
    pub calls: Vec<String>,
    pub logs: Vec<String>,
}

#[derive(Debug)]
pub(super) struct Constants {
    pub release: String,
    pub namespace: String,
    pub tenant: String,
    pub change: String,
    pub phase: Phase,
    pub cluster: String,
    pub cluster_labels: BTreeMap<String, String>,
    pub attempt: u32,
    pub from_version: Option<String>,
    pub target_version: String,
    pub values_json: String,
    pub args_json: String,
}

#[derive(Debug)]
pub(super) struct Component {
    pub images: Vec<String>,
    pub stopped: bool,
}

/// How a Job will end.
#[derive(Debug)]
pub(super) struct Ending {
    pub exit_code: i32,
    pub output: String,
}

/// A call that the test wants to fail.
#[derive(Debug)]
pub(super) struct Refusal {
    pub call: String,
    pub error: Error,
}

impl Default for World {
    fn default() -> Self {
        Self {
            constants: Constants::default(),
            components: BTreeMap::new(),
            version: None,
            endings: VecDeque::new(),
            jobs: Vec::new(),
            state: BTreeMap::new(),
            now: START_OF_TIME,
            random: 0x5EED,
            refusals: Vec::new(),
            calls: Vec::new(),
            logs: Vec::new(),
        }
    }
}

impl Default for Constants {
    fn default() -> Self {
        Self {
            release: "app".to_owned(),
            namespace: "default".to_owned(),
            tenant: "tests".to_owned(),
            change: "app-1".to_owned(),
            phase: Phase::Setup,
            cluster: "fake".to_owned(),
            cluster_labels: BTreeMap::new(),
            attempt: 1,
            from_version: None,
            target_version: "1.0.0".to_owned(),
            values_json: "{}".to_owned(),
            args_json: "{}".to_owned(),
        }
    }
}

impl World {
    /// Writes a call down and says whether the test wants it to fail.
    pub fn record(&mut self, call: String) -> Result<()> {
        let matches = |refusal: &Refusal| {
            call.strip_prefix(&refusal.call).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', ',']))
        };
        let refusal = self.refusals.iter().position(matches).map(|at| self.refusals.remove(at));
        self.calls.push(call);
        refusal.map_or(Ok(()), |refusal| Err(refusal.error))
    }

    pub fn component(&mut self, name: &str) -> Result<&mut Component> {
        if !self.components.contains_key(name) {
            let known: Vec<&str> = self.components.keys().map(String::as_str).collect();
            let message = format!("there is no component `{name}`; the fake host has: {}", known.join(", "));
            return Err(Error::NotFound(message));
        }
        Ok(self.components.get_mut(name).expect("its key was found above"))
    }

    /// Stops or starts all of these components, or none when one of them does not exist.
    pub fn set_stopped(&mut self, names: &[String], stopped: bool) -> Result<()> {
        for name in names {
            self.component(name)?;
        }
        for name in names {
            self.component(name)?.stopped = stopped;
        }
        Ok(())
    }

    /// Whether something changed.
    pub fn set_version(&mut self, target: &str) -> Result<bool> {
        if self.version.as_deref() == Some(target) {
            return Ok(false);
        }
        if self.constants.target_version != target {
            let Constants { target_version, .. } = &self.constants;
            let current = self.version.as_deref().unwrap_or("none");
            let message =
                format!("`{target}` is neither the target version {target_version} nor the current one ({current})");
            return Err(Error::Invalid(message));
        }
        self.version = Some(target.to_owned());
        Ok(true)
    }

    pub fn start_job(&mut self, spec: &JobSpec) -> Result<JobResult> {
        if let Some(component) = &spec.env_from_component {
            self.component(component)?;
        }
        let ending = self.endings.pop_front().unwrap_or(Ending { exit_code: 0, output: String::new() });
        let succeeded = ending.exit_code == 0;
        let result = JobResult {
            id: format!("job-{}", self.jobs.len() + 1),
            succeeded,
            exit_code: Some(ending.exit_code),
            output: ending.output,
            reason: if succeeded { String::new() } else { format!("exit code {}", ending.exit_code) },
        };
        self.jobs.push(result.clone());
        Ok(result)
    }

    pub fn job(&self, id: &str) -> Result<&JobResult> {
        let known = self.jobs.iter().find(|job| job.id == id);
        known.ok_or_else(|| Error::NotFound(format!("no Job `{id}` was started in this change")))
    }

    /// Bytes that look random and are the same in every run of a test (xorshift64).
    pub fn random_byte(&mut self) -> u8 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random.to_le_bytes()[4]
    }
}
