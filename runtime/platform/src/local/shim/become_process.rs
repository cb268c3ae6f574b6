//! `pintle shim --exec FOLDER PID [CONTAINER]`: the moment between the shim's fork and the program. It ties its life to the shim's, waits until
//! the shim has noted it durably, and becomes the program.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use rustix::process::{Signal, getppid, set_parent_process_death_signal};

use super::complain;
use crate::local::durable::read_json;
use crate::local::kin::{CONTAINER, MARK};
use crate::local::launch::{Container, LAUNCH, Launch};

/// As a shell has it: the program is not there, and it cannot be run.
const NOT_FOUND: u8 = 127;
const NOT_RUNNABLE: u8 = 126;

/// Returns only where the program could not be started.
pub(super) fn become_process(dir: &Path, shim: &OsStr, container: Option<&OsStr>) -> ExitCode {
    match wait_for_gate(shim).and_then(|()| read_json::<Launch>(&dir.join(LAUNCH))) {
        Ok(launch) => {
            let program = launch.and_then(|launch| Program::of(launch, container));
            ExitCode::from(program.map_or(NOT_RUNNABLE, |program| program.exec(dir)))
        }
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

/// What this process becomes.
struct Program {
    /// Of a Pod.
    container: Option<String>,
    command: Vec<String>,
    env: BTreeMap<String, String>,
    working_dir: PathBuf,
}

impl Program {
    /// None where the launch has no such container.
    fn of(launch: Launch, container: Option<&OsStr>) -> Option<Self> {
        let Some(pod) = launch.pod else {
            let Launch { command, env, working_dir, .. } = launch;
            return container.is_none().then_some(Self { container: None, command, env, working_dir });
        };
        let mut containers = pod.init.into_iter().chain(pod.containers);
        let found = containers.find(|found| Some(OsStr::new(&found.name)) == container)?;
        let Container { name, command, env, working_dir } = found;
        Some(Self { container: Some(name), command, env, working_dir })
    }

    /// Returns only where it cannot be run.
    fn exec(&self, dir: &Path) -> u8 {
        if !self.working_dir.is_dir() {
            complain(&format!("cannot run: the working directory {} is not there", self.working_dir.display()));
            return NOT_RUNNABLE;
        }
        let Some((program, args)) = self.command.split_first() else {
            complain("cannot run: the command is empty");
            return NOT_RUNNABLE;
        };
        let error = Command::new(program)
            .args(args)
            .env_clear()
            .envs(&self.env)
            .env(MARK, dir)
            .envs(self.container.iter().map(|name| (CONTAINER, name)))
            .current_dir(&self.working_dir)
            .stdin(Stdio::null())
            .exec();
        complain(&format!("cannot run `{program}`: {error}"));
        if error.kind() == io::ErrorKind::NotFound { NOT_FOUND } else { NOT_RUNNABLE }
    }
}
