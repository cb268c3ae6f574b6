//! One try of what a shim runs: the start of each process behind a gate, its output, and its end with everybody it left behind.

use std::io::{self, PipeReader, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::event::{PollFd, PollFlags};
use rustix::process::Signal;

use super::{Part, Shim, wait};
use crate::local::durable::{rewrite_reserved, write_json};
use crate::local::kin::{CONTAINER, Kin, MARK};
use crate::local::launch::{Exit, Outcome, PROCESS, Started, StartedContainer};
use crate::local::output::Writer;
use crate::local::process::{Handle, Identity, uptime_ms};

/// What a pipe holds.
const PIPE: usize = 64 << 10;
/// What is taken of it at once.
const READ: usize = 16 << 10;

/// A process that was started and not yet waited for.
struct Running {
    /// The number of its part in the stage.
    part: usize,
    child: Child,
    leader: Identity,
    /// It and what came of it.
    kin: Kin,
    output: Option<PipeReader>,
}

impl Shim {
    /// Runs the stages until one fails or somebody wants the end. When it returns, everything that was started is gone.
    pub(super) fn attempt(&mut self, attempt: u32) -> io::Result<Outcome> {
        let mut outcome = Outcome { container: None, exit: Exit::Code { code: 0 } };
        for stage in 0..self.stages.len() {
            if stage > 0 {
                self.look_for_end()?;
            }
            if self.by.is_some() || !outcome.is_good() {
                break;
            }
            let running = self.start_stage(attempt, stage)?;
            if let Some(failed) = self.supervise(stage, running)? {
                outcome = failed;
            }
        }
        Ok(outcome)
    }

    fn start_stage(&self, attempt: u32, stage: usize) -> io::Result<Vec<Running>> {
        let parts = self.stages[stage].iter().enumerate();
        let mut running = parts.map(|(number, part)| self.start(number, part)).collect::<io::Result<Vec<_>>>()?;
        let named = |process: &Running| {
            let name = self.stages[stage][process.part].name.clone()?;
            Some(StartedContainer { name, process: process.leader.clone() })
        };
        let containers: Vec<StartedContainer> = running.iter().filter_map(named).collect();
        let first = running.first().ok_or_else(|| io::Error::other("there is nothing to run"))?;
        let started = Started { process: first.leader.clone(), up_ms: uptime_ms(), attempt, containers, failed: None };
        self.check_folder()?;
        let file = self.dir.join(PROCESS);
        if attempt == 1 && stage == 0 { write_json(&file, &started) } else { rewrite_reserved(&file, &started) }?;
        for process in &mut running {
            if let Some(mut gate) = process.child.stdin.take() {
                // One that was killed at the gate ends by that signal, as it would after it.
                let _ended = gate.write_all(b"\n");
            }
        }
        tell_started();
        Ok(running)
    }

    /// Starts a process that waits at its gate.
    fn start(&self, number: usize, part: &Part) -> io::Result<Running> {
        let (output, writer) = io::pipe()?;
        // The copy of this program that runs now, even if its file was replaced meanwhile.
        let child = Command::new("/proc/self/exe")
            .args(["shim", "--exec"])
            .arg(&self.dir)
            .arg(self.me.pid.to_string())
            .args(&part.name)
            .env_clear()
            .env(MARK, &self.dir)
            .envs(part.name.iter().map(|name| (CONTAINER, name)))
            .stdin(Stdio::piped())
            .stdout(writer.try_clone()?)
            .stderr(writer)
            .process_group(0)
            .spawn()?;
        let leader = Identity::of(child.id().cast_signed())?;
        let kin = self.kin(vec![leader.clone()], part.name.clone());
        Ok(Running { part: number, child, leader, kin, output: Some(output) })
    }

    fn kin(&self, leaders: Vec<Identity>, container: Option<String>) -> Kin {
        Kin { dir: self.dir.clone(), shim: self.me.clone(), leaders, container }
    }

    /// Waits until all are gone, with all that came of them. Gives the one that failed first.
    fn supervise(&mut self, stage: usize, mut running: Vec<Running>) -> io::Result<Option<Outcome>> {
        let all = self.kin(running.iter().map(|process| process.leader.clone()).collect(), None);
        let mut failed = None;
        // When those that still live are killed, once somebody wants the end.
        let mut kill_at = None;
        loop {
            let leaders = running.iter().map(|process| process.leader.open()).collect::<io::Result<Vec<_>>>()?;
            let runs = leaders.iter().any(Option::is_some);
            if runs && kill_at.is_none() {
                self.look_for_end()?;
                if self.by.is_some() {
                    for process in all.living()? {
                        process.signal(Signal::TERM)?;
                    }
                    kill_at = Some(uptime_ms().saturating_add(self.launch.grace_ms));
                }
            }
            let due = kill_at.is_some_and(|kill_at| uptime_ms() >= kill_at);
            let living = match kill_at {
                None => self.clear_ended(stage, &mut running, leaders, &mut failed)?,
                Some(_) if due => all.kill()?,
                Some(_) if runs => leaders.into_iter().flatten().collect(),
                Some(_) => all.living()?,
            };
            if living.is_empty() {
                break;
            }
            let mut fds: Vec<_> = living.iter().map(|process| PollFd::new(process.fd(), PollFlags::IN)).collect();
            if runs && kill_at.is_none() {
                fds.push(PollFd::new(&self.stop, PollFlags::IN));
            }
            let outputs = running.iter().filter_map(|process| process.output.as_ref());
            fds.extend(outputs.map(|output| PollFd::new(output, PollFlags::IN)));
            wait(&mut fds, if due || !runs && kill_at.is_none() { None } else { kill_at.or(self.deadline) })?;
            for process in &mut running {
                copy_output(&mut self.stages[stage][process.part].output, &mut process.output)?;
            }
        }
        for process in running {
            self.finish(stage, process, &mut failed)?;
        }
        Ok(failed)
    }

    /// A process that ends by itself leaves nobody behind, and nobody can stop it any more. Takes out those that are gone, and
    /// gives whoever lives.
    fn clear_ended(
        &mut self,
        stage: usize,
        running: &mut Vec<Running>,
        leaders: Vec<Option<Handle>>,
        failed: &mut Option<Outcome>,
    ) -> io::Result<Vec<Handle>> {
        let mut living = Vec::new();
        for (process, leader) in std::mem::take(running).into_iter().zip(leaders) {
            let left = leader.map_or_else(|| process.kin.kill(), |leader| Ok(vec![leader]))?;
            if left.is_empty() {
                self.finish(stage, process, failed)?;
            } else {
                living.extend(left);
                running.push(process);
            }
        }
        Ok(living)
    }

    /// Takes the status and the last output of a process that is gone with all that came of it.
    fn finish(&mut self, stage: usize, mut process: Running, failed: &mut Option<Outcome>) -> io::Result<()> {
        // Not before now: while the leader is not waited for, its group's number stays its own.
        let status = process.child.wait()?;
        let part = &mut self.stages[stage][process.part];
        // As much as a pipe holds: someone who hid from us may still write into it, and would keep this going for ever.
        for _ in 0..=PIPE / READ {
            if !copy_output(&mut part.output, &mut process.output)? {
                break;
            }
        }
        let outcome = Outcome { container: part.name.clone(), exit: exit_of(status) };
        if failed.is_none() && !outcome.is_good() {
            *failed = Some(outcome);
        }
        Ok(())
    }
}

/// Takes what is there of the output, if anything is; tells whether there was. At the end there is no output any more.
fn copy_output(writer: &mut Writer, output: &mut Option<PipeReader>) -> io::Result<bool> {
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
    writer.write(&bytes[..len]);
    Ok(true)
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
