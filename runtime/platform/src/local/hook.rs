//! Workloads of hooks: Jobs and Pods that are processes here, created once for each key, fenced until they may run.
//!
//! create → (lift) → shim → exit → delete
//!
//! `launch.json` makes one and holds its uid, `lifted.json` lets it run, `deleted.json` says that it never starts any more and goes.

mod containers;
mod expand;
mod manifest;
mod objects;
mod wait;

use std::io;

use pintle_lifecycle::digest::hex;
use pintle_lifecycle::hook::{HookKind, HookRef};
use pintle_lifecycle::plan::Target;
use tokio::sync::OwnedMutexGuard;

use super::durable::{create_dirs, list, write_json};
use super::instance::{Instance, State};
use super::job::refuse_stray;
use super::launch::{DELETED, HookNote, LIFTED, Launch, Pod};
use super::process::wall_ms;
use super::release_dir::ReleaseDir;
use super::trouble::is_full;
use super::{Local, compose, end_strays};
use crate::platform::{FoundHook, HookWorkload, PlatformError};
use containers::Composer;
use objects::Objects;

impl Local {
    pub(super) async fn make_hook(
        &self,
        key: &str,
        target: &Target,
        hook: &HookWorkload,
    ) -> Result<HookRef, PlatformError> {
        let dir = self.release(target)?;
        let trouble = |error: io::Error| dir.trouble(&error);
        let instance = dir.hook(hook.kind, &hook.namespace, &hook.name)?;
        let shown = format!("{} {}", hook.kind, hook.name);
        let _held = self.locks.hold(instance.dir()).await;
        let launch = match instance.launch().map_err(trouble)? {
            Some(launch) if launch.key == key => launch,
            Some(_) => return Err(PlatformError::Conflict(format!("another {shown} is there already"))),
            None => {
                let launch = self.launch_of(key, &dir, target, hook)?;
                refuse_stray(&instance, &shown).map_err(trouble)??;
                dir.create().and_then(|()| create_dirs(&dir.hooks())).map_err(trouble)?;
                instance.create(&launch).map_err(trouble)?;
                launch
            }
        };
        if launch.may_run(instance.dir()) {
            instance.start(&self.config.shim).await.map_err(trouble)?;
        }
        let uid = launch.hook.map(|note| note.uid).unwrap_or_default();
        Ok(HookRef { kind: hook.kind, namespace: hook.namespace.clone(), name: hook.name.clone(), uid })
    }

    fn launch_of(
        &self,
        key: &str,
        dir: &ReleaseDir,
        target: &Target,
        hook: &HookWorkload,
    ) -> Result<Launch, PlatformError> {
        let object = hook.object.value();
        let work = match hook.kind {
            HookKind::Job => manifest::job(&object),
            HookKind::Pod => manifest::pod(&object),
        };
        let work = work.map_err(|error| manifest::invalid(&format!("{} {}: {error}", hook.kind, hook.name)))?;
        let uid = new_uid().map_err(|error| dir.trouble(&error))?;
        let composer =
            Composer { config: &self.config, dir, target, hook, uid: &uid, objects: Objects::of(dir, target)? };
        let compose = |specs: &[manifest::ContainerSpec]| {
            specs.iter().map(|spec| composer.container(spec)).collect::<Result<Vec<_>, _>>()
        };
        let pod = Pod { init: compose(&work.init)?, containers: compose(&work.containers)? };
        Ok(Launch {
            key: key.to_owned(),
            command: Vec::new(),
            env: [].into(),
            working_dir: dir.data(),
            grace_ms: work.grace_seconds.saturating_mul(1_000),
            deadline_ms: work.deadline_seconds.map(|seconds| seconds.saturating_mul(1_000)),
            retries: work.retries,
            retry_wait_ms: compose::retry_wait_ms(&self.config),
            pod: Some(pod),
            hook: Some(HookNote {
                uid,
                fenced: hook.fenced,
                suspended: work.suspended,
                kind: hook.kind,
                namespace: hook.namespace.clone(),
                name: hook.name.clone(),
                created_ms: wall_ms(),
                object: hook.object.clone(),
            }),
        })
    }

    pub(super) async fn release_hook(&self, key: &str, target: &Target, hook: &HookRef) -> Result<(), PlatformError> {
        let dir = self.release(target)?;
        let trouble = |error: io::Error| dir.trouble(&error);
        let instance = dir.hook(hook.kind, &hook.namespace, &hook.name)?;
        let _held = self.locks.hold(instance.dir()).await;
        let gone = || PlatformError::NotFound(format!("the {hook} is gone"));
        let launch = launch_of(&instance, hook).map_err(trouble)?.ok_or_else(gone)?;
        match instance.judge().await.map_err(trouble)? {
            State::Waiting => {}
            State::Missing => return Err(gone()),
            State::Held(_) | State::Orphaned | State::Ended(_) => return Ok(()),
        }
        if instance.dir().join(DELETED).exists() {
            return Err(gone());
        }
        let lifted = instance.dir().join(LIFTED);
        if !lifted.exists() {
            write_json(&lifted, &key).map_err(trouble)?;
        }
        if launch.may_run(instance.dir()) {
            instance.start(&self.config.shim).await.map_err(trouble)?;
        }
        Ok(())
    }

