//! `pintle get`: lists.

use std::collections::BTreeMap;

use pintle_journal::clock::{Clock as _, SystemClock};
use pintle_journal::journal::{ChangeQuery, Journal};
use pintle_lifecycle::ids::ReleaseKey;
use pintle_lifecycle::stamp::Stamp;
use pintle_lifecycle::status::HookEntry;
use pintle_lifecycle::tree::{StepNode, elapsed};
use pintle_lifecycle::view::{ChangeView, ReleaseView};
use serde::Serialize;

use super::exit::Exit;
use super::global::Global;
use super::print::{print, print_json, print_yaml};
use super::shape::{Change, Driver, Hook, ListedHook, Release, Step, UsedDriver};
use super::table::{or_none, table};
use super::time::age;
use crate::error::Error;
use crate::reading;
use crate::story::{Shown, Story};

/// List releases, changes, steps, hooks or drivers
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  pintle get releases -o wide
  pintle get changes --release shop
  pintle get steps shop-2 -o json
  pintle get hooks --release shop")]
pub struct Get {
    #[command(subcommand)]
    what: What,
    /// Form of the output
    #[arg(short, long, global = true, value_enum, default_value_t = Form::Table, value_name = "FORM")]
    output: Form,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// What is installed
    #[command(visible_alias = "release")]
    Releases {
        /// Deleted ones as well
        #[arg(long)]
        all: bool,
    },
    /// What was done, newest first
    #[command(visible_alias = "change")]
    Changes {
        /// Of this release only
        #[arg(long, value_name = "NAME")]
        release: Option<String>,
        /// Those that have not ended only
        #[arg(long)]
        open: bool,
    },
    /// The steps of a change, in order
    #[command(visible_alias = "step")]
    Steps {
        /// The change, as in shop-2
        change: String,
    },
    /// The last run of each hook, by release and phase
    #[command(visible_alias = "hook")]
    Hooks {
        /// Of this release only, also where it is deleted
        #[arg(long, value_name = "NAME")]
        release: Option<String>,
    },
    /// Drivers that releases use
    #[command(visible_alias = "driver")]
    Drivers,
}

/// `-o`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Form {
    Table,
    /// A table with more columns
    Wide,
    Json,
    Yaml,
}

impl Get {
    pub async fn run(self, global: &Global) -> Result<Exit, Error> {
        let journal = reading::open(&global.state()?)?;
        let form = self.output;
        match self.what {
            What::Releases { all } => releases(&*journal, global, all, form).await,
            What::Changes { release, open } => {
                let release = release.map(|name| global.release(&name)).transpose()?;
                changes(&*journal, global, ChangeQuery { release, open, limit: 0 }, form).await
            }
            What::Steps { change } => steps(&*journal, global, &change, form).await,
            What::Hooks { release } => {
                let release = release.map(|name| global.release(&name)).transpose()?;
                hooks(&*journal, global, release, form).await
            }
            What::Drivers => drivers(&*journal, global, form).await,
        }
    }
}

/// JSON and YAML print the shapes, the tables what `rows` makes of them.
fn show<T: Serialize>(
    form: Form,
    shapes: &[T],
    nothing: &str,
    text: impl FnOnce(bool) -> String,
) -> Result<Exit, Error> {
    match form {
        Form::Json => print_json(&shapes),
        Form::Yaml => print_yaml(&shapes),
        Form::Table | Form::Wide if shapes.is_empty() => print(&format!("{nothing}\n")),
        Form::Table => print(&text(false)),
        Form::Wide => print(&text(true)),
    }
}

async fn releases(journal: &dyn Journal, global: &Global, all: bool, form: Form) -> Result<Exit, Error> {
    let mut found: Vec<(ReleaseView, Option<ChangeView>)> = Vec::new();
    for view in journal.releases().await? {
        if view.key.tenant == global.tenant && (all || !view.deleted) {
            let newest = journal.change(&view.newest()).await?;
            found.push((view, newest));
        }
    }
    let shapes: Vec<Release> = found.iter().map(|(view, newest)| Release::of(view, newest.as_ref())).collect();
    let now = SystemClock::new().now();
    show(form, &shapes, "no releases", |wide| {
        let rows = found.iter().zip(&shapes).map(|((view, newest), shape)| {
            let age = newest.as_ref().map(|change| age(now.since(&change.opened)));
            let state = if view.deleted { "Deleted".to_owned() } else { shape.state.clone() };
            let mut row = vec![shape.name.clone(), or_none(shape.version.clone()), shape.change.clone()];
            row.extend([shape.change_kind.clone(), state, view.lifecycle.summary(view.generation), or_none(age)]);
            if wide {
                let driver = shape.driver.as_ref().map(|driver| format!("{} {}", driver.name, driver.version));
                row.extend([or_none(driver), shape.cluster.clone(), shape.namespace.clone()]);
                row.extend([shape.revision.to_string(), shape.uid.clone()]);
            }
            row
        });
        let mut headings = vec!["NAME", "VERSION", "CHANGE", "KIND", "STATE", "LIFECYCLE", "AGE"];
        if wide {
            headings.extend(["DRIVER", "CLUSTER", "NAMESPACE", "REVISION", "UID"]);
        }
        table(&headings, rows)
    })
}

