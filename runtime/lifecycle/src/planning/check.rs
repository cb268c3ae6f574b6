//! What has to fit between documents: release and driver, components and manifests, actions and modules.

use std::collections::BTreeMap;

use super::{Module, PlanInput};
use crate::document::driver::{ComponentSpec, Location};
use crate::document::lifecycle::{HookSpec, locations};
use crate::document::reader::nearest;
use crate::document::{Manifest, Placed, Problems};
use crate::plan::Workload;

pub(super) fn documents(input: &PlanInput<'_>, problems: &mut Problems) {
    driver(input, problems);
    release(input, problems);
    if !has_templates(input) {
        let workloads: Vec<&Workload> = components(input).iter().map(|component| &component.workload.value).collect();
        content(input, input.manifests, &workloads, problems);
    }
    // A driver that could not be read declares what nobody knows.
    if input.driver.is_some() || input.release.spec.driver.is_none() {
        let declared = input.driver.map(|driver| driver.spec.components.as_slice()).unwrap_or_default();
        let names: Vec<&str> = declared.iter().map(|component| component.name.as_str()).collect();
        input.release.check_components(&names, problems);
    }
}

/// Whether names are known only once templates are rendered.
pub(super) fn has_templates(input: &PlanInput<'_>) -> bool {
    input.manifests.iter().any(|manifest| !manifest.templates.is_empty())
        || components(input).iter().any(|component| component.template().is_some())
}

pub(super) fn components<'a>(input: &PlanInput<'a>) -> &'a [ComponentSpec] {
    input.driver.map(|driver| driver.spec.components.as_slice()).unwrap_or_default()
}

/// The manifests and the workloads of the components fit, by their final names.
pub(super) fn content(input: &PlanInput<'_>, manifests: &[Manifest], workloads: &[&Workload], problems: &mut Problems) {
    Manifest::check_unique(manifests, problems);
    if manifests_are_whole(input) {
        for (component, wanted) in components(input).iter().zip(workloads) {
            workload(component, wanted, manifests, problems);
        }
    }
}

/// The driver is the one that the release names.
fn driver(input: &PlanInput<'_>, problems: &mut Problems) {
    let Some(named) = &input.release.spec.driver else { return };
    let Some(driver) = input.driver else {
        if input.problems.is_empty() {
            let cure = "name the folder that holds driver.yml";
            problems.push(named.path.place.problem("the driver is not there", cure));
        }
        return;
    };
    let found = &driver.metadata;
    for (what, named, found) in [("name", &named.name, &found.name), ("version", &named.version, &found.version)] {
        if named.value != found.value {
            let message = format!(
                "the driver's {what} is `{}` ({}), and not `{}`",
                found.value,
                found.place.position(),
                named.value
            );
            problems.push(named.place.problem(message, "name the driver as it is, or give the path of the other"));
        }
    }
}

/// A release stays where it is.
fn release(input: &PlanInput<'_>, problems: &mut Problems) {
    let Some(view) = input.view.filter(|view| !view.deleted) else { return };
    for (what, now, set) in [
        ("namespace", &view.namespace, &input.release.metadata.namespace),
        ("cluster", &view.cluster, &input.release.spec.cluster),
    ] {
        if *now != set.value {
            let message = format!("the release is in the {what} `{now}`, and a release cannot move");
            problems.push(set.place.problem(message, format!("keep the {what}, or delete the release first")));
        }
    }
}

/// Whether all manifests could be read: what is missing for want of another cure is not told.
fn manifests_are_whole(input: &PlanInput<'_>) -> bool {
    let documents = [Some(&input.release.place), input.driver.map(|driver| &driver.place)];
    let in_documents = |file: &str| documents.iter().flatten().any(|place| &*place.file == file);
    input.problems.iter().all(|problem| in_documents(&problem.place.file))
}

/// A component's workload is a process of the manifests.
fn workload(component: &ComponentSpec, wanted: &Workload, manifests: &[Manifest], problems: &mut Problems) {
    match manifests.iter().find(|manifest| manifest.workload == *wanted) {
        None => {
            let known: Vec<String> = manifests.iter().map(|manifest| manifest.workload.to_string()).collect();
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            let cure = match nearest(&wanted.to_string(), &known) {
                Some(name) => format!("did you mean {name}?"),
                None if known.is_empty() => "there are no manifests: look at the path of `content`".to_owned(),
                None => format!("the manifests have {}", known.join(", ")),
            };
            problems.push(component.workload.place.problem(format!("no manifest is {wanted}"), cure));
        }
        Some(manifest) if manifest.process.is_none() => {
            let message = format!("{wanted} is nothing that can be stopped and started");
            problems.push(component.workload.place.problem(message, "name a workload of kind Process"));
        }
        Some(_) => {
            if let Some(container) = &component.container {
                problems.push(container.place.problem("a Process has no containers", "remove `container`"));
            }
        }
    }
}

/// The modules of the driver's actions, by file. Each action is in its module; whether a module can run at all was
/// found when it was admitted.
pub(super) fn modules<'a>(
    input: &PlanInput<'a>,
    specs: &[&'a HookSpec],
    problems: &mut Problems,
) -> BTreeMap<&'a str, &'a Module> {
    let mut admitted = BTreeMap::new();
    let actions = input.driver.map(|driver| driver.spec.actions.as_slice()).unwrap_or_default();
    let of_hooks = locations(specs.iter().copied());
    let mut seen: Vec<&str> = Vec::new();
    for location in actions.iter().map(|action| &action.location).chain(of_hooks) {
        let file = location.file.as_str();
        match input.modules.get(file) {
            Some(Ok(module)) => {
                exported(location, module, problems);
                admitted.insert(file, module);
            }
            // The first action that names the module tells.
            _ if seen.contains(&file) => {}
            Some(Err(why)) => {
                let message = format!("the module `{file}` is refused: {why}");
                problems.push(location.place.problem(message, "build the module again, or name another"));
            }
            None => {
                let cure = "build it, or name a module in the driver's folder";
                problems.push(location.place.problem(format!("the module `{file}` is not there"), cure));
            }
        }
        seen.push(file);
    }
    admitted
}

fn exported(location: &Placed<Location>, module: &Module, problems: &mut Problems) {
    if module.actions.contains(&location.export) {
        return;
    }
    let known: Vec<&str> = module.actions.iter().map(String::as_str).collect();
    let cure = match nearest(&location.export, &known) {
        Some(name) => format!("did you mean `{}::{name}`?", location.file),
        None if known.is_empty() => "the module describes no actions".to_owned(),
        None => format!("the module has {}", known.join(", ")),
    };
    let message = format!("the module `{}` has no action `{}`", location.file, location.export);
    problems.push(location.place.problem(message, cure));
}
