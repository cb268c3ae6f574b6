//! Writing to stdout. A reader that went away (`pintle logs … | head`) is no error.

use std::io::{self, Write as _};

use serde::Serialize;

use super::exit::Exit;
use crate::error::Error;

/// Forms of an output that is a text of its own or JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Form {
    Text,
    Json,
}

/// Writes a text as it is.
///
/// # Errors
/// Where stdout cannot be written.
pub fn print(text: &str) -> Result<Exit, Error> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(Exit::Ok),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Exit::Ok),
        Err(error) => Err(Error::Output(error)),
    }
}

/// Writes a value as indented JSON.
///
/// # Errors
/// Where stdout cannot be written.
pub fn print_json(value: &impl Serialize) -> Result<Exit, Error> {
    let text = serde_json::to_string_pretty(value).map_err(|error| Error::Defect(error.to_string()))?;
    print(&format!("{text}\n"))
}

/// Writes a value as YAML.
///
/// # Errors
/// Where stdout cannot be written.
pub fn print_yaml(value: &impl Serialize) -> Result<Exit, Error> {
    print(&serde_saphyr::to_string(value).map_err(|error| Error::Defect(error.to_string()))?)
}

/// The command line of this process, as a person would read it.
#[must_use]
pub fn command() -> String {
    let words = std::env::args_os().skip(1).map(|word| super::table::one_line(&word.to_string_lossy()));
    std::iter::once("pintle".to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}
