//! `pintle shim FOLDER`: starts a process or those of a Pod, keeps their output, ends them when it is told to, and writes how they
//! ended. It outlives the Pintle that started it, so it is a plain program of one thread that waits in one place.
//!
//! The order of its files is the promise. `shim.json` says who may be asked to stop. `process.json` is durable before the process
//! may run its first instruction: without that file it never ran, with it nobody runs it again. `exit.json` is the end; its room on the
//! disk is reserved before.

mod become_process;
mod supervise;

use std::ffi::OsString;
use std::fs::{self, File, Metadata, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::durable::{create_dirs, read_json, reserve, rewrite_reserved, write_json, write_reserved};
use super::launch::{
    By, EXIT, Ended, Exit, Holder, LAUNCH, LOCK, Launch, Outcome, PROCESS, SHIM, Started, trouble_line,
};
use super::output::{self, Writer};
use super::process::{Identity, uptime_ms, wall_ms};

/// The longest wait before a new try of a failed process.
const LONGEST_RETRY_WAIT_MS: u64 = 10_000;
/// How often, a second apart, the end is written again while the disk takes nothing.
const EXIT_WRITES: u32 = 600;

/// What `pintle shim …` does; `args` is all that follows the word `shim`. To be called before anything else starts: no threads, no
/// runtime, no logging.
pub fn shim_main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args: Vec<OsString> = args.into_iter().collect();
    let result = match args.as_slice() {
        [dir] => run(Path::new(dir)),
        [flag, dir, shim, container @ ..] if flag == "--exec" => {
            return become_process::become_process(Path::new(dir), shim, container.first().map(OsString::as_os_str));
        }
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is started by Pintle, with a folder")),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&format!("pintle shim: {error}"));
            // Pintle listens until the process was started.
            let _alone = writeln!(io::stdout(), "{}", trouble_line(&error));
            ExitCode::FAILURE
        }
    }
}

/// Runs what `launch.json` says, unless another shim does or did.
fn run(dir: &Path) -> io::Result<()> {
    rustix::process::setsid()?;
    let (stop, stop_writer) = UnixStream::pair()?;
    stop.set_nonblocking(true)?;
    signal_hook::low_level::pipe::register(signal_hook::consts::SIGTERM, stop_writer)?;
    let lock = File::options().create(true).truncate(false).write(true).open(dir.join(LOCK))?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(()),
        Err(TryLockError::Error(error)) => return Err(error),
    }
    if dir.join(EXIT).exists() || dir.join(PROCESS).exists() {
        return Ok(());
    }
    let launch: Launch = read_json(&dir.join(LAUNCH))?
        .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, format!("no {LAUNCH} in {}", dir.display())))?;
    // Nobody shall run yet, or any more, what somebody starts that knows less.
    if !launch.may_run(dir) {
        return Ok(());
    }
    let me = Identity::of(rustix::process::getpid().as_raw_pid())?;
    write_json(&dir.join(SHIM), &Holder { shim: me.clone(), dir: dir.to_owned() })?;
    // From here on the end can be written even when the disk is full.
    reserve(&dir.join(EXIT))?;
    if launch.retries > 0 || launch.pod.is_some() {
        reserve(&dir.join(PROCESS))?;
    }
    let deadline = launch.deadline_ms.map(|after| uptime_ms().saturating_add(after));
    let stages = stages(dir, &launch)?;
    let shim = Shim { dir: dir.to_owned(), lock, launch, me, stop, deadline, by: None, stages };
    shim.run()
}

/// What a shim runs: those of a stage side by side, the stages one after the other.
type Stages = Vec<Vec<Part>>;

/// A process to run.
struct Part {
    /// Name of the container; none where the instance is a single process.
    name: Option<String>,
    output: Writer,
}

fn stages(dir: &Path, launch: &Launch) -> io::Result<Stages> {
    let Some(pod) = &launch.pod else {
        return Ok(vec![vec![Part { name: None, output: Writer::open(dir)? }]]);
    };
    let part = |name: &str| {
        let dir = output::of_container(dir, name);
        create_dirs(&dir)?;
        Ok(Part { name: Some(name.to_owned()), output: Writer::open(&dir)? })
    };
    pod.stages().into_iter().map(|names| names.into_iter().map(part).collect()).collect()
}

/// A shim that has the lock.
struct Shim {
    dir: PathBuf,
    lock: File,
    launch: Launch,
    me: Identity,
    /// Readable when somebody asked for the end.
    stop: UnixStream,
    /// By [`uptime_ms`].
    deadline: Option<u64>,
    /// Why the process has to end, once it has to.
    by: Option<By>,
    stages: Stages,
}

