//! Jobs and Pods of hooks as they were written for a cluster. What this machine cannot do is refused and never silently dropped.

use std::collections::BTreeSet;

use pintle_lifecycle::hook::FENCE;
use pintle_lifecycle::ids::is_label;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::platform::PlatformError;

/// Retries of a Job that says nothing, as on a cluster.
const BACKOFF_LIMIT: u32 = 6;
/// Seconds between SIGTERM and SIGKILL for a Pod that says nothing, as on a cluster.
const GRACE: u64 = 30;
/// Of a Job, without a meaning here: its workload stays for as long as its hook wants.
const JOB_IDLE: &[&str] = &["podReplacementPolicy", "ttlSecondsAfterFinished"];
/// Of a Pod, without a meaning for processes of one user on one machine.
const POD_IDLE: &[&str] = &[
    "automountServiceAccountToken",
    "dnsPolicy",
    "enableServiceLinks",
    "imagePullSecrets",
    "preemptionPolicy",
    "priorityClassName",
    "schedulerName",
    "serviceAccount",
    "serviceAccountName",
];
/// Of a container, the same.
const CONTAINER_IDLE: &[&str] =
    &["imagePullPolicy", "ports", "resources", "terminationMessagePath", "terminationMessagePolicy"];
/// Of a security context: what takes rights away that a process of a user does not have, or that only a container can lack.
const SECURITY_IDLE: &[&str] =
    &["allowPrivilegeEscalation", "readOnlyRootFilesystem", "runAsNonRoot", "seccompProfile"];

