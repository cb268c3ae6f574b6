//! `pintle schema`: JSON Schemas of the documents, for editors.

use pintle_lifecycle::document::{DocumentKind, schema};

use super::exit::Exit;
use super::print::print_json;
use crate::error::Error;

/// Print the JSON Schema of a kind of document
///
/// For an editor that completes and checks documents while they are written. With the language server for YAML, the first line of a
/// document names the file that the schema was printed to; a path is relative to the document. A schema sees less than Pintle:
/// `pintle plan` tells every problem.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  pintle schema release > release.schema.json
  pintle schema lifecycle | jq '.\"$defs\" | keys'

The first line of release.yml:
  # yaml-language-server: $schema=./release.schema.json")]
pub struct Schema {
    /// Which document
    #[arg(value_enum)]
    kind: Of,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Of {
    /// release.yml
    Release,
    /// driver.yml
    Driver,
    /// A file of hooks, of `kind: Lifecycle`
    Lifecycle,
}

impl Schema {
    pub fn run(&self) -> Result<Exit, Error> {
        print_json(&schema(match self.kind {
            Of::Release => DocumentKind::Release,
            Of::Driver => DocumentKind::Driver,
            Of::Lifecycle => DocumentKind::Lifecycle,
        }))
    }
}
