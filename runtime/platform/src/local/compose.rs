//! From what a manifest or an action says to what a shim runs: command, environment, working directory.

use std::collections::BTreeMap;

use pintle_lifecycle::digest;
use pintle_lifecycle::document::manifest::ProcessSpec;
use pintle_lifecycle::plan::Target;
use serde_json::json;

use super::launch::Launch;
use super::release_dir::ReleaseDir;
use super::{LocalConfig, image};
use crate::environment;
use crate::platform::{Job, PlatformError};

/// What a process gets of Pintle's own environment, where it is set. Nothing else: a process runs the same from every shell.
const FROM_MACHINE: [&str; 7] = ["HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "TMPDIR"];
/// Between SIGTERM and SIGKILL for a Job that is stopped or past its deadline.
const JOB_GRACE_MS: u64 = 5_000;

/// What replica number `replica` of a workload runs.
///
/// Its key is a digest of what the manifest says of the running process, so an instance with the same key need not be replaced.
pub(super) fn replica(
    config: &LocalConfig,
    dir: &ReleaseDir,
    target: &Target,
    spec: &ProcessSpec,
    replica: u32,
) -> Result<Launch, PlatformError> {
    let grace_ms = u64::from(spec.stop_grace_seconds) * 1_000;
    let said = json!([spec.image, spec.command, spec.args, spec.env, spec.working_dir, grace_ms, target.images]);
    let mut env = machine(config, target, &spec.image)?;
    env.extend(spec.env.clone());
    env.extend(of_pintle(dir, target));
    env.insert("PINTLE_REPLICA".to_owned(), replica.to_string());
    Ok(Launch {
        key: digest::short(said.to_string().as_bytes()),
        command: command(&spec.command, &spec.args, &spec.image)?,
        env,
        working_dir: spec.working_dir.as_ref().map_or_else(|| dir.data(), |path| dir.data().join(path)),
        grace_ms,
        deadline_ms: None,
        retries: 0,
        retry_wait_ms: 0,
        pod: None,
        hook: None,
    })
}

/// What a Job runs, under the key of the effect that starts it. `copied` is the environment of the workload that it names.
pub(super) fn job(
    config: &LocalConfig,
    dir: &ReleaseDir,
    target: &Target,
    (key, id, job): (&str, &str, &Job),
    copied: BTreeMap<String, String>,
) -> Result<Launch, PlatformError> {
    let spec = &job.spec;
    if spec.pod_template_json.is_some() {
        return Err(refused("a pod template", "give the image and the command"));
    }
    if spec.api_token {
        return Err(refused("an API token", "leave it out: on this machine a Job may call `pintle` itself"));
    }
    let mut env = machine(config, target, &spec.image)?;
    env.extend(environment::of_job(copied, job));
    env.extend(of_pintle(dir, target));
    env.insert("PINTLE_JOB".to_owned(), id.to_owned());
    Ok(Launch {
        key: key.to_owned(),
        command: command(&spec.command, &spec.args, &spec.image)?,
        env,
        working_dir: dir.data(),
        grace_ms: JOB_GRACE_MS,
        deadline_ms: job.deadline.map(|deadline| u64::try_from(deadline.as_millis()).unwrap_or(u64::MAX)),
        retries: spec.retries,
        retry_wait_ms: retry_wait_ms(config),
        pod: None,
        hook: None,
    })
}

pub(super) fn retry_wait_ms(config: &LocalConfig) -> u64 {
    u64::try_from(config.retry_wait.as_millis()).unwrap_or(u64::MAX)
}

fn refused(what: &str, cure: &str) -> PlatformError {
    PlatformError::Invalid(format!("Jobs on the local platform cannot have {what} yet: {cure}"))
}

/// What a process with that image gets before what it asks for itself.
pub(super) fn machine(
    config: &LocalConfig,
    target: &Target,
    image: &str,
) -> Result<BTreeMap<String, String>, PlatformError> {
    let set = |name: &str| Some((name.to_owned(), std::env::var(name).ok()?));
    let mut env: BTreeMap<String, String> = FROM_MACHINE.into_iter().filter_map(set).collect();
    env.insert("PATH".to_owned(), image::path(image, target.images.as_ref(), &config.image_map)?);
    Ok(env)
}

pub(super) fn of_pintle(dir: &ReleaseDir, target: &Target) -> [(String, String); 2] {
    [
        ("PINTLE_RELEASE".to_owned(), target.release.name.clone()),
        ("PINTLE_RELEASE_DIR".to_owned(), dir.data().to_string_lossy().into_owned()),
    ]
}

pub(super) fn command(command: &[String], args: &[String], image: &str) -> Result<Vec<String>, PlatformError> {
    let words: Vec<String> = command.iter().chain(args).cloned().collect();
    if words.is_empty() {
        let cure = "add a command: images of the local platform have no default one";
        return Err(PlatformError::Invalid(format!("nothing says what to run of the image `{image}`: {cure}")));
    }
    Ok(words)
}