/// What a hook runs, read.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) suspended: bool,
    /// Tries after the first.
    pub(super) retries: u32,
    pub(super) deadline_seconds: Option<u64>,
    pub(super) grace_seconds: u64,
    pub(super) init: Vec<ContainerSpec>,
    pub(super) containers: Vec<ContainerSpec>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct JobSpec {
    backoff_limit: Option<u32>,
    active_deadline_seconds: Option<u64>,
    #[serde(default)]
    suspend: bool,
    completions: Option<u32>,
    parallelism: Option<u32>,
    completion_mode: Option<String>,
    template: Template,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

#[derive(Debug, Deserialize)]
struct Template {
    #[serde(default)]
    spec: Value,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PodSpec {
    #[serde(default)]
    init_containers: Vec<Value>,
    #[serde(default)]
    containers: Vec<Value>,
    restart_policy: Option<String>,
    active_deadline_seconds: Option<u64>,
    termination_grace_period_seconds: Option<u64>,
    #[serde(default)]
    scheduling_gates: Vec<Value>,
    security_context: Option<Map<String, Value>>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ContainerSpec {
    pub(super) name: String,
    #[serde(default)]
    pub(super) image: String,
    #[serde(default)]
    pub(super) command: Vec<String>,
    #[serde(default)]
    pub(super) args: Vec<String>,
    #[serde(default)]
    pub(super) env: Vec<EnvVar>,
    #[serde(default)]
    pub(super) env_from: Vec<EnvFrom>,
    pub(super) working_dir: Option<String>,
    security_context: Option<Map<String, Value>>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct EnvVar {
    pub(super) name: String,
    pub(super) value: Option<String>,
    pub(super) value_from: Option<ValueFrom>,
}

#[derive(Debug, Deserialize)]
pub(super) enum ValueFrom {
    #[serde(rename = "configMapKeyRef")]
    ConfigMap(KeyRef),
    #[serde(rename = "secretKeyRef")]
    Secret(KeyRef),
    #[serde(rename = "fieldRef")]
    Field(FieldRef),
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct KeyRef {
    #[serde(default)]
    pub(super) name: String,
    pub(super) key: String,
    #[serde(default)]
    pub(super) optional: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FieldRef {
    pub(super) field_path: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct EnvFrom {
    #[serde(default)]
    pub(super) prefix: String,
    pub(super) config_map_ref: Option<ObjectRef>,
    pub(super) secret_ref: Option<ObjectRef>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ObjectRef {
    #[serde(default)]
    pub(super) name: String,
    #[serde(default)]
    pub(super) optional: bool,
}

/// Reads a manifest of kind Job.
///
/// # Errors
/// `Invalid` where it is none, or wants what cannot be had here.
pub(super) fn job(object: &Value) -> Result<Work, PlatformError> {
    let job: JobSpec = read("spec", &object["spec"])?;
    refuse("spec", &job.rest, JOB_IDLE)?;
    if job.completions.is_some_and(|count| count != 1) || job.parallelism.is_some_and(|count| count != 1) {
        return Err(invalid("spec: the local platform runs one Pod of a Job: leave out completions and parallelism"));
    }
    if job.completion_mode.is_some_and(|mode| mode != "NonIndexed") {
        return Err(invalid("spec.completionMode: the local platform runs one Pod of a Job: leave it out"));
    }
    let path = "spec.template.spec";
    let pod: PodSpec = read(path, &job.template.spec)?;
    if pod.active_deadline_seconds.is_some() {
        return Err(invalid(&format!("{path}.activeDeadlineSeconds: set it on the Job itself")));
    }
    // Of both kinds the whole Pod is tried again: a restart in place counts as a Pod that failed does.
    restarts(path, &pod)?;
    let retries = job.backoff_limit.unwrap_or(BACKOFF_LIMIT);
    work(path, &pod, job.suspend, retries, job.active_deadline_seconds)
}

/// Reads a manifest of kind Pod.
///
/// # Errors
/// As [`job`].
pub(super) fn pod(object: &Value) -> Result<Work, PlatformError> {
    let path = "spec";
    let pod: PodSpec = read(path, &object[path])?;
    let retries = match restarts(path, &pod)? {
        Restart::Never => 0,
        // Without an end, as on a cluster.
        Restart::OnFailure => u32::MAX - 1,
    };
    let deadline = pod.active_deadline_seconds;
    work(path, &pod, false, retries, deadline)
}

enum Restart {
    Never,
    OnFailure,
}

fn restarts(path: &str, pod: &PodSpec) -> Result<Restart, PlatformError> {
    match pod.restart_policy.as_deref() {
        Some("Never") => Ok(Restart::Never),
        Some("OnFailure") => Ok(Restart::OnFailure),
        other => {
            let found = other.unwrap_or("Always, where it is absent");
            Err(invalid(&format!("{path}.restartPolicy: a hook has to end: Never or OnFailure, not {found}")))
        }
    }
}

fn work(
    path: &str,
    pod: &PodSpec,
    suspended: bool,
    retries: u32,
    deadline_seconds: Option<u64>,
) -> Result<Work, PlatformError> {
    refuse(path, &pod.rest, POD_IDLE)?;
    refuse_security(path, pod.security_context.as_ref())?;
    if pod.containers.is_empty() {
        return Err(invalid(&format!("{path}.containers: there is none")));
    }
    let init = containers(&format!("{path}.initContainers"), &pod.init_containers)?;
    let regular = containers(&format!("{path}.containers"), &pod.containers)?;
    let mut names = BTreeSet::new();
    if let Some(twice) = init.iter().chain(&regular).find(|container| !names.insert(&container.name)) {
        return Err(invalid(&format!("{path}: two containers are named {}", twice.name)));
    }
    Ok(Work {
        suspended: suspended || pod.scheduling_gates.iter().any(|gate| gate["name"] != FENCE),
        retries,
        deadline_seconds,
        grace_seconds: pod.termination_grace_period_seconds.unwrap_or(GRACE),
        init,
        containers: regular,
    })
}

fn containers(path: &str, values: &[Value]) -> Result<Vec<ContainerSpec>, PlatformError> {
    let container = |(number, value): (usize, &Value)| {
        let path = format!("{path}[{number}]");
        let container: ContainerSpec = read(&path, value)?;
        refuse(&path, &container.rest, CONTAINER_IDLE)?;
        refuse_security(&path, container.security_context.as_ref())?;
        if !is_label(&container.name) {
            return Err(invalid(&format!("{path}.name: `{}` is no name of a container", container.name)));
        }
        Ok(container)
    };
    values.iter().enumerate().map(container).collect()
}

fn refuse_security(path: &str, context: Option<&Map<String, Value>>) -> Result<(), PlatformError> {
    let path = format!("{path}.securityContext");
    let mut context = context.cloned().unwrap_or_default();
    if let Some(Value::Object(mut capabilities)) = context.remove("capabilities") {
        capabilities.remove("drop");
        refuse(&format!("{path}.capabilities"), &capabilities, &[])?;
    }
    refuse(&path, &context, SECURITY_IDLE)
}

/// Refuses fields that say something and are not in `idle`.
fn refuse(path: &str, fields: &Map<String, Value>, idle: &[&str]) -> Result<(), PlatformError> {
    let says_nothing = |value: &Value| match value {
        Value::Null | Value::Bool(false) => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(true) | Value::Number(_) | Value::String(_) => false,
    };
    match fields.iter().find(|(name, value)| !idle.contains(&name.as_str()) && !says_nothing(value)) {
        Some((name, _)) => Err(invalid(&format!("{path}.{name}: the local platform cannot do that: leave it out"))),
        None => Ok(()),
    }
}

/// A field that is null is as absent, as on a cluster.
fn read<T: DeserializeOwned>(path: &str, value: &Value) -> Result<T, PlatformError> {
    serde_json::from_value(without_nulls(value)).map_err(|error| invalid(&format!("{path}: {error}")))
}

fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let there = fields.iter().filter(|(_, value)| !value.is_null());
            there.map(|(name, value)| (name.clone(), without_nulls(value))).collect::<Map<_, _>>().into()
        }
        Value::Array(items) => items.iter().map(without_nulls).collect(),
        other => other.clone(),
    }
}

pub(super) fn invalid(message: &str) -> PlatformError {
    PlatformError::Invalid(message.to_owned())
}
