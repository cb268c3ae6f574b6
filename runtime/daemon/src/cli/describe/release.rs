//! A release in full.

use pintle_journal::clock::{Clock as _, SystemClock};
use pintle_journal::journal::{ChangeQuery, Journal};
use pintle_lifecycle::ending::ChangeState;
use pintle_lifecycle::ids::ReleaseKey;
use pintle_lifecycle::plan::{Plan, Render};
use pintle_lifecycle::view::{ChangeView, ReleaseView};
use serde::Serialize;

use super::pairs;
use crate::cli::shape::{Change, Release};
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
    /// The newest first.
    changes: Vec<Change>,
    #[serde(skip)]
    ages: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Condition {
    #[serde(rename = "type")]
    name: &'static str,
    status: &'static str,
    reason: String,
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
    pub async fn read(journal: &dyn Journal, key: &ReleaseKey) -> Result<Self, Error> {
        let view = lookup::release(journal, key).await?;
        let plan = last_plan(journal, &view).await?;
        let query = ChangeQuery { release: Some(key.clone()), open: false, limit: CHANGES };
        let changes = journal.changes(query).await?;
        let now = SystemClock::new().now();
        Ok(Self {
            release: Release::of(&view, changes.first()),
            conditions: conditions(&view, &plan, changes.first()),
            components: components(&view, &plan),
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
        let rows = self.conditions.iter().map(|c| vec![c.name.to_owned(), c.status.to_owned(), c.reason.clone()]);
        sections.push(section("Conditions", &table(&["TYPE", "STATUS", "REASON"], rows)));
        if !self.components.is_empty() {
            let rows = self.components.iter().map(|component| {
                let Component { name, workload, image, state } = component;
                vec![name.clone(), workload.clone(), or_none(image.clone()), state.clone()]
            });
            sections.push(section("Components", &table(&["NAME", "WORKLOAD", "IMAGE", "STATE"], rows)));
        }
        if let Some(job) = &release.left_job {
            sections.push(section("Left behind", &format!("the Job {} of {}", job.id, job.change)));
        }
        let rows = self.changes.iter().zip(&self.ages).map(|(change, age)| {
            vec![change.id.clone(), change.kind.clone(), change.to_version.clone(), change.state.clone(), age.clone()]
        });
        sections.push(section("Changes", &table(&["CHANGE", "KIND", "TO", "STATE", "AGE"], rows)));
        sections.join("\n")
    }
}

fn section(heading: &str, text: &str) -> String {
    format!("{heading}:\n{}", indented(text))
}

fn conditions(view: &ReleaseView, plan: &Plan, newest: Option<&ChangeView>) -> Vec<Condition> {
    let change = view.key.change(view.changes);
    let applied = match &view.applied {
        _ if view.deleted => ("False", format!("deleted by {change}")),
        None => ("False", "nothing is applied yet".to_owned()),
        Some(applied) if *applied == plan.render.reference => ("True", format!("version {}", applied.version)),
        Some(applied) => {
            ("False", format!("version {} is applied, {change} brings {}", applied.version, plan.to_version))
        }
    };
    let message = newest.map(|newest| newest.message.lines().next().unwrap_or_default()).unwrap_or_default();
    let because = if message.is_empty() { String::new() } else { format!(": {message}") };
    let status = match view.last_state {
        ChangeState::Succeeded => "True",
        state if state.is_final() => "False",
        _ => "Unknown",
    };
    let reason = format!("the {} {change} is {}{because}", view.last_kind, view.last_state);
    vec![
        Condition { name: "Applied", status: applied.0, reason: applied.1 },
        Condition { name: "LifecycleSucceeded", status, reason },
    ]
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
                format!("`pintle retry {}` or the next change starts it", view.key.change(view.changes))
            };
            format!("stopped since {} (had {} {replicas}); {cure}", stopped.since, stopped.former)
        }
        None if is_applied => "started".to_owned(),
        None => "not applied".to_owned(),
    }
}
