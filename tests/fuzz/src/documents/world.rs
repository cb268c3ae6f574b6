//! What stands around one document when it is planned: the other documents, made so that they fit it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use pintle_lifecycle::document::lifecycle::locations;
use pintle_lifecycle::document::{DriverDocument, Manifest, Problems, ReleaseDocument};
use pintle_lifecycle::plan::{Plan, Render};
use pintle_lifecycle::planning::{Again, Folders, Module, PlanError, PlanInput, Planned, plan, plan_again};
use pintle_lifecycle::record::{Event, FORMAT, Record};
use pintle_lifecycle::view::ReleaseView;
use pintle_lifecycle::{plan_view, stamp::Stamp};
use serde_json::json;

use super::shown::assert_shown;
use super::story;
use crate::templates::{StandIn, now};

const DRIVER: &str = include_str!("../../../../examples-actions/shop/driver.yml");
const RELEASE: &str = include_str!("../../../../examples-actions/shop/release.yml");

/// Documents that fit each other as far as those that are given allow it.
pub struct World {
    problems: Problems,
    release: ReleaseDocument,
    driver: Option<DriverDocument>,
    manifests: Vec<Manifest>,
    modules: BTreeMap<String, Result<Module, String>>,
}

impl World {
    /// The release, the manifests and the modules that a driver asks for.
    pub fn around_driver(driver: DriverDocument, problems: Problems) -> Self {
        let metadata = &driver.metadata;
        let named = json!({"name": metadata.name.value, "version": metadata.version.value, "path": "."});
        let text = RELEASE.replace("{name: shop, version: 1.0.0, path: .}", &named.to_string());
        let (text, _components) = text.split_once("  components:").expect("the example has components");
        Self::of(sound("release.yml", text, ReleaseDocument::read), Some(driver), problems)
    }

    /// The driver of the shop under the name that a release calls for, or plain content.
    pub fn around_release(release: ReleaseDocument, problems: Problems) -> Self {
        let driver = release.spec.driver.as_ref().map(|named| {
            let metadata = json!({"name": named.name.value, "version": named.version.value});
            let text = DRIVER.replace("{name: shop, version: 1.0.0}", &metadata.to_string());
            sound("driver.yml", &text, DriverDocument::read)
        });
        Self::of(release, driver, problems)
    }

    /// The shop of the example.
    #[cfg(feature = "admission")]
    pub fn shop(version: &str) -> Self {
        let text = RELEASE.replace("  version: 1.0.0\n", &format!("  version: {version}\n"));
        Self::around_release(sound("release.yml", &text, ReleaseDocument::read), Problems::default())
    }

    /// Records of the setup, and of the upgrade to the other.
    #[cfg(feature = "admission")]
    pub fn two_changes(&self, other: &Self) -> [Vec<Record>; 2] {
        let changed = |planned| match planned {
            Ok(Planned::Change(plan)) => *plan,
            other => panic!("no change: {other:?}"),
        };
        let setup = changed(self.plan(None, None, None));
        let records = carry_out(&setup, 1);
        let view = viewed(None, &records);
        let upgrade = changed(other.plan(Some(&view), Some(&setup.render), Some(&setup)));
        [records, carry_out(&upgrade, 2)]
    }

    fn of(release: ReleaseDocument, driver: Option<DriverDocument>, problems: Problems) -> Self {
        let mut modules = BTreeMap::new();
        let of_driver = driver.iter().flat_map(DriverDocument::locations);
        for location in of_driver.chain(locations(&release.lifecycle)) {
            let module = || {
                Ok(Module { digest: "a".repeat(64), wit: "0.1.0".to_owned(), actions: Vec::new(), undoes: Vec::new() })
            };
            if let Ok(module) = modules.entry(location.file.clone()).or_insert_with(module) {
                module.actions.push(location.export.clone());
            }
        }
        let manifests = manifests(driver.as_ref());
        Self { problems, release, driver, manifests, modules }
    }

