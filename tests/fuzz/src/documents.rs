//! driver.yml and release.yml, whatever is written in them: each problem is at a place of the document and can be shown; what has
//! none can be planned, carried out, stored and read again, and then there is nothing more to do.

mod shown;
mod story;
mod world;

use pintle_lifecycle::document::release::at_version;
use pintle_lifecycle::document::{DriverDocument, Problems, ReleaseDocument};

use shown::assert_shown;
use world::World;

/// Reads the bytes as driver.yml and plans with them.
///
/// # Panics
/// Where the lifecycle does what its documentation says it does not.
pub fn driver(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let mut problems = Problems::default();
    let document = DriverDocument::read("driver.yml", text, &mut problems);
    assert_shown(&problems, "driver.yml", text);
    assert!(document.is_some() || !problems.is_empty(), "a document that is not read has a problem");
    if let Some(driver) = document {
        let world = World::around_driver(driver, problems);
        world.carry_out(None);
    }
}

/// Reads the bytes as release.yml and plans with them.
///
/// # Panics
/// Where the lifecycle does what its documentation says it does not.
pub fn release(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let mut problems = Problems::default();
    let document = ReleaseDocument::read("release.yml", text, &mut problems);
    assert_shown(&problems, "release.yml", text);
    assert!(document.is_some() || !problems.is_empty(), "a document that is not read has a problem");
    let Some(release) = document else { return };
    if problems.is_empty() {
        assert_stored(&release);
    }
    World::around_release(release, problems).carry_out(Some(text));
}

/// Records of the shop's setup and of an upgrade, each as JSON.
#[cfg(feature = "admission")]
pub(crate) fn shop_changes() -> [Vec<String>; 2] {
    World::shop("1.0.0").two_changes(&World::shop("1.1.0")).map(|records| {
        let json =
            |record: &pintle_lifecycle::record::Record| String::from_utf8(record.to_json()).expect("JSON is text");
        records.iter().map(json).collect()
    })
}

/// The stored form reads as the same document, at whatever version.
fn assert_stored(release: &ReleaseDocument) {
    let stored = release.stored("/srv/shop".as_ref());
    let text = at_version(&stored, "7.7.7");
    let mut problems = Problems::default();
    let again = ReleaseDocument::read("stored", &text, &mut problems).unwrap_or_else(|| panic!("{problems}\n{text}"));
    assert!(problems.is_empty(), "{problems}\n{text}");
    assert_eq!(again.spec.version.value, "7.7.7");
    let (before, after) = (&release.spec, &again.spec);
    assert_eq!((&after.tenant, &after.values), (&before.tenant, &before.values));
    assert_eq!(again.metadata.name.value, release.metadata.name.value);
    assert_eq!(again.metadata.namespace.value, release.metadata.namespace.value);
    let settings = |document: &ReleaseDocument| {
        document.spec.components.iter().map(|(name, set)| (name.clone(), set.value.clone())).collect::<Vec<_>>()
    };
    assert_eq!(settings(&again), settings(release));
}
