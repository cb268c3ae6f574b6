//! What an action knows about its change: constants that cannot differ between a run and its replay.

use std::fmt;

use crate::imports::context;

/// The change that the action runs in. Every getter is free: it is no call of its own and is not journaled.
#[derive(Debug)]
pub struct Context {
    _from_the_host: (),
}

impl Context {
    pub(crate) const fn new() -> Self {
        Self { _from_the_host: () }
    }

    /// The release's name.
    #[must_use]
    pub fn release(&self) -> String {
        context::release()
    }

    /// The namespace of the release on its cluster.
    #[must_use]
    pub fn namespace(&self) -> String {
        context::namespace()
    }

    /// Tells this release from a former one of the same name.
    #[must_use]
    pub fn release_uid(&self) -> String {
        context::release_uid()
    }

    /// The owner of the release.
    #[must_use]
    pub fn tenant(&self) -> String {
        context::tenant()
    }

    /// The id of the change, as people see it: `shop-12`.
    #[must_use]
    pub fn change(&self) -> String {
        context::change()
    }

    /// The point of the change at which the action runs.
    #[must_use]
    pub fn phase(&self) -> Phase {
        Phase::from(context::phase())
    }

    /// The target cluster's name.
    #[must_use]
    pub fn cluster(&self) -> String {
        context::cluster()
    }

    /// A label of the target cluster.
    #[must_use]
    pub fn cluster_label(&self, key: &str) -> Option<String> {
        context::cluster_label(key)
    }

    /// The count of the accepted documents of the release.
    #[must_use]
    pub fn generation(&self) -> u64 {
        context::generation()
    }

    /// 1 for the first try of this action in this change.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        context::attempt()
    }

    /// The application's version that the change found; none at setup.
    #[must_use]
    pub fn from_version(&self) -> Option<String> {
        context::from_version()
    }

    /// The application's version that the change leads to.
    #[must_use]
    pub fn target_version(&self) -> String {
        context::target_version()
    }

    /// The release's values, as a JSON object.
    #[must_use]
    pub fn values_json(&self) -> String {
        context::values_json()
    }

    /// The arguments that the hook gives to the action, as a JSON object.
    #[must_use]
    pub fn args_json(&self) -> String {
        context::args_json()
    }
}

/// A fixed point in a change, by the name that documents give it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Phase {
    PreSetup,
    Setup,
    PostSetup,
    PreUpgrade,
    Upgrade,
    PostUpgrade,
    PreRollback,
    Rollback,
    PostRollback,
    PreSync,
    PostSync,
    SyncFailed,
    PreDelete,
    PostDelete,
    Test,
    /// One that this version of the SDK does not know.
    Other(String),
}

impl Phase {
    /// The name in documents: `preSetup`, `upgrade`, ….
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::PreSetup => "preSetup",
            Self::Setup => "setup",
            Self::PostSetup => "postSetup",
            Self::PreUpgrade => "preUpgrade",
            Self::Upgrade => "upgrade",
            Self::PostUpgrade => "postUpgrade",
            Self::PreRollback => "preRollback",
            Self::Rollback => "rollback",
            Self::PostRollback => "postRollback",
            Self::PreSync => "preSync",
            Self::PostSync => "postSync",
            Self::SyncFailed => "syncFailed",
            Self::PreDelete => "preDelete",
            Self::PostDelete => "postDelete",
            Self::Test => "test",
            Self::Other(name) => name,
        }
    }
}

impl From<String> for Phase {
    fn from(name: String) -> Self {
        match name.as_str() {
            "preSetup" => Self::PreSetup,
            "setup" => Self::Setup,
            "postSetup" => Self::PostSetup,
            "preUpgrade" => Self::PreUpgrade,
            "upgrade" => Self::Upgrade,
            "postUpgrade" => Self::PostUpgrade,
            "preRollback" => Self::PreRollback,
            "rollback" => Self::Rollback,
            "postRollback" => Self::PostRollback,
            "preSync" => Self::PreSync,
            "postSync" => Self::PostSync,
            "syncFailed" => Self::SyncFailed,
            "preDelete" => Self::PreDelete,
            "postDelete" => Self::PostDelete,
            "test" => Self::Test,
            _ => Self::Other(name),
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
