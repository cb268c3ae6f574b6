//! `status.lifecycle` of a release: the last run of each hook, and what it sums up to. The names of fields and states are those that
//! users of lifecycle hooks know.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::ending::Ending;
use crate::hook::{HookPhase, HookSource, HookStarted};
use crate::plan::OnFailure;
use crate::record::{Event, Record};
use crate::stamp::Stamp;

/// The last run of each hook, by phase. An entry of an earlier render stays until its hook runs again.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Lifecycle(BTreeMap<HookPhase, Vec<HookEntry>>);

/// The last run of a hook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HookEntry {
    pub name: String,
    pub source: HookSource,
    pub kind: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub api_version: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub resource_namespace: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub resource_name: String,
    pub state: HookState,
    /// `sha256:…`.
    pub render_ref: String,
    /// What `onFailure` says; only where it failed or its time was over, and empty where nothing was said.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub follow_up_action: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    pub started_at: Stamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Stamp>,
    pub attempt: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// `shop-12`.
    pub change: String,
    pub generation: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    follow_up: Option<OnFailure>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum HookState {
    Running,
    Succeeded,
    Failed,
    TimedOut,
}

/// What all entries sum up to, as a status of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ConditionStatus {
    True,
    False,
    Unknown,
}

impl Lifecycle {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The entries of each phase, in the order of phases.
    pub fn phases(&self) -> impl Iterator<Item = (HookPhase, &[HookEntry])> {
        self.0.iter().map(|(phase, entries)| (*phase, entries.as_slice()))
    }

    fn entries(&self) -> impl Iterator<Item = (HookPhase, &HookEntry)> {
        self.phases().flat_map(|(phase, entries)| entries.iter().map(move |entry| (phase, entry)))
    }

    /// Condition `LifecycleSucceeded`: Unknown while any runs, False if any failed or was not done in time, also where the change
    /// goes on after it, else True.
    #[must_use]
    pub fn succeeded(&self) -> ConditionStatus {
        let mut status = ConditionStatus::True;
        for (_, entry) in self.entries() {
            match entry.state {
                HookState::Running => return ConditionStatus::Unknown,
                HookState::Failed | HookState::TimedOut => status = ConditionStatus::False,
                HookState::Succeeded => {}
            }
        }
        status
    }

    /// Column `Lifecycle`, from the entries of the current render alone: `N/A`, or `Running`, `Failed` or `Completed` and the phase.
    #[must_use]
    pub fn summary(&self, generation: u64) -> String {
        let current = || self.entries().filter(move |(_, entry)| entry.generation == generation);
        let in_state = |wanted: &[HookState]| current().find(|(_, entry)| wanted.contains(&entry.state));
        let (word, phase) = if let Some((phase, _)) = in_state(&[HookState::Running]) {
            ("Running", phase)
        } else if let Some((phase, _)) = in_state(&[HookState::Failed, HookState::TimedOut]) {
            ("Failed", phase)
        } else if let Some((phase, _)) = current().last() {
            ("Completed", phase)
        } else {
            return "N/A".to_owned();
        };
        format!("{word}:{phase}")
    }

    pub(crate) fn take(&mut self, record: &Record) {
        match &record.event {
            Event::StepStarted { attempt, hook: Some(hook), .. } => self.start(record, *attempt, hook),
            Event::StepFinished { step, attempt, ending } => {
                let Some((phase, name)) = HookPhase::of_step(step) else { return };
                let change = record.change.to_string();
                let entry =
                    self.0.get_mut(&phase).and_then(|entries| entries.iter_mut().find(|entry| entry.name == name));
                if let Some(entry) = entry.filter(|entry| entry.change == change && entry.attempt == *attempt) {
                    entry.end(record.at, ending);
                }
            }
            _ => {}
        }
    }

    fn start(&mut self, record: &Record, attempt: u32, hook: &HookStarted) {
        let entries = self.0.entry(hook.phase).or_default();
        let entry = HookEntry {
            name: hook.name.clone(),
            source: hook.source,
            kind: hook.kind.clone(),
            api_version: hook.api_version.clone(),
            resource_namespace: hook.namespace.clone(),
            resource_name: hook.resource.clone(),
            state: HookState::Running,
            render_ref: hook.render.clone(),
            follow_up_action: String::new(),
            message: String::new(),
            started_at: record.at,
            finished_at: None,
            attempt,
            exit_code: None,
            change: record.change.to_string(),
            generation: hook.generation,
            follow_up: hook.follow_up,
        };
        match entries.iter_mut().find(|known| known.name == hook.name) {
            Some(known) => *known = entry,
            None => entries.push(entry),
        }
    }
}

impl HookEntry {
    fn end(&mut self, at: Stamp, ending: &Ending) {
        self.finished_at = Some(at);
        self.state = match ending {
            Ending::Succeeded { .. } | Ending::Skipped { .. } => HookState::Succeeded,
            Ending::TimedOut { .. } => HookState::TimedOut,
            _ => HookState::Failed,
        };
        if self.state != HookState::Succeeded {
            self.message = match ending {
                Ending::Failed { message, .. } | Ending::TimedOut { message, .. } => message.clone(),
                other => other.to_string(),
            };
            self.follow_up_action = self.follow_up.map(|action| action.to_string()).unwrap_or_default();
        }
        self.exit_code = match ending {
            Ending::Succeeded { .. } if !self.resource_name.is_empty() => Some(0),
            Ending::Failed { exit_code, .. } => *exit_code,
            _ => None,
        };
    }
}

impl fmt::Display for HookState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl fmt::Display for ConditionStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}
