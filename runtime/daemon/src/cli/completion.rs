//! `pintle completion`: scripts that complete verbs and flags in a shell.

use clap::CommandFactory as _;
use clap_complete::aot::{Shell, generate};

use super::CommandLine;
use super::exit::Exit;
use super::print::print;
use crate::error::Error;

/// Print a completion script for a shell
///
/// The script completes verbs and flags. Where it goes depends on the shell; see the examples.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  pintle completion bash > ~/.local/share/bash-completion/completions/pintle
  pintle completion zsh > ~/.zfunc/_pintle
  pintle completion fish > ~/.config/fish/completions/pintle.fish")]
pub struct Completion {
    /// Which shell
    #[arg(value_enum)]
    shell: For,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum For {
    Bash,
    Zsh,
    Fish,
}

impl Completion {
    pub fn run(&self) -> Result<Exit, Error> {
        let shell = match self.shell {
            For::Bash => Shell::Bash,
            For::Zsh => Shell::Zsh,
            For::Fish => Shell::Fish,
        };
        let mut script = Vec::new();
        generate(shell, &mut CommandLine::command(), "pintle", &mut script);
        print(&String::from_utf8_lossy(&script))
    }
}
