//! Documents as JSON, and parts of documents that were JSON for a while.

use std::collections::BTreeMap;

use super::{At, Entry, Node, Value};
use crate::document::template::push_step;

impl Node {
    /// JSON as a node. Where it is: `places`, by JSON pointers, else `at`.
    pub(in crate::document) fn of_json(
        json: &serde_json::Value,
        at: At,
        places: &BTreeMap<&str, At>,
        pointer: &mut String,
    ) -> Self {
        let mut inside = |step: &str, json: &serde_json::Value| {
            let end = pointer.len();
            push_step(pointer, step);
            let node = Self::of_json(json, at, places, pointer);
            pointer.truncate(end);
            node
        };
        let value = match json {
            serde_json::Value::Null => Value::Null,
            serde_json::Value::Bool(truth) => Value::Bool(*truth),
            serde_json::Value::Number(number) => Value::Number { raw: number.to_string(), number: number.clone() },
            serde_json::Value::String(text) => Value::Text(text.clone()),
            serde_json::Value::Array(items) => {
                Value::List(items.iter().enumerate().map(|(place, item)| inside(&place.to_string(), item)).collect())
            }
            serde_json::Value::Object(fields) => Value::Map(
                fields.iter().map(|(key, json)| Entry { key: key.clone(), at, value: inside(key, json) }).collect(),
            ),
        };
        Self { at: places.get(pointer.as_str()).copied().unwrap_or(at), value }
    }

    /// The node as JSON. Of a key that repeats the last value counts; readers refuse such a map.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        match &self.value {
            Value::Null => serde_json::Value::Null,
            Value::Bool(truth) => (*truth).into(),
            Value::Number { number, .. } => number.clone().into(),
            Value::Text(text) => text.clone().into(),
            Value::List(items) => items.iter().map(Self::to_json).collect(),
            Value::Map(entries) => entries.iter().map(|entry| (entry.key.clone(), entry.value.to_json())).collect(),
        }
    }
}
