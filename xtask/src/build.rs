//! `cargo xtask build`: the program itself.

use std::process::ExitCode;

use anyhow::Result;

use crate::workspace::Workspace;

pub fn run(workspace: &Workspace) -> Result<ExitCode> {
    workspace.build_programs(&["pintle"])?;
    println!("{}", workspace.program("pintle").display());
    Ok(ExitCode::SUCCESS)
}
