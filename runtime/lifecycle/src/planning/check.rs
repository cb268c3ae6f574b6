//! What has to fit between documents: release and driver, components and manifests, actions and modules.

use std::collections::BTreeMap;

use super::{Module, PlanInput};
use crate::document::driver::{ActionSpec, ComponentSpec};
use crate::document::reader::nearest;
use crate::document::{Manifest, Problems};

pub(super) fn documents(input: &PlanInput<'_>, problems: &mut Problems) {
    Manifest::check_unique(input.manifests, problems);
    driver(input, problems);
    release(input, problems);
    if let Some(driver) = input.driver.filter(|_| manifests_are_whole(input)) {
        for component in &driver.spec.components {
            workload(component, input.manifests, problems);
        }
    }
    // A driver that could not be read declares what nobody knows.
    if input.driver.is_some() || input.release.spec.driver.is_none() {
        let declared = input.driver.map(|driver| driver.spec.components.as_slice()).unwrap_or_default();
        let names: Vec<&str> = declared.iter().map(|component| component.name.as_str()).collect();
        input.release.check_components(&names, problems);
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
fn workload(component: &ComponentSpec, manifests: &[Manifest], problems: &mut Problems) {
    let wanted = &component.workload.value;
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
pub(super) fn modules<'a>(input: &PlanInput<'a>, problems: &mut Problems) -> BTreeMap<&'a str, &'a Module> {
    let mut admitted = BTreeMap::new();
    let actions = input.driver.map(|driver| driver.spec.actions.as_slice()).unwrap_or_default();
    let mut seen: Vec<&str> = Vec::new();
    for action in actions {
        let file = action.location.file.as_str();
        match input.modules.get(file) {
            Some(Ok(module)) => {
                exported(action, module, problems);
                admitted.insert(file, module);
            }
            // The first action that names the module tells.
            _ if seen.contains(&file) => {}
            Some(Err(why)) => {
                let message = format!("the module `{file}` is refused: {why}");
                problems.push(action.location.place.problem(message, "build the module again, or name another"));
            }
            None => {
                let cure = "build it, or name a module in the driver's folder";
                problems.push(action.location.place.problem(format!("the module `{file}` is not there"), cure));
            }
        }
        seen.push(file);
    }
    admitted
}

fn exported(action: &ActionSpec, module: &Module, problems: &mut Problems) {
    let location = &action.location;
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
