//! A verb that drives changes: has the store, follows what it drives, and ends as signals, changes and errors say.

use std::sync::Arc;

use pintle_journal::change_log::ChangeLog;
use pintle_lifecycle::ending::ChangeState;
use pintle_lifecycle::ids::ChangeKey;
use pintle_lifecycle::record::Verb;
use pintle_lifecycle::view::ReleaseView;
use tokio::sync::mpsc;
use tokio::task::{JoinError, JoinSet};

use super::exit::Exit;
use super::follow::Follower;
use super::global::Global;
use super::interrupt::{Interruption, Interruptions, OnInterrupt};
use super::paint::Paint;
use super::print::command;
use super::report::report;
use crate::drive::DriveError;
use crate::embedded::{OpenOptions, Pintle};
use crate::error::Error;
use crate::restore::restore;

/// How to follow the changes that a verb drives.
#[derive(Debug, Clone, Copy, clap::Args)]
pub struct Following {
    /// Only write down what is wanted; the next `pintle up` does it
    #[arg(long)]
    pub detach: bool,
    /// What the first Ctrl-C does to the changes that run; the second one ends `pintle` at once
    #[arg(long, value_enum, default_value_t = OnInterrupt::Detach, value_name = "WHAT")]
    pub on_interrupt: OnInterrupt,
}

/// A verb at work.
pub struct Session {
    pub pintle: Pintle,
    follower: Follower,
    following: Following,
    stderr: Paint,
}

/// How following changes came to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Followed {
    /// Each has ended or needs a person.
    Ended(Vec<Ended>),
    Detached,
}

/// A change that has ended or needs a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    pub change: ChangeKey,
    pub state: ChangeState,
    /// Why it failed, or the question; empty else.
    pub message: String,
}

impl Ended {
    /// Where a change stands.
    #[must_use]
    pub fn of(log: &ChangeLog) -> Self {
        log.look(|history| {
            let message = match (&history.finished, &history.stuck) {
                (Some(finished), _) => finished.message.clone(),
                (None, Some((_, question))) => question.clone(),
                (None, None) => String::new(),
            };
            Self { change: history.key.clone(), state: history.state(), message }
        })
    }
}

type Driven = (Arc<ChangeLog>, Result<ChangeState, DriveError>);

impl Session {
    /// Opens the store for this process.
    ///
    /// # Errors
    /// As [`Pintle::open`].
    pub fn open(global: &Global, following: Following) -> Result<Self, Error> {
        let (told, records) = mpsc::unbounded_channel();
        let options = OpenOptions {
            state: global.state()?,
            what: command(),
            told: Some(told),
            config: global.config()?,
            weakening: global.weakening,
        };
        let pintle = Pintle::open(options)?;
        let follower = Follower::new(records, Arc::clone(pintle.clock()), global.paint(), following.on_interrupt);
        let stderr = Paint::of(global.color, &std::io::stderr());
        Ok(Self { pintle, follower, following, stderr })
    }

    /// Whether changes are only to be written down.
    #[must_use]
    pub fn detach(&self) -> bool {
        self.following.detach
    }

    /// Says a line about what this verb does.
    pub fn say(&mut self, line: &str) {
        self.follower.say(line);
    }

