//! `pintle export`: everything that the store has, as JSON lines.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

use pintle_journal::{ExportError, export};

use super::exit::Exit;
use super::global::Global;
use super::print::print;
use crate::error::Error;

/// Write all records out as JSON lines
///
/// One record a line, in the order in which they were written, byte for byte as they are stored. docs/export.md describes them.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  pintle export | jq 'select(.change == \"default/shop-2\") | .event'
  pintle export backup.jsonl")]
pub struct Export {
    /// Where to; `-` is stdout
    #[arg(default_value = "-")]
    file: PathBuf,
}

impl Export {
    pub fn run(&self, global: &Global) -> Result<Exit, Error> {
        let state = global.state()?;
        if self.file.as_os_str() == "-" {
            return match export(state.path(), &mut BufWriter::new(io::stdout().lock())) {
                Ok(_) => Ok(Exit::Ok),
                // `pintle export | head`.
                Err(ExportError::Write(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Exit::Ok),
                Err(ExportError::Write(error)) => Err(Error::Output(error)),
                Err(error) => Err(error.into()),
            };
        }
        let unwritable = |source| Error::Unwritable { path: self.file.clone(), source };
        // The records say everything about the releases: they are for their owner alone.
        let file = File::options().write(true).create(true).truncate(true).mode(0o600).open(&self.file);
        let mut file = BufWriter::new(file.map_err(unwritable)?);
        let records = match export(state.path(), &mut file) {
            Ok(records) => records,
            Err(ExportError::Write(error)) => return Err(unwritable(error)),
            Err(error) => return Err(error.into()),
        };
        file.flush().and_then(|()| file.get_ref().sync_all()).map_err(unwritable)?;
        print(&format!("{records} records\n"))
    }
}
