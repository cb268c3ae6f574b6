//! `pintle plan`: what `pintle up` would do, without doing it.

use std::path::PathBuf;
use std::sync::OnceLock;

use pintle_lifecycle::difference::Difference;
use pintle_lifecycle::plan;
use pintle_lifecycle::plan_view::{differences, text};
use pintle_lifecycle::planning::Planned;
use serde::Serialize;

use super::exit::Exit;
use super::global::Global;
use super::print::{Form, print, print_json};
use super::skips::Skips;
use crate::error::Error;
use crate::looking::Looking;
use crate::reading;
use crate::request::{Keep, Request};
use crate::templates::InSandbox;

/// Show what `up` would run, in which order, and why
///
/// Has no effect at all, and works while another Pintle has the store.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  pintle plan release.yml
  pintle plan release.yml -o json | jq .plan.phases")]
pub struct Plan {
    /// The document of the release: release.yml
    file: PathBuf,
    #[command(flatten)]
    skips: Skips,
    /// Form of the output
    #[arg(short, long, value_enum, default_value_t = Form::Text, value_name = "FORM")]
    output: Form,
}

/// What `-o json` prints.
#[derive(Debug, Serialize)]
struct Shape {
    /// The frozen plan that the change would have; null where there is nothing to do.
    plan: Option<Box<plan::Plan>>,
    differences: Vec<Difference>,
    reason: String,
    /// The change to look at instead, where there is one.
    change: Option<String>,
}

impl Plan {
    pub async fn run(self, global: &Global) -> Result<Exit, Error> {
        let state = global.state()?;
        let request = Request::of_file(&self.file, &global.tenant).without(self.skips.skip_hooks);
        let mut request = request.with_images_of(&global.config()?);
        let journal = reading::open(&state)?;
        // What it keeps for a while goes with it.
        let looking = OnceLock::new();
        let sandbox = || {
            let made = match looking.get() {
                Some(made) => made,
                None => looking.get_or_init({
                    let made = Looking::with(&state)?;
                    || made
                }),
            };
            Ok(made.sandbox().clone())
        };
        request.admit(sandbox, Keep::No, &*journal).await?;
        match (request.plan(&*journal, &InSandbox::of(sandbox)).await?, self.output) {
            (Planned::Change(plan), Form::Text) => print(&text(&plan)),
            (Planned::Change(plan), Form::Json) => {
                let (differences, reason) = (differences(&plan), plan.reason.clone());
                print_json(&Shape { differences, reason, change: None, plan: Some(plan) })
            }
            (Planned::Nothing { reason, change }, Form::Text) => {
                let look =
                    change.map(|change| format!(": look at `pintle describe change {change}`")).unwrap_or_default();
                print(&format!("nothing to do: {reason}{look}\n"))
            }
            (Planned::Nothing { reason, change }, Form::Json) => {
                let change = change.map(|change| change.to_string());
                print_json(&Shape { plan: None, differences: Vec::new(), reason, change })
            }
        }
    }
}
