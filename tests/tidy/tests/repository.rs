//! The rules of the house, applied to this repository.

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::LazyLock,
};

use tidy::{
    Finding, copies, first_lines, leftovers, names,
    packages::{self, Package},
    purity, references, rooms, shared_build, sizes,
    tree::{self, File},
};

/// `deny.toml` lists the same.
const TARGET: &str = "x86_64-unknown-linux-gnu";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn files() -> &'static [File] {
    static FILES: LazyLock<Vec<File>> = LazyLock::new(|| tree::read(&root()).unwrap());
    &FILES
}

fn packages() -> Vec<Package> {
    packages::read(files()).unwrap()
}

fn cargo(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO")).args(arguments).current_dir(root()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// What is built, one line for each dependency.
fn dependencies(kinds: &str, format: &str) -> String {
    cargo(&["tree", "--workspace", "--edges", kinds, "--prefix", "none", "--format", format, "--target", TARGET])
}

#[track_caller]
fn assert_tidy(findings: &[Finding]) {
    let lines: Vec<_> = findings.iter().map(ToString::to_string).collect();
    assert!(findings.is_empty(), "{} findings\n{}\n", lines.len(), lines.join("\n"));
}

#[test]
fn the_tree_is_read_as_a_whole() {
    for path in [
        "Cargo.toml",
        "README.md",
        ".ci/run",
        "runtime/daemon/src/main.rs",
        "tests/tidy/src/tree.rs",
        "wit/actions.wit",
    ] {
        assert!(files().iter().any(|file| file.path == path), "{path}");
    }
    assert!(packages().len() > 10);
}

#[test]
fn files_begin_with_what_they_are_for() {
    assert_tidy(&first_lines::check(files()));
}

#[test]
fn files_are_short() {
    assert_tidy(&sizes::check(files(), &sizes::LONG_FILES));
}

#[test]
fn names_say_something() {
    assert_tidy(&names::check(files()));
}

#[test]
fn nothing_is_left_over() {
    assert_tidy(&leftovers::check(files()));
}

#[test]
fn lifecycle_is_pure() {
    assert_tidy(&purity::check(files()));
}

#[test]
fn documents_refer_to_what_is_there() {
    assert_tidy(&references::check(files()));
}

#[test]
fn nothing_points_back() {
    assert_tidy(&rooms::check(&packages()));
}

#[test]
fn packages_inherit_what_is_the_same_for_all() {
    assert_tidy(&packages::check_inherited(&packages()));
}

#[test]
fn each_dependency_has_one_version() {
    let tree = [
        "tree",
        "--workspace",
        "--edges",
        "normal,build,dev",
        "--prefix",
        "none",
        "--format",
        "{p}",
        "--target",
        TARGET,
    ];
    let versions = copies::versions(&cargo(&tree));
    assert!(versions.len() > 100, "cargo tree is read");
    let deny = files().iter().find(|file| file.path == "deny.toml").unwrap();
    assert_tidy(&copies::check(&versions, &deny.text).unwrap());
}

#[test]
fn programs_and_suites_share_their_dependencies() {
    let programs = dependencies("normal,build", "{p} {f}");
    let suites = dependencies("normal,build,dev", "{p} {f}");
    assert_tidy(&shared_build::check(&programs, &suites, &shared_build::BUILT_TWICE));
}
