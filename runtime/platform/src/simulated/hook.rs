//! Workloads of hooks in a simulated world: they are of the world and not of a release, because hooks run after a release is gone.

mod calls;
mod outside;
mod table;

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use pintle_lifecycle::call::{JobResult, Output};
use pintle_lifecycle::hook::{FENCE, HookKind, HookRef};
use pintle_lifecycle::plan::Target;
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::Instant;

use super::script::HookScript;
use super::world::{failed, judged};
use crate::platform::HookWorkload;

pub(super) use table::Hooks;

/// The workload of a hook, there or gone.
#[derive(Debug, Clone)]
pub struct SimulatedHook {
    /// Of the call that created it.
    pub key: String,
    pub hook: HookRef,
    pub target: Target,
    pub object: Value,
    pub labels: BTreeMap<String, String>,
    pub state: HookState,
    pub deletion: Deletion,
    /// In the order of creation.
    number: u64,
    created: Instant,
    /// Counts changes, for those who wait for this one.
    changed: watch::Sender<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookState {
    /// It is there and Pintle has not let it run.
    Fenced,
    /// Pintle would let it run, its author does not.
    Suspended,
    /// Ends with this result at that moment; none: never.
    Runs { until: Option<Instant>, result: JobResult, waits_for: String },
    /// It was deleted while it ran.
    Cut(Output),
}

/// How far the deletion of a workload is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Deletion {
    #[default]
    No,
    /// Accepted; nothing runs of it and its name is still taken.
    Accepted,
    Gone,
}

/// Something that happened to the workload of a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookEvent {
    /// Uid of the release.
    pub release: String,
    /// As in its labels: `preSync`.
    pub phase: String,
    /// The hook's own name, as in its labels.
    pub name: String,
    pub hook: HookRef,
    pub moment: HookMoment,
    /// Since the first event of the world, in tokio's time.
    pub at: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum HookMoment {
    Created,
    /// It began to run.
    Began,
    /// By itself, or because it was deleted.
    Ended,
    Gone,
}

/// Why a hook has failed whose workload was gone before it was seen to end.
const DELETED: &str = "DeletedBeforeResult";

impl SimulatedHook {
    fn new(key: &str, target: &Target, hook: HookRef, workload: &HookWorkload, number: u64) -> Self {
        let object = workload.object.value();
        let text = |(name, value): (&String, &Value)| Some((name.clone(), value.as_str()?.to_owned()));
        let labels = object["metadata"]["labels"].as_object();
        Self {
            key: key.to_owned(),
            hook,
            target: target.clone(),
            labels: labels.map(|labels| labels.iter().filter_map(text).collect()).unwrap_or_default(),
            object,
            state: HookState::Fenced,
            deletion: Deletion::No,
            number,
            created: Instant::now(),
            changed: watch::Sender::new(0),
        }
    }

    /// `preSync`; empty where it has no such label.
    #[must_use]
    pub fn phase(&self) -> &str {
        self.label("pintle.dev/hook-phase")
    }

    /// The hook's own name; empty where it has no such label.
    #[must_use]
    pub fn name(&self) -> &str {
        self.label("pintle.dev/hook-name")
    }

    fn label(&self, key: &str) -> &str {
        self.labels.get(key).map_or("", String::as_str)
    }

    /// Whether its own manifest keeps it from running: a Job that is suspended, a Pod with a gate that is not ours.
    #[must_use]
    pub fn is_suspended_by_author(&self) -> bool {
        let spec = &self.object["spec"];
        match self.hook.kind {
            HookKind::Job => spec["suspend"] == true,
            HookKind::Pod => {
                spec["schedulingGates"].as_array().is_some_and(|gates| gates.iter().any(|gate| gate["name"] != FENCE))
            }
        }
    }

    /// The result, once it has ended by itself.
    #[must_use]
    pub fn result(&self) -> Option<&JobResult> {
        match &self.state {
            HookState::Runs { until: Some(until), result, .. } => (Instant::now() >= *until).then_some(result),
            _ => None,
        }
    }

