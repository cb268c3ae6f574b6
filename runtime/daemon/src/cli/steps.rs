//! `pintle steps`: what a change did, as a tree.

use std::io::IsTerminal as _;

use pintle_lifecycle::tree::Style;

use super::exit::Exit;
use super::global::Global;
use super::print::{print, print_json, print_yaml};
use super::tree::painted;
use crate::error::Error;
use crate::story::{Shown, Story};
use crate::{lookup, reading};

/// Show the tree of steps of a change
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  pintle steps shop-2
  pintle steps shop-2 --output     with what failed Jobs printed")]
pub struct Steps {
    /// The change, as in shop-2
    change: String,
    /// With the kept output of failed Jobs: the last 200 lines, at most 64 KiB
    #[arg(long)]
    output: bool,
    /// Form of the output
    #[arg(short, value_enum, default_value_t = Form::Text, value_name = "FORM")]
    o: Form,
}

/// `-o` of what has a text of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Form {
    Text,
    Json,
    Yaml,
}

impl Steps {
    pub async fn run(self, global: &Global) -> Result<Exit, Error> {
        let change = global.change(&self.change)?;
        let journal = reading::open(&global.state()?)?;
        lookup::change(&*journal, &change).await?;
        let tree = Story::read(&*journal, &change).await?.tree(Shown::None);
        match self.o {
            Form::Json => return print_json(&tree),
            Form::Yaml => return print_yaml(&tree),
            Form::Text => {}
        }
        let style = if std::io::stdout().is_terminal() { Style::Tree } else { Style::Plain };
        let paint = global.paint();
        let lines = tree.text(style, self.output);
        print(&lines.lines().map(|line| painted(line, paint) + "\n").collect::<String>())
    }
}
