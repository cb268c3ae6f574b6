//! A release in full.

use pintle_journal::clock::{Clock as _, SystemClock};
use pintle_journal::journal::{ChangeQuery, Journal};
use pintle_lifecycle::ending::ChangeState;
use pintle_lifecycle::ids::ReleaseKey;
use pintle_lifecycle::plan::{Plan, Render};
use pintle_lifecycle::view::ReleaseView;
use pintle_platform::Platform;
use serde::Serialize;

use super::conditions::{Condition, conditions};
use super::left::{self, LeftHook};
use super::next::{self, Next};
use super::pairs;
use crate::cli::shape::{Change, Hook, Release};
use crate::cli::table::{indented, or_none, table};
use crate::cli::time::age;
use crate::error::Error;
use crate::lookup;
use crate::request::last_plan;

/// As many changes as are shown.
const CHANGES: usize = 5;

/// What `-o json` prints.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Described {
    #[serde(flatten)]
    release: Release,
    conditions: Vec<Condition>,
    components: Vec<Component>,
    /// Workloads of hooks that are still there after their change; null where that cannot be told.
    left_hooks: Option<Vec<LeftHook>>,
    /// The newest first.
    changes: Vec<Change>,
    /// What helps now.
    next: Vec<Next>,
    #[serde(skip)]
    ages: Vec<String>,
    /// Why `left_hooks` are not known.
    #[serde(skip)]
    not_told: Option<String>,
}

#[derive(Debug, Serialize)]
struct Component {
    name: String,
    workload: String,
    image: Option<String>,
    /// `Started`, or why it is not.
    state: String,
}

impl Described {
    pub async fn read(journal: &dyn Journal, platform: &dyn Platform, key: &ReleaseKey) -> Result<Self, Error> {
        let view = lookup::release(journal, key).await?;
        let plan = last_plan(journal, &view).await?;
        let query = ChangeQuery { release: Some(key.clone()), open: false, limit: CHANGES };
        let changes = journal.changes(query).await?;
        let now = SystemClock::new().now();
        let (left_hooks, not_told) = match left::left(platform, &view, &plan, now).await {
            Ok(left) => (Some(left), None),
            Err(why) => (None, Some(why)),
        };
        Ok(Self {
            release: Release::of(&view, changes.first()),
            conditions: conditions(&view, &plan, changes.first()),
            components: components(&view, &plan),
            left_hooks,
            next: next::of_release(&view),
            not_told,
            ages: changes.iter().map(|change| age(now.since(&change.opened))).collect(),
            changes: changes.iter().map(Change::of).collect(),
        })
    }

    pub fn text(&self) -> String {
        let release = &self.release;
        let driver = release.driver.as_ref().map(|driver| format!("{} {}", driver.name, driver.version));
        let mut sections = vec![pairs(&[
            ("Name", release.name.clone()),
            ("Tenant", release.tenant.clone()),
            ("Cluster", release.cluster.clone()),
            ("Namespace", release.namespace.clone()),
            ("Driver", or_none(driver)),
            ("Version", or_none(release.version.clone())),
            ("Generation", release.generation.to_string()),
            ("Revision", release.revision.to_string()),
            ("UID", release.uid.clone()),
            ("Deleted", if release.deleted { "yes" } else { "no" }.to_owned()),
        ])];
        let rows = self.conditions.iter().map(|condition| {
            let Condition { name, status, reason, message } = condition;
            vec![(*name).to_owned(), status.to_string(), reason.clone(), message.clone()]
        });
        sections.push(section("Conditions", &table(&["TYPE", "STATUS", "REASON", "MESSAGE"], rows)));
        if !self.components.is_empty() {
            let rows = self.components.iter().map(|component| {
                let Component { name, workload, image, state } = component;
                vec![name.clone(), workload.clone(), or_none(image.clone()), state.clone()]
            });
            sections.push(section("Components", &table(&["NAME", "WORKLOAD", "IMAGE", "STATE"], rows)));
        }
        sections.extend(self.hooks());
        sections.extend(self.left_behind());
        let rows = self.changes.iter().zip(&self.ages).map(|(change, age)| {
            vec![change.id.clone(), change.kind.clone(), change.to_version.clone(), change.state.clone(), age.clone()]
        });
        sections.push(section("Changes", &table(&["CHANGE", "KIND", "TO", "STATE", "AGE"], rows)));
        sections.push(section("Next", &next::text(&self.next)));
        sections.join("\n")
    }

    /// The last run of each hook.
    fn hooks(&self) -> Option<String> {
        let all = self.release.status.lifecycle.iter().flat_map(|(phase, hooks)| {
            hooks.iter().map(move |hook| {
                let Hook { name, kind, state, change, .. } = hook;
                vec![phase.to_string(), name.clone(), kind.clone(), state.to_string(), change.clone()]
            })
        });
        let rows: Vec<Vec<String>> = all.collect();
        let headings = ["PHASE", "HOOK", "KIND", "STATE", "CHANGE"];
        (!rows.is_empty()).then(|| section("Hooks", &table(&headings, rows)))
    }

    fn left_behind(&self) -> Option<String> {
        let mut text = String::new();
        if let Some(job) = &self.release.left_job {
            text += &format!("the Job {} of {}\n", job.id, job.change);
        }
        match (&self.left_hooks, &self.not_told) {
            (Some(left), _) if !left.is_empty() => text += &left::text(left),
            (None, Some(why)) => text += &format!("workloads of hooks cannot be told: {why}\n"),
            _ => {}
        }
        (!text.is_empty()).then(|| section("Left behind", &text))
    }
}

fn section(heading: &str, text: &str) -> String {
    format!("{heading}:\n{}", indented(text))
}

fn components(view: &ReleaseView, plan: &Plan) -> Vec<Component> {
    let is_applied = |render: &&Render| Some(&render.reference) == view.applied.as_ref();
    let render = [Some(&plan.render), plan.former.as_ref()].into_iter().flatten().find(is_applied);
    let component = |component: &pintle_lifecycle::plan::Component| {
        let object = render.and_then(|render| render.object(&component.workload));
        Component {
            name: component.name.clone(),
            workload: component.workload.to_string(),
            image: object.as_ref().and_then(|object| object["spec"]["image"].as_str()).map(str::to_owned),
            state: state(view, &component.name, object.is_some()),
        }
    };
    plan.components.iter().map(component).collect()
}

fn state(view: &ReleaseView, component: &str, is_applied: bool) -> String {
    match view.stopped.get(component) {
        Some(stopped) => {
            let replicas = if stopped.former == 1 { "replica" } else { "replicas" };
            let cure = if view.last_state == ChangeState::Succeeded {
                "the next change of the release starts it".to_owned()
            } else {
                format!("`pintle retry {}` or the next change starts it", view.newest())
            };
            format!("stopped since {} (had {} {replicas}); {cure}", stopped.since, stopped.former)
        }
        None if is_applied => "started".to_owned(),
        None => "not applied".to_owned(),
    }
}
