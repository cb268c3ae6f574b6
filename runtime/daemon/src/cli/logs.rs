//! `pintle logs`: the lines that the actions of a change logged, and what Pintle has to say about its steps.

use std::time::Duration;

use pintle_journal::clock::{Clock as _, SystemClock};
use pintle_lifecycle::record::{Event, Record};
use serde::Serialize;

use super::exit::Exit;
use super::global::Global;
use super::print::{Form, print};
use super::table::one_line;
use crate::error::Error;
use crate::story::line;
use crate::{lookup, reading};

/// How often a store that another process writes is looked at.
const POLL: Duration = Duration::from_millis(250);

/// Show what the actions of a change logged
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  pintle logs shop-2
  pintle logs shop-2 -f            until the change ends")]
pub struct Logs {
    /// The change, as in shop-2
    change: String,
    /// Go on with what comes, until the change ends
    #[arg(short, long)]
    follow: bool,
    /// Form of the output; `json` is one object a line
    #[arg(short, long, value_enum, default_value_t = Form::Text, value_name = "FORM")]
    output: Form,
}

/// A line of `-o json`.
#[derive(Debug, Serialize)]
struct Line<'r> {
    at: String,
    step: &'r str,
    attempt: u32,
    level: &'static str,
    message: &'r str,
    fields: serde_json::Map<String, serde_json::Value>,
}

impl Logs {
    pub async fn run(self, global: &Global) -> Result<Exit, Error> {
        let change = global.change(&self.change)?;
        let journal = reading::open(&global.state()?)?;
        let mut shown = 0;
        loop {
            let view = lookup::change(&*journal, &change).await?;
            let records = journal.records(&change).await?;
            let text: String = records.iter().skip(shown).filter_map(|record| self.told(record)).collect();
            shown = records.len();
            print(&text)?;
            if !self.follow || view.state.is_final() {
                return Ok(Exit::Ok);
            }
            SystemClock::new().sleep(POLL).await;
        }
    }

    /// The line of a record; none where it holds none.
    fn told(&self, record: &Record) -> Option<String> {
        let Event::StepLog { step, attempt, level, message, fields, .. } = &record.event else { return None };
        let at = record.at.rfc3339();
        match self.output {
            Form::Text => Some(format!("{at}  {step}  {}\n", one_line(&line(*level, message, fields)))),
            Form::Json => {
                let fields = fields.iter().map(|(name, value)| (name.clone(), value.clone().into())).collect();
                let (step, level) = (step.as_str(), level.as_str());
                serde_json::to_string(&Line { at, step, attempt: *attempt, level, message, fields })
                    .ok()
                    .map(|line| line + "\n")
            }
        }
    }
}
