//! Flags of every verb, and where Pintle keeps its state.

use std::path::PathBuf;

use pintle_lifecycle::ids::{ChangeKey, ReleaseKey, is_label};

use super::logging::LogFormat;
use super::paint::{Color, Paint};
use crate::config::Config;
use crate::error::Error;
use crate::state_dir::StateDir;
use crate::weakening::Weakening;

/// Flags of every verb.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// Folder of the store, the modules and the running processes [default: `$XDG_STATE_HOME/pintle`, else
    /// `~/.local/state/pintle`]
    #[arg(long, global = true, env = "PINTLE_STATE", value_name = "DIR")]
    state: Option<PathBuf>,
    /// Configuration of this machine's cluster [default: `$XDG_CONFIG_HOME/pintle/config.yml`, else
    /// `~/.config/pintle/config.yml`, where that is there]
    #[arg(long, global = true, env = "PINTLE_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
    /// Owner of the releases
    #[arg(long, global = true, default_value = "default", value_name = "NAME", value_parser = tenant)]
    pub tenant: String,
    /// Colors; `auto` means on a terminal, unless `NO_COLOR` is set
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    pub color: Color,
    /// Form of Pintle's own logs on stderr; `PINTLE_LOG` filters them
    #[arg(long, global = true, value_enum, default_value_t = LogFormat::Text, value_name = "FORM")]
    pub log: LogFormat,
    #[arg(skip)]
    pub weakening: Weakening,
}

/// A tenant's name, or why it is none.
fn tenant(text: &str) -> Result<String, String> {
    if is_label(text) {
        return Ok(text.to_owned());
    }
    Err("expected lower-case letters, digits and `-`, at most 63".to_owned())
}

impl Global {
    /// # Errors
    /// Where neither a flag nor the environment says where the state is.
    pub fn state(&self) -> Result<StateDir, Error> {
        match &self.state {
            Some(path) if !path.as_os_str().is_empty() => StateDir::at(path),
            _ => StateDir::of_user(),
        }
    }

    /// What a person configured.
    ///
    /// # Errors
    /// Where the file has problems, or is named and not there.
    pub fn config(&self) -> Result<Config, Error> {
        match &self.config {
            Some(path) if !path.as_os_str().is_empty() => Config::read(path),
            _ => Config::of_user(),
        }
    }

    /// The release of that name.
    ///
    /// # Errors
    /// Where it is no name of a release.
    pub fn release(&self, name: &str) -> Result<ReleaseKey, Error> {
        Ok(ReleaseKey::new(&self.tenant, name)?)
    }

    /// The change with that id.
    ///
    /// # Errors
    /// Where it is no id of a change.
    pub fn change(&self, id: &str) -> Result<ChangeKey, Error> {
        Ok(ChangeKey::parse(&self.tenant, id)?)
    }

    /// Colors of stdout.
    #[must_use]
    pub fn paint(&self) -> Paint {
        Paint::of(self.color, &std::io::stdout())
    }
}
