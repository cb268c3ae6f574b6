//! `lifecycle` of a release or driver: hooks of the phases around a sync, a delete or a test, as they were written.

mod container;
mod hook;
mod pod;
mod work;

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::driver::{Location, header};
use super::problem::{Place, Placed, Problems};
use super::reader::{Cursor, Fields, Source, Templates};
use super::template::{self, Template};
use crate::hook::{Cleanup, HookKind, HookPhase, HookSource, OnTimeout, RunAfter};
use crate::plan::{ChangeKind, OnFailure};

pub(super) use hook::{CHANGES, CLEANUP_AT, ON_TIMEOUT, POLICIES, RUN_AFTER};
pub(super) use work::TYPES;

/// A hook as it was declared.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HookSpec {
    pub phase: HookPhase,
    /// A DNS label, unique in its phase.
    pub name: Placed<String>,
    pub source: HookSource,
    pub weight: i32,
    /// Which changes; none: all that come to the phase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on: Option<Vec<ChangeKind>>,
    /// In CEL, compiled while it was read; empty where it always runs.
    #[serde(rename = "if", skip_serializing_if = "is_empty")]
    pub condition: Placed<String>,
    pub run_after: RunAfter,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_failure: Option<OnFailure>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_timeout: Option<OnTimeout>,
    pub cleanup: Cleanup,
    pub delete_before_creation: bool,
    pub fenced: bool,
    pub pivot: bool,
    pub work: WorkSpec,
    /// All templates in [`WorkSpec::json`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub templates: Vec<Template>,
    /// The hook as a whole.
    #[serde(skip)]
    pub place: Place,
}

/// What a hook runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "is", rename_all = "camelCase")]
pub enum WorkSpec {
    /// `{apiVersion, kind, metadata: {namespace, labels, annotations}, spec}`; the metadata only where it was written.
    Workload { kind: HookKind, template: Value },
    /// A list of objects, each with its name.
    #[serde(rename_all = "camelCase")]
    Objects {
        objects: Value,
        /// In CEL, of each object by itself as `object`.
        #[serde(skip_serializing_if = "Option::is_none")]
        ready_when: Option<String>,
    },
    Action {
        location: Placed<Location>,
        /// An object.
        args: Value,
    },
}

/// A file that holds a `lifecycle` and nothing else, as `lifecycle: {path: …}` of a release names it.
#[derive(Debug)]
pub struct LifecycleDocument;

impl LifecycleDocument {
    /// Reads the text of `file` into the hooks that could be read.
    pub fn read(file: &str, text: &str, problems: &mut Problems) -> Vec<HookSpec> {
        let source = Source::open(file, text, Templates::Lifecycle);
        let hooks = source.only().and_then(|cursor| {
            cursor.fields(|fields| {
                header(fields, "Lifecycle");
                fields.required("lifecycle").map(|value| phases(&value, HookSource::Release)).unwrap_or_default()
            })
        });
        source.close(problems);
        let hooks = hooks.unwrap_or_default();
        check_names(&hooks, problems);
        hooks
    }
}

impl WorkSpec {
    /// What templates stand in: the template of a workload, the list of objects, or the arguments of an action.
    #[must_use]
    pub fn json(&self) -> &Value {
        match self {
            Self::Workload { template, .. } => template,
            Self::Objects { objects, .. } => objects,
            Self::Action { args, .. } => args,
        }
    }

    pub fn json_mut(&mut self) -> &mut Value {
        match self {
            Self::Workload { template, .. } => template,
            Self::Objects { objects, .. } => objects,
            Self::Action { args, .. } => args,
        }
    }

    /// The namespace that the template of a workload sets.
    #[must_use]
    pub fn namespace(&self) -> Option<&str> {
        match self {
            Self::Workload { template, .. } => template.pointer("/metadata/namespace").and_then(Value::as_str),
            Self::Objects { .. } | Self::Action { .. } => None,
        }
    }

    /// Job, Pod, Action or Objects.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Workload { kind, .. } => kind.as_str(),
            Self::Objects { .. } => "Objects",
            Self::Action { .. } => "Action",
        }
    }

    /// The field of a hook that holds it.
    #[must_use]
    pub fn field(&self) -> &'static str {
        match self {
            Self::Workload { kind: HookKind::Job, .. } => "jobTemplate",
            Self::Workload { kind: HookKind::Pod, .. } => "podTemplate",
            Self::Objects { .. } => "objects",
            Self::Action { .. } => "action",
        }
    }
}

