//! The documents of the example are accepted and plan what its README says.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use pintle_lifecycle::document::{DriverDocument, Manifest, Problems, ReleaseDocument};
use pintle_lifecycle::plan::ChangeKind;
use pintle_lifecycle::planning::{Folders, Module, PlanInput, Planned};

use crate::templates::planned;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples-actions/shop")
}

fn read(name: &str) -> String {
    fs::read_to_string(folder().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn the_shop_is_accepted_and_planned() {
    let mut problems = Problems::default();
    let driver = DriverDocument::read("driver.yml", &read("driver.yml"), &mut problems).unwrap();
    let mut manifests = Manifest::read("manifests/server.yml", &read("manifests/server.yml"), &mut problems);
    manifests.extend(Manifest::read("manifests/task-worker.yml", &read("manifests/task-worker.yml"), &mut problems));
    let actions = driver.spec.actions.iter().map(|action| action.location.export.clone()).collect();
    let module = Module { digest: "a".repeat(64), wit: "0.1.0".into(), actions, undoes: Vec::new() };
    let modules = BTreeMap::from([("actions.wasm".to_owned(), Ok(module))]);
    for name in ["release.yml", "release-1.1.0.yml", "release-1.2.0.yml"] {
        let release = ReleaseDocument::read(name, &read(name), &mut problems).unwrap();
        let planned = planned(&PlanInput {
            problems: problems.clone(),
            release: &release,
            driver: Some(&driver),
            manifests: &manifests,
            modules: &modules,
            tenant: "default",
            folders: Folders { release: folder(), driver: Some(folder()), images: folder().join("images") },
            view: None,
            former: None,
            last_plan: None,
            fresh_uid: "0123456789abcdef",
            queued: false,
            lifecycle: &[],
            skip_hooks: &[],
        });
        let Ok(Planned::Change(plan)) = planned else { panic!("{name}: {planned:?}") };
        assert_eq!((plan.kind, &plan.to_version), (ChangeKind::Setup, &release.spec.version.value));
        for component in &plan.components {
            let object = plan.render.object(&component.workload).unwrap();
            let image = format!("localhost:5000/demo/shop:{}", plan.to_version);
            assert_eq!(object["spec"]["image"], image.as_str(), "{name}");
        }
    }
}