impl Shim {
    fn run(mut self) -> io::Result<()> {
        let mut attempts = 0;
        let mut outcome = Outcome { container: None, exit: Exit::NeverRan };
        while attempts <= self.launch.retries {
            self.look_for_end()?;
            if self.by.is_some() {
                break;
            }
            attempts += 1;
            outcome = self.attempt(attempts)?;
            if self.by.is_some() || outcome.is_good() {
                break;
            }
            if attempts <= self.launch.retries {
                self.note_failure(&outcome)?;
                self.pause(attempts)?;
            }
        }
        let output_lost = self.stages.iter_mut().flatten().map(|part| part.output.finish()).sum();
        let Outcome { container, exit } = outcome;
        self.write_end(&Ended { exit, container, by: self.by, attempts, at_ms: wall_ms(), output_lost })
    }

    /// Notes for people why a new try is waited for.
    fn note_failure(&self, outcome: &Outcome) -> io::Result<()> {
        let file = self.dir.join(PROCESS);
        if self.launch.hook.is_none() {
            return Ok(());
        }
        let Some(started) = read_json::<Started>(&file)? else { return Ok(()) };
        self.check_folder()?;
        rewrite_reserved(&file, &Started { failed: Some(outcome.clone()), ..started })
    }

    /// Waits before the next try, unless somebody wants the end.
    fn pause(&mut self, attempts: u32) -> io::Result<()> {
        let doubled = self.launch.retry_wait_ms.saturating_mul(1 << (attempts - 1).min(16));
        let until = uptime_ms() + doubled.min(LONGEST_RETRY_WAIT_MS);
        while self.by.is_none() && uptime_ms() < until {
            let until = self.deadline.map_or(until, |deadline| deadline.min(until));
            wait(&mut [PollFd::new(&self.stop, PollFlags::IN)], Some(until))?;
            self.look_for_end()?;
        }
        Ok(())
    }

    /// Finds out whether somebody asked for the end, or the deadline has passed. The first reason stays.
    fn look_for_end(&mut self) -> io::Result<()> {
        let mut told = [PollFd::new(&self.stop, PollFlags::IN)];
        let stop = wait(&mut told, Some(0))? > 0;
        let late = self.deadline.is_some_and(|deadline| uptime_ms() >= deadline);
        if self.by.is_none() && stop {
            self.by = Some(By::Stop);
        } else if self.by.is_none() && late {
            self.by = Some(By::Deadline { after_ms: self.launch.deadline_ms.unwrap_or_default() });
        }
        Ok(())
    }

    /// Writes the end. Its room is reserved; where the disk does not take it all the same, again and again: the process did run, and
    /// nobody else knows how it ended.
    fn write_end(&self, ended: &Ended) -> io::Result<()> {
        let mut writes = 0;
        loop {
            self.check_folder()?;
            match write_reserved(&self.dir.join(EXIT), ended) {
                Ok(()) => return Ok(()),
                Err(error) if writes == EXIT_WRITES => return Err(error),
                Err(error) => complain(&format!("cannot write {EXIT}, trying again: {error}")),
            }
            writes += 1;
            wait(&mut [], Some(uptime_ms() + 1_000))?;
        }
    }

    /// Nobody is told of this process in a folder that is another one by now, since somebody removed or replaced its own.
    fn check_folder(&self) -> io::Result<()> {
        let identity = |metadata: Metadata| (metadata.dev(), metadata.ino());
        let there = fs::metadata(self.dir.join(LOCK)).map(identity);
        match there {
            Ok(there) if there == identity(self.lock.metadata()?) => Ok(()),
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Err(io::Error::other(format!("{} was removed while its process ran", self.dir.display()))),
        }
    }
}

/// Waits for one of `fds`, at most until that moment, and gives how many are ready. A signal ends the wait with none.
fn wait(fds: &mut [PollFd<'_>], until: Option<u64>) -> io::Result<usize> {
    let left = until.map(|until| {
        let ms = until.saturating_sub(uptime_ms());
        let seconds = i64::try_from(ms / 1_000).unwrap_or(i64::MAX);
        Timespec { tv_sec: seconds, tv_nsec: i64::try_from(ms % 1_000).unwrap_or(0) * 1_000_000 }
    });
    match poll(fds, left.as_ref()) {
        Ok(ready) => Ok(ready),
        Err(rustix::io::Errno::INTR) => Ok(0),
        Err(error) => Err(error.into()),
    }
}

/// Says a line on stderr, which is a file next to the others.
fn complain(line: &str) {
    let _unheard = writeln!(io::stderr(), "{line}");
}
