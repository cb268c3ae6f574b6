//! Builds guests for tests, once for each process that asks. A test that needs a module names its package and gets the file, so
//! that no test depends on what was built before.

use std::collections::HashMap;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// The module of a package of this workspace, such as `guest-hostile`.
///
/// # Panics
/// Where it cannot be built; cargo says why.
#[must_use]
pub fn module(package: &str) -> PathBuf {
    static BUILT: Mutex<Option<HashMap<String, PathBuf>>> = Mutex::new(None);
    // A test that panicked in here leaves nothing half done.
    let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    built.get_or_insert_default().entry(package.to_owned()).or_insert_with(|| build(package)).clone()
}

/// The bytes of [`module`].
///
/// # Panics
/// Where it cannot be built or read.
#[must_use]
pub fn bytes(package: &str) -> Vec<u8> {
    let path = module(package);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{} cannot be read: {error}", path.display()))
}

fn build(package: &str) -> PathBuf {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["build", "--target", "wasm32-wasip2", "--profile", "action", "--package", package])
        .arg("--message-format=json-render-diagnostics")
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stderr(Stdio::inherit())
        .output()
        .unwrap_or_else(|error| panic!("cargo does not start: {error}"));
    assert!(
        output.status.success(),
        "{package} does not build; if the target is missing: rustup target add wasm32-wasip2"
    );
    let messages = String::from_utf8_lossy(&output.stdout);
    let mut files = messages.lines().filter_map(|line| artifact(line, package));
    files.next_back().unwrap_or_else(|| panic!("{package} builds no module: is its crate-type cdylib?"))
}

/// The module that this message of cargo is about, if it is one of the package.
fn artifact(message: &str, package: &str) -> Option<PathBuf> {
    let message: serde_json::Value = serde_json::from_str(message).ok()?;
    let of_package = message["target"]["name"].as_str()? == package.replace('-', "_");
    let files = message["filenames"].as_array()?;
    let mut files = files.iter().filter_map(|file| file.as_str()).map(PathBuf::from);
    files.find(|file| of_package && file.extension().is_some_and(|extension| extension == "wasm"))
}
