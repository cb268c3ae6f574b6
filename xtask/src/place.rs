//! Puts a built file where something else expects it. The program at that place may be running: writing into it is an error
//! (`ETXTBSY`), so a new file takes its name.

use std::{fs, io, path::Path};

use anyhow::{Context, Result};

/// Copies `from` to `to` unless they are equal; makes the folder. A process that runs `to` keeps its old file.
pub fn place(from: &Path, to: &Path) -> Result<()> {
    if is_equal(from, to).unwrap_or(false) {
        return Ok(());
    }
    let temporary = to.with_extension("new");
    let copy = || {
        if let Some(folder) = to.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::copy(from, &temporary)?;
        fs::rename(&temporary, to)
    };
    copy().with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))
}

fn is_equal(one: &Path, other: &Path) -> io::Result<bool> {
    Ok(fs::metadata(one)?.len() == fs::metadata(other)?.len() && fs::read(one)? == fs::read(other)?)
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        io::ErrorKind,
        os::unix::fs::MetadataExt,
        process::{Command, Stdio},
    };

    use super::place;

    #[test]
    fn a_running_program_is_replaced_and_runs_on() {
        let folder = tempfile::tempdir().unwrap();
        let (first, second) = (folder.path().join("first"), folder.path().join("second"));
        fs::copy("/bin/cat", &first).unwrap();
        fs::write(&second, "another program").unwrap();
        let program = folder.path().join("image/program");
        place(&first, &program).unwrap();
        let mut running = loop {
            match Command::new(&program).stdin(Stdio::piped()).spawn() {
                // A test beside this one forked while the copy was open for writing, and has it until its own exec.
                Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => {}
                started => break started.unwrap(),
            }
        };

        place(&second, &program).unwrap();

        assert_eq!(fs::read_to_string(&program).unwrap(), "another program");
        drop(running.stdin.take());
        assert!(running.wait().unwrap().success());
    }

    #[test]
    fn an_equal_file_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        fs::write(&from, "same").unwrap();
        place(&from, &to).unwrap();
        let before = fs::metadata(&to).unwrap().ino();

        place(&from, &to).unwrap();
        assert_eq!(fs::metadata(&to).unwrap().ino(), before);

        fs::write(&from, "sane").unwrap();
        place(&from, &to).unwrap();
        assert_eq!(fs::read_to_string(&to).unwrap(), "sane");
    }
}
