//! The imports of `pintle:hooks` for a native build: the same names and types as the generated ones, answered by the fake host.

use super::world::World;
use super::{calls, with_world};
use crate::bindings::pintle::hooks::types;
use crate::{Error, Result};

/// Writes the call down, then either fails it as the test wants or does it.
fn call<T>(line: String, act: impl FnOnce(&mut World) -> Result<T>) -> Result<T, types::Error> {
    with_world(|world| world.record(line).and_then(|()| act(world))).map_err(Error::into_host)
}

/// The same for calls that cannot fail.
fn infallible<T>(line: String, act: impl FnOnce(&mut World) -> T) -> T {
    with_world(|world| {
        world.calls.push(line);
        act(world)
    })
}

pub(crate) mod context {
    use super::super::world::Constants;
    use super::with_world;

    fn constant<T>(get: impl FnOnce(&Constants) -> T) -> T {
        with_world(|world| get(&world.constants))
    }

    pub fn release() -> String {
        constant(|it| it.release.clone())
    }

    pub fn namespace() -> String {
        constant(|it| it.namespace.clone())
    }

    pub fn release_uid() -> String {
        constant(|it| format!("uid-of-{}", it.release))
    }

    pub fn tenant() -> String {
        constant(|it| it.tenant.clone())
    }

    pub fn change() -> String {
        constant(|it| it.change.clone())
    }

    pub fn phase() -> String {
        constant(|it| it.phase.to_string())
    }

    pub fn cluster() -> String {
        constant(|it| it.cluster.clone())
    }

    pub fn cluster_label(key: &str) -> Option<String> {
        constant(|it| it.cluster_labels.get(key).cloned())
    }

    pub fn generation() -> u64 {
        1
    }

    pub fn attempt() -> u32 {
        constant(|it| it.attempt)
    }

    pub fn from_version() -> Option<String> {
        constant(|it| it.from_version.clone())
    }

    pub fn target_version() -> String {
        constant(|it| it.target_version.clone())
    }

    pub fn values_json() -> String {
        constant(|it| it.values_json.clone())
    }

    pub fn args_json() -> String {
        constant(|it| it.args_json.clone())
    }
}

pub(crate) mod components {
    use super::{call, calls, types};
    pub use crate::bindings::pintle::hooks::components::ComponentStatus;

    pub fn stop(names: &[String]) -> Result<(), types::Error> {
        call(calls::named("components.stop", names), |world| world.set_stopped(names, true))
    }

    pub fn start(names: &[String]) -> Result<(), types::Error> {
        call(calls::named("components.start", names), |world| world.set_stopped(names, false))
    }

    pub fn images(name: &str) -> Result<Vec<String>, types::Error> {
        call(format!("components.images {name}"), |world| Ok(world.component(name)?.images.clone()))
    }

    pub fn status(name: &str) -> Result<ComponentStatus, types::Error> {
        call(format!("components.status {name}"), |world| {
            let replicas = u32::from(!world.component(name)?.stopped);
            Ok(ComponentStatus { desired: replicas, running: replicas, ready: replicas })
        })
    }

    pub fn wait_ready(names: &[String], timeout_ms: u64) -> Result<(), types::Error> {
        call(calls::within(&calls::named("components.wait-ready", names), timeout_ms), |world| {
            names.iter().try_for_each(|name| world.component(name).map(|_| ()))
        })
    }
}

pub(crate) mod releases {
    use super::{call, types};

    pub fn set_version(target: &str) -> Result<String, types::Error> {
        call(format!("releases.set-version {target}"), |world| {
            Ok(if world.set_version(target)? { "changed" } else { "unchanged" }.to_owned())
        })
    }

    pub fn sync() -> Result<String, types::Error> {
        call("releases.sync".to_owned(), |_| Ok("unchanged".to_owned()))
    }
}

pub(crate) mod jobs {
    use super::{Error, call, calls, types};
    pub use crate::bindings::pintle::hooks::jobs::{JobResult, JobSpec};

    pub fn run(spec: &JobSpec) -> Result<JobResult, types::Error> {
        call(calls::job("jobs.run", spec), |world| {
            let result = world.start_job(spec)?;
            if result.succeeded {
                return Ok(result);
            }
            let JobResult { id, reason, output, .. } = result;
            Err(Error::Failed(format!("the Job {id} failed: {reason}\n{output}")))
        })
    }

    pub fn start(spec: &JobSpec) -> Result<String, types::Error> {
        call(calls::job("jobs.start", spec), |world| Ok(world.start_job(spec)?.id))
    }

    /// The first one of the list ends first.
    pub fn wait_any(ids: &[String]) -> Result<(String, JobResult), types::Error> {
        call(calls::named("jobs.wait-any", ids), |world| {
            let first = ids.first().ok_or_else(|| Error::invalid("wait-any needs at least one Job"))?;
            for id in ids {
                world.job(id)?;
            }
            Ok((first.clone(), world.job(first)?.clone()))
        })
    }

    pub fn cancel(id: &str) -> Result<(), types::Error> {
        call(format!("jobs.cancel {id}"), |world| world.job(id).map(|_| ()))
    }
}

pub(crate) mod durable {
    use super::{call, calls, infallible, types};

    pub fn now() -> u64 {
        infallible("durable.now".to_owned(), |world| world.now)
    }

    pub fn random(len: u32) -> Vec<u8> {
        infallible(format!("durable.random {len}"), |world| (0..len).map(|_| world.random_byte()).collect())
    }

    /// Does not wait: the clock of the fake host jumps.
    pub fn sleep(ms: u64) -> Result<(), types::Error> {
        call(format!("durable.sleep {}", calls::span(ms)), |world| {
            world.now = world.now.saturating_add(ms);
            Ok(())
        })
    }
}

pub(crate) mod state {
    use super::{call, types};

    pub fn get(key: &str) -> Result<Option<Vec<u8>>, types::Error> {
        call(format!("state.get {key}"), |world| Ok(world.state.get(key).cloned()))
    }

    pub fn put(key: &str, value: &[u8]) -> Result<(), types::Error> {
        call(format!("state.put {key} {}", String::from_utf8_lossy(value)), |world| {
            world.state.insert(key.to_owned(), value.to_owned());
            Ok(())
        })
    }

    pub fn delete(key: &str) -> Result<(), types::Error> {
        call(format!("state.delete {key}"), |world| {
            world.state.remove(key);
            Ok(())
        })
    }
}

pub(crate) mod logging {
    use super::with_world;

    pub fn log(level: &str, message: &str, fields: &[(String, String)]) {
        let mut line = format!("{level} {message}");
        for (key, value) in fields {
            line.extend([" ", key, "=", value]);
        }
        with_world(|world| world.logs.push(line));
    }
}
