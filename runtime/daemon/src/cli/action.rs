//! `pintle action`: for authors of actions.

use std::path::PathBuf;

use pintle_sandbox::{Inspection, Interface};

use super::exit::Exit;
use super::print::{Form, print, print_json};
use super::table::{indented, table};
use crate::error::Error;
use crate::input_file;
use crate::looking::Looking;

/// Look at action modules
#[derive(Debug, clap::Args)]
pub struct Action {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    Inspect(Inspect),
}

/// Show what a module is: its actions, what it imports, its size and digest
///
/// Nothing of it is run but `describe`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  pintle action inspect actions.wasm")]
struct Inspect {
    /// The module, a WebAssembly component
    file: PathBuf,
    /// Form of the output
    #[arg(short, long, value_enum, default_value_t = Form::Text, value_name = "FORM")]
    output: Form,
}

impl Action {
    pub async fn run(self) -> Result<Exit, Error> {
        let Verb::Inspect(Inspect { file, output }) = self.verb;
        let bytes = input_file::read(&file, input_file::MODULE)
            .map_err(|source| Error::Unreadable { path: file.clone(), source })?;
        let looking = Looking::apart()?;
        let inspected = looking.sandbox().inspect(&bytes).await;
        let inspection = inspected.map_err(|source| Error::Module { path: file, source: Box::new(source) })?;
        match output {
            Form::Text => print(&text(&inspection)),
            Form::Json => print_json(&inspection),
        }
    }
}

fn text(inspection: &Inspection) -> String {
    let Inspection { size, digest, wit, imports, exports, actions } = inspection;
    let rows = actions.iter().map(|action| {
        vec![action.name.clone(), if action.has_undo { "yes" } else { "no" }.to_owned(), action.description.clone()]
    });
    format!(
        "Size:     {size} bytes\nDigest:   sha256:{digest}\nWIT:      pintle:hooks {wit}\n\nActions:\n{}\nImports:\n{}\nExports:\n{}",
        indented(&table(&["NAME", "UNDO", "DESCRIPTION"], rows)),
        interfaces(imports),
        interfaces(exports),
    )
}

fn interfaces(interfaces: &[Interface]) -> String {
    let lines = interfaces.iter().map(|Interface { name, functions }| match functions.as_slice() {
        [] => format!("{name}\n"),
        functions => format!("{name}: {}\n", functions.join(", ")),
    });
    indented(&lines.collect::<Vec<_>>().concat())
}
