//! Runs the cases of a suite, each in a process with mounts of its own, and says of those that this machine cannot run why. What is
//! printed looks like what Rust's own tests print, so that whoever counts those counts these.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use crate::server;

/// First argument of the process that serves a file system.
pub(crate) const SERVE: &str = "serve-a-file-system";
/// Name of the case that a process is to run.
const CASE: &str = "PINTLE_CASE";

/// One test.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    pub name: &'static str,
    pub run: fn(),
}

/// What a suite starts its own program for, by the first argument.
pub type Role = (&'static str, fn(&[OsString]) -> ExitCode);

/// The `main` of a suite.
pub fn run(roles: &[Role], cases: &[Case]) -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let first = arguments.next().unwrap_or_default();
    if first == SERVE {
        return server::serve(Path::new(&arguments.next().unwrap_or_default()));
    }
    if let Some((_, role)) = roles.iter().find(|(name, _)| first == *name) {
        return role(&arguments.collect::<Vec<_>>());
    }
    if let Ok(name) = std::env::var(CASE) {
        let Some(case) = cases.iter().find(|case| case.name == name) else { return ExitCode::FAILURE };
        (case.run)();
        return ExitCode::SUCCESS;
    }
    let wanted = Wanted::of(std::env::args().skip(1));
    if wanted.list {
        for case in cases {
            println!("{}: test", case.name);
        }
        return ExitCode::SUCCESS;
    }
    run_all(&wanted, cases)
}

fn run_all(wanted: &Wanted, cases: &[Case]) -> ExitCode {
    let chosen: Vec<_> = cases.iter().filter(|case| wanted.has(case.name)).collect();
    println!("\nrunning {} test{}", chosen.len(), if chosen.len() == 1 { "" } else { "s" });
    let lack = lack();
    let is_demanded = std::env::var("PINTLE_DEMAND").is_ok_and(|value| value == "1");
    let (mut passed, mut failed, mut left_out) = (0, Vec::new(), 0);
    for case in &chosen {
        let verdict = match &lack {
            None if in_a_world_of_its_own(case, wanted.shows) => "ok",
            Some(_) if !is_demanded => "ignored",
            _ => "FAILED",
        };
        println!("test {} ... {verdict}", case.name);
        match verdict {
            "ok" => passed += 1,
            "ignored" => left_out += 1,
            _ => failed.push(case.name),
        }
    }
    if let Some(why) = lack.filter(|_| !chosen.is_empty()) {
        let all = if is_demanded { "failed, since PINTLE_DEMAND=1 leaves nothing out" } else { "left out" };
        println!("{all}: {} tests of file systems that fail: {why}", chosen.len());
    }
    println!(
        "\ntest result: {}. {passed} passed; {} failed; {left_out} ignored; 0 measured; {} filtered out",
        if failed.is_empty() { "ok" } else { "FAILED" },
        failed.len(),
        cases.len() - chosen.len(),
    );
    if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// What this machine lacks for these tests.
fn lack() -> Option<String> {
    if !rustix::process::geteuid().is_root() {
        return Some("they mount file systems, which only root may".to_owned());
    }
    for device in ["/dev/fuse", "/dev/loop-control"] {
        if let Err(error) = File::options().read(true).write(true).open(device) {
            return Some(format!("{device} cannot be opened: {error}"));
        }
    }
    for (program, arguments) in
        [("mkfs.ext4", &["-V"][..]), ("umount", &["--version"]), ("unshare", &["--mount", "true"])]
    {
        let output = Command::new(program).args(arguments).stdout(Stdio::null()).output();
        match output {
            Err(error) => return Some(format!("{program} cannot be run: {error}")),
            Ok(output) if !output.status.success() => {
                return Some(format!("{program} fails: {}", String::from_utf8_lossy(&output.stderr).trim()));
            }
            Ok(_) => {}
        }
    }
    None
}

/// Runs a case in a process whose mounts go with it.
fn in_a_world_of_its_own(case: &Case, shows: bool) -> bool {
    let Ok(program) = std::env::current_exe() else { return false };
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private"]).arg(program).env(CASE, case.name).stdin(Stdio::null());
    let (is_good, said) =
        said(&mut command).unwrap_or_else(|error| (false, format!("unshare cannot be run: {error}\n").into_bytes()));
    if shows || !is_good {
        println!("---- {} ----", case.name);
        drop(std::io::stdout().write_all(&said));
    }
    is_good
}

/// Whether a program succeeds, and all that it says, in its order. Panics that a case expects are read only where it fails.
fn said(command: &mut Command) -> std::io::Result<(bool, Vec<u8>)> {
    let (mut reader, writer) = std::io::pipe()?;
    let mut child = command.stdout(writer.try_clone()?).stderr(writer).spawn()?;
    // The command keeps the writing end open.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut said = Vec::new();
    reader.read_to_end(&mut said)?;
    Ok((child.wait()?.success(), said))
}

/// Which cases are asked for: as `cargo test` has it, by parts of names.
struct Wanted {
    parts: Vec<String>,
    list: bool,
    exact: bool,
    /// Whether what good cases say is shown as well.
    shows: bool,
}

impl Wanted {
    fn of(arguments: impl Iterator<Item = String>) -> Self {
        let arguments: Vec<_> = arguments.collect();
        // All other flags are about how Rust's own tests print and run in parallel.
        let parts = arguments.iter().filter(|argument| !argument.starts_with('-')).cloned().collect();
        let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
        Self { parts, list: has("--list"), exact: has("--exact"), shows: has("--nocapture") }
    }

    fn has(&self, name: &str) -> bool {
        let is_it = |part: &String| if self.exact { name == part } else { name.contains(part.as_str()) };
        self.parts.is_empty() || self.parts.iter().any(is_it)
    }
}
