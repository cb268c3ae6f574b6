//! `cargo xtask bench`: Pintle measured against the raw limits of this machine, in the release profile, which people run.

use std::{path::PathBuf, process::ExitCode};

use anyhow::Result;

use crate::{
    examples,
    stage::stage,
    workspace::{Workspace, run},
};

/// Measure speed and memory against the raw limits of this machine
///
/// Prints a table and writes `target/bench.json`. Asserts nothing: `docs/performance.md` says what was reached. Takes some 10
/// minutes after the build; the machine should have nothing else to do.
#[derive(clap::Args)]
pub struct Bench {
    /// Parts of names of lines, such as `journal.append` or `cli.cold`; all without
    filter: Vec<String>,
    /// Rounds of each line, of which the median is shown
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// A folder on the disk to measure; without, below `target`
    #[arg(long)]
    disk: Option<PathBuf>,
}

impl Bench {
    pub fn run(self, workspace: &Workspace) -> Result<ExitCode> {
        examples::lay_out(workspace)?;
        stage("build the program and the benches", || workspace.build_for_release(&["pintle", "bench"]))?;
        let disk = self.disk.unwrap_or_else(|| workspace.scratch("bench"));
        std::fs::create_dir_all(&disk)?;
        let mut bench = std::process::Command::new(workspace.released_program("bench"));
        bench.current_dir(workspace.root()).args(&self.filter).arg("--rounds").arg(self.rounds.to_string());
        bench.arg("--disk").arg(disk).arg("--program").arg(workspace.released_program("pintle"));
        bench.arg("--json").arg(workspace.report("bench.json"));
        run(&mut bench)?;
        Ok(ExitCode::SUCCESS)
    }
}
