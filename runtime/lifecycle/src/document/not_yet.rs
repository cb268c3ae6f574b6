//! Fields of the design whose behaviour comes with a later version: known by name, checked for shape, and refused in clear words.

use super::reader::{Cursor, Fields};

const HOOK_TYPES: [(&str, &str); 4] = [("Job", "Job"), ("Pod", "Pod"), ("Action", "Action"), ("Objects", "Objects")];

/// `lifecycle` of a release or driver: empty, or hooks that are not yet run.
pub(super) fn lifecycle(fields: &Fields<'_>) {
    let Some(lifecycle) = fields.optional("lifecycle") else { return };
    lifecycle.fields(|phases| {
        for phase in ["preSync", "postSync", "syncFailed", "preDelete", "postDelete"] {
            for hook in phases.optional(phase).iter().flat_map(Cursor::items) {
                refuse_hook(&hook);
            }
        }
    });
}

fn refuse_hook(hook: &Cursor<'_>) {
    if let Some(condition) = hook.is_map().then(|| hook.entries()).into_iter().flatten().find(|(key, _)| *key == "if") {
        condition.1.not_yet("conditions (`if`) are");
    }
    if let Some(kind) = hook.peek("type").and_then(|kind| kind.word(&HOOK_TYPES)) {
        hook.not_yet(&format!("hooks of type {kind} are"));
    }
}

/// A switch of which only `allowed`, its default, is there yet.
pub(super) fn switch(fields: &Fields<'_>, name: &'static str, allowed: bool) {
    let Some(value) = fields.optional(name) else { return };
    if value.boolean() == Some(!allowed) {
        value.problem(
            format!("`{name}: {}` is not yet supported", !allowed),
            format!("remove it: {allowed} is the default"),
        );
    }
}

/// Refuses `{secretRef: …}` wherever it is in a value.
pub(super) fn secret_refs(value: &Cursor<'_>) {
    if value.is_map() {
        for (key, inside) in value.entries() {
            if key == "secretRef" {
                inside.problem("values from a secret are not yet supported", "write the value out, if it is no secret");
            } else {
                secret_refs(&inside);
            }
        }
    } else if value.is_list() {
        for item in value.items() {
            secret_refs(&item);
        }
    }
}
