//! The folder of a release: what is applied, its workloads and Jobs, and the data that its processes keep.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use pintle_lifecycle::document::manifest::ProcessSpec;
use pintle_lifecycle::hook::HookKind;
use pintle_lifecycle::plan::{Render, Target, Workload};
use serde::{Deserialize, Serialize};

use super::durable::{create_dirs, list, read_json, write_json};
use super::instance::Instance;
use super::trouble::trouble;
use crate::platform::PlatformError;

/// The one kind of workload of this platform.
pub(super) const PROCESS: &str = "Process";
/// Format of `applied.json`.
const FORMAT: u32 = 1;

/// `RUN_DIR/UID/`: `applied.json`, `workloads/NAME/REPLICA/`, `jobs/ID/`, `hooks/KIND.NAMESPACE.NAME/`, the same of `objects/`, and
/// `dir/`, which outlives all of it.
#[derive(Debug, Clone)]
pub(super) struct ReleaseDir {
    root: PathBuf,
}

/// What the release shall be, written before anything is done about it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Applied {
    v: u32,
    pub(super) render: Render,
    /// Replicas asked for, by workload: 0 while it is stopped.
    pub(super) desired: BTreeMap<String, u32>,
}

impl ReleaseDir {
    /// # Errors
    /// `Invalid` where the uid is no name of a folder.
    pub(super) fn new(run_dir: &Path, target: &Target) -> Result<Self, PlatformError> {
        Ok(Self { root: run_dir.join(checked("uid", &target.uid)?) })
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Where processes run and keep their data.
    pub(super) fn data(&self) -> PathBuf {
        self.root.join("dir")
    }

    pub(super) fn create(&self) -> io::Result<()> {
        create_dirs(&self.data())?;
        create_dirs(&self.jobs())?;
        create_dirs(&self.workloads())
    }

    pub(super) fn jobs(&self) -> PathBuf {
        self.root.join("jobs")
    }

    pub(super) fn job(&self, id: &str) -> Result<Instance, PlatformError> {
        Ok(Instance::at(self.jobs().join(checked("Job", id)?)))
    }

    pub(super) fn hooks(&self) -> PathBuf {
        self.root.join("hooks")
    }

    /// # Errors
    /// `Invalid` where the name or the namespace is no name of a folder.
    pub(super) fn hook(&self, kind: HookKind, namespace: &str, name: &str) -> Result<Instance, PlatformError> {
        let (namespace, name) = (checked("namespace", namespace)?, checked(kind.as_str(), name)?);
        Ok(Instance::at(self.hooks().join(format!("{kind}.{namespace}.{name}"))))
    }

    /// Where the objects are that hooks made.
    pub(super) fn objects(&self) -> PathBuf {
        self.root.join("objects")
    }

    pub(super) fn workloads(&self) -> PathBuf {
        self.root.join("workloads")
    }

    /// # Errors
    /// `Invalid` where the name is no name of a folder.
    pub(super) fn workload(&self, name: &str) -> Result<PathBuf, PlatformError> {
        Ok(self.workloads().join(checked(PROCESS, name)?))
    }

    pub(super) fn applied(&self) -> Result<Option<Applied>, PlatformError> {
        let applied: Option<Applied> = read_json(&self.applied_file()).map_err(|error| self.trouble(&error))?;
        match applied {
            Some(Applied { v, .. }) if v > FORMAT => Err(PlatformError::Unavailable(format!(
                "{} is of format {v}, this Pintle reads up to {FORMAT}: use the version that wrote it or a later one",
                self.applied_file().display()
            ))),
            applied => Ok(applied),
        }
    }

    pub(super) fn write_applied(&self, render: Render, desired: BTreeMap<String, u32>) -> Result<(), PlatformError> {
        let applied = Applied { v: FORMAT, render, desired };
        write_json(&self.applied_file(), &applied).map_err(|error| self.trouble(&error))
    }

    pub(super) fn forget_applied(&self) -> io::Result<()> {
        match std::fs::remove_file(self.applied_file()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// The error for what went wrong in this folder.
    pub(super) fn trouble(&self, error: &io::Error) -> PlatformError {
        trouble(&self.root, error)
    }

    fn applied_file(&self) -> PathBuf {
        self.root.join("applied.json")
    }
}

impl Applied {
    /// # Errors
    /// `NotFound` where the render has no such workload.
    pub(super) fn process(&self, workload: &Workload) -> Result<ProcessSpec, PlatformError> {
        let object = self.render.object(workload).filter(|_| workload.kind == PROCESS);
        object
            .as_ref()
            .map(process_of)
            .transpose()?
            .ok_or_else(|| PlatformError::NotFound(format!("{workload} is not applied")))
    }
}

/// All instances of a workload, by replica.
pub(super) fn replicas(workload: &Path) -> io::Result<BTreeMap<u32, Instance>> {
    let names = list(workload)?;
    let replica = |name: String| Some((name.parse().ok()?, Instance::at(workload.join(name))));
    Ok(names.into_iter().filter_map(replica).collect())
}

/// The spec of an object of kind `Process`.
///
/// # Errors
/// `Invalid` where it is none; admission has told a person already.
pub(super) fn process_of(object: &serde_json::Value) -> Result<ProcessSpec, PlatformError> {
    let read = serde_json::from_value(object["spec"].clone());
    read.map_err(|error| PlatformError::Invalid(format!("{PROCESS} {}: spec: {error}", object["metadata"]["name"])))
}

/// A text as the name of a folder.
pub(super) fn checked<'a>(what: &str, name: &'a str) -> Result<&'a str, PlatformError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if !name.is_empty() && name.len() <= 253 && !name.starts_with('.') && name.chars().all(plain) {
        Ok(name)
    } else {
        Err(PlatformError::Invalid(format!("`{name}` is no name of a {what}: letters, digits, `-`, `_` and `.`")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_never_leads_out_of_its_folder() {
        for name in ["", ".", "..", "../other", "a/b", ".new", "a\0"] {
            assert!(checked("Job", name).is_err(), "{name:?}");
        }
        assert_eq!(checked("Job", "shop-3-a.b_C").unwrap(), "shop-3-a.b_C");
    }
}
