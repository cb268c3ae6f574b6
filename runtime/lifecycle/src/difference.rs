//! What a change does to the objects of a release, path by path.

use serde::Serialize;
use serde_json::Value;

use crate::document::reader::{joined, shortened};
use crate::json::Json;
use crate::plan::{Render, Workload};

/// An object that comes, changes or goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Difference {
    pub object: Workload,
    pub is: Kind,
    /// What changes inside, in the order of paths.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<ChangedPath>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Kind {
    Added,
    Changed,
    Removed,
}

/// A value before and after, as short JSON; none where there is none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChangedPath {
    pub path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
}

/// What differs between two renders: first what is in the new one, in its order, then what goes.
#[must_use]
pub fn between(former: Option<&Render>, render: Option<&Render>) -> Vec<Difference> {
    let objects = |render: Option<&Render>| -> Vec<Value> {
        render.map(|render| render.objects.iter().map(Json::value).collect()).unwrap_or_default()
    };
    let (former, new) = (objects(former), objects(render));
    let find = |objects: &[Value], object: &Value| objects.iter().find(|o| identity(o) == identity(object)).cloned();
    let mut differences = Vec::new();
    for object in &new {
        let Some(before) = find(&former, object) else {
            differences.push(Difference { object: identity(object), is: Kind::Added, paths: Vec::new() });
            continue;
        };
        let mut paths = Vec::new();
        compare("", Some(&before), Some(object), &mut paths);
        if !paths.is_empty() {
            differences.push(Difference { object: identity(object), is: Kind::Changed, paths });
        }
    }
    let gone = former.iter().filter(|object| find(&new, object).is_none());
    differences.extend(gone.map(|object| Difference {
        object: identity(object),
        is: Kind::Removed,
        paths: Vec::new(),
    }));
    differences
}

fn identity(object: &Value) -> Workload {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Workload { kind: text(&object["kind"]), name: text(&object["metadata"]["name"]) }
}

fn compare(path: &str, before: Option<&Value>, after: Option<&Value>, paths: &mut Vec<ChangedPath>) {
    match (before, after) {
        (Some(Value::Object(one)), Some(Value::Object(other))) => {
            let mut keys: Vec<&String> = one.keys().chain(other.keys()).collect();
            keys.sort_unstable();
            keys.dedup();
            for key in keys {
                compare(&joined(path, key), one.get(key), other.get(key), paths);
            }
        }
        (Some(Value::Array(one)), Some(Value::Array(other))) if one.len() == other.len() => {
            for (place, (one, other)) in one.iter().zip(other).enumerate() {
                compare(&format!("{path}[{place}]"), Some(one), Some(other), paths);
            }
        }
        _ if before == after => {}
        _ => {
            let short = |value: Option<&Value>| value.map(|value| shortened(&value.to_string()));
            paths.push(ChangedPath { path: path.to_owned(), from: short(before), to: short(after) });
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::plan::RenderRef;

    fn render(objects: Vec<Value>) -> Render {
        Render {
            reference: RenderRef { digest: String::new(), generation: 1, version: "1".into() },
            objects: objects.into_iter().map(Json::from).collect(),
        }
    }

    #[test]
    fn what_comes_changes_and_goes_is_told_with_its_paths() {
        let object = |name: &str, spec: Value| json!({"kind": "Process", "metadata": {"name": name}, "spec": spec});
        let former = render(vec![
            object("a", json!({"image": "x:1", "args": ["1", "2"], "env": {"A": "1"}, "same": [1]})),
            object("b", json!({})),
            object("c", json!({})),
        ]);
        let new = render(vec![
            object("d", json!({})),
            object("c", json!({})),
            object("a", json!({"image": "x:2", "args": ["1"], "env": {"A": "1", "B.C": "2"}, "same": [1]})),
        ]);
        let told: Vec<String> = between(Some(&former), Some(&new))
            .iter()
            .map(|d| format!("{:?} {} {:?}", d.is, d.object, d.paths.iter().map(|p| &p.path).collect::<Vec<_>>()))
            .collect();
        assert_eq!(
            told,
            [
                "Added Process d []",
                r#"Changed Process a ["spec.args", "spec.env[\"B.C\"]", "spec.image"]"#,
                "Removed Process b []",
            ]
        );
        assert_eq!(between(Some(&new), Some(&new)), []);
        assert_eq!(between(Some(&new), None).len(), 3);
    }
}
