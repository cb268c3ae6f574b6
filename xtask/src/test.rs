//! `cargo xtask test`: every suite, after everything that the suites need. The last line is `N passed, N failed`.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Command, ExitCode, ExitStatus, Stdio},
};

use anyhow::{Context, Result};

use crate::{
    examples,
    stage::stage,
    tally::Tally,
    workspace::{Workspace, shown},
};

/// Run every test
///
/// Builds what the tests need (the wasm32-wasip2 target, the examples, the program), runs all suites, and ends with one line:
/// `N passed, N failed`.
#[derive(clap::Args)]
pub struct Test {
    /// For `cargo test`: a part of a test's name, `-p PACKAGE` instead of all, `-- --nocapture`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

impl Test {
    pub fn run(self, workspace: &Workspace) -> Result<ExitCode> {
        examples::lay_out(workspace)?;
        stage("build the program", || workspace.build_programs(&["pintle"]))?;
        let mut command = workspace.cargo(["test", "--no-fail-fast"]);
        if !names_package(&self.arguments) {
            command.arg("--workspace");
        }
        command.args(&self.arguments);
        let (tally, status) = stage("run the suites", || run_suites(&mut command))?;
        say_what_was_left_out(&tally);
        for name in &tally.failures {
            println!("failed: {name}");
        }
        let is_good = status.success() && tally.failed == 0 && tally.passed > 0;
        if !is_good && tally.failed == 0 {
            let why = if status.success() { "no test ran" } else { "not every suite could be built and run" };
            eprintln!("error: {why}: {} ended with {status}", shown(&command));
        }
        println!("{tally}");
        Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

/// Whether the arguments for cargo, not those for the suites, select packages.
fn names_package(arguments: &[String]) -> bool {
    let is_selection =
        |argument: &String| argument.starts_with("-p") || argument == "--package" || argument.starts_with("--package=");
    arguments.iter().take_while(|argument| *argument != "--").any(is_selection)
}

/// Passes the output on line by line and counts.
fn run_suites(command: &mut Command) -> Result<(Tally, ExitStatus)> {
    let mut child =
        command.stdout(Stdio::piped()).spawn().with_context(|| format!("cannot start {}", shown(command)))?;
    let mut output = BufReader::new(child.stdout.take().context("cargo has no output")?);
    let mut tally = Tally::default();
    let mut line = Vec::new();
    while output.read_until(b'\n', &mut line).context("cannot read what cargo prints")? > 0 {
        let mut ours = std::io::stdout().lock();
        ours.write_all(&line).and_then(|()| ours.flush()).context("cannot pass the output on")?;
        tally.read(&String::from_utf8_lossy(&line));
        line.clear();
    }
    tally.close();
    Ok((tally, child.wait().context("cannot wait for cargo")?))
}

fn say_what_was_left_out(tally: &Tally) {
    for (count, why) in [(tally.ignored, "marked #[ignore]"), (tally.filtered_out, "not asked for")] {
        if count > 0 {
            println!("left out: {count} tests, {why}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::names_package;

    #[test]
    fn packages_are_selected_before_the_dashes_only() {
        let names = |line: &str| names_package(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        assert!(names("-p tidy"));
        assert!(names("-ptidy names"));
        assert!(names("--package=tidy"));
        assert!(!names("names --no-run -- -p"));
    }
}
