//! JSON Schemas (2020-12) of the documents, for editors and for whoever makes documents by a program. They are written down as tables
//! of fields, and a test ties these to what the readers ask for. The readers decide: they know more than a schema can say.

mod driver;
mod hook;
mod pod;
mod release;
mod shape;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value, json};

use shape::{Object, Shape};

/// A kind of document that has a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DocumentKind {
    Release,
    Driver,
    Lifecycle,
}

impl DocumentKind {
    pub const ALL: [Self; 3] = [Self::Release, Self::Driver, Self::Lifecycle];

    /// As in commands and names of files: `release`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Release => "release",
            Self::Driver => "driver",
            Self::Lifecycle => "lifecycle",
        }
    }

    fn object(self) -> &'static Object {
        match self {
            Self::Release => &release::RELEASE,
            Self::Driver => &driver::DRIVER,
            Self::Lifecycle => &hook::LIFECYCLE,
        }
    }
}

/// The schema of a kind of document.
#[must_use]
pub fn schema(kind: DocumentKind) -> Value {
    let root = kind.object();
    let mut schema = root.schema();
    let mut definitions = Map::new();
    for object in within(root).into_iter().skip(1) {
        definitions.insert(object.name.to_owned(), object.schema());
    }
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!(format!("Pintle {}", root.name));
    schema["$defs"] = definitions.into();
    schema
}

/// The object and all that are inside of it, each once, itself first.
fn within(root: &'static Object) -> Vec<&'static Object> {
    let mut found = vec![root];
    let mut next = 0;
    while let Some(object) = found.get(next) {
        for field in object.fields {
            for inside in field.shape.objects() {
                if !found.iter().any(|known| known.name == inside.name) {
                    found.push(inside);
                }
            }
        }
        next += 1;
    }
    found
}

impl Shape {
    /// The objects that it names.
    fn objects(&self) -> Vec<&'static Object> {
        match self {
            Self::Object(object) | Self::WordsOr(_, object) => vec![object],
            Self::List(inside) | Self::Filled(inside) | Self::MapOf(inside) => inside.objects(),
            _ => Vec::new(),
        }
    }
}