    /// Plans, carries the plan out, and plans again: nothing is left to do. Then deletes. `text` is the release's document where
    /// problems may be in it.
    pub fn carry_out(&self, text: Option<&str>) {
        let planned = match self.plan(None, None, None) {
            Ok(planned) => planned,
            Err(problems) => {
                if let Some(text) = text.filter(|_| self.problems.is_empty()) {
                    assert_shown(&problems, "release.yml", text);
                }
                assert!(!problems.to_string().is_empty());
                return;
            }
        };
        assert!(self.problems.is_empty(), "a document with problems is planned");
        if self.release.spec.hold {
            assert!(matches!(planned, Planned::Nothing { .. }), "a release that is held does something: {planned:?}");
            return;
        }
        let Planned::Change(setup) = planned else { panic!("a new release has nothing to do: {planned:?}") };
        let records = carry_out(&setup, 1);
        let view = viewed(None, &records);
        match self.plan(Some(&view), Some(&setup.render), Some(&setup)) {
            Ok(Planned::Nothing { change: None, .. }) => {}
            other => panic!("it is set up, and something is left to do: {other:?}"),
        }
        let delete = now(plan_again(Again::Delete, &view, &setup, &[], &StandIn)).expect("nothing is open");
        let view = viewed(Some(view), &carry_out(&delete, 2));
        assert!(view.deleted, "{view:?}");
    }

    fn plan(
        &self,
        view: Option<&ReleaseView>,
        former: Option<&Render>,
        last_plan: Option<&Plan>,
    ) -> Result<Planned, Problems> {
        let planned = now(plan(
            &PlanInput {
                problems: self.problems.clone(),
                release: &self.release,
                driver: self.driver.as_ref(),
                manifests: &self.manifests,
                modules: &self.modules,
                tenant: "acme",
                folders: Folders {
                    release: PathBuf::from("/srv/shop"),
                    driver: self.driver.as_ref().map(|_| PathBuf::from("/srv/shop")),
                    images: PathBuf::from("/srv/shop/images"),
                },
                view,
                former,
                last_plan,
                fresh_uid: "00112233445566ff",
                queued: false,
                lifecycle: &[],
                skip_hooks: &[],
            },
            &StandIn,
        ));
        planned.map_err(|error| match error {
            PlanError::Problems(problems) => problems,
            other => panic!("{other}"),
        })
    }
}

/// Opens the change, goes through its stored form, shows it and lets everything succeed.
fn carry_out(plan: &Plan, number: u64) -> Vec<Record> {
    assert!(plan_view::text(plan).ends_with('\n'));
    let event = Event::ChangeOpened { plan: plan.clone().into(), by: "ada".to_owned() };
    let opened = Record { v: FORMAT, change: plan.target.release.change(number), seq: 0, at: Stamp::default(), event };
    let stored = Record::from_json(&opened.to_json()).expect("what was written is read");
    assert_eq!(stored, opened, "the plan is stored as it was made");
    story::to_success(stored)
}

fn viewed(view: Option<ReleaseView>, records: &[Record]) -> ReleaseView {
    records.iter().fold(view, ReleaseView::after).expect("the first record opens a change")
}

fn sound<T>(file: &str, text: &str, read: impl FnOnce(&str, &str, &mut Problems) -> Option<T>) -> T {
    let mut problems = Problems::default();
    let document = read(file, text, &mut problems);
    assert!(problems.is_empty(), "what one document names another can be: {problems}\n{text}");
    document.expect("it has no problems")
}

/// A process for each workload of the components.
fn manifests(driver: Option<&DriverDocument>) -> Vec<Manifest> {
    let components = driver.map(|driver| driver.spec.components.as_slice()).unwrap_or_default();
    let mut workloads: Vec<_> = components.iter().map(|component| &component.workload.value).collect();
    workloads.sort_unstable();
    workloads.dedup();
    let text: Vec<String> = workloads
        .into_iter()
        .map(|workload| {
            let spec = json!({"image": "localhost:5000/demo/shop:1.0.0", "command": ["shop"]});
            let metadata = json!({"name": workload.name});
            json!({"apiVersion": "pintle.dev/v1alpha1", "kind": workload.kind, "metadata": metadata, "spec": spec})
                .to_string()
        })
        .collect();
    Manifest::read("manifests.yml", &text.join("\n---\n"), &mut Problems::default())
}
