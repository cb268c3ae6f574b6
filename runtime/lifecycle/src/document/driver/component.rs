//! Components of a driver: which workload each name stands for.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::document::problem::{Place, Placed, Problem, Problems};
use crate::document::reader::{Cursor, shortened};
use crate::document::template::OPEN;
use crate::ids::is_label;
use crate::plan::Workload;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ComponentSpec {
    pub name: String,
    /// Its name may be a template: see [`ComponentSpec::template`].
    pub workload: Placed<Workload>,
    /// The workload's name and where it is written.
    #[serde(skip)]
    pub workload_name: Placed<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container: Option<Placed<String>>,
}

impl ComponentSpec {
    /// The name of the workload, where it is a template.
    #[must_use]
    pub fn template(&self) -> Option<&Placed<String>> {
        Some(&self.workload_name).filter(|name| name.contains(OPEN))
    }
}

/// Refuses workloads that are of two components, and names that are none: to be asked once names are rendered.
pub fn check_workloads<'a>(
    components: impl IntoIterator<Item = (&'a ComponentSpec, &'a Workload)>,
    problems: &mut Problems,
) {
    let mut first: BTreeMap<&Workload, &str> = BTreeMap::new();
    for (component, workload) in components {
        let place = &component.workload_name.place;
        if component.template().is_some() && !is_label(&workload.name) {
            let message = format!("the template gives `{}`, which is no DNS label", shortened(&workload.name));
            problems.push(place.problem(message, "use lower-case letters, digits and `-` inside, at most 63"));
        } else if let Some(other) = first.insert(workload, &component.name) {
            problems.push(shared(&component.workload.place, workload, other));
        }
    }
}

fn shared(place: &Place, workload: &Workload, other: &str) -> Problem {
    let message = format!("{workload} is the workload of the component `{other}` already");
    place.problem(message, "give each component a workload of its own")
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
        let Some((workload, workload_name)) = workload else { continue };
        if let Some(other) = workloads.insert(workload.value.clone(), name.value.clone()) {
            let problem = shared(&workload.place, &workload.value, &other);
            item.problem_at(&workload.place, problem.message, problem.cure);
            continue;
        }
        components.whole.push(ComponentSpec { name: name.value, workload, workload_name, container });
    }
    components
}

fn read_workload(cursor: &Cursor<'_>) -> Option<(Placed<Workload>, Placed<String>)> {
    let (kind, name) = cursor.fields(|fields| {
        let kind = fields.required("kind").and_then(|value| value.text());
        (kind, fields.required("name").and_then(|value| Some(value.placed(value.text()?))))
    })?;
    let name = name?;
    Some((cursor.placed(Workload { kind: kind?, name: name.value.clone() }), name))
}