    /// Drives changes and follows them to their end, or until a signal detaches.
    ///
    /// # Errors
    /// Where one of them cannot go on. The others were driven to their end.
    pub async fn follow(&mut self, logs: Vec<Arc<ChangeLog>>) -> Result<Followed, Error> {
        let mut interruptions = Interruptions::listen().map_err(Error::Signals)?;
        let driver = self.pintle.driver()?;
        self.follower.begin(&logs, self.pintle.journal()).await?;
        let mut work: JoinSet<Driven> = JoinSet::new();
        for log in &logs {
            let (driver, log) = (driver.clone(), Arc::clone(log));
            work.spawn(async move { (Arc::clone(&log), driver.drive(log).await) });
        }
        let (mut ended, mut failed, mut cancelling) = (Vec::new(), None, false);
        loop {
            tokio::select! {
                biased;
                signal = interruptions.next() => {
                    let open = open(&logs);
                    if cancelling {
                        std::process::exit(Exit::Detached.code().into());
                    }
                    if signal == Interruption::Terminate || self.following.on_interrupt == OnInterrupt::Detach {
                        exit_at_the_next(interruptions);
                        work.shutdown().await;
                        self.follower.end();
                        self.say_detached(&open);
                        return Ok(Followed::Detached);
                    }
                    cancelling = true;
                    self.cancel(open).await?;
                }
                ending = work.join_next() => match ending.map(of_ending).transpose()? {
                    None => break,
                    Some((log, Ok(_))) => ended.push(Ended::of(&log)),
                    Some((log, Err(source))) => {
                        let change = log.look(|history| history.key.clone());
                        failed = failed.or(Some(Error::Drive { change, source: Box::new(source) }));
                    }
                },
                () = self.follower.show() => {}
            }
        }
        self.follower.end();
        for log in &logs {
            let release = log.look(|history| history.key.release.clone());
            let deleted = self.pintle.clear_hooks(&release).await?;
            if !deleted.is_empty() {
                tracing::info!(release = release.name, deleted = deleted.join(", "), "hooks are kept no longer");
            }
        }
        match failed {
            Some(error) => Err(error),
            None => Ok(Followed::Ended(ended)),
        }
    }

    /// Says on stderr of each change that did not end well why, and what helps. Returns how the process exits.
    #[must_use]
    pub fn exit(&self, followed: Followed) -> Exit {
        let Followed::Ended(changes) = followed else { return Exit::Detached };
        let mut all = Exit::Ok;
        for Ended { change, state, message } in changes {
            if state != ChangeState::Succeeded {
                all = all.and(report(&Error::Ended { change, state, message }, self.stderr));
            }
        }
        all
    }

    /// Starts again what should run of a release and does not, as after a reboot.
    ///
    /// # Errors
    /// Where it cannot be started.
    pub async fn restore(&mut self, view: &ReleaseView) -> Result<Exit, Error> {
        let mut signals = Interruptions::listen().map_err(Error::Signals)?;
        let restored = tokio::select! {
            restored = restore(&self.pintle, view) => restored?,
            _ = signals.next() => return Ok(Exit::Detached),
        };
        if !restored.is_empty() {
            self.say(&format!("{}  started again: {}", view.key.name, restored.join(", ")));
        }
        Ok(Exit::Ok)
    }

    async fn cancel(&mut self, open: Vec<&Arc<ChangeLog>>) -> Result<(), Error> {
        for log in open {
            let change = log.look(|history| history.key.to_string());
            self.say(&format!("{change}  cancelling; Ctrl-C again leaves the rest to the next `pintle up`"));
            self.pintle.ask(log, Verb::Cancel).await?;
        }
        Ok(())
    }

    fn say_detached(&mut self, open: &[&Arc<ChangeLog>]) {
        for log in open {
            let change = log.look(|history| history.key.to_string());
            self.say(&format!("{change}  detached: it goes on with the next `pintle up`"));
        }
    }
}

/// Those that can go on by themselves.
fn open(logs: &[Arc<ChangeLog>]) -> Vec<&Arc<ChangeLog>> {
    let runs = |log: &&Arc<ChangeLog>| log.look(|history| history.state() == ChangeState::Running);
    logs.iter().filter(runs).collect()
}

fn of_ending(ending: Result<Driven, JoinError>) -> Result<Driven, Error> {
    ending.map_err(|error| Error::Defect(format!("driving a change ended without an end: {error}")))
}

/// Whoever presses Ctrl-C again does not want to wait for an orderly end. Nothing that was acknowledged is lost by that.
fn exit_at_the_next(mut signals: Interruptions) {
    tokio::spawn(async move {
        signals.next().await;
        std::process::exit(Exit::Detached.code().into());
    });
}
