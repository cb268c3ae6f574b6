//! One try of the process: its start behind a gate, its output, and its end with everybody it left behind.

use std::io::{self, PipeReader, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::event::{PollFd, PollFlags};
use rustix::process::Signal;

use super::{Shim, wait};
use crate::local::durable::{rewrite_reserved, write_json};
use crate::local::kin::{Kin, MARK};
use crate::local::launch::{Exit, PROCESS, Started};
use crate::local::process::{Identity, uptime_ms};

/// What a pipe holds.
const PIPE: usize = 64 << 10;
/// What is taken of it at once.
const READ: usize = 16 << 10;

impl Shim {
    /// Starts the process and waits until it and all that came of it are gone.
    pub(super) fn attempt(&mut self, attempt: u32) -> io::Result<Exit> {
        let (output, writer) = io::pipe()?;
        // The copy of this program that runs now, even if its file was replaced meanwhile.
        let mut child = Command::new("/proc/self/exe")
            .args(["shim", "--exec"])
            .arg(&self.dir)
            .arg(self.me.pid.to_string())
            .env_clear()
            .env(MARK, &self.dir)
            .stdin(Stdio::piped())
            .stdout(writer.try_clone()?)
            .stderr(writer)
            .process_group(0)
            .spawn()?;
        let leader = Identity::of(child.id().cast_signed())?;
        let started = Started { process: leader.clone(), up_ms: uptime_ms(), attempt };
        self.check_folder()?;
        let file = self.dir.join(PROCESS);
        if attempt == 1 { write_json(&file, &started) } else { rewrite_reserved(&file, &started) }?;
        if let Some(mut gate) = child.stdin.take() {
            // One that was killed at the gate ends by that signal, as it would after it.
            let _ended = gate.write_all(b"\n");
        }
        tell_started();
        let kin = Kin { dir: self.dir.clone(), shim: self.me.clone(), leader: Some(leader) };
        self.supervise(child, &kin, output)
    }

    fn supervise(&mut self, mut child: Child, kin: &Kin, output: PipeReader) -> io::Result<Exit> {
        let mut output = Some(output);
        // When those that still live are killed, once somebody wants the end.
        let mut kill_at = None;
        loop {
            let leader = kin.leader.as_ref().map_or(Ok(None), Identity::open)?;
            if leader.is_some() && kill_at.is_none() {
                self.look_for_end()?;
                if self.by.is_some() {
                    for process in kin.living()? {
                        process.signal(Signal::TERM)?;
                    }
                    kill_at = Some(uptime_ms().saturating_add(self.launch.grace_ms));
                }
            }
            // A process that ends by itself leaves nobody behind, and nobody can stop it any more.
            let alone = leader.is_none() && kill_at.is_none();
            let due = alone || kill_at.is_some_and(|kill_at| uptime_ms() >= kill_at);
            let living = match leader {
                _ if due => kin.kill()?,
                Some(leader) => vec![leader],
                None => kin.living()?,
            };
            if living.is_empty() {
                break;
            }
            let mut fds: Vec<_> = living.iter().map(|process| PollFd::new(process.fd(), PollFlags::IN)).collect();
            if !due && kill_at.is_none() {
                fds.push(PollFd::new(&self.stop, PollFlags::IN));
            }
            fds.extend(output.as_ref().map(|output| PollFd::new(output, PollFlags::IN)));
            wait(&mut fds, if due { None } else { kill_at.or(self.deadline) })?;
            self.copy_output(&mut output)?;
        }
        // Not before now: while the leader is not waited for, its group's number stays its own.
        let status = child.wait()?;
        // As much as a pipe holds: someone who hid from us may still write into it, and would keep this going for ever.
        for _ in 0..=PIPE / READ {
            if !self.copy_output(&mut output)? {
                break;
            }
        }
        Ok(exit_of(status))
    }

    /// Takes what is there of the output, if anything is; tells whether there was. At the end there is no output any more.
    fn copy_output(&mut self, output: &mut Option<PipeReader>) -> io::Result<bool> {
        let Some(reader) = output else { return Ok(false) };
        if wait(&mut [PollFd::new(reader, PollFlags::IN)], Some(0))? == 0 {
            return Ok(false);
        }
        let mut bytes = [0; READ];
        let len = reader.read(&mut bytes)?;
        if len == 0 {
            *output = None;
            return Ok(false);
        }
        self.output.write(&bytes[..len]);
        Ok(true)
    }
}

/// Tells the Pintle that started this shim, if it still listens.
fn tell_started() {
    let mut out = io::stdout();
    let _alone = out.write_all(b"\n").and_then(|()| out.flush());
}

fn exit_of(status: ExitStatus) -> Exit {
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code { code },
        (None, Some(signal)) => Exit::Signal { signal },
        (None, None) => Exit::Lost { why: format!("its status {status} says nothing") },
    }
}
