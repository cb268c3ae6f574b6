//! Where things are, and how cargo is called here: in one way, so that the demo, the tests and a plain build share each compiled
//! dependency.

use std::{
    env,
    ffi::OsStr,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::wasm_target;

/// The profile of action modules, in the workspace's manifest.
const ACTION_PROFILE: &str = "action";

/// This checkout and its target directory.
pub struct Workspace {
    root: PathBuf,
    target: PathBuf,
    guests: Vec<String>,
}

impl Workspace {
    /// Asks cargo for the target directory, which the environment or a configuration file may have moved.
    pub fn find() -> Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask has no parent folder")?.to_owned();
        let mut ask = cargo_in(&root);
        ask.args(["metadata", "--no-deps", "--format-version", "1"]);
        let answer: Value = serde_json::from_slice(&read(&mut ask)?).context("cargo metadata did not print JSON")?;
        let target = answer["target_directory"].as_str().context("cargo metadata names no target directory")?;
        let guests = answer["packages"].as_array().into_iter().flatten().filter_map(guest).collect();
        Ok(Self { target: target.into(), root, guests })
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The packages that are modules of actions.
    pub fn guests(&self) -> impl Iterator<Item = &str> {
        self.guests.iter().map(String::as_str)
    }

    /// A program of the dev profile, which the demo and the tests share.
    pub fn program(&self, name: &str) -> PathBuf {
        self.target.join("debug").join(name)
    }

    /// A program of the release profile, which is measured.
    pub fn released_program(&self, name: &str) -> PathBuf {
        self.target.join("release").join(name)
    }

    /// A file for what a subcommand found out.
    pub fn report(&self, name: &str) -> PathBuf {
        self.target.join(name)
    }

    /// A folder for what a subcommand runs.
    pub fn scratch(&self, name: &str) -> PathBuf {
        self.target.join("xtask").join(name)
    }

    /// The component that [`Self::build_modules`] makes of a package.
    pub fn module(&self, package: &str) -> PathBuf {
        let file = format!("{}.wasm", package.replace('-', "_"));
        self.target.join(wasm_target::NAME).join(ACTION_PROFILE).join(file)
    }

    pub fn cargo<I: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = I>) -> Command {
        let mut command = cargo_in(&self.root);
        command.args(args);
        command
    }

    /// Builds programs of this machine. All packages are selected and only these programs are built: cargo unites the features of
    /// what is selected, so `-p pintle` would compile wasmtime once more, with fewer features than the tests compile it with.
    pub fn build_programs(&self, names: &[&str]) -> Result<()> {
        self.build(names, &["build", "--workspace"])
    }

    /// The same in the release profile.
    pub fn build_for_release(&self, names: &[&str]) -> Result<()> {
        self.build(names, &["build", "--workspace", "--release"])
    }

    fn build(&self, names: &[&str], arguments: &[&str]) -> Result<()> {
        let mut command = self.cargo(arguments);
        for name in names {
            command.args(["--bin", name]);
        }
        run(&mut command)
    }

    /// Builds packages to components.
    pub fn build_modules(&self, packages: &[&str]) -> Result<()> {
        let mut command = self.cargo(["build", "--target", wasm_target::NAME, "--profile", ACTION_PROFILE]);
        for package in packages {
            command.args(["--package", package]);
        }
        run(&mut command)
    }
}

/// The name of a package that cargo builds as a library of C type: for this machine that would be a `.so`, and we have none.
fn guest(package: &Value) -> Option<String> {
    let targets = package["targets"].as_array()?;
    let is_guest =
        targets.iter().filter_map(|target| target["crate_types"].as_array()).flatten().any(|kind| kind == "cdylib");
    is_guest.then(|| package["name"].as_str().map(str::to_owned))?
}

fn cargo_in(root: &Path) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root);
    command
}

/// Runs a command to its end, with our output and error streams.
pub fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {}", shown(command)))?;
    ensure!(status.success(), "{} ended with {status}", shown(command));
    Ok(())
}

/// Runs a command and gives what it printed.
pub fn read(command: &mut Command) -> Result<Vec<u8>> {
    let output = command.output().with_context(|| format!("cannot start {}", shown(command)))?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{} ended with {}: {}", shown(command), output.status, said.trim());
    Ok(output.stdout)
}

/// A command as one would type it.
pub fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    let words: Vec<_> = words.map(OsStr::to_string_lossy).collect();
    format!("`{}`", words.join(" "))
}
