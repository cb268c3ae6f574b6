//! `cargo xtask`: what a person or CI does with this repository. A subcommand is a file with its arguments, if any, and
//! its `run`; this one only names them.
//!
//! workspace → wasm target → examples → suites

mod bench;
mod build;
mod check;
mod demo;
mod examples;
mod fuzz;
mod place;
mod processes;
mod shop;
mod soak;
mod stage;
mod tally;
mod test;
mod wasm_target;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::workspace::Workspace;

/// Builds, checks and shows Pintle.
#[derive(Parser)]
#[command(name = "xtask", bin_name = "cargo xtask")]
struct Xtask {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Demo(demo::Demo),
    Test(test::Test),
    Soak(soak::Soak),
    Fuzz(fuzz::Fuzz),
    Bench(bench::Bench),
    /// Check format, lints, documentation, the rules of the house and the dependencies
    ///
    /// Every check runs, also after one that failed.
    Check,
    /// Build the program `pintle`
    Build,
    /// Build the actions and the images of the examples into their folders
    Examples,
}

impl Command {
    fn run(self, workspace: &Workspace) -> anyhow::Result<ExitCode> {
        match self {
            Self::Demo(demo) => demo.run(workspace),
            Self::Test(test) => test.run(workspace),
            Self::Soak(soak) => soak.run(workspace),
            Self::Fuzz(fuzz) => fuzz.run(workspace),
            Self::Bench(bench) => bench.run(workspace),
            Self::Check => check::run(workspace),
            Self::Build => build::run(workspace),
            Self::Examples => examples::run(workspace),
        }
    }
}

fn main() -> ExitCode {
    let command = Xtask::parse().command;
    match Workspace::find().and_then(|workspace| command.run(&workspace)) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
