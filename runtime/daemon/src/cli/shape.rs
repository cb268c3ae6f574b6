//! What `-o json` and `-o yaml` print: shapes of our own, documented in docs/cli.md, that stay when the stored views change. Fields
//! may be added; none is renamed or left out, and what is not there is null.

use std::collections::BTreeMap;

use pintle_lifecycle::hook::{HookPhase, HookSource};
use pintle_lifecycle::ids::ReleaseKey;
use pintle_lifecycle::status::{HookEntry, HookState, Lifecycle};
use pintle_lifecycle::tree::StepNode;
use pintle_lifecycle::view::{ChangeView, ReleaseView};
use serde::Serialize;

/// A release.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Release {
    pub name: String,
    pub tenant: String,
    pub uid: String,
    pub cluster: String,
    pub namespace: String,
    pub driver: Option<Driver>,
    /// What is applied.
    pub version: Option<String>,
    pub generation: u64,
    pub revision: u64,
    /// The newest change.
    pub change: String,
    pub change_kind: String,
    pub state: String,
    pub open_change: Option<String>,
    pub stopped: Vec<Stopped>,
    pub left_job: Option<LeftJob>,
    pub deleted: bool,
    /// When the newest change was opened.
    pub changed_at: Option<String>,
    pub status: Status,
}

#[derive(Debug, Clone, Serialize)]
pub struct Status {
    /// The last run of each hook, by phase.
    pub lifecycle: BTreeMap<HookPhase, Vec<Hook>>,
}

/// The last run of a hook. The names are those that users of lifecycle hooks know.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Hook {
    pub name: String,
    pub source: HookSource,
    pub kind: String,
    pub api_version: Option<String>,
    pub resource_namespace: Option<String>,
    pub resource_name: Option<String>,
    pub state: HookState,
    pub render_ref: String,
    /// `onFailure` as it was written, empty where it was not; null unless the hook failed or its time was over.
    pub follow_up_action: Option<String>,
    pub message: Option<String>,
    pub started_at: String,
    pub finished_at: Option<String>,
    pub attempt: u32,
    pub exit_code: Option<i32>,
    pub change: String,
}

/// The last run of a hook in a list of its own.
#[derive(Debug, Clone, Serialize)]
pub struct ListedHook {
    pub release: String,
    pub phase: HookPhase,
    #[serde(flatten)]
    pub hook: Hook,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Driver {
    pub name: String,
    pub version: String,
}

/// A driver that releases use.
#[derive(Debug, Clone, Serialize)]
pub struct UsedDriver {
    pub name: String,
    pub version: String,
    pub releases: Vec<String>,
}

/// A component that a change left stopped.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Stopped {
    pub component: String,
    pub since: String,
    pub former_replicas: u32,
}

#[derive(Debug, Clone, Serialize)]
pub struct LeftJob {
    pub id: String,
    pub change: String,
}

/// A change.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    pub id: String,
    pub release: String,
    pub tenant: String,
    pub kind: String,
    pub state: String,
    pub from_version: Option<String>,
    pub to_version: String,
    pub generation: u64,
    pub by: String,
    pub opened_at: String,
    pub finished_at: Option<String>,
    pub message: Option<String>,
    pub records: u64,
}

impl Release {
    /// `newest` is the view of the release's newest change.
    #[must_use]
    pub fn of(view: &ReleaseView, newest: Option<&ChangeView>) -> Self {
        let ReleaseKey { tenant, name } = view.key.clone();
        let driver = view.driver.as_ref();
        let stopped = view.stopped.iter().map(|(component, stopped)| Stopped {
            component: component.clone(),
            since: stopped.since.clone(),
            former_replicas: stopped.former,
        });
        Self {
            name,
            tenant,
            uid: view.uid.clone(),
            cluster: view.cluster.clone(),
            namespace: view.namespace.clone(),
            driver: driver.map(|driver| Driver { name: driver.name.clone(), version: driver.version.clone() }),
            version: view.applied.as_ref().map(|applied| applied.version.clone()),
            generation: view.generation,
            revision: view.revision,
            change: view.newest().to_string(),
            change_kind: view.last_kind.to_string(),
            state: view.last_state.to_string(),
            open_change: view.open.as_ref().map(ToString::to_string),
            stopped: stopped.collect(),
            left_job: view.left_job.clone().map(|job| LeftJob { id: job.id, change: job.change }),
            deleted: view.deleted,
            changed_at: newest.map(|change| change.opened.rfc3339()),
            status: Status::of(&view.lifecycle),
        }
    }
}

impl Status {
    fn of(lifecycle: &Lifecycle) -> Self {
        let phase = |(phase, entries): (HookPhase, &[HookEntry])| (phase, entries.iter().map(Hook::of).collect());
        Self { lifecycle: lifecycle.phases().map(phase).collect() }
    }
}

impl Hook {
    #[must_use]
    pub fn of(entry: &HookEntry) -> Self {
        let failed = matches!(entry.state, HookState::Failed | HookState::TimedOut);
        Self {
            name: entry.name.clone(),
            source: entry.source,
            kind: entry.kind.clone(),
            api_version: filled(&entry.api_version),
            resource_namespace: filled(&entry.resource_namespace),
            resource_name: filled(&entry.resource_name),
            state: entry.state,
            render_ref: entry.render_ref.clone(),
            follow_up_action: failed.then(|| entry.follow_up_action.clone()),
            message: filled(&entry.message),
            started_at: entry.started_at.rfc3339(),
            finished_at: entry.finished_at.map(|at| at.rfc3339()),
            attempt: entry.attempt,
            exit_code: entry.exit_code,
            change: entry.change.clone(),
        }
    }
}

/// None where there is no text.
fn filled(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

impl Change {
    #[must_use]
    pub fn of(view: &ChangeView) -> Self {
        Self {
            id: view.key.to_string(),
            release: view.key.release.name.clone(),
            tenant: view.key.release.tenant.clone(),
            kind: view.kind.to_string(),
            state: view.state.to_string(),
            from_version: view.from_version.clone(),
            to_version: view.to_version.clone(),
            generation: view.generation,
            by: view.by.clone(),
            opened_at: view.opened.rfc3339(),
            finished_at: view.finished.map(|at| at.rfc3339()),
            message: (!view.message.is_empty()).then(|| view.message.clone()),
            records: view.records,
        }
    }
}

/// One try of a step, or a call that is shown as a step.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    pub id: String,
    pub parent: Option<String>,
    pub title: String,
    pub attempt: u32,
    pub state: String,
    pub started_by: Option<String>,
    pub started_at: Option<String>,
    pub finished_at: Option<String>,
    pub message: Option<String>,
    pub notes: Vec<String>,
    /// The end of what a failed workload printed.
    pub output: Option<Output>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Output {
    pub text: String,
    pub cut: bool,
}

impl Step {
    #[must_use]
    pub fn of(step: &StepNode, parent: Option<&StepNode>) -> Self {
        let output = &step.output;
        Self {
            id: step.id.to_string(),
            parent: parent.map(|parent| parent.id.to_string()),
            title: step.title.clone(),
            attempt: step.attempt,
            state: step.state.to_owned(),
            started_by: step.started_by.clone(),
            started_at: step.started.map(|at| at.rfc3339()),
            finished_at: step.finished.map(|at| at.rfc3339()),
            message: (!step.message.is_empty()).then(|| step.message.clone()),
            notes: step.notes.clone(),
            output: (!output.is_empty()).then(|| Output { text: output.text.clone(), cut: output.cut }),
        }
    }
}