async fn changes(journal: &dyn Journal, global: &Global, query: ChangeQuery, form: Form) -> Result<Exit, Error> {
    if let Some(release) = &query.release {
        crate::lookup::release(journal, release).await?;
    }
    let mut views = journal.changes(query).await?;
    views.retain(|view| view.key.release.tenant == global.tenant);
    let shapes: Vec<Change> = views.iter().map(Change::of).collect();
    let now = SystemClock::new().now();
    show(form, &shapes, "no changes", |wide| {
        let rows = views.iter().zip(&shapes).map(|(view, shape)| {
            let took = view.finished.map(|finished| elapsed(finished.since(&view.opened)));
            let mut row = vec![shape.id.clone(), shape.kind.clone(), or_none(shape.from_version.clone())];
            row.extend([shape.to_version.clone(), shape.state.clone(), age(now.since(&view.opened)), or_none(took)]);
            if wide {
                row.extend([shape.by.clone(), shape.generation.to_string(), shape.records.to_string()]);
                row.push(shape.message.clone().unwrap_or_default());
            }
            row
        });
        let mut headings = vec!["CHANGE", "KIND", "FROM", "TO", "STATE", "AGE", "TOOK"];
        if wide {
            headings.extend(["BY", "GENERATION", "RECORDS", "MESSAGE"]);
        }
        table(&headings, rows)
    })
}

async fn steps(journal: &dyn Journal, global: &Global, id: &str, form: Form) -> Result<Exit, Error> {
    let change = global.change(id)?;
    crate::lookup::change(journal, &change).await?;
    let story = Story::read(journal, &change).await?;
    let tree = story.tree(Shown::None);
    let mut flat: Vec<(usize, Option<&StepNode>, &StepNode)> = Vec::new();
    tree.steps.iter().for_each(|step| flatten(0, None, step, &mut flat));
    let shapes: Vec<Step> = flat.iter().map(|(_, parent, step)| Step::of(step, *parent)).collect();
    show(form, &shapes, "no steps yet", |wide| {
        let rows = flat.iter().map(|(depth, _, step)| {
            let took = match (&step.started, &step.finished) {
                (Some(started), Some(finished)) => Some(elapsed(finished.since(started))),
                _ => None,
            };
            let title = format!("{}{}", "  ".repeat(*depth), step.title);
            let mut row = vec![title, step.attempt.to_string(), step.state.to_owned(), or_none(took)];
            if wide {
                row.extend([or_none(step.started_by.clone()), step.id.to_string(), step.message.clone()]);
            }
            row
        });
        let mut headings = vec!["STEP", "ATTEMPT", "STATE", "TOOK"];
        if wide {
            headings.extend(["STARTED BY", "ID", "MESSAGE"]);
        }
        table(&headings, rows)
    })
}

fn flatten<'t>(
    depth: usize,
    parent: Option<&'t StepNode>,
    step: &'t StepNode,
    flat: &mut Vec<(usize, Option<&'t StepNode>, &'t StepNode)>,
) {
    flat.push((depth, parent, step));
    step.children.iter().for_each(|child| flatten(depth + 1, Some(step), child, flat));
}

async fn hooks(journal: &dyn Journal, global: &Global, release: Option<ReleaseKey>, form: Form) -> Result<Exit, Error> {
    let views = match release {
        Some(release) => vec![crate::lookup::release(journal, &release).await?],
        None => journal.releases().await?.into_iter().filter(|view| !view.deleted).collect(),
    };
    let mut found: Vec<(Stamp, ListedHook)> = Vec::new();
    for view in views.iter().filter(|view| view.key.tenant == global.tenant) {
        for (phase, entries) in view.lifecycle.phases() {
            let listed =
                |entry: &HookEntry| ListedHook { release: view.key.name.clone(), phase, hook: Hook::of(entry) };
            found.extend(entries.iter().map(|entry| (entry.started_at, listed(entry))));
        }
    }
    let (started, shapes): (Vec<Stamp>, Vec<ListedHook>) = found.into_iter().unzip();
    let now = SystemClock::new().now();
    show(form, &shapes, "no hooks have run", |wide| {
        let rows = started.iter().zip(&shapes).map(|(started, ListedHook { release, phase, hook })| {
            let mut row = vec![release.clone(), phase.to_string(), hook.name.clone(), hook.kind.clone()];
            row.extend([hook.state.to_string(), hook.attempt.to_string(), hook.change.clone()]);
            row.push(age(now.since(started)));
            if wide {
                row.extend([or_none(hook.resource_name.clone()), hook.message.clone().unwrap_or_default()]);
            }
            row
        });
        let mut headings = vec!["RELEASE", "PHASE", "HOOK", "KIND", "STATE", "ATTEMPT", "CHANGE", "AGE"];
        if wide {
            headings.extend(["WORKLOAD", "MESSAGE"]);
        }
        table(&headings, rows)
    })
}

async fn drivers(journal: &dyn Journal, global: &Global, form: Form) -> Result<Exit, Error> {
    let mut users: BTreeMap<Driver, Vec<String>> = BTreeMap::new();
    for view in journal.releases().await?.into_iter().filter(|view| view.key.tenant == global.tenant && !view.deleted) {
        if let Some(driver) = &view.driver {
            let driver = Driver { name: driver.name.clone(), version: driver.version.clone() };
            users.entry(driver).or_default().push(view.key.name.clone());
        }
    }
    let shapes: Vec<UsedDriver> = users
        .into_iter()
        .map(|(driver, releases)| UsedDriver { name: driver.name, version: driver.version, releases })
        .collect();
    show(form, &shapes, "no drivers", |_| {
        let rows = shapes.iter().map(|used| vec![used.name.clone(), used.version.clone(), used.releases.join(",")]);
        table(&["NAME", "VERSION", "RELEASES"], rows)
    })
}
