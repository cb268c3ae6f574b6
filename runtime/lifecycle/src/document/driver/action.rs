//! Actions of a driver: where each is, when it runs, and what its failure means.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::document::content::is_inside;
use crate::document::problem::Placed;
use crate::document::reader::{Cursor, Fields, shortened};
use crate::plan::{OnFailure, Retry};

/// An action of a mode of a hook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ActionSpec {
    pub name: String,
    pub hook: HookName,
    /// None for `test` alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<ModeName>,
    pub location: Placed<Location>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    pub on_failure: OnFailure,
    pub retry: Retry,
    pub pivot: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum HookName {
    Setup,
    Upgrade,
    Rollback,
    Delete,
    Test,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ModeName {
    Pre,
    Core,
    Post,
}

/// Where an action is: `actions.wasm::upgrade`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(into = "String")]
pub struct Location {
    /// The module's file, relative to the driver's folder and inside it.
    pub file: String,
    /// The action's name in the module.
    pub export: String,
}

pub(in crate::document) const HOOKS: [(&str, HookName); 5] = [
    ("setup", HookName::Setup),
    ("upgrade", HookName::Upgrade),
    ("rollback", HookName::Rollback),
    ("delete", HookName::Delete),
    ("test", HookName::Test),
];

pub(in crate::document) const MODES: [(&str, ModeName); 3] =
    [("pre", ModeName::Pre), ("core", ModeName::Core), ("post", ModeName::Post)];

pub(in crate::document) const ON_FAILURE: [(&str, OnFailure); 3] =
    [("Fail", OnFailure::Fail), ("Continue", OnFailure::Continue), ("Undo", OnFailure::Undo)];

/// Hooks that are declared under `lifecycle`.
const SYNC_HOOKS: [&str; 3] = ["preSync", "postSync", "syncFailed"];

/// A DNS label's length: the name becomes part of step ids and of workloads' labels.
const NAME_MAX: usize = 63;

/// More tries than this are no cure for a failure.
pub(in crate::document) const ATTEMPTS_MAX: u32 = 100;

impl ActionSpec {
    /// The name as part of a step's id: a DNS label.
    #[must_use]
    pub fn step_name(&self) -> String {
        step_name(&self.name)
    }
}

fn step_name(name: &str) -> String {
    let lower = name.to_ascii_lowercase();
    lower.replace(['_', '.'], "-").trim_matches('-').to_owned()
}

pub(super) fn read(list: &Cursor<'_>) -> Vec<ActionSpec> {
    let mut actions = Vec::new();
    let mut names: BTreeMap<String, Placed<String>> = BTreeMap::new();
    for item in list.items() {
        let Some((name, action)) = item.fields(read_action) else { continue };
        if let Some(name) = name {
            if let Some(first) = names.get(&step_name(&name)) {
                let (other, line) = (&first.value, first.place.line);
                let message = if *other == name.value {
                    format!("the action `{other}` is here twice; the first is on line {line}")
                } else {
                    format!("`{}` and `{other}` on line {line} give the same step `{}`", name.value, step_name(&name))
                };
                item.problem_at(&name.place, message, "give each action a name of its own");
                continue;
            }
            names.insert(step_name(&name), name);
        }
        actions.extend(action);
    }
    actions
}

fn read_action(fields: &Fields<'_>) -> (Option<Placed<String>>, Option<ActionSpec>) {
    let name = fields.required("name").and_then(|value| Some(value.placed(value.checked_text(check_name)?)));
    let hook = fields.required("hook").and_then(|value| read_hook(&value));
    let mode = read_mode(fields, hook);
    let location = fields.required("location").and_then(|value| read_location(&value));
    let description = fields.optional("description").and_then(|value| value.text());
    let timeout = fields.optional("timeout").and_then(|value| value.time_limit());
    let on_failure = fields.optional("onFailure").and_then(|value| read_on_failure(&value));
    let retry = fields.optional("retry").and_then(|value| read_retry(&value));
    let pivot = fields.optional("pivot").and_then(|value| value.boolean());
    fields.later("if", "conditions (`if`) are");
    let action = || {
        Some(ActionSpec {
            name: name.as_ref()?.value.clone(),
            hook: hook?,
            mode: mode?,
            location: location?,
            description: description.unwrap_or_default(),
            timeout_ms: timeout,
            on_failure: on_failure.unwrap_or(OnFailure::Fail),
            retry: retry.unwrap_or_default(),
            pivot: pivot.unwrap_or_default(),
        })
    };
    let action = action();
    (name, action)
}

fn check_name(name: &str) -> Result<(), (String, String)> {
    let edge = |c: &u8| c.is_ascii_alphanumeric();
    let bytes = name.as_bytes();
    let fits = bytes.first().is_some_and(edge)
        && bytes.last().is_some_and(edge)
        && bytes.len() <= NAME_MAX
        && bytes.iter().all(|c| edge(c) || b"_-.".contains(c));
    if fits {
        return Ok(());
    }
    let cure = format!("use letters, digits, and `_`, `-`, `.` inside, at most {NAME_MAX}");
    Err((format!("`{}` is no name of an action", shortened(name)), cure))
}

fn read_hook(cursor: &Cursor<'_>) -> Option<HookName> {
    let text = cursor.text()?;
    if SYNC_HOOKS.contains(&text.as_str()) {
        let message = format!("an action of {text} is a hook of type Action");
        let hook = "{name: …, type: Action, action: {location: …}}";
        cursor.problem(message, format!("write it under `spec.lifecycle`: `{text}: [{hook}]`"));
        return None;
    }
    cursor.word(&HOOKS)
}

/// The mode that the hook allows: none within for `test`, none at all where it has problems.
#[expect(clippy::option_option, reason = "a test hook has no mode, and that is no problem")]
fn read_mode(fields: &Fields<'_>, hook: Option<HookName>) -> Option<Option<ModeName>> {
    let Some(hook) = hook else {
        fields.optional("mode").and_then(|value| value.word(&MODES));
        return None;
    };
    if hook == HookName::Test {
        if let Some(mode) = fields.optional("mode") {
            mode.problem("the hook test has no mode", "remove it");
        }
        return Some(None);
    }
    let cursor = fields.required("mode")?;
    let mode = cursor.word(&MODES)?;
    if hook == HookName::Delete && mode == ModeName::Core {
        cursor.problem("the hook delete has no mode core", "use pre or post");
        return None;
    }
    Some(Some(mode))
}

pub(in crate::document) fn read_location(cursor: &Cursor<'_>) -> Option<Placed<Location>> {
    const CURE: &str = "name the module's file and the action in it, as in actions.wasm::upgrade";
    let text = cursor.text()?;
    let parts =
        text.split_once("::").filter(|(file, export)| !file.is_empty() && !export.is_empty() && !export.contains("::"));
    let Some((file, export)) = parts else {
        cursor.problem(format!("`{}` is no location of an action", shortened(&text)), CURE);
        return None;
    };
    if !is_inside(file) {
        let cure = "a driver holds all of its files: name a path inside its folder";
        cursor.problem(format!("`{}` leaves the folder of the driver", shortened(file)), cure);
        return None;
    }
    Some(cursor.placed(Location { file: file.to_owned(), export: export.to_owned() }))
}

pub(in crate::document) fn read_on_failure(cursor: &Cursor<'_>) -> Option<OnFailure> {
    cursor.word(&ON_FAILURE)
}

fn read_retry(cursor: &Cursor<'_>) -> Option<Retry> {
    let (attempts, backoff) = cursor.fields(|fields| {
        let attempts = fields.required("attempts").and_then(|value| value.integer(1..=ATTEMPTS_MAX));
        let backoff = fields.optional("backoff").map_or(Some(0), |value| value.duration());
        (attempts, backoff)
    })?;
    Some(Retry { attempts: attempts?, backoff_ms: backoff? })
}

impl From<Location> for String {
    fn from(location: Location) -> Self {
        location.to_string()
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}::{}", self.file, self.export)
    }
}

impl fmt::Display for HookName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Setup => "setup",
            Self::Upgrade => "upgrade",
            Self::Rollback => "rollback",
            Self::Delete => "delete",
            Self::Test => "test",
        })
    }
}

impl fmt::Display for ModeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pre => "pre",
            Self::Core => "core",
            Self::Post => "post",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::is_label;

    #[test]
    fn a_name_becomes_a_label_of_a_step() {
        for (name, label) in [("pre_setup", "pre-setup"), ("Upgrade.v2", "upgrade-v2"), ("a", "a")] {
            assert_eq!(check_name(name), Ok(()));
            assert_eq!(step_name(name), label);
            assert!(is_label(label));
        }
    }
}