    /// When it will end by itself.
    fn until(&self) -> Option<Instant> {
        match self.state {
            HookState::Runs { until, .. } => until,
            _ => None,
        }
    }

    fn has_run(&self) -> bool {
        matches!(self.state, HookState::Runs { .. } | HookState::Cut(_))
    }

    fn run(&mut self, script: HookScript) {
        let HookScript { exit_code, output, runs, reason, waits_for } = script;
        let until = Instant::now().checked_add(runs).filter(|_| runs != HookScript::NEVER);
        self.state = HookState::Runs { until, result: judged(&self.hook.name, exit_code, output, reason), waits_for };
    }

    /// Ends what runs of it. Whether anything did.
    fn cut(&mut self) -> bool {
        let runs = self.result().is_none();
        match &mut self.state {
            HookState::Runs { result, .. } if runs => {
                self.state = HookState::Cut(std::mem::take(&mut result.output));
                true
            }
            _ => false,
        }
    }

    fn output(&self) -> Output {
        match &self.state {
            HookState::Fenced | HookState::Suspended => Output::default(),
            HookState::Runs { result, .. } => result.output.clone(),
            HookState::Cut(output) => output.clone(),
        }
    }

    /// How it ended for whoever `watched` it since before it was gone, or for whoever comes late. None: it goes on.
    fn verdict(&self, watched: bool) -> Option<JobResult> {
        match self.result() {
            Some(result) if watched || self.deletion < Deletion::Gone => Some(result.clone()),
            _ if self.deletion == Deletion::No => None,
            _ => {
                let output = if watched { self.output() } else { Output::default() };
                Some(failed(&self.hook.name, None, output.text, DELETED.to_owned()))
            }
        }
    }

    /// What it is at, for a person; `blocked` says whether somebody keeps it from being deleted.
    fn waits_for(&self, blocked: bool) -> String {
        match (&self.state, self.deletion) {
            (_, Deletion::Gone) => String::new(),
            (_, Deletion::Accepted) if blocked => format!("the finalizer {FINALIZER} blocks its deletion"),
            (_, Deletion::Accepted) => "it is being deleted".to_owned(),
            (HookState::Fenced, _) => "its fence is not lifted".to_owned(),
            (HookState::Suspended, _) => "its author suspended it".to_owned(),
            (HookState::Runs { waits_for, .. }, _) if self.result().is_none() => match waits_for.as_str() {
                "" => format!("container {} still runs", self.name()),
                words => words.to_owned(),
            },
            _ => String::new(),
        }
    }

    fn tell(&self) {
        self.changed.send_modify(|count| *count += 1);
    }
}

/// What a blocked deletion waits for.
const FINALIZER: &str = "example.com/blocks";

/// `Job default/presync-migrate-ab12cd34 (preSync/migrate) succeeded`
impl fmt::Display for SimulatedHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let HookRef { kind, namespace, name, .. } = &self.hook;
        write!(f, "{kind} {namespace}/{name} ({}/{}) ", self.phase(), self.name())?;
        match (&self.state, self.result()) {
            (HookState::Fenced, _) => f.write_str("fenced"),
            (HookState::Suspended, _) => f.write_str("suspended"),
            (HookState::Cut(_), _) => f.write_str("cut"),
            (_, None) => f.write_str("runs"),
            (_, Some(result)) if result.succeeded => f.write_str("succeeded"),
            (_, Some(result)) => write!(f, "failed: {}", result.reason),
        }?;
        match self.deletion {
            Deletion::No => Ok(()),
            Deletion::Accepted => f.write_str(", being deleted"),
            Deletion::Gone => f.write_str(", gone"),
        }
    }
}

/// `began preSync/migrate`
impl fmt::Display for HookEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let moment = match self.moment {
            HookMoment::Created => "created",
            HookMoment::Began => "began",
            HookMoment::Ended => "ended",
            HookMoment::Gone => "gone",
        };
        write!(f, "{moment} {}/{}", self.phase, self.name)
    }
}
