//! `pintle describe`: all that is known of one release or change, for a person.

mod change;
mod conditions;
mod left;
mod next;
mod release;

use super::exit::Exit;
use super::global::Global;
use super::print::{print, print_json, print_yaml};
use super::steps::Form;
use crate::embedded::local;
use crate::error::Error;
use crate::reading;

/// Show all that is known of a release or a change
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  pintle describe release shop
  pintle describe change shop-2")]
pub struct Describe {
    #[command(subcommand)]
    what: What,
    /// Form of the output
    #[arg(short, long, global = true, value_enum, default_value_t = Form::Text, value_name = "FORM")]
    output: Form,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Conditions, components, hooks, the last changes, what is left behind, and what to do next
    Release {
        /// The release
        name: String,
    },
    /// What it was to do, how it ended, and what a person can do about it
    Change {
        /// The change, as in shop-2
        id: String,
    },
}

impl Describe {
    pub async fn run(self, global: &Global) -> Result<Exit, Error> {
        let state = global.state()?;
        let journal = reading::open(&state)?;
        match self.what {
            What::Release { name } => {
                let platform = local(&state, &global.config()?)?;
                let described = release::Described::read(&*journal, &*platform, &global.release(&name)?).await?;
                match self.output {
                    Form::Text => print(&described.text()),
                    Form::Json => print_json(&described),
                    Form::Yaml => print_yaml(&described),
                }
            }
            What::Change { id } => {
                let described = change::Described::read(&*journal, &global.change(&id)?).await?;
                match self.output {
                    Form::Text => print(&described.text()),
                    Form::Json => print_json(&described),
                    Form::Yaml => print_yaml(&described),
                }
            }
        }
    }
}

/// Names and values, lined up.
fn pairs(pairs: &[(&str, String)]) -> String {
    let width = pairs.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let lines = pairs.iter().map(|(name, value)| format!("{name}:{}  {value}\n", " ".repeat(width - name.len())));
    lines.collect::<Vec<_>>().concat()
}
