//! The real `pintle`, as it was built before the suites run.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// Nobody in particular.
pub const NOBODY: u32 = 65_534;

/// A release without an action.
const RELEASE: &str = "apiVersion: pintle.dev/v1alpha1
kind: Release
metadata: {name: plain}
spec:
  cluster: local
  version: 1.0.0
  content: {type: manifests, manifests: {path: manifests}}
";
const MANIFEST: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: plain}\ndata: {key: value}\n";

fn pintle() -> PathBuf {
    let suite = std::env::current_exe().unwrap();
    let program = suite.parent().and_then(Path::parent).unwrap().join("pintle");
    assert!(program.exists(), "{} is not built: run `cargo xtask build` first", program.display());
    program
}

/// Runs `pintle` on a state; says how it exits and what it prints.
pub fn run(state: &Path, arguments: &[&str]) -> (i32, String) {
    say(Command::new(pintle()), state, arguments)
}

/// A copy of the program in a folder where nobody comes: the one that was built may lie below a home folder.
pub struct Copied(TempDir);

impl Copied {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::set_permissions(dir.path(), Permissions::from_mode(0o755)).unwrap();
        std::fs::copy(pintle(), dir.path().join("pintle")).unwrap();
        Self(dir)
    }

    /// The same as [`run`], as nobody.
    pub fn run_as_nobody(&self, state: &Path, arguments: &[&str]) -> (i32, String) {
        let mut command = Command::new(self.0.path().join("pintle"));
        command.uid(NOBODY).gid(NOBODY);
        say(command, state, arguments)
    }
}

fn say(mut command: Command, state: &Path, arguments: &[&str]) -> (i32, String) {
    command.arg("--state").arg(state).args(arguments).env_clear().env("USER", "ada").stdin(Stdio::null());
    let output = command.output().unwrap();
    let text = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap()).concat();
    (output.status.code().expect("pintle ends by itself"), text)
}

/// A folder with a release; the path of its document.
pub fn release() -> (TempDir, String) {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("manifests")).unwrap();
    std::fs::write(dir.path().join("manifests/config.yml"), MANIFEST).unwrap();
    let document = dir.path().join("release.yml");
    std::fs::write(&document, RELEASE).unwrap();
    (dir, document.display().to_string())
}
