//! `cargo xtask check`: everything that is judged without running a suite: format, lints, documentation, the rules of the
//! house, dependencies.

use std::process::{Command, ExitCode, Stdio};

use anyhow::Result;

use crate::{
    stage::stage,
    wasm_target,
    workspace::{self, Workspace},
};

pub fn run(workspace: &Workspace) -> Result<ExitCode> {
    wasm_target::add_if_missing()?;
    let mut guests = workspace.cargo(["clippy", "--target", wasm_target::NAME]);
    guests.args(workspace.guests().flat_map(|package| ["--package", package]));
    guests.args(["--package", "pintle-sdk", "--", "-D", "warnings"]);
    let mut documentation = workspace.cargo(["doc", "--workspace", "--no-deps", "--document-private-items"]);
    documentation.env("RUSTDOCFLAGS", "-D warnings");
    let mut checks = vec![
        ("rustfmt", workspace.cargo(["fmt", "--all", "--check"])),
        ("clippy", workspace.cargo(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])),
        ("clippy for guests", guests),
        ("rustdoc", documentation),
        ("tidy", workspace.cargo(["test", "--quiet", "--workspace", "--test", "repository"])),
    ];
    let left_out = add_dependency_checks(workspace, &mut checks);
    let failed: Vec<_> = checks
        .iter_mut()
        .filter_map(|(name, command)| {
            stage(name, || workspace::run(command)).err().map(|error| format!("{name}: {error:#}"))
        })
        .collect();
    for (what, why) in left_out {
        println!("left out: {what}, {why}");
    }
    for failure in &failed {
        eprintln!("error: {failure}");
    }
    println!("{} checks, {} failed", checks.len(), failed.len());
    Ok(if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Adds what cargo-deny can check here; gives what it cannot, and why.
fn add_dependency_checks(
    workspace: &Workspace,
    checks: &mut Vec<(&'static str, Command)>,
) -> Vec<(&'static str, &'static str)> {
    let succeeds = |args: &[&str]| {
        let mut command = workspace.cargo(args);
        command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
    };
    if !succeeds(&["deny", "--version"]) {
        return vec![("cargo deny", "it is not installed: `cargo install cargo-deny --locked`")];
    }
    checks.push(("cargo deny", workspace.cargo(["deny", "check", "bans", "licenses", "sources"])));
    if succeeds(&["deny", "fetch", "db"]) {
        checks.push(("cargo deny, advisories", workspace.cargo(["deny", "--offline", "check", "advisories"])));
        Vec::new()
    } else {
        vec![("advisories", "their database cannot be fetched from here (a git repository on github.com)")]
    }
}
