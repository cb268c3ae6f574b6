//! An instance: a folder, a shim and the process it runs. What is true of it is read from its files and from the kernel each time,
//! so it makes no difference which Pintle started it, or which one asks.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::Signal;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::unix::pipe;

use super::durable::{create_dir_with, read_json, remove_dir, write_reserved};
use super::held::holds;
use super::kin::Kin;
use super::launch::{
    By, EXIT, Ended, Exit, Holder, LAUNCH, LOCK, Launch, PROCESS, SHIM, SHIM_LOG, Started, trouble_in,
};
use super::process::{Handle, boot, wall_ms};

/// How long a shim that was told to stop may take beyond the grace it gives, before it is taken to hang.
const SHIM_MARGIN: Duration = Duration::from_secs(10);
/// Between looks at what a shim does in its first moments.
const MOMENT: Duration = Duration::from_millis(5);
/// Shims that die before they start anything are started again so often.
const SHIM_STARTS: u32 = 10;

/// An instance by its folder.
#[derive(Debug, Clone)]
pub(super) struct Instance {
    dir: PathBuf,
}

/// What is true of an instance now.
#[derive(Debug)]
pub(super) enum State {
    Missing,
    /// The process never ran and no shim is known: one may be about to begin.
    Waiting,
    /// A shim lives.
    Held(Handle),
    /// The process may have run, its shim is gone and did not tell how it ended.
    Orphaned,
    Ended(Ended),
}

