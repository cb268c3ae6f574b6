//! The target that actions are built for, and its installation where it is missing.

use std::{io::ErrorKind, path::Path, process::Command};

use anyhow::{Context, Result, bail, ensure};

use crate::workspace::read;

/// Its name for rustc and rustup.
pub const NAME: &str = "wasm32-wasip2";

/// Adds the target with rustup unless the compiler has it.
pub fn add_if_missing() -> Result<()> {
    if is_installed(NAME)? {
        return Ok(());
    }
    eprintln!("The target {NAME} is missing: rustup target add {NAME}");
    match Command::new("rustup").args(["target", "add", NAME]).status() {
        Ok(status) if status.success() => {}
        Ok(_) => bail!("rustup cannot add the target {NAME}: it downloads it, is there a network?"),
        Err(error) if error.kind() == ErrorKind::NotFound => bail!(
            "the compiler has no standard library for {NAME}, and there is no rustup to add it. Install it with what installed \
             rustc (a package like rust-std-{NAME}), or install Rust with rustup: https://rustup.rs"
        ),
        Err(error) => return Err(error).context("cannot start rustup"),
    }
    ensure!(is_installed(NAME)?, "rustup added {NAME}, but to another toolchain than the rustc that is first in PATH");
    Ok(())
}

/// Whether rustc has a standard library for `target`: it names the folder in any case.
fn is_installed(target: &str) -> Result<bool> {
    let folder = read(Command::new("rustc").args(["--print", "target-libdir", "--target", target]))?;
    let folder = String::from_utf8(folder).context("rustc names a folder that is no text")?;
    let Ok(mut entries) = Path::new(folder.trim()).read_dir() else { return Ok(false) };
    Ok(entries.any(|entry| entry.is_ok_and(|entry| entry.file_name().to_string_lossy().starts_with("libcore-"))))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::is_installed;
    use crate::workspace::read;

    #[test]
    fn the_compiler_has_a_library_for_its_own_machine() {
        let host = read(Command::new("rustc").args(["--print", "host-tuple"])).unwrap();
        assert!(is_installed(std::str::from_utf8(&host).unwrap().trim()).unwrap());
    }

    #[test]
    fn rustup_has_no_library_for_a_target_of_tier_3() {
        assert!(!is_installed("msp430-none-elf").unwrap());
    }

    #[test]
    fn an_unknown_target_is_an_error() {
        let error = is_installed("no-such-target").unwrap_err();
        assert!(error.to_string().contains("no-such-target"), "{error}");
    }
}
