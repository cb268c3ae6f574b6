//! Processes of this program that are measured or killed from outside: each is a subcommand that people do not call.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, ensure};

/// A process of this program that says on stdout, line by line, how far it is.
pub struct Measured {
    child: Child,
    said: BufReader<ChildStdout>,
}

impl Measured {
    /// Starts the subcommand `name` on a state folder with so many changes.
    pub fn start(name: &str, folder: &Path, changes: usize) -> Result<Self> {
        let program = std::env::current_exe().context("the file of this program is not known")?;
        let mut command = Command::new(program);
        command.arg(name).arg(folder).arg(changes.to_string()).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().context("this program does not start once more")?;
        let said = BufReader::new(child.stdout.take().context("the child has no stdout")?);
        Ok(Self { child, said })
    }

    /// The next line that it says.
    pub fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        ensure!(self.said.read_line(&mut line)? > 0, "the child ended early: {}", self.child.wait()?);
        Ok(line.trim().to_owned())
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Measured {
    /// As SIGKILL ends it.
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
