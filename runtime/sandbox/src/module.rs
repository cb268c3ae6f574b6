//! Modules that are ready to run, known by the sha256 of their bytes.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Weak};

use serde::{Deserialize, Serialize};
use tokio::task::JoinError;

use crate::admission::{AdmissionError, Interface};
use crate::bindings::ActionModulePre;
use crate::guest::Running;
use crate::private_file::FileError;

/// How many modules stay loaded without being in use.
const KEPT: usize = 64;

/// A module that is compiled and linked.
pub struct Module {
    /// sha256 of its bytes, 64 hex digits.
    pub digest: String,
    /// Version of `pintle:hooks` that it wants.
    pub wit: String,
    /// Names of the calls that it could make: `components.stop`. It imports no other.
    pub calls: Vec<String>,
    pub actions: Vec<ActionInfo>,
    pub(crate) code: ActionModulePre<Running>,
}

/// An action, as its module describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ActionInfo {
    pub name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    #[serde(default)]
    pub has_undo: bool,
}

/// All that can be said about a module without running an action of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Inspection {
    /// Bytes.
    pub size: usize,
    /// sha256, 64 hex digits.
    pub digest: String,
    /// Version of `pintle:hooks` that it wants.
    pub wit: String,
    pub imports: Vec<Interface>,
    pub exports: Vec<Interface>,
    pub actions: Vec<ActionInfo>,
}

/// Why a module that was admitted once cannot be loaded. A change in progress waits for it: it stays on its digest.
#[derive(Debug, thiserror::Error)]
pub enum ModuleError {
    #[error("`{0}` is no sha256 of a module (64 hex digits)")]
    BadDigest(String),
    #[error("the module {digest} is not in the store any more: put its bytes back as {path}")]
    Missing { digest: String, path: String },
    #[error("the module file {path} has been changed (it is {found} now): put the original bytes back")]
    Changed { path: String, found: String },
    #[error("the module {digest} is not admitted by this Pintle")]
    NotAdmitted {
        digest: String,
        #[source]
        source: AdmissionError,
    },
    #[error("the module file was not read: {0}")]
    Unread(#[from] JoinError),
    #[error(transparent)]
    File(#[from] FileError),
}

impl Module {
    #[must_use]
    pub fn action(&self, name: &str) -> Option<&ActionInfo> {
        self.actions.iter().find(|action| action.name == name)
    }
}

impl std::fmt::Debug for Module {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Module").field("digest", &self.digest).field("actions", &self.actions).finish_non_exhaustive()
    }
}

/// Modules in memory: those in use, and the few that were used last.
#[derive(Debug, Default)]
pub(crate) struct Loaded {
    by_digest: HashMap<String, Weak<Module>>,
    recent: VecDeque<Arc<Module>>,
}

impl Loaded {
    pub(crate) fn get(&mut self, digest: &str) -> Option<Arc<Module>> {
        let module = self.by_digest.get(digest)?.upgrade()?;
        self.keep(&module);
        Some(module)
    }

    /// The module, or the one that someone else loaded meanwhile.
    pub(crate) fn insert(&mut self, module: Arc<Module>) -> Arc<Module> {
        if let Some(first) = self.get(&module.digest) {
            return first;
        }
        self.by_digest.retain(|_, module| module.strong_count() > 0);
        self.by_digest.insert(module.digest.clone(), Arc::downgrade(&module));
        self.keep(&module);
        module
    }

    fn keep(&mut self, module: &Arc<Module>) {
        self.recent.retain(|kept| kept.digest != module.digest);
        self.recent.push_back(Arc::clone(module));
        if self.recent.len() > KEPT {
            self.recent.pop_front();
        }
    }
}
