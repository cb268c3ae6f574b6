//! `cargo xtask build`: the program itself.

use std::process::ExitCode;

use anyhow::Result;

use crate::workspace::Workspace;

/// Build the program `pintle`
#[derive(clap::Args)]
pub struct Build {}

impl Build {
    pub fn run(self, workspace: &Workspace) -> Result<ExitCode> {
        workspace.build_programs(&["pintle"])?;
        println!("{}", workspace.program("pintle").display());
        Ok(ExitCode::SUCCESS)
    }
}
