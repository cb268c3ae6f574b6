//! Processes of this machine, as `/proc` tells of them: found by the folder that they work in or the words they were started with,
//! so that only those of the soak's own release are ever killed.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};

/// A process and the words it was started with.
#[derive(Debug, Clone)]
pub struct Process {
    pub pid: u32,
    pub words: Vec<String>,
    cwd: Option<PathBuf>,
}

/// All processes that can be looked at. Those that end meanwhile are left out.
fn all() -> Result<Vec<Process>> {
    let entries = fs::read_dir("/proc").context("cannot read /proc")?;
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    Ok(pids.filter_map(look).collect())
}

fn look(pid: u32) -> Option<Process> {
    let folder = Path::new("/proc").join(pid.to_string());
    let stat = fs::read_to_string(folder.join("stat")).ok()?;
    // A zombie has ended; somebody only did not ask for its status yet.
    let state = stat.rsplit_once(')')?.1.trim_start().chars().next()?;
    if matches!(state, 'Z' | 'X') {
        return None;
    }
    let line = fs::read(folder.join("cmdline")).ok()?;
    let words = line.split(|byte| *byte == 0).filter(|word| !word.is_empty());
    let words = words.map(|word| String::from_utf8_lossy(word).into_owned()).collect();
    Some(Process { pid, words, cwd: fs::read_link(folder.join("cwd")).ok() })
}

/// The shims of the workloads below a folder.
pub fn shims(run: &Path) -> Result<Vec<Process>> {
    let below = |process: &Process| process.words.iter().any(|word| Path::new(word).starts_with(run));
    let is_shim = |process: &Process| process.words.get(1).is_some_and(|word| word == "shim");
    let is_exec = |process: &Process| process.words.iter().any(|word| word == "--exec");
    Ok(all()?.into_iter().filter(|process| is_shim(process) && !is_exec(process) && below(process)).collect())
}

/// Asks processes to end, and waits a while for them.
#[expect(clippy::disallowed_methods, reason = "the soak watches real processes by the real clock")]
pub fn end(processes: &[Process]) -> Result<()> {
    for process in processes {
        let _ended_before = Command::new("kill").arg(process.pid.to_string()).status().context("cannot start kill")?;
    }
    let patience = Instant::now() + Duration::from_secs(20);
    while processes.iter().any(|process| look(process.pid).is_some()) && Instant::now() < patience {
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// Kills processes at once; gives how many there were.
pub fn kill(pids: impl Iterator<Item = u32>) -> Result<u32> {
    let mut killed = 0;
    for pid in pids.filter_map(|pid| Pid::from_raw(pid.cast_signed())) {
        match kill_process(pid, Signal::KILL) {
            Ok(()) => killed += 1,
            // It ended by itself, or with one that was killed before it.
            Err(Errno::SRCH) => {}
            Err(error) => return Err(std::io::Error::from(error)).context("cannot kill a process"),
        }
    }
    Ok(killed)
}

/// The processes of the shop that work below a folder: those with this subcommand, such as `worker`.
pub fn of_shop(run: &Path, subcommand: &str) -> Result<Vec<Process>> {
    let has = |process: &Process| process.words.iter().any(|word| word == subcommand);
    Ok(all_of_shop(run)?.into_iter().filter(has).collect())
}

/// All processes of the shop that work below a folder.
pub fn all_of_shop(run: &Path) -> Result<Vec<Process>> {
    let works_here = |process: &Process| process.cwd.as_ref().is_some_and(|cwd| cwd.starts_with(run));
    let is_shop = |process: &Process| {
        let program = process.words.first().and_then(|word| Path::new(word).file_name());
        program.is_some_and(|name| name == "shop")
    };
    Ok(all()?.into_iter().filter(|process| works_here(process) && is_shop(process)).collect())
}
