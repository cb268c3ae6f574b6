//! Reader and schema ask for the same fields.

use std::collections::{BTreeMap, BTreeSet};

use super::shape::{Object, Shape};
use super::{DocumentKind, within};
use crate::document::reader::asked;
use crate::document::{DriverDocument, LifecycleDocument, Problems, ReleaseDocument};

/// Documents that have everything.
const DOCUMENTS: [(DocumentKind, &str); 3] = [
    (DocumentKind::Release, include_str!("../../../tests/lifecycle/documents/release.yml")),
    (DocumentKind::Driver, include_str!("../../../tests/lifecycle/documents/driver.yml")),
    (DocumentKind::Lifecycle, include_str!("../../../tests/lifecycle/documents/lifecycle.yml")),
];

#[test]
fn the_schema_has_the_fields_that_the_readers_ask_for_and_no_others() {
    let mut known: BTreeMap<&str, &Object> = BTreeMap::new();
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    for (kind, text) in DOCUMENTS {
        known.extend(within(kind.object()).into_iter().map(|object| (object.name, object)));
        let mut problems = Problems::default();
        let asked = asked::during(|| match kind {
            DocumentKind::Release => drop(ReleaseDocument::read("release.yml", text, &mut problems)),
            DocumentKind::Driver => drop(DriverDocument::read("driver.yml", text, &mut problems)),
            DocumentKind::Lifecycle => drop(LifecycleDocument::read("hooks.yml", text, &mut problems)),
        });
        assert_eq!(problems, Problems::default());
        for (path, fields) in asked {
            let object = object_at(kind.object(), &path).unwrap_or_else(|| panic!("{kind:?}: no object at {path:?}"));
            let fields: BTreeSet<&str> = fields.into_iter().collect();
            let described: BTreeSet<&str> = object.fields.iter().map(|field| field.name).collect();
            assert_eq!(described, fields, "{kind:?}: {path:?} is {}", object.name);
            seen.insert(object.name);
        }
    }
    let unseen: Vec<&&str> = known.keys().filter(|name| !seen.contains(*name)).collect();
    assert!(unseen.is_empty(), "no document has {unseen:?}");
}

/// The object at a path such as `spec.actions[0].retry`.
fn object_at(root: &'static Object, path: &str) -> Option<&'static Object> {
    let mut at: &Shape = &Shape::Object(root);
    for step in path.split(['.', '[']).filter(|step| !step.is_empty()) {
        at = match at {
            Shape::List(items) | Shape::Filled(items) => step.strip_suffix(']').map(|_| *items)?,
            Shape::MapOf(values) => values,
            Shape::Object(object) | Shape::WordsOr(_, object) => {
                &object.fields.iter().find(|field| field.name == step)?.shape
            }
            _ => return None,
        };
    }
    match at {
        Shape::Object(object) | Shape::WordsOr(_, object) => Some(object),
        _ => None,
    }
}

#[test]
fn every_name_of_an_object_is_one_objects() {
    for kind in DocumentKind::ALL {
        let mut first: BTreeMap<&str, *const Object> = BTreeMap::new();
        for object in within(kind.object()) {
            for inside in object.fields.iter().flat_map(|field| field.shape.objects()) {
                let address: *const Object = inside;
                assert_eq!(*first.entry(inside.name).or_insert(address), address, "{}", inside.name);
            }
        }
    }
}
