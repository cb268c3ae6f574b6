//! The values that templates and conditions see. docs/lifecycle.md has them as a table.

use serde_json::{Value, json};

use crate::plan::{ChangeKind, RenderRef, Target};

/// What hooks see of their change.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen<'a> {
    pub target: &'a Target,
    pub values: &'a Value,
    pub kind: ChangeKind,
    pub from_version: Option<&'a str>,
    pub to_version: &'a str,
    pub render: &'a RenderRef,
}

/// What content sees, which is rendered before it is known what kind of change it makes.
pub(super) fn of_content(target: &Target, values: &Value, version: &str) -> Value {
    json!({
        "release": {
            "name": target.release.name,
            "namespace": target.namespace,
            "tenant": target.release.tenant,
            "uid": target.uid,
        },
        "cluster": {"name": target.cluster, "labels": {}},
        "values": values,
        "app": {"version": version},
    })
}

/// What templates and conditions of hooks see.
pub(super) fn of_hooks(seen: &Seen<'_>) -> Value {
    let mut all = of_content(seen.target, seen.values, seen.to_version);
    let RenderRef { digest, generation, version } = seen.render;
    all["change"] = json!({
        "kind": seen.kind.to_string(),
        "fromVersion": seen.from_version,
        "toVersion": seen.to_version,
        "generation": generation,
    });
    all["render"] = json!({"digest": digest, "generation": generation, "version": version});
    all
}
