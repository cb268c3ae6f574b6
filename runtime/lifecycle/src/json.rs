//! JSON that is carried along and seldom looked into. It is kept as its text: a parsed tree takes ten times the room, and a daemon
//! holds the plans of a hundred thousand changes.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// A JSON value as its text, without spaces and with the keys of objects in order, so that equal values are equal texts.
#[derive(Clone, PartialEq, Eq)]
pub struct Json(Arc<str>);

impl Json {
    /// The value, parsed.
    #[must_use]
    pub fn value(&self) -> Value {
        // It was made from a value.
        serde_json::from_str(&self.0).unwrap_or_default()
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    #[must_use]
    pub fn is_null(&self) -> bool {
        &*self.0 == "null"
    }
}

impl Default for Json {
    fn default() -> Self {
        Value::Null.into()
    }
}

impl From<Value> for Json {
    fn from(value: Value) -> Self {
        Self::from(&value)
    }
}

impl From<&Value> for Json {
    fn from(value: &Value) -> Self {
        Self(value.to_string().into())
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Word by word, and not passed on as raw text: indented JSON shall be so in here as well, and YAML be YAML.
        serde_transcode::transcode(&mut serde_json::Deserializer::from_str(&self.0), serializer)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_comes_back_as_it_was() {
        for value in [
            json!(null),
            json!(0.300_000_000_000_000_04),
            json!(4.450_147_717_014_403e-308),
            json!(9.880_794_218_783_998e-15),
            json!({"b": [1, 2.5, -3], "a": {"text": "\"\u{1}é"}}),
            json!(u64::MAX),
        ] {
            let json = Json::from(&value);
            assert_eq!(json.value(), value);
            assert_eq!(serde_json::to_value(&json).unwrap(), value);
            assert_eq!(serde_json::from_str::<Json>(&serde_json::to_string_pretty(&value).unwrap()).unwrap(), json);
        }
    }
}
