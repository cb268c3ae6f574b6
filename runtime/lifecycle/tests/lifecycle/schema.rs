//! The JSON Schemas are those in the repository, take every document that the readers take, and refuse most of what these refuse.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use pintle_lifecycle::document::reader::{Source, Templates};
use pintle_lifecycle::document::{DocumentKind, schema};
use serde_json::Value;

use crate::edit::Edit;
use crate::validator::faults;
use crate::{driver, hooks, release};

fn file(kind: DocumentKind) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../../docs/schema/{}.json", kind.as_str()))
}

/// A document as JSON; none where it is no YAML.
fn json_of(text: &str) -> Option<Value> {
    Some(Source::open("document", text, Templates::Refused).only()?.to_json())
}

const GOOD: [(DocumentKind, &str); 6] = [
    (DocumentKind::Release, release::RELEASE),
    (DocumentKind::Driver, driver::DRIVER),
    (DocumentKind::Lifecycle, hooks::HOOKS),
    (DocumentKind::Driver, include_str!("../../../../examples-actions/shop/driver.yml")),
    (DocumentKind::Release, include_str!("../../../../examples-actions/shop/release.yml")),
    (DocumentKind::Release, include_str!("../../../../examples-actions/shop/release-1.2.0.yml")),
];

#[test]
fn the_schemas_of_the_repository_are_up_to_date() {
    for kind in DocumentKind::ALL {
        let (path, schema) = (file(kind), schema(kind));
        if std::env::var_os("PINTLE_UPDATE_GOLDEN").is_some() {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, format!("{schema:#}\n")).unwrap();
        }
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let written: Value = serde_json::from_str(&text).unwrap();
        assert!(written == schema, "{} is old: PINTLE_UPDATE_GOLDEN=1 writes it again", path.display());
    }
}

#[test]
fn what_the_readers_take_fits_the_schemas() {
    for (kind, text) in GOOD {
        assert_eq!(faults(&schema(kind), &json_of(text).unwrap()), Vec::<String>::new(), "{kind:?}\n{text}");
    }
    let text = release::RELEASE.replace("lifecycle: {}", "lifecycle: {path: ./hooks.yml}");
    assert_eq!(faults(&schema(DocumentKind::Release), &json_of(&text).unwrap()), Vec::<String>::new());
}

/// What the readers know better than a schema: names that have to fit each other, templates, conditions, keys that repeat.
#[test]
fn mistakes_that_the_schemas_do_not_see() {
    let mut unseen = String::new();
    let documents: [(DocumentKind, &str, &[Edit]); 4] = [
        (DocumentKind::Release, release::RELEASE, release::EDITS),
        (DocumentKind::Driver, driver::DRIVER, driver::EDITS),
        (DocumentKind::Lifecycle, hooks::HOOKS, hooks::EDITS),
        (DocumentKind::Lifecycle, hooks::HOOKS, hooks::TEMPLATE_EDITS),
    ];
    let mut seen = 0;
    for (kind, good, edits) in documents {
        for (from, to) in edits {
            let Some(json) = json_of(&good.replace(from, to)) else { continue };
            if faults(&schema(kind), &json).is_empty() {
                writeln!(unseen, "{}: {from:?} => {to:?}", kind.as_str()).unwrap();
            } else {
                seen += 1;
            }
        }
    }
    assert!(seen > 100, "{seen}");
    insta::assert_snapshot!("mistakes_beyond_schemas", unseen);
}
