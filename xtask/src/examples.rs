//! `cargo xtask examples`: what the folder of an example needs and git does not have, its module and its images.

use std::{fs, io, path::Path, process::ExitCode};

use anyhow::{Context, Result, ensure};

use crate::{place::place, stage::stage, wasm_target, workspace::Workspace};

/// The folder of the example in the repository.
const FOLDER: &str = "examples-actions/shop";
/// Its package of actions.
const ACTIONS: &str = "shop-actions";
/// The versions that its program can play.
const VERSIONS: [&str; 3] = ["1.0.0", "1.1.0", "1.2.0"];
/// An action in Rust stays below this, in bytes: it is sent, stored and compiled on every node.
const LARGEST_MODULE: u64 = 150 * 1024;

pub fn run(workspace: &Workspace) -> Result<ExitCode> {
    lay_out(workspace)?;
    println!("{}", workspace.root().join(FOLDER).display());
    Ok(ExitCode::SUCCESS)
}

/// Builds module and program of the example and puts them into its folder.
pub fn lay_out(workspace: &Workspace) -> Result<()> {
    wasm_target::add_if_missing()?;
    stage("build the actions of the example", || workspace.build_modules(&[ACTIONS]))?;
    stage("build the program of the example", || workspace.build_programs(&["shop"]))?;
    let folder = workspace.root().join(FOLDER);
    let module = workspace.module(ACTIONS);
    let size = fs::metadata(&module).with_context(|| format!("cargo did not make {}", module.display()))?.len();
    ensure!(size < LARGEST_MODULE, "{} has {size} bytes, an action stays below {LARGEST_MODULE}", module.display());
    place(&module, &folder.join("actions.wasm"))?;
    for version in VERSIONS {
        let image = folder.join("images/shop").join(version);
        place(&workspace.program("shop"), &image.join("shop"))?;
        let file = image.join("VERSION");
        fs::write(&file, format!("{version}\n")).with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(())
}

/// Copies the example, as it is laid out, for a run that may write into it: without its sources.
pub fn copy_to(workspace: &Workspace, to: &Path) -> Result<()> {
    let folder = workspace.root().join(FOLDER);
    copy_folder(&folder, to, &["actions", "program", "data"])
        .with_context(|| format!("cannot copy {} to {}", folder.display(), to.display()))
}

fn copy_folder(from: &Path, to: &Path, without: &[&str]) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        if without.iter().any(|left_out| name == *left_out) {
            continue;
        }
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &to.join(name), &[])?;
        } else {
            fs::copy(entry.path(), to.join(name))?;
        }
    }
    Ok(())
}