impl Instance {
    pub(super) fn at(dir: PathBuf) -> Self {
        Self { dir }
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Makes the instance, to be started. The folder above is there, the instance is not.
    pub(super) fn create(&self, launch: &Launch) -> io::Result<()> {
        create_dir_with(&self.dir, LAUNCH, launch)
    }

    /// Removes all files. To be called when it has ended.
    pub(super) fn remove(&self) -> io::Result<()> {
        remove_dir(&self.dir)
    }

    pub(super) fn launch(&self) -> io::Result<Option<Launch>> {
        read_json(&self.dir.join(LAUNCH))
    }

    /// The process that runs or ran last; none where none ever did.
    pub(super) fn started(&self) -> io::Result<Option<Started>> {
        read_json(&self.dir.join(PROCESS))
    }

    pub(super) fn look(&self) -> io::Result<State> {
        if let Some(ended) = self.ended()? {
            return Ok(State::Ended(ended));
        }
        if self.holder()?.is_some() {
            if let Some(shim) = self.shim()? {
                return Ok(State::Held(shim));
            }
            // It may have come to its end since the first look.
            if let Some(ended) = self.ended()? {
                return Ok(State::Ended(ended));
            }
            if self.dir.join(PROCESS).exists() {
                return Ok(State::Orphaned);
            }
        }
        Ok(if self.dir.exists() { State::Waiting } else { State::Missing })
    }

    /// As [`Self::look`], and an orphan is judged: what may be left of it is killed, and it is written down as lost.
    pub(super) async fn judge(&self) -> io::Result<State> {
        match self.look()? {
            State::Orphaned => self.bury().await.map(State::Ended),
            state => Ok(state),
        }
    }

    /// Starts the process unless it runs, ran, or may have run. Afterwards it is held or has ended.
    pub(super) async fn start(&self, program: &Path) -> io::Result<()> {
        for _ in 0..SHIM_STARTS {
            if self.settle().await? {
                return Ok(());
            }
            let told = self.spawn_shim(program)?;
            // Nothing is told where this shim died, or where another one was faster: the next look shows which.
            if let Some(trouble) = listen(told).await? {
                return Err(self.no_start(trouble.kind(), &trouble.to_string()));
            }
        }
        if self.settle().await? {
            return Ok(());
        }
        Err(self.no_start(io::ErrorKind::Other, "it dies again and again"))
    }

    fn no_start(&self, kind: io::ErrorKind, why: &str) -> io::Error {
        io::Error::new(kind, format!("the shim of {} does not start: {why}", self.dir.display()))
    }

    /// Whether the process was started, once that is certain.
    async fn settle(&self) -> io::Result<bool> {
        loop {
            match self.judge().await? {
                State::Held(_) if self.dir.join(PROCESS).exists() => return Ok(true),
                // It is about to start the process, or has seen that it must not.
                State::Held(_) => tokio::time::sleep(MOMENT).await,
                State::Waiting if self.is_locked()? => tokio::time::sleep(MOMENT).await,
                State::Waiting => return Ok(false),
                State::Missing => {
                    return Err(io::Error::new(io::ErrorKind::NotFound, format!("{} is gone", self.dir.display())));
                }
                State::Orphaned | State::Ended(_) => return Ok(true),
            }
        }
    }

    /// Waits for the end. One that never ran is started.
    pub(super) async fn wait(&self, program: &Path) -> io::Result<Ended> {
        loop {
            match self.judge().await? {
                State::Held(shim) => shim.ended().await?,
                State::Ended(ended) => return Ok(ended),
                State::Waiting | State::Orphaned | State::Missing => self.start(program).await?,
            }
        }
    }

    /// Asks the shim to end the process, and does not wait. Without effect where no shim lives.
    pub(super) fn ask_to_stop(&self) -> io::Result<()> {
        match self.look()? {
            State::Held(shim) => shim.signal(Signal::TERM),
            _ => Ok(()),
        }
    }

    /// Ends the process and waits until all that came of it is gone. One that never ran will not run any more.
    pub(super) async fn stop(&self) -> io::Result<()> {
        loop {
            match self.judge().await? {
                State::Missing | State::Ended(_) => return Ok(()),
                State::Held(shim) => self.stop_shim(shim).await?,
                State::Waiting | State::Orphaned => {
                    if self.forbid()? {
                        return Ok(());
                    }
                    tokio::time::sleep(MOMENT).await;
                }
            }
        }
    }

    async fn stop_shim(&self, shim: Handle) -> io::Result<()> {
        shim.signal(Signal::TERM)?;
        let grace = self.launch()?.map_or(0, |launch| launch.grace_ms);
        let bound = Duration::from_millis(grace) + SHIM_MARGIN;
        let Some(again) = self.shim()? else { return Ok(()) };
        if tokio::time::timeout(bound, shim.ended()).await.is_err() {
            tracing::warn!(dir = %self.dir.display(), "the shim does not stop its process: killing both");
            again.signal(Signal::KILL)?;
            again.ended().await?;
        }
        Ok(())
    }

    /// Writes down that it will never run, unless a shim was faster.
    fn forbid(&self) -> io::Result<bool> {
        let lock = File::options().create(true).truncate(false).write(true).open(self.dir.join(LOCK))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(false),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        if self.dir.join(PROCESS).exists() {
            return Ok(false);
        }
        let by = Some(By::Stop);
        let exit = Exit::NeverRan;
        let ended = Ended { exit, container: None, by, attempts: 0, at_ms: wall_ms(), output_lost: 0 };
        write_reserved(&self.dir.join(EXIT), &ended)?;
        Ok(true)
    }

    /// Kills what an instance without a shim left running and writes down that it is lost.
    async fn bury(&self) -> io::Result<Ended> {
        let (holder, started) = (self.holder()?, self.started()?);
        let attempts = started.as_ref().map_or(0, |started| started.attempt);
        let mut why = "its shim was killed while it ran";
        if let Some(Holder { shim, dir }) = holder {
            if shim.boot != boot()? {
                why = "the machine was started anew while it ran";
            }
            // Somebody who lives and is no shim of ours: then its group and folder are not ours either.
            let foreign = shim.open()?.is_some() && !holds(shim.pid, &self.dir.join(LOCK))?;
            let leaders = started.filter(|_| !foreign).map(|started| started.leaders()).unwrap_or_default();
            let dir = if foreign { self.dir.clone() } else { dir };
            Kin { dir, shim, leaders, container: None }.end().await?;
        }
        let exit = Exit::Lost { why: why.to_owned() };
        let ended = Ended { exit, container: None, by: None, attempts, at_ms: wall_ms(), output_lost: 0 };
        write_reserved(&self.dir.join(EXIT), &ended)?;
        Ok(ended)
    }

    fn is_locked(&self) -> io::Result<bool> {
        match File::open(self.dir.join(LOCK)) {
            // A shim that begins while this holds the lock gives up, and is started again by whoever waits for it.
            Ok(lock) => match lock.try_lock_shared() {
                Ok(()) => Ok(false),
                Err(TryLockError::WouldBlock) => Ok(true),
                Err(TryLockError::Error(error)) => Err(error),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn spawn_shim(&self, program: &Path) -> io::Result<OwnedFd> {
        // What Pintle itself was started with, as a lock that a script holds, must not stay open for as long as a process lives.
        close_fds::set_fds_cloexec_threadsafe(3, &[]);
        let log = OpenOptions::new().create(true).append(true).mode(0o600).open(self.dir.join(SHIM_LOG))?;
        let mut child = Command::new(program)
            .arg("shim")
            .arg(&self.dir)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .map_err(|error| io::Error::new(error.kind(), format!("cannot run {}: {error}", program.display())))?;
        let told = child.stdout.take().map(OwnedFd::from).ok_or_else(|| io::Error::other("the shim has no output"))?;
        let handle = Handle::of_child(&child)?;
        tokio::spawn(reap(child, handle));
        Ok(told)
    }

    fn ended(&self) -> io::Result<Option<Ended>> {
        read_json(&self.dir.join(EXIT))
    }

    /// The shim, if it lives: the process that the file names and that has the lock. Nobody else is ever sent a signal.
    fn shim(&self) -> io::Result<Option<Handle>> {
        let Some(Holder { shim, .. }) = self.holder()? else { return Ok(None) };
        let handle = shim.open()?;
        Ok(if holds(shim.pid, &self.dir.join(LOCK))? { handle } else { None })
    }

    fn holder(&self) -> io::Result<Option<Holder>> {
        read_json(&self.dir.join(SHIM))
    }
}

/// Waits for the word of a shim that began. None where it started its process, had nothing to do, or died; else why it cannot.
async fn listen(told: OwnedFd) -> io::Result<Option<io::Error>> {
    let mut line = String::new();
    BufReader::new(pipe::Receiver::from_owned_fd(told)?).read_line(&mut line).await?;
    Ok(trouble_in(line.trim_end()))
}

/// Takes the status of a shim that we started, so that it does not stay as a zombie.
async fn reap(mut child: Child, handle: Handle) {
    if let Err(error) = handle.ended().await.and_then(|()| child.wait().map(drop)) {
        tracing::warn!(%error, "cannot wait for a shim");
    }
}
