//! `cargo xtask soak`: runs that go on for as long as asked and count what must never happen.

mod check;
mod kills;
mod lane;
mod life;
mod moments;
mod small_disk;
mod told;
mod toll;

use std::process::ExitCode;

use anyhow::Result;

use crate::workspace::Workspace;

/// Run Pintle under faults, and count what was lost and what happened twice
#[derive(clap::Args)]
pub struct Soak {
    #[command(subcommand)]
    soak: Kind,
}

#[derive(clap::Subcommand)]
enum Kind {
    Kills(kills::Kills),
}

impl Soak {
    pub fn run(self, workspace: &Workspace) -> Result<ExitCode> {
        match self.soak {
            Kind::Kills(kills) => kills.run(workspace),
        }
    }
}
