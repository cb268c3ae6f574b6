//! A plan as text, for `pintle plan`: what would run in which order, and what it would change. JSON output is the plan itself.

mod hooks;

use std::fmt::Write;

use crate::difference::{self, Difference, Kind};
use crate::document::duration;
use crate::drawing::{Branch, with_branches};
use crate::plan::{ActionPlan, ChangeKind, Mode, Node, OnFailure, Phase, Plan};

/// The plan as lines of text, ended by a line break.
#[must_use]
pub fn text(plan: &Plan) -> String {
    let mut text = heading(plan);
    let phases: Vec<Branch> = plan
        .phases
        .iter()
        .map(|phase| {
            Branch::new(&*phase.name, phase.nodes.iter().flat_map(|node| branches(plan, phase, node)).collect())
        })
        .collect();
    text += &with_branches(&phases);
    let differences = differences(plan);
    if differences.is_empty() {
        text += "no object changes\n";
    }
    for difference in &differences {
        text += &shown(difference);
    }
    text
}

/// What the plan changes of the objects.
#[must_use]
pub fn differences(plan: &Plan) -> Vec<Difference> {
    if plan.kind == ChangeKind::Delete && plan.deletion.keep_workloads {
        return Vec::new();
    }
    let render = (plan.kind != ChangeKind::Delete).then_some(&plan.render);
    difference::between(plan.former.as_ref(), render)
}

fn heading(plan: &Plan) -> String {
    let Plan { kind, target, .. } = plan;
    let versions = match &plan.from_version {
        Some(from) if *from != plan.to_version => format!("{from} → {}", plan.to_version),
        _ => plan.to_version.clone(),
    };
    let driver = plan.driver.as_ref().map(|driver| format!(", driver {} {}", driver.name, driver.version));
    format!(
        "{}: {kind} {versions}, because {}\ncluster {}, namespace {}{}\n",
        target.release.name,
        plan.reason,
        target.cluster,
        target.namespace,
        driver.unwrap_or_default()
    )
}

/// A node of a phase. What has the phase's own name is the phase itself.
fn branches(plan: &Plan, phase: &Phase, node: &Node) -> Vec<Branch> {
    match node {
        Node::Sync { .. } => {
            let inside = hooks::around(plan, &format!("Apply version {}", plan.to_version));
            if inside.len() == 1 || phase.name == "sync" { inside } else { vec![Branch::new("Sync", inside)] }
        }
        Node::Remove { .. } => vec![Branch::new("Remove the release", Vec::new())],
        Node::Hooks { phase } => hooks::of_phase(plan, *phase),
        Node::Mode(mode) => vec![Branch::new(&*mode.title, inside(plan, mode))],
    }
}

fn inside(plan: &Plan, mode: &Mode) -> Vec<Branch> {
    let mut inside: Vec<Branch> = mode.actions.iter().map(action).collect();
    if mode.syncs {
        let apply = format!("Apply version {}", plan.to_version);
        let sync = hooks::around(plan, &apply);
        let has_hooks = sync.len() > 1;
        match (inside.is_empty(), has_hooks) {
            (true, false) => inside.extend(sync),
            (true, true) => inside.push(Branch::new("Sync", sync)),
            (false, false) => inside.push(Branch::new(format!("{apply}, unless an action did"), Vec::new())),
            (false, true) => {
                inside.push(Branch::new("Sync, when an action sets the version, else after the actions", sync));
            }
        }
    }
    inside
}

fn action(action: &ActionPlan) -> Branch {
    let mut words = vec![hooks::module(action)];
    if let Some(ms) = action.timeout_ms {
        words.push(format!("at most {}", duration::shown(ms)));
    }
    if action.retry.attempts > 1 {
        let backoff = duration::shown(action.retry.backoff_ms);
        words.push(format!("up to {} attempts, {backoff} apart", action.retry.attempts));
    }
    if action.on_failure == OnFailure::Continue {
        words.push("the change goes on after a failure".to_owned());
    }
    let mut lines = vec![format!("{}: {}", action.name, words.join(", "))];
    lines.extend(action.description.lines().map(str::to_owned));
    Branch { lines, inside: Vec::new() }
}

fn shown(difference: &Difference) -> String {
    let sign = match difference.is {
        Kind::Added => '+',
        Kind::Changed => '~',
        Kind::Removed => '-',
    };
    let mut text = format!("{sign} {}\n", difference.object);
    for changed in &difference.paths {
        let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "nothing".to_owned());
        let line = format!("    {}: {} → {}", changed.path, value(&changed.from), value(&changed.to));
        writeln!(text, "{line}").expect("a String takes all text");
    }
    text
}
