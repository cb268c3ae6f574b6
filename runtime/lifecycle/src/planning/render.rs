//! The render: manifests with the release's settings on top, known by the sha256 of what they say.

use serde_json::{Map, Value};

use super::PlanInput;
use super::content::Content;
use crate::digest::sha256;
use crate::document::image_at;
use crate::json::Json;
use crate::plan::{Render, RenderRef};

pub(super) fn of(input: &PlanInput<'_>, content: &Content<'_>, generation: u64) -> Render {
    let version = input.release.spec.version.value.clone();
    let mut objects: Vec<Value> = content.manifests.iter().map(|manifest| manifest.object.clone()).collect();
    let declared = input.driver.map(|driver| driver.spec.components.as_slice()).unwrap_or_default();
    for (component, workload) in declared.iter().zip(&content.workloads) {
        let Some(set) = input.release.spec.components.get(&component.name) else { continue };
        let place = content.manifests.iter().position(|manifest| manifest.workload == *workload);
        let spec = place.and_then(|place| objects[place].get_mut("spec")).and_then(Value::as_object_mut);
        let Some(spec) = spec else { continue };
        if let Some(image) = &set.image {
            spec.insert("image".into(), image_at(image, &version).into());
        }
        if !set.env.is_empty() {
            let env = spec.entry("env").or_insert_with(|| Map::new().into());
            if !env.is_object() {
                *env = Map::new().into();
            }
            let variables = set.env.iter().map(|(name, value)| (name.clone(), Value::from(value.clone())));
            env.as_object_mut().into_iter().for_each(|env| env.extend(variables.clone()));
        }
    }
    let digest = digest(&objects, &version);
    let objects = objects.into_iter().map(Json::from).collect();
    Render { reference: RenderRef { digest, generation, version }, objects }
}

/// The sha256 of objects and version, whatever the order in which maps were written.
fn digest(objects: &[Value], version: &str) -> String {
    let mut text = String::new();
    canonical(&Value::from(version), &mut text);
    for object in objects {
        text.push('\n');
        canonical(object, &mut text);
    }
    sha256(text.as_bytes())
}

/// JSON with sorted keys. Not left to `serde_json`, whose order another crate of the workspace could change by a feature.
fn canonical(value: &Value, text: &mut String) {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| key.as_str());
            text.push('{');
            for (place, (key, value)) in entries.into_iter().enumerate() {
                if place > 0 {
                    text.push(',');
                }
                canonical(&Value::from(key.as_str()), text);
                text.push(':');
                canonical(value, text);
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for (place, item) in items.iter().enumerate() {
                if place > 0 {
                    text.push(',');
                }
                canonical(item, text);
            }
            text.push(']');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => text.push_str(&value.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_digest_follows_content_and_version_and_no_order_of_keys() {
        let read = |text: &str| vec![serde_json::from_str::<Value>(text).unwrap()];
        let one = read(r#"{"a": {"x": 1, "y": [1, 2]}, "b": "t"}"#);
        assert_eq!(digest(&one, "1"), digest(&read(r#"{"b": "t", "a": {"y": [1, 2], "x": 1}}"#), "1"));
        for (other, version) in [
            (read(r#"{"a": {"x": 1, "y": [2, 1]}, "b": "t"}"#), "1"),
            (read(r#"{"a": {"x": "1", "y": [1, 2]}, "b": "t"}"#), "1"),
            (vec![], "1"),
            (one.clone(), "2"),
        ] {
            assert_ne!(digest(&one, "1"), digest(&other, version), "{other:?}");
        }
    }

    #[test]
    fn canonical_json_is_json() {
        let value = json!({"b": [1.5, null, {"z": "\"\n", "a": true}], "a": {}});
        let mut text = String::new();
        canonical(&value, &mut text);
        assert_eq!(text, r#"{"a":{},"b":[1.5,null,{"a":true,"z":"\"\n"}]}"#);
    }
}
