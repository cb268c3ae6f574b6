//! The shapes that fields of documents have, and each as JSON Schema.

use serde_json::{Map, Value, json};

/// A map with known fields.
#[derive(Debug)]
pub(super) struct Object {
    /// Unique among all; of `$defs`.
    pub name: &'static str,
    pub about: &'static str,
    pub fields: &'static [Field],
    pub rules: &'static [Rule],
}

/// A field of a map.
#[derive(Debug)]
pub(super) struct Field {
    pub name: &'static str,
    pub shape: Shape,
    pub required: bool,
    pub about: &'static str,
    /// As JSON; empty where an absent field means something else than a value.
    pub default: &'static str,
}

/// What stands in a field.
#[derive(Debug)]
pub(super) enum Shape {
    Text,
    /// A text with something in it.
    FilledText,
    Label,
    /// A label, or a template that gives one.
    LabelTemplate,
    Version,
    ActionName,
    /// `file::action`.
    Location,
    Duration,
    Bool,
    Whole(i64, i64),
    /// This text alone.
    Exactly(&'static str),
    /// `false` alone: what else it could say is not yet there.
    False,
    /// Nothing alone: the field is not yet there.
    NotYet,
    Words(&'static [&'static str]),
    /// A word, or all that can be said.
    WordsOr(&'static [&'static str], &'static Object),
    /// A map with anything in it.
    Free,
    List(&'static Shape),
    /// A list with something in it.
    Filled(&'static Shape),
    MapOf(&'static Shape),
    Object(&'static Object),
}

/// What fields of a map ask of each other.
#[derive(Debug)]
pub(super) enum Rule {
    /// Where a field has this value, others have to be there and others must not.
    When {
        field: &'static str,
        is: &'static [&'static str],
        needs: &'static [&'static str],
        forbids: &'static [&'static str],
    },
    /// Exactly one of these is there.
    One(&'static [&'static str]),
    /// At least one of these is there.
    Some(&'static [&'static str]),
    /// Where it is there, nothing else is.
    Alone(&'static str),
    /// It is there only with the other.
    With(&'static str, &'static str),
}

/// A field that has to be there.
pub(super) const fn must(name: &'static str, shape: Shape, about: &'static str) -> Field {
    Field { name, shape, required: true, about, default: "" }
}

pub(super) const fn may(name: &'static str, shape: Shape, about: &'static str) -> Field {
    Field { name, shape, required: false, about, default: "" }
}

/// The words of a table that a reader has.
pub(super) const fn words<T, const N: usize>(table: &[(&'static str, T); N]) -> [&'static str; N] {
    let mut words = [""; N];
    let mut place = 0;
    while place < N {
        words[place] = table[place].0;
        place += 1;
    }
    words
}

impl Field {
    pub(super) const fn or(mut self, default: &'static str) -> Self {
        self.default = default;
        self
    }

    fn schema(&self) -> Value {
        let mut schema = self.shape.schema();
        schema["description"] = self.about.into();
        if let Ok(default) = serde_json::from_str::<Value>(self.default) {
            schema["default"] = default;
        }
        schema
    }
}

const LABEL: &str = "^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$";

impl Shape {
    pub(super) fn schema(&self) -> Value {
        let pattern = |pattern: &str| json!({"type": "string", "pattern": pattern});
        match self {
            Self::Text => json!({"type": "string"}),
            Self::FilledText => pattern("\\S"),
            Self::Label => pattern(LABEL),
            Self::LabelTemplate => pattern(&format!("{LABEL}|\\{{\\{{")),
            Self::Version => pattern("^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$"),
            Self::ActionName => pattern("^[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$"),
            Self::Location => pattern("^[^/].*::.+$"),
            Self::Duration => json!({
                "type": "string",
                "minLength": 2,
                "pattern": "^([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?([0-9]+ms)?$",
            }),
            Self::Bool => json!({"type": "boolean"}),
            Self::Whole(least, most) => json!({"type": "integer", "minimum": least, "maximum": most}),
            Self::Exactly(text) => json!({"const": text}),
            Self::False => json!({"const": false}),
            Self::NotYet => json!({"enum": [null, [], {}]}),
            Self::Words(words) => json!({"enum": words}),
            Self::WordsOr(words, object) => json!({"anyOf": [{"enum": words}, reference(object)]}),
            Self::Free => json!({"type": "object"}),
            Self::List(items) => json!({"type": "array", "items": items.schema()}),
            Self::Filled(items) => json!({"type": "array", "items": items.schema(), "minItems": 1}),
            Self::MapOf(values) => json!({"type": "object", "additionalProperties": values.schema()}),
            Self::Object(object) => reference(object),
        }
    }
}

fn reference(object: &Object) -> Value {
    json!({"$ref": format!("#/$defs/{}", object.name)})
}

impl Object {
    pub(super) fn schema(&self) -> Value {
        let properties: Map<String, Value> =
            self.fields.iter().map(|field| (field.name.to_owned(), field.schema())).collect();
        let required: Vec<&str> = self.fields.iter().filter(|field| field.required).map(|field| field.name).collect();
        let mut schema = json!({
            "type": "object",
            "description": self.about,
            "properties": properties,
            "additionalProperties": false,
        });
        if !required.is_empty() {
            schema["required"] = json!(required);
        }
        if !self.rules.is_empty() {
            schema["allOf"] = self.rules.iter().map(Rule::schema).collect();
        }
        schema
    }
}

impl Rule {
    fn schema(&self) -> Value {
        let there = |name: &&str| json!({"required": [name]});
        match self {
            Self::When { field, is, needs, forbids } => {
                let forbids: Map<String, Value> =
                    forbids.iter().map(|name| ((*name).to_owned(), false.into())).collect();
                json!({
                    "if": {"properties": {*field: {"enum": is}}, "required": [field]},
                    "then": {"required": needs, "properties": forbids},
                })
            }
            Self::One(names) => json!({"oneOf": names.iter().map(there).collect::<Vec<_>>()}),
            Self::Some(names) => json!({"anyOf": names.iter().map(there).collect::<Vec<_>>()}),
            Self::Alone(name) => json!({"if": {"required": [name]}, "then": {"maxProperties": 1}}),
            Self::With(name, other) => json!({"dependentRequired": {*name: [other]}}),
        }
    }
}