    pub(super) async fn remove_hook(
        &self,
        key: &str,
        target: &Target,
        hook: &HookRef,
        wait: bool,
    ) -> Result<(), PlatformError> {
        let dir = self.release(target)?;
        let trouble = |error: io::Error| dir.trouble(&error);
        let instance = dir.hook(hook.kind, &hook.namespace, &hook.name)?;
        let held = self.locks.hold(instance.dir()).await;
        if launch_of(&instance, hook).map_err(trouble)?.is_none() {
            // Somebody may have removed the folder while it ran.
            return end_strays(instance.dir()).await.map_err(trouble);
        }
        let mark = instance.dir().join(DELETED);
        let marked = if mark.exists() { Ok(()) } else { write_json(&mark, &key) };
        // A full disk is no reason to keep what takes room on it: then all is done before this returns.
        let is_marked = match marked {
            Err(error) if !is_full(&error) => return Err(trouble(error)),
            marked => marked.is_ok(),
        };
        let runs = matches!(instance.judge().await.map_err(trouble)?, State::Held(_));
        // Whoever is asked ends by itself, whatever becomes of this Pintle.
        instance.ask_to_stop().map_err(trouble)?;
        if wait || !runs || !is_marked {
            return clear(&instance).await.map_err(trouble);
        }
        clear_behind(instance, held);
        Ok(())
    }

    pub(super) async fn find_hooks(&self, target: &Target) -> Result<Vec<FoundHook>, PlatformError> {
        let dir = self.release(target)?;
        let trouble = |error: io::Error| dir.trouble(&error);
        let mut found = Vec::new();
        for name in list(&dir.hooks()).map_err(trouble)? {
            let instance = Instance::at(dir.hooks().join(name));
            if instance.dir().join(DELETED).exists()
                && let Some(held) = self.locks.try_hold(instance.dir())
            {
                // A Pintle that died, or somebody who did not wait, left it to others.
                instance.ask_to_stop().map_err(trouble)?;
                if matches!(instance.judge().await.map_err(trouble)?, State::Held(_)) {
                    clear_behind(instance.clone(), held);
                } else {
                    clear(&instance).await.map_err(trouble)?;
                }
            }
            found.extend(self.found(&instance).await.map_err(trouble)?);
        }
        found.sort_by(|a, b| (a.created_ms, &a.hook).cmp(&(b.created_ms, &b.hook)));
        Ok(found)
    }

    /// None where it is gone.
    async fn found(&self, instance: &Instance) -> io::Result<Option<FoundHook>> {
        let Some(note) = instance.launch()?.and_then(|launch| launch.hook) else { return Ok(None) };
        let object = note.object.value();
        let label = |name: &str| object["metadata"]["labels"][name].as_str().unwrap_or_default().to_owned();
        Ok(Some(FoundHook {
            hook: HookRef { kind: note.kind, namespace: note.namespace, name: note.name, uid: note.uid },
            phase: label("pintle.dev/hook-phase"),
            name: label("pintle.dev/hook-name"),
            change: label("pintle.dev/change"),
            created_ms: note.created_ms,
            ended: matches!(instance.judge().await?, State::Ended(_)),
        }))
    }
}

/// What that very workload runs; none where it is gone, or another one has its name.
fn launch_of(instance: &Instance, hook: &HookRef) -> io::Result<Option<Launch>> {
    let is_it = |launch: &Launch| launch.hook.as_ref().is_some_and(|note| note.uid == hook.uid);
    Ok(instance.launch()?.filter(is_it))
}

/// Ends what runs and removes it.
async fn clear(instance: &Instance) -> io::Result<()> {
    instance.stop().await?;
    instance.remove()
}

/// As [`clear`], while nobody waits; none of that name is made meanwhile. What is not done when Pintle dies is done by whoever looks for
/// hooks next.
fn clear_behind(instance: Instance, held: OwnedMutexGuard<()>) {
    tokio::spawn(async move {
        let _held = held;
        if let Err(error) = clear(&instance).await {
            tracing::warn!(%error, dir = %instance.dir().display(), "cannot delete the workload of a hook yet");
        }
    });
}

fn new_uid() -> io::Result<String> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(hex(&bytes))
}
