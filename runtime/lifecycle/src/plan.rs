//! The frozen plan of a change: everything that decides what it does, fixed when it opens. Recovery uses the plan and never
//! looks at the documents again.

mod terms;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::document::release::HookSkip;
use crate::grant::Permissions;
use crate::hook::{DeclaredHook, Hook, HookPhase, HookWork};
use crate::ids::{ReleaseKey, StepId};
use crate::json::Json;
use crate::undo::UNDO;

pub use terms::{Deletion, Health, Limits, OnFailure, ReadyWhen, Retry};

/// A requested transition of a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ChangeKind {
    Setup,
    Upgrade,
    Update,
    Rollback,
    Delete,
    Test,
}

/// What a change will do, in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    pub kind: ChangeKind,
    pub target: Target,
    /// Count of the accepted documents of the release, this one included.
    pub generation: u64,
    /// The application's version that the release has; none at setup.
    pub from_version: Option<String>,
    pub to_version: String,
    pub driver: Option<DriverRef>,
    pub components: Vec<Component>,
    /// What shall be applied.
    pub render: Render,
    /// What is applied when the change opens, whole, so that the change can go back to it; none at setup.
    pub former: Option<Render>,
    /// Components that an earlier change left stopped, with the replicas they had.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub stopped: BTreeMap<String, Stopped>,
    /// The Job that an earlier action of the release left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_job: Option<LeftJob>,
    pub phases: Vec<Phase>,
    /// Hooks of the phases that this change comes to, in the order in which they run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<Hook>,
    /// What a later `delete` will run: frozen now, so that it needs none of the driver's files.
    pub on_delete: Vec<Phase>,
    /// What a later `test` will run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub on_test: Vec<Phase>,
    /// What a later `rollback` to this change will run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub on_rollback: Vec<Phase>,
    /// All hooks as they were declared, for later changes that are made from this plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub declared: Vec<DeclaredHook>,
    /// Hooks that the release leaves out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skips: Vec<HookSkip>,
    #[serde(default, skip_serializing_if = "Deletion::is_default")]
    pub deletion: Deletion,
    /// When what was applied counts as healthy; none where that is once it is applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health: Option<Health>,
    pub permissions: Permissions,
    pub limits: Limits,
    /// `spec.values` of the release.
    #[serde(default, skip_serializing_if = "Json::is_null")]
    pub values: Json,
    /// The accepted release document as JSON: `pintle upgrade NAME --to` plans from it.
    pub document: Json,
    /// Folder of the driver, absolute; none for a release without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver_dir: Option<String>,
    /// Why this is the kind of change it is, for `pintle plan`.
    pub reason: String,
}

/// Where the change acts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Target {
    pub release: ReleaseKey,
    /// Told apart from a later release of the same name: 16 hex digits made at setup.
    pub uid: String,
    pub namespace: String,
    pub cluster: String,
    /// Folder that images are looked up in, on the local platform: absolute.
    pub images: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriverRef {
    pub name: String,
    pub version: String,
}

/// A named part of the release.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Component {
    pub name: String,
    pub workload: Workload,
    /// The component container, when declared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// The user's image override, `{{ app.version }}` still in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// The release's env of this component.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Names that the former release document had set for this component and this one does not: left out of what a Job copies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env_gone: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Workload {
    pub kind: String,
    pub name: String,
}

/// Final content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Render {
    #[serde(flatten)]
    pub reference: RenderRef,
    /// Manifests as JSON, in document order, overrides applied.
    pub objects: Vec<Json>,
}

/// A render without its content: the sha256 of the content and the generation that brought it in, since going back to old
/// content is a new render.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RenderRef {
    pub digest: String,
    pub generation: u64,
    pub version: String,
}

/// A component that is stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stopped {
    /// Replicas before the first stop.
    pub former: u32,
    /// The change that stopped it: `shop-12`.
    pub since: String,
}

/// A Job that an action left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftJob {
    pub id: String,
    /// The change that started it: `shop-12`.
    pub change: String,
}

/// A fixed point in a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phase {
    /// `preUpgrade`, `upgrade`, `postUpgrade`, …
    pub name: String,
    pub nodes: Vec<Node>,
}

/// Something that a phase does; nodes run one after another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "camelCase")]
pub enum Node {
    /// The step of a mode of a driver's hook: its actions, then the sync where the mode is `core` and the render is not applied.
    Mode(Mode),
    /// The sync by itself.
    Sync { step: StepId },
    /// The removal of everything that the release applied.
    Remove { step: StepId },
    /// The hooks of a phase that is in no sync.
    Hooks { phase: HookPhase },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Mode {
    pub step: StepId,
    /// As given: "Run the upgrade pre-hook".
    pub title: String,
    /// Who starts what nests in it: "the upgrade hook".
    pub starter: String,
    pub actions: Vec<ActionPlan>,
    /// Whether the render is applied at the end of this mode.
    pub syncs: bool,
}

/// An action of the plan: the module's digest, not its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ActionPlan {
    pub step: StepId,
    /// As in driver.yml.
    pub name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// sha256 of the module, 64 hex digits.
    pub module: String,
    /// The action's name in the module.
    pub export: String,
    /// Version of `pintle:hooks` that the module wants.
    pub wit: String,
    /// Whether the module can undo it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_undo: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    pub on_failure: OnFailure,
    pub retry: Retry,
    #[serde(default)]
    pub pivot: bool,
    #[serde(default, skip_serializing_if = "Json::is_null")]
    pub args: Json,
}

