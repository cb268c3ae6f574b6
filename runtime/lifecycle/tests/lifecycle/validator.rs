//! As much of JSON Schema as the schemas of documents use; a keyword that is not known here is a mistake.

use regex::Regex;
use serde_json::{Map, Value};

/// Why the value does not fit, each with its place; nothing where it does.
pub fn faults(schema: &Value, value: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    check(schema, schema, value, "", &mut faults);
    faults
}

fn fits(root: &Value, schema: &Value, value: &Value) -> bool {
    let mut faults = Vec::new();
    check(root, schema, value, "", &mut faults);
    faults.is_empty()
}

fn check(root: &Value, schema: &Value, value: &Value, at: &str, faults: &mut Vec<String>) {
    let Value::Object(keywords) = schema else {
        if *schema == Value::Bool(false) {
            faults.push(format!("{at}: nothing may be here"));
        }
        return;
    };
    for (keyword, says) in keywords {
        let holds = match keyword.as_str() {
            "$schema" | "$defs" | "title" | "description" | "default" | "then" => true,
            "$ref" => {
                let target = root.pointer(says.as_str().unwrap().trim_start_matches('#')).expect("a definition");
                check(root, target, value, at, faults);
                true
            }
            "type" => is_of(value, says.as_str().unwrap()),
            "const" => value == says,
            "enum" => says.as_array().unwrap().contains(value),
            "pattern" => value.as_str().is_none_or(|text| Regex::new(says.as_str().unwrap()).unwrap().is_match(text)),
            "minLength" => value.as_str().is_none_or(|text| text.chars().count() as u64 >= says.as_u64().unwrap()),
            "minItems" => value.as_array().is_none_or(|items| items.len() as u64 >= says.as_u64().unwrap()),
            "minimum" => value.as_i64().is_none_or(|number| number >= says.as_i64().unwrap()),
            "maximum" => value.as_i64().is_none_or(|number| number <= says.as_i64().unwrap()),
            "items" => {
                for (place, item) in value.as_array().into_iter().flatten().enumerate() {
                    check(root, says, item, &format!("{at}[{place}]"), faults);
                }
                true
            }
            "allOf" => {
                says.as_array().unwrap().iter().for_each(|all| check(root, all, value, at, faults));
                true
            }
            "anyOf" => says.as_array().unwrap().iter().any(|any| fits(root, any, value)),
            "oneOf" => says.as_array().unwrap().iter().filter(|one| fits(root, one, value)).count() == 1,
            "if" => {
                if fits(root, says, value) {
                    check(root, &keywords["then"], value, at, faults);
                }
                true
            }
            _ => value.as_object().is_none_or(|map| of_map(root, keywords, keyword, map, at, faults)),
        };
        if !holds {
            faults.push(format!("{at}: {keyword} {says}"));
        }
    }
}

fn of_map(
    root: &Value,
    keywords: &Map<String, Value>,
    keyword: &str,
    map: &Map<String, Value>,
    at: &str,
    faults: &mut Vec<String>,
) -> bool {
    let says = &keywords[keyword];
    let has = |name: &Value| map.contains_key(name.as_str().unwrap());
    match keyword {
        "properties" => {
            for (name, schema) in says.as_object().unwrap() {
                if let Some(value) = map.get(name) {
                    check(root, schema, value, &format!("{at}/{name}"), faults);
                }
            }
            true
        }
        "additionalProperties" => {
            let listed = keywords.get("properties").and_then(Value::as_object);
            for (name, value) in map.iter().filter(|(name, _)| listed.is_none_or(|listed| !listed.contains_key(*name)))
            {
                check(root, says, value, &format!("{at}/{name}"), faults);
            }
            true
        }
        "required" => says.as_array().unwrap().iter().all(has),
        "maxProperties" => map.len() as u64 <= says.as_u64().unwrap(),
        "dependentRequired" => says
            .as_object()
            .unwrap()
            .iter()
            .all(|(name, others)| !map.contains_key(name) || others.as_array().unwrap().iter().all(has)),
        _ => panic!("the keyword {keyword} is not known"),
    }
}

fn is_of(value: &Value, kind: &str) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        _ => panic!("the type {kind} is not known"),
    }
}
