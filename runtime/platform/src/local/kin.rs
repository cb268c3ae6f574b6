//! All processes of an instance: its process groups, and whoever left the group or outlived its leader and still carries the
//! instance's mark in the environment. So nothing runs on after a stop, and nothing foreign is ever hit.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::process::Signal;

use super::process::{Handle, Identity, Stat, boot, open};

/// The variable that names the instance's folder to all that descend from it.
pub(super) const MARK: &str = "PINTLE_FOLDER";
/// The variable that names the container, where the instance has several.
pub(super) const CONTAINER: &str = "PINTLE_CONTAINER";

/// By what the processes of an instance are known.
#[derive(Debug)]
pub(super) struct Kin {
    pub(super) dir: PathBuf,
    /// All are younger, and those of the group are in its session.
    pub(super) shim: Identity,
    /// Leaders of the groups; none while nothing was started.
    pub(super) leaders: Vec<Identity>,
    /// Only those of this container; all where none is named.
    pub(super) container: Option<String>,
}

impl Kin {
    /// Handles of all that live.
    pub(super) fn living(&self) -> io::Result<Vec<Handle>> {
        if self.shim.boot != boot()? {
            return Ok(Vec::new());
        }
        let mut marks = vec![format!("{MARK}={}", self.dir.display())];
        marks.extend(self.container.iter().map(|name| format!("{CONTAINER}={name}")));
        let mut living = Vec::new();
        for entry in fs::read_dir("/proc")? {
            let Some(pid) = entry?.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else { continue };
            let Some(stat) = Stat::of(pid)? else { continue };
            let ours = stat.is_alive()
                && pid != self.shim.pid
                && stat.start >= self.shim.start
                && (self.in_group(stat) || carries(pid, &marks));
            if ours && let Some(handle) = open(pid, stat.start)? {
                living.push(handle);
            }
        }
        Ok(living)
    }

    /// Kills all that live and gives their handles, to wait for.
    pub(super) fn kill(&self) -> io::Result<Vec<Handle>> {
        let living = self.living()?;
        for process in &living {
            process.signal(Signal::KILL)?;
        }
        Ok(living)
    }

    /// Kills all and waits until they are gone, and those they started meanwhile.
    pub(super) async fn end(&self) -> io::Result<()> {
        loop {
            let killed = self.kill()?;
            if killed.is_empty() {
                return Ok(());
            }
            for process in killed {
                process.ended().await?;
            }
        }
    }

    fn in_group(&self, stat: Stat) -> bool {
        self.leaders
            .iter()
            .any(|leader| stat.group == leader.pid && stat.session == self.shim.pid && stat.start >= leader.start)
    }
}

/// Whether a process has all the marks. One whose environment cannot be read is another user's.
fn carries(pid: i32, marks: &[String]) -> bool {
    let environ = fs::read(Path::new("/proc").join(pid.to_string()).join("environ")).unwrap_or_default();
    let has = |mark: &String| environ.split(|&byte| byte == 0).any(|entry| entry == mark.as_bytes());
    marks.iter().all(has)
}
