//! Texts with templates in them: where they are in a document's JSON and in its file, so that planning can render each of them and
//! an error names its line.

use serde::Serialize;
use serde_json::Value;

use super::problem::Placed;

/// A text with `{{` in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Template {
    /// Where the text is in the JSON that it belongs to: a JSON pointer (RFC 6901).
    pub pointer: String,
    pub text: Placed<String>,
}

/// How a template begins.
pub(crate) const OPEN: &str = "{{";

/// Puts the text of each template in its place. `texts` are in the order of `templates`.
pub fn put(value: &mut Value, templates: &[Template], texts: &[String]) {
    for (template, text) in templates.iter().zip(texts) {
        if let Some(place) = value.pointer_mut(&template.pointer) {
            *place = text.as_str().into();
        }
    }
}

/// Pointers and texts of all templates in a value that has no places any more, in document order.
#[must_use]
pub fn templates_in(value: &Value) -> Vec<(String, String)> {
    let mut found = Vec::new();
    collect(value, &mut String::new(), &mut found);
    found
}

fn collect(value: &Value, pointer: &mut String, found: &mut Vec<(String, String)>) {
    let mut inside = |step: &str, value: &Value| {
        let end = pointer.len();
        push_step(pointer, step);
        collect(value, pointer, found);
        pointer.truncate(end);
    };
    match value {
        Value::String(text) if text.contains(OPEN) => found.push((pointer.clone(), text.clone())),
        Value::Array(items) => items.iter().enumerate().for_each(|(place, item)| inside(&place.to_string(), item)),
        Value::Object(fields) => fields.iter().for_each(|(key, value)| inside(key, value)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Adds a key or the place in a list to a pointer.
pub(crate) fn push_step(pointer: &mut String, step: &str) {
    pointer.push('/');
    for c in step.chars() {
        match c {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            c => pointer.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn templates_are_found_by_pointers_that_lead_back() {
        let value = json!({"a/b": ["x", "{{ 1 }}"], "c~d": {"": "y {{ 2 }}"}, "n": 5});
        let found = templates_in(&value);
        assert_eq!(found.len(), 2);
        for (pointer, text) in found {
            assert_eq!(value.pointer(&pointer).and_then(Value::as_str), Some(text.as_str()), "{pointer}");
        }
    }
}
