//! `pintle shim --exec FOLDER PID`: the moment between the shim's fork and the program. It ties its life to the shim's, waits until
//! the shim has noted it durably, and becomes the program.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use rustix::process::{Signal, getppid, set_parent_process_death_signal};

use super::complain;
use crate::local::durable::read_json;
use crate::local::kin::MARK;
use crate::local::launch::{LAUNCH, Launch};

/// As a shell has it: the program is not there, and it cannot be run.
const NOT_FOUND: u8 = 127;
const NOT_RUNNABLE: u8 = 126;

/// Returns only where the program could not be started.
pub(super) fn become_process(dir: &Path, shim: &OsStr) -> ExitCode {
    match wait_for_gate(shim).and_then(|()| read_json::<Launch>(&dir.join(LAUNCH))) {
        Ok(Some(launch)) => ExitCode::from(exec(dir, &launch)),
        Ok(None) => ExitCode::from(NOT_RUNNABLE),
        Err(error) => {
            complain(&format!("pintle shim: {error}"));
            ExitCode::from(NOT_RUNNABLE)
        }
    }
}

/// Returns when `process.json` is durable. The shim's death ends this process, whenever it comes.
fn wait_for_gate(shim: &OsStr) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // It may have died before that call: then the parent is another.
    let parent = getppid().map(|pid| pid.as_raw_pid().to_string());
    if parent.as_deref().map(OsStr::new) != Some(shim) {
        return Err(io::Error::other("the shim is gone"));
    }
    io::stdin().read_exact(&mut [0]).map_err(|_| io::Error::other("the shim did not let it start"))
}

fn exec(dir: &Path, launch: &Launch) -> u8 {
    if !launch.working_dir.is_dir() {
        complain(&format!("cannot run: the working directory {} is not there", launch.working_dir.display()));
        return NOT_RUNNABLE;
    }
    let Some((program, args)) = launch.command.split_first() else {
        complain("cannot run: the command is empty");
        return NOT_RUNNABLE;
    };
    let error = Command::new(program)
        .args(args)
        .env_clear()
        .envs(&launch.env)
        .env(MARK, dir)
        .current_dir(&launch.working_dir)
        .stdin(Stdio::null())
        .exec();
    complain(&format!("cannot run `{program}`: {error}"));
    if error.kind() == io::ErrorKind::NotFound { NOT_FOUND } else { NOT_RUNNABLE }
}