impl Plan {
    /// The action with that step, or that this step undoes.
    #[must_use]
    pub fn action(&self, step: &StepId) -> Option<&ActionPlan> {
        self.action_of(step).or_else(|| {
            let undone = step.as_str().strip_suffix(UNDO)?.strip_suffix('/')?;
            self.action_of(&StepId::root(undone))
        })
    }

    fn action_of(&self, step: &StepId) -> Option<&ActionPlan> {
        match self.hook(step).map(|hook| &hook.work) {
            Some(HookWork::Action { action }) => Some(action),
            Some(_) => None,
            None => self.modes().flat_map(|mode| &mode.actions).find(|action| action.step == *step),
        }
    }

    /// The hook whose step that is.
    #[must_use]
    pub fn hook(&self, step: &StepId) -> Option<&Hook> {
        let (phase, name) = HookPhase::of_step(step)?;
        self.hooks.iter().find(|hook| hook.phase == phase && hook.name == name)
    }

    /// Name of the phase that a step of the plan belongs to.
    #[must_use]
    pub fn phase_of(&self, step: &StepId) -> Option<&str> {
        if let Some(hook) = self.hook(step) {
            return Some(hook.phase.as_str());
        }
        let within = |id: &StepId| step == id || step.as_str().starts_with(&format!("{id}/"));
        self.phases
            .iter()
            .find(|phase| phase.nodes.iter().filter_map(Node::step).any(within))
            .map(|phase| phase.name.as_str())
    }

    #[must_use]
    pub fn component(&self, name: &str) -> Option<&Component> {
        self.components.iter().find(|component| component.name == name)
    }

    pub fn modes(&self) -> impl Iterator<Item = &Mode> {
        modes(&self.phases)
    }

    /// Digests of the modules that the change or a later delete needs, each once.
    #[must_use]
    pub fn modules(&self) -> Vec<&str> {
        let modes =
            self.modes().chain(modes(&self.on_delete)).chain(modes(&self.on_test)).chain(modes(&self.on_rollback));
        let hooks = self.hooks.iter().chain(self.declared.iter().map(|declared| &declared.hook));
        let of_hooks = hooks.filter_map(|hook| match &hook.work {
            HookWork::Action { action } => Some(&**action),
            HookWork::Workload { .. } | HookWork::Objects { .. } => None,
        });
        let mut digests: Vec<&str> =
            modes.flat_map(|mode| &mode.actions).chain(of_hooks).map(|action| action.module.as_str()).collect();
        digests.sort_unstable();
        digests.dedup();
        digests
    }
}

fn modes(phases: &[Phase]) -> impl Iterator<Item = &Mode> {
    phases.iter().flat_map(|phase| &phase.nodes).filter_map(|node| match node {
        Node::Mode(mode) => Some(mode),
        Node::Sync { .. } | Node::Remove { .. } | Node::Hooks { .. } => None,
    })
}

impl Node {
    /// Its step; none for hooks, each of which has one of its own.
    #[must_use]
    pub fn step(&self) -> Option<&StepId> {
        match self {
            Self::Mode(mode) => Some(&mode.step),
            Self::Sync { step } | Self::Remove { step } => Some(step),
            Self::Hooks { .. } => None,
        }
    }
}

impl Component {
    /// The user's image override at a version: `{{ app.version }}` and `{{ .app.version }}` stand for it, literally so.
    #[must_use]
    pub fn image_at(&self, version: &str) -> Option<String> {
        self.image.as_ref().map(|image| crate::document::image_at(image, version))
    }
}

impl Render {
    /// The object of a workload, by kind and name.
    #[must_use]
    pub fn object(&self, workload: &Workload) -> Option<serde_json::Value> {
        // A label is the same in JSON text, so only what has the name in it need be parsed.
        let likely = self.objects.iter().filter(|object| object.as_str().contains(&workload.name));
        likely.map(Json::value).find(|object| {
            object["kind"] == workload.kind.as_str() && object["metadata"]["name"] == workload.name.as_str()
        })
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.name)
    }
}

impl fmt::Display for ChangeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Setup => "setup",
            Self::Upgrade => "upgrade",
            Self::Update => "update",
            Self::Rollback => "rollback",
            Self::Delete => "delete",
            Self::Test => "test",
        })
    }
}
