//! Components of a driver: which workload each name stands for.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::document::problem::Placed;
use crate::document::reader::Cursor;
use crate::plan::Workload;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ComponentSpec {
    pub name: String,
    pub workload: Placed<Workload>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container: Option<Placed<String>>,
}

/// The components of a driver as far as they could be read.
#[derive(Debug, Default)]
pub(super) struct Components {
    pub whole: Vec<ComponentSpec>,
    /// All names, those of components with problems too.
    pub declared: Vec<String>,
}

pub(super) fn read(list: &Cursor<'_>) -> Components {
    let mut components = Components::default();
    let mut names: BTreeMap<String, u32> = BTreeMap::new();
    let mut workloads: BTreeMap<Workload, String> = BTreeMap::new();
    for item in list.items() {
        let Some((name, workload, container)) = item.fields(|fields| {
            let name = fields.required("name").and_then(|value| Some(value.placed(value.label()?)));
            let workload = fields.required("workload").and_then(|value| read_workload(&value));
            let container = fields.optional("container").and_then(|value| Some(value.placed(value.label()?)));
            (name, workload, container)
        }) else {
            continue;
        };
        let Some(name) = name else { continue };
        components.declared.push(name.value.clone());
        if let Some(line) = names.insert(name.value.clone(), name.place.line) {
            let message = format!("the component `{}` is here twice; the first is on line {line}", name.value);
            item.problem_at(&name.place, message, "give each component a name of its own");
            continue;
        }
        let Some(workload) = workload else { continue };
        if let Some(other) = workloads.insert(workload.value.clone(), name.value.clone()) {
            let message = format!("{} is the workload of the component `{other}` already", workload.value);
            item.problem_at(&workload.place, message, "give each component a workload of its own");
            continue;
        }
        components.whole.push(ComponentSpec { name: name.value, workload, container });
    }
    components
}

fn read_workload(cursor: &Cursor<'_>) -> Option<Placed<Workload>> {
    let (kind, name) = cursor.fields(|fields| {
        let kind = fields.required("kind").and_then(|value| value.text());
        (kind, fields.required("name").and_then(|value| value.text()))
    })?;
    Some(cursor.placed(Workload { kind: kind?, name: name? }))
}