impl HookSpec {
    /// The work with the texts that its templates gave, in their order. What a template gave is looked at as if it had been written
    /// so: a problem has the place of the template.
    #[must_use]
    pub fn rendered(&self, texts: &[String], problems: &mut Problems) -> WorkSpec {
        let mut work = self.work.clone();
        template::put(work.json_mut(), &self.templates, texts);
        work::check(&work, &self.place, &self.templates, problems);
        work
    }
}

/// Looks at work whose templates were rendered when its places were known no more, as that of a later hook. Each problem is
/// at `place`, with its own path.
pub fn check_work(work: &WorkSpec, place: &Place, problems: &mut Problems) {
    work::check(work, place, &[], problems);
}

/// Refuses names that are in a phase twice and, where there is no driver, actions: their modules are files of one. To be asked of the
/// hooks of a release and of its driver together.
pub fn check_hooks<'a>(
    hooks: impl IntoIterator<Item = &'a HookSpec> + Clone,
    has_driver: bool,
    problems: &mut Problems,
) {
    check_names(hooks.clone(), problems);
    for hook in hooks.into_iter().filter(|_| !has_driver) {
        if let WorkSpec::Action { location, .. } = &hook.work {
            let message =
                format!("the hook `{}` is an action, and the release has no driver that brings it", *hook.name);
            let cure = "name a driver in `spec.driver` of the release, or run a Job";
            problems.push(location.place.problem(message, cure));
        }
    }
}

pub(super) fn check_names<'a>(hooks: impl IntoIterator<Item = &'a HookSpec>, problems: &mut Problems) {
    let mut first: BTreeMap<(HookPhase, &str), &Place> = BTreeMap::new();
    for hook in hooks {
        if let Some(place) = first.get(&(hook.phase, hook.name.as_str())) {
            let message =
                format!("the hook `{}` is in {} twice; the first is at {}", *hook.name, hook.phase, place.position());
            let cure = "give each hook of a phase a name of its own";
            problems.push(hook.name.place.problem(message, cure));
        } else {
            first.insert((hook.phase, &hook.name), &hook.name.place);
        }
    }
}

/// The locations of all actions among hooks.
pub fn locations<'a>(hooks: impl IntoIterator<Item = &'a HookSpec>) -> impl Iterator<Item = &'a Placed<Location>> {
    hooks.into_iter().filter_map(|hook| match &hook.work {
        WorkSpec::Action { location, .. } => Some(location),
        WorkSpec::Workload { .. } | WorkSpec::Objects { .. } => None,
    })
}

/// `lifecycle` of a document that holds its hooks itself.
pub(super) fn phases(cursor: &Cursor<'_>, source: HookSource) -> Vec<HookSpec> {
    cursor.fields(|fields| read_phases(fields, source)).unwrap_or_default()
}

/// `lifecycle` of a release: its hooks, or the file that holds them.
pub(super) fn of_release(cursor: &Cursor<'_>) -> (Vec<HookSpec>, Option<Placed<String>>) {
    let read = cursor.fields(|fields| {
        let hooks = read_phases(fields, HookSource::Release);
        let path = fields.optional("path").and_then(|value| {
            let text = value.text()?;
            let there_are_phases = HookPhase::ALL.iter().any(|phase| fields.optional(phase.as_str()).is_some());
            if text.is_empty() {
                value.problem("the path is empty", "name a file, as in ./lifecycle.yml");
            } else if there_are_phases {
                value.problem("the hooks are here and in a file", "keep `path`, or the phases");
            }
            Some(value.placed(text))
        });
        (hooks, path)
    });
    read.unwrap_or_default()
}

fn read_phases(fields: &Fields<'_>, source: HookSource) -> Vec<HookSpec> {
    let mut hooks = Vec::new();
    for phase in HookPhase::ALL {
        for item in fields.optional(phase.as_str()).iter().flat_map(Cursor::items) {
            hooks.extend(hook::read(&item, phase, source));
        }
    }
    hooks
}

fn is_empty(text: &Placed<String>) -> bool {
    text.is_empty()
}
