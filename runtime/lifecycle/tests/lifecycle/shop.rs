//! The documents of the shop example, read and planned as they are in the repository.

use std::collections::BTreeMap;
use std::path::PathBuf;

use pintle_lifecycle::document::{DriverDocument, Manifest, Problems, ReleaseDocument};
use pintle_lifecycle::ending::ChangeState;
use pintle_lifecycle::plan::Plan;
use pintle_lifecycle::planning::{Folders, Module, PlanError, PlanInput, Planned};
use pintle_lifecycle::status::Lifecycle;
use pintle_lifecycle::view::ReleaseView;

use crate::templates::planned;

/// The shop of the example, as texts.
pub struct Shop {
    pub release: String,
    pub driver: String,
    pub manifests: String,
    pub modules: BTreeMap<String, Result<Module, String>>,
    pub view: Option<ReleaseView>,
    pub last: Option<Plan>,
}

const DRIVER: &str = "\
apiVersion: pintle.dev/v1alpha1
kind: Driver
metadata: {name: shop, version: 1.0.0}
spec:
  components:
    - name: server
      workload: {kind: Process, name: shop-server}
    - name: task-worker
      workload: {kind: Process, name: shop-task-worker}
  content: {type: manifests, manifests: {path: manifests/}}
  actions:
    - {name: pre_setup, hook: setup, mode: pre, location: 'actions.wasm::pre-setup'}
    - {name: post_setup, hook: setup, mode: post, location: 'actions.wasm::post-setup'}
    - name: upgrade
      hook: upgrade
      mode: core
      location: 'actions.wasm::upgrade'
      description: Stop the worker, run the migration, start the worker
      timeout: 5m
      retry: {attempts: 3, backoff: 10s}
    - {name: check, hook: upgrade, mode: post, location: 'actions.wasm::check', onFailure: Continue}
    - {name: save, hook: delete, mode: pre, location: 'farewell.wasm::save'}
    - {name: look, hook: test, location: 'actions.wasm::look'}
  permissions:
    components: {stop: [task-worker], start: [task-worker], images: [server]}
    releases: {set-version: true}
";

const RELEASE: &str = "\
apiVersion: pintle.dev/v1alpha1
kind: Release
metadata: {name: shop}
spec:
  cluster: local
  driver: {name: shop, version: 1.0.0, path: .}
  version: 1.0.0
  components:
    server:
      image: 'localhost:5000/demo/shop:{{ app.version }}'
      env: {COLOUR: red}
";

const MANIFESTS: &str = "\
apiVersion: pintle.dev/v1alpha1
kind: Process
metadata: {name: shop-server}
spec: {image: 'localhost:5000/demo/shop:1.0.0', command: [shop, server], env: {LISTEN: '127.0.0.1:18081', COLOUR: blue}}
---
apiVersion: pintle.dev/v1alpha1
kind: Process
metadata: {name: shop-task-worker}
spec: {image: 'localhost:5000/demo/shop:1.0.0', command: [shop, worker]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
";

impl Shop {
    pub fn new() -> Self {
        let module = |digit: &str, actions: &[&str]| {
            let actions = actions.iter().map(|&name| name.to_owned()).collect();
            Ok(Module { digest: digit.repeat(64), wit: "0.1.0".into(), actions, undoes: Vec::new() })
        };
        let modules = BTreeMap::from([
            ("actions.wasm".to_owned(), module("a", &["pre-setup", "post-setup", "upgrade", "check", "look"])),
            ("farewell.wasm".to_owned(), module("f", &["save"])),
        ]);
        Self {
            release: RELEASE.into(),
            driver: DRIVER.into(),
            manifests: MANIFESTS.into(),
            modules,
            view: None,
            last: None,
        }
    }

    pub fn plan(&self) -> Result<Planned, Problems> {
        let mut problems = Problems::default();
        let release = ReleaseDocument::read("release.yml", &self.release, &mut problems).expect("a release");
        let driver = DriverDocument::read("driver.yml", &self.driver, &mut problems);
        let manifests = Manifest::read("manifests/shop.yml", &self.manifests, &mut problems);
        let former = self.last.as_ref().map(|last| &last.render);
        let applied = self.view.as_ref().and_then(|view| view.applied.as_ref());
        let planned = planned(&PlanInput {
            problems,
            release: &release,
            driver: driver.as_ref(),
            manifests: &manifests,
            modules: &self.modules,
            tenant: "acme",
            folders: Folders {
                release: PathBuf::from("/srv/shop"),
                driver: Some(PathBuf::from("/srv/shop")),
                images: PathBuf::from("/srv/shop/images"),
            },
            view: self.view.as_ref(),
            former: former.filter(|_| applied.is_some()),
            last_plan: self.last.as_ref(),
            fresh_uid: "00112233445566ff",
            lifecycle: &[],
            skip_hooks: &[],
        });
        planned.map_err(|error| match error {
            PlanError::Problems(problems) => problems,
            other => panic!("{other}"),
        })
    }

    pub fn planned(&self) -> Plan {
        match self.plan() {
            Ok(Planned::Change(plan)) => *plan,
            Ok(Planned::Nothing { reason, .. }) => panic!("nothing planned: {reason}"),
            Err(problems) => panic!("{problems}"),
        }
    }

    pub fn edited(mut self, edits: &[(&str, &str)]) -> Self {
        for (from, to) in edits {
            let texts = [&mut self.release, &mut self.driver, &mut self.manifests];
            let mut found = 0;
            for text in texts {
                found += text.matches(from).count();
                *text = text.replace(from, to);
            }
            assert_eq!(found, 1, "{from}");
        }
        self
    }

    /// The shop after its change ended so, everything applied.
    pub fn after(mut self, state: ChangeState) -> Self {
        let plan = self.planned();
        let before = self.view.take();
        let succeeded = state == ChangeState::Succeeded;
        self.view = Some(ReleaseView {
            key: plan.target.release.clone(),
            uid: plan.target.uid.clone(),
            cluster: plan.target.cluster.clone(),
            namespace: plan.target.namespace.clone(),
            driver: plan.driver.clone(),
            changes: before.as_ref().map_or(1, |view| view.changes + 1),
            begun: 0,
            waiting: None,
            open: None,
            last: 0,
            last_kind: plan.kind,
            last_state: state,
            generation: plan.generation,
            revision: before.map_or(0, |view| view.revision) + u64::from(succeeded),
            applied: Some(plan.render.reference.clone()),
            applied_by: None,
            removal: None,
            stopped: BTreeMap::new(),
            left_job: None,
            lifecycle: Lifecycle::default(),
            deleted: false,
            extra: serde_json::Map::new(),
        });
        self.last = Some(plan);
        self
    }
}
