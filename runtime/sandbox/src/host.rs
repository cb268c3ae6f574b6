//! What a guest reaches. The sandbox lifts and lowers; whoever implements [`Host`] decides what a call does.

use std::collections::BTreeMap;

use async_trait::async_trait;
use pintle_journal::journal::JournalError;
use pintle_lifecycle::call::{Answer, Call, CallError};
use pintle_lifecycle::ending::Ending;
use pintle_lifecycle::record::Level;

/// Constants of the change that a guest may read. They have no ordinal: a run and its replay see the same.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Facts {
    pub release: String,
    pub namespace: String,
    pub release_uid: String,
    pub tenant: String,
    /// As people see it: `shop-12`.
    pub change: String,
    /// `preUpgrade`, `upgrade`, …
    pub phase: String,
    pub cluster: String,
    pub cluster_labels: BTreeMap<String, String>,
    pub generation: u64,
    /// 1 for the first try.
    pub attempt: u32,
    pub from_version: Option<String>,
    pub target_version: String,
    pub values_json: String,
    pub args_json: String,
}

/// What a guest reaches through its imports.
#[async_trait]
pub trait Host: Send + Sync + 'static {
    fn facts(&self) -> &Facts;

    /// A call. The inner error is the guest's to see.
    ///
    /// # Errors
    /// [`Stop`] ends the guest.
    async fn call(&self, call: Call) -> Result<Result<Answer, CallError>, Stop>;

    /// A line that the guest logged. Lines of a replay are passed on as well: the host knows which were recorded.
    ///
    /// # Errors
    /// [`Stop`] ends the guest.
    fn log(&self, level: Level, message: String, fields: Vec<(String, String)>) -> Result<(), Stop>;

    /// True while recorded calls are answered: then neither CPU time nor log lines are charged.
    fn replaying(&self) -> bool;
}

/// Why a guest does not go on after a call.
#[derive(Debug, Clone)]
pub enum Stop {
    /// The attempt has ended like this.
    Ending(Box<Ending>),
    /// The journal did not take the record; nothing may happen any more.
    Journal(JournalError),
    /// Whoever waits does not want it any more.
    Gone,
}
