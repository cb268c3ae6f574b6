//! Who a process is: pid, start time and boot together, so that a pid that was given out again is never taken for ours. Signals go
//! through a pidfd that was opened first and checked then.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde::{Deserialize, Serialize};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// One process of one boot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Identity {
    pub(super) pid: i32,
    /// Clock ticks since boot, as the kernel counts them.
    pub(super) start: u64,
    pub(super) boot: String,
}

/// A handle of a living process that was checked to be the one meant.
#[derive(Debug)]
pub(super) struct Handle {
    fd: OwnedFd,
}

/// What `/proc/PID/stat` tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stat {
    /// `Z` and `X` are dead.
    pub(super) state: u8,
    pub(super) group: i32,
    pub(super) session: i32,
    pub(super) start: u64,
}

impl Identity {
    /// The living process with that pid.
    ///
    /// # Errors
    /// Where there is none, or `/proc` cannot be read.
    pub(super) fn of(pid: i32) -> io::Result<Self> {
        let stat = Stat::of(pid)?.ok_or_else(|| io::Error::from(Errno::SRCH))?;
        Ok(Self { pid, start: stat.start, boot: boot()? })
    }

    /// A handle of the process; none where it is dead, its pid has become another process's, or it was of another boot.
    pub(super) fn open(&self) -> io::Result<Option<Handle>> {
        if self.boot != boot()? {
            return Ok(None);
        }
        open(self.pid, self.start)
    }
}

/// A handle of the process with that pid and start time; none where it is gone or dead, or the pid can be none.
pub(super) fn open(pid: i32, start: u64) -> io::Result<Option<Handle>> {
    // What a damaged file says may be no pid at all.
    let known = Some(pid).filter(|pid| *pid > 0).and_then(Pid::from_raw);
    let fd = match known.map(|pid| pidfd_open(pid, PidfdFlags::empty())) {
        Some(Ok(fd)) => fd,
        // EINVAL: the pid is a thread's by now.
        None | Some(Err(Errno::SRCH | Errno::INVAL)) => return Ok(None),
        Some(Err(error)) => return Err(error.into()),
    };
    // Looked at after it was opened: if the pid is still ours now, the descriptor is ours as well.
    let ours = Stat::of(pid)?.is_some_and(|stat| stat.start == start && stat.is_alive());
    Ok(ours.then_some(Handle { fd }))
}

impl Handle {
    /// A handle of a child that was not waited for: its pid is its own.
    pub(super) fn of_child(child: &std::process::Child) -> io::Result<Self> {
        let pid = Pid::from_raw(child.id().cast_signed()).ok_or_else(|| io::Error::from(Errno::SRCH))?;
        Ok(Self { fd: pidfd_open(pid, PidfdFlags::empty())? })
    }

    /// Sends a signal. Without effect on one that has ended, and on one that became another user's: that one has to end by itself.
    pub(super) fn signal(&self, signal: Signal) -> io::Result<()> {
        match pidfd_send_signal(&self.fd, signal) {
            Ok(()) | Err(Errno::SRCH | Errno::PERM) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits until the process has ended.
    #[expect(
        deprecated,
        reason = "sound for an OwnedFd, which is one descriptor until it is dropped; its successor is an unsafe function"
    )]
    pub(super) async fn ended(self) -> io::Result<()> {
        AsyncFd::with_interest(self.fd, Interest::READABLE)?.readable().await.map(drop)
    }

    /// Sends SIGTERM and waits until the process has ended.
    pub(super) async fn end(self) -> io::Result<()> {
        self.signal(Signal::TERM)?;
        self.ended().await
    }

    /// Readable when the process has ended.
    pub(super) fn fd(&self) -> &OwnedFd {
        &self.fd
    }
}

impl Stat {
    /// None where there is no such process, or where it is another user's and `/proc` hides it.
    pub(super) fn of(pid: i32) -> io::Result<Option<Self>> {
        let text = match fs::read(format!("/proc/{pid}/stat")) {
            Ok(text) => text,
            Err(error) => {
                let hidden = matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied);
                // The second: it ended while it was read.
                let none = hidden || error.raw_os_error() == Some(Errno::SRCH.raw_os_error());
                return if none { Ok(None) } else { Err(error) };
            }
        };
        let broken = || io::Error::new(io::ErrorKind::InvalidData, format!("/proc/{pid}/stat is not as expected"));
        Self::parse(&text).map(Some).ok_or_else(broken)
    }

    fn parse(text: &[u8]) -> Option<Self> {
        // The name, in parentheses, may hold anything, other parentheses too.
        let rest = &text[text.iter().rposition(|&byte| byte == b')')? + 1..];
        let fields: Vec<&str> = std::str::from_utf8(rest).ok()?.split_ascii_whitespace().collect();
        Some(Self {
            state: *fields.first()?.as_bytes().first()?,
            group: fields.get(2)?.parse().ok()?,
            session: fields.get(3)?.parse().ok()?,
            start: fields.get(19)?.parse().ok()?,
        })
    }

    pub(super) fn is_alive(&self) -> bool {
        !matches!(self.state, b'Z' | b'X')
    }
}

/// Milliseconds since boot, time asleep included: the same for all processes of this boot.
pub(super) fn uptime_ms() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    milliseconds(now)
}

/// Milliseconds since 1970, for people only: this clock may jump.
pub(super) fn wall_ms() -> u64 {
    milliseconds(rustix::time::clock_gettime(rustix::time::ClockId::Realtime))
}

fn milliseconds(time: rustix::time::Timespec) -> u64 {
    u64::try_from(time.tv_sec).unwrap_or(0) * 1_000 + u64::try_from(time.tv_nsec).unwrap_or(0) / 1_000_000
}

/// Which boot this is.
pub(super) fn boot() -> io::Result<String> {
    Ok(fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_does_not_shift_the_fields() {
        let text = b"7 (a) b) Z) S 1 70 700 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 12345 0 0";
        let stat = Stat { state: b'S', group: 70, session: 700, start: 12345 };
        assert_eq!(Stat::parse(text), Some(stat));
        assert_eq!(Stat::parse(b"7 (a"), None);
    }

    #[test]
    fn what_is_no_pid_is_no_process() {
        for pid in [0, -5, i32::MIN] {
            assert!(open(pid, 1).unwrap().is_none(), "{pid}");
        }
    }

    #[test]
    fn a_pid_with_another_start_or_of_another_boot_is_not_ours() {
        let me = Identity::of(i32::try_from(std::process::id()).unwrap()).unwrap();
        assert!(me.open().unwrap().is_some());
        assert!(Identity { start: me.start + 1, ..me.clone() }.open().unwrap().is_none());
        assert!(Identity { boot: "another".into(), ..me.clone() }.open().unwrap().is_none());
        assert!(Identity { pid: 0, ..me }.open().unwrap().is_none());
    }
}
