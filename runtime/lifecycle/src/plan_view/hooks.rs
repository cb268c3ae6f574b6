//! The hooks of a plan as branches: what each runs and when, in groups by weight, or why it does not run.

use serde_json::Value;

use crate::document::duration;
use crate::drawing::Branch;
use crate::hook::{CleanupAt, CleanupPolicy, Group, Hook, HookPhase, HookWork, RunAfter};
use crate::json::Json;
use crate::plan::{ActionPlan, OnFailure, Plan};

/// Hex digits of a digest that people compare by eye.
const SHORT: usize = 12;
/// Characters of a command line that are shown.
const COMMAND: usize = 100;

/// A sync with its hooks around the apply, each phase a branch; the apply alone where there are none.
pub(super) fn around(plan: &Plan, apply: &str) -> Vec<Branch> {
    let apply = Branch::new(apply, Vec::new());
    let phase = |phase: HookPhase, title: &str| {
        let groups = of_phase(plan, phase);
        (!groups.is_empty()).then(|| Branch::new(title, groups))
    };
    let (before, after) = (HookPhase::PreSync, HookPhase::PostSync);
    let branches = [
        phase(before, before.as_str()),
        Some(apply),
        phase(after, after.as_str()),
        phase(HookPhase::SyncFailed, "if the sync fails"),
    ];
    branches.into_iter().flatten().collect()
}

/// The hooks of a phase: groups by weight, where there is more than one.
pub(super) fn of_phase(plan: &Plan, phase: HookPhase) -> Vec<Branch> {
    let groups: Vec<Group<'_>> = Group::of(&plan.hooks, phase).collect();
    let hooks = |group: &Group<'_>| group.hooks.iter().map(|hook| Branch::new(line(hook), Vec::new())).collect();
    match groups.as_slice() {
        [only] => hooks(only),
        groups => groups.iter().map(|group| Branch::new(format!("weight {}", group.weight), hooks(group))).collect(),
    }
}

fn line(hook: &Hook) -> String {
    if let Some(reason) = &hook.skip {
        return format!("{}: {}, skipped: {reason}", hook.name, hook.work.kind());
    }
    let mut words = vec![what(&hook.work)];
    words.extend(hook.timeout_ms.map(|ms| format!("at most {}", duration::shown(ms))));
    if hook.run_after == RunAfter::Healthy {
        words.push("runAfter Healthy".to_owned());
    }
    if hook.on_failure != OnFailure::Continue {
        words.push(format!("onFailure {}", hook.on_failure));
    }
    let cleanup = hook.cleanup;
    if cleanup.policy != CleanupPolicy::Never {
        let at = if cleanup.at == CleanupAt::PhaseEnd { " at the end of the phase" } else { "" };
        let even = if cleanup.even_on_fail { ", evenOnFail" } else { "" };
        words.push(format!("cleanup {:?}{at}{even}", cleanup.policy));
    }
    if hook.pivot {
        words.push("pivot".to_owned());
    }
    format!("{}: {}", hook.name, words.join(", "))
}

fn what(work: &HookWork) -> String {
    match work {
        HookWork::Workload { kind, object, .. } => match first_container(object) {
            Some(container) => format!("{kind} {container}"),
            None => kind.to_string(),
        },
        HookWork::Objects { objects, .. } => {
            let named = |object: &Json| {
                let object = object.value();
                let text = |value: &Value| one_line(value.as_str().unwrap_or_default());
                format!("{} {}", text(&object["kind"]), text(&object["metadata"]["name"]))
            };
            format!("Objects {}", objects.iter().map(named).collect::<Vec<_>>().join(", "))
        }
        HookWork::Action { action } => format!("Action {}", module(action)),
    }
}

/// `` `upgrade` of module 1a2b3c4d5e6f ``.
pub(super) fn module(action: &ActionPlan) -> String {
    format!("`{}` of module {}", action.export, &action.module[..action.module.floor_char_boundary(SHORT)])
}

/// Command line and image of the first container, on one line: `` `shop db migrate` of image shop:1.2.0 ``.
fn first_container(object: &Json) -> Option<String> {
    let object = object.value();
    let spec = object.pointer("/spec/template/spec").unwrap_or(&object["spec"]);
    let container = spec.pointer("/containers/0")?;
    let image = one_line(container["image"].as_str()?);
    let words = [&container["command"], &container["args"]].into_iter().filter_map(Value::as_array).flatten();
    let words: Vec<&str> = words.filter_map(Value::as_str).collect();
    if words.is_empty() { Some(image) } else { Some(format!("`{}` of image {image}", one_line(&words.join(" ")))) }
}

/// The text without line breaks and what else moves a cursor, cut where it is long.
fn one_line(text: &str) -> String {
    let mut chars = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    let short: String = chars.by_ref().take(COMMAND).collect();
    if chars.next().is_some() { format!("{short}…") } else { short }
}
