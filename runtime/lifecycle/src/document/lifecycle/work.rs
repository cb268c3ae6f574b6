//! What a hook runs: a Job, a Pod, objects or an action, each in a field of its own.

use serde_json::{Map, Value, json};

use super::{WorkSpec, pod};
use crate::document::driver::read_location;
use crate::document::manifest;
use crate::document::not_yet;
use crate::document::problem::{Place, Problems};
use crate::document::reader::{Cursor, Fields, Source};
use crate::document::template::Template;
use crate::hook::HookKind;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::document) enum Type {
    Job,
    Pod,
    Objects,
    Action,
}

pub(in crate::document) const TYPES: [(&str, Type); 4] =
    [("Job", Type::Job), ("Pod", Type::Pod), ("Action", Type::Action), ("Objects", Type::Objects)];

impl Type {
    /// Its own field, and what else only it has.
    fn fields(self) -> (&'static str, &'static [&'static str]) {
        match self {
            Self::Job => ("jobTemplate", &[]),
            Self::Pod => ("podTemplate", &[]),
            Self::Objects => ("objects", &["readyWhen"]),
            Self::Action => ("action", &[]),
        }
    }
}

/// The work and the templates in it.
pub(super) fn read(fields: &Fields<'_>) -> Option<(WorkSpec, Vec<Template>)> {
    let kind = fields.required("type").and_then(|value| value.word(&TYPES));
    for (word, of) in TYPES {
        let (own, also) = of.fields();
        for name in [own].iter().chain(also) {
            let value = fields.optional(name);
            if let (Some(kind), Some(value)) = (kind.filter(|kind| *kind != of), value) {
                let is = TYPES.iter().find(|(_, known)| *known == kind).map_or("", |(word, _)| *word);
                let cure = format!("remove it, or write `type: {word}`");
                value.problem(format!("`{name}` does not belong to a hook of type {is}"), cure);
            }
        }
    }
    let kind = kind?;
    let value = fields.required(kind.fields().0)?;
    match kind {
        Type::Job => workload(&value, HookKind::Job),
        Type::Pod => workload(&value, HookKind::Pod),
        Type::Objects => {
            let ready_when = fields.optional("readyWhen").and_then(|value| {
                value.filled_text()?;
                value.condition(&["object"])
            });
            objects(&value);
            let work = WorkSpec::Objects { objects: value.to_json(), ready_when: ready_when.map(|text| text.value) };
            Some((work, value.templates()))
        }
        Type::Action => action(&value),
    }
}

/// Looks at work that was rendered; `hook` is the place of the hook that it is of.
pub(super) fn check(work: &WorkSpec, hook: &Place, templates: &[Template], problems: &mut Problems) {
    let place = hook.with_path(format!("{}.{}", hook.path, work.field()));
    let value = match work {
        WorkSpec::Workload { template, .. } => json!({"metadata": template["metadata"], "spec": template["spec"]}),
        WorkSpec::Objects { objects, .. } => objects.clone(),
        WorkSpec::Action { .. } => return,
    };
    let source = Source::rendered(&place, &value, templates);
    if let Some(cursor) = source.only() {
        match work {
            WorkSpec::Workload { kind, .. } => template(&cursor, *kind),
            WorkSpec::Objects { .. } => objects(&cursor),
            WorkSpec::Action { .. } => {}
        }
    }
    source.close(problems);
}

fn workload(cursor: &Cursor<'_>, kind: HookKind) -> Option<(WorkSpec, Vec<Template>)> {
    template(cursor, kind);
    let mut json = json!({"apiVersion": kind.api_version(), "kind": kind.as_str()});
    let Value::Object(read) = cursor.to_json() else { return None };
    json.as_object_mut()?.extend(read);
    Some((WorkSpec::Workload { kind, template: json }, cursor.templates()))
}

fn template(cursor: &Cursor<'_>, kind: HookKind) {
    cursor.fields(|fields| {
        if let Some(metadata) = fields.optional("metadata") {
            manifest::read_free_metadata(&metadata, manifest::Of::Hook);
        }
        let Some(spec) = fields.required("spec") else { return };
        match kind {
            HookKind::Job => pod::read_job(&spec),
            HookKind::Pod => pod::read_pod(&spec),
        }
    });
}

fn objects(cursor: &Cursor<'_>) {
    let items = cursor.items();
    if items.is_empty() && cursor.is_list() {
        cursor.problem("there are no objects", "write manifests into the list");
    }
    manifest::read_objects(&items);
}

fn action(cursor: &Cursor<'_>) -> Option<(WorkSpec, Vec<Template>)> {
    let (location, args) = cursor.fields(|fields| {
        let location = fields.required("location").and_then(|value| read_location(&value));
        let args = fields.optional("args").map(|value| {
            if !value.is_map() {
                value.problem("the arguments are no map", "write `args:` with names and values");
            }
            not_yet::secret_refs(&value);
            (value.to_json(), value.templates())
        });
        (location, args)
    })?;
    let (args, templates) = args.unwrap_or_else(|| (Value::Object(Map::new()), Vec::new()));
    Some((WorkSpec::Action { location: location?, args }, templates))
}
