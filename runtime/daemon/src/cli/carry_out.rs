//! From what is wanted of a release to the end of the change that brings it: first the change that is open, then the next.

use std::sync::Arc;

use pintle_journal::change_log::ChangeLog;
use pintle_lifecycle::document::release::HookSkip;
use pintle_lifecycle::ids::{ChangeKey, ReleaseKey};
use pintle_lifecycle::planning::Planned;

use super::exit::Exit;
use super::session::{Ended, Session};
use crate::again::{What, plan_what};
use crate::error::Error;
use crate::queue::Queued;
use crate::request::{Request, Turn};

/// What a release shall become.
pub enum Wanted {
    Document(Box<Request>),
    /// What earlier changes left to be done again, or undone.
    Again {
        release: ReleaseKey,
        what: What,
        /// Hooks that are left out.
        skip: Vec<HookSkip>,
    },
}

impl Wanted {
    async fn plan(&self, session: &Session, turn: Turn) -> Result<Planned, Error> {
        let (journal, templates) = (session.pintle.journal(), session.pintle.templates());
        match self {
            Self::Document(request) => request.plan_for(journal, &templates, turn).await,
            Self::Again { release, what, skip } => plan_what(journal, &templates, release, *what, skip, turn).await,
        }
    }

    fn queued(&self) -> Result<Queued, Error> {
        Ok(match self {
            Self::Document(request) => Queued::Document(Box::new(request.keep()?)),
            Self::Again { what, skip, .. } => Queued::Again { what: *what, skip: skip.clone() },
        })
    }

    fn release(&self) -> Option<ReleaseKey> {
        match self {
            Self::Document(request) => request.release(),
            Self::Again { release, .. } => Some(release.clone()),
        }
    }
}

/// Brings a release to what is wanted.
///
/// # Errors
/// Where it is refused, or a change cannot go on.
pub async fn carry_out(session: &mut Session, wanted: Wanted) -> Result<Exit, Error> {
    let mut gone_on = None;
    loop {
        match wanted.plan(session, Turn::Now).await? {
            Planned::Change(plan) => {
                let log = session.pintle.open_change(*plan).await?;
                // It is newer than what waits.
                let (change, release) = log.look(|history| (history.key.to_string(), history.key.release.clone()));
                session.pintle.supersede(&release, None, &format!("{change} came after it")).await?;
                return begin(session, log).await;
            }
            Planned::Nothing { reason, change: None } => {
                if let Some(release) = wanted.release() {
                    session.pintle.supersede(&release, None, "a newer request found nothing to do").await?;
                }
                session.say(&format!("nothing to do: {reason}"));
                return restore(session, &wanted).await;
            }
            Planned::Nothing { change: Some(change), .. } => {
                let log = session.pintle.recover(&change).await?;
                let Ended { change, state, message } = Ended::of(&log);
                if gone_on.as_ref() == Some(&change) {
                    return Ok(Exit::of(state));
                }
                if state.is_final() {
                    return Err(Error::Tried { change, state, message });
                }
                if session.detach() {
                    return wait(session, &wanted, &change).await;
                }
                let exit = go_on(session, &change, log).await?;
                if !matches!(exit, Exit::Ok | Exit::ChangeFailed) {
                    return Ok(exit);
                }
                gone_on = Some(change);
            }
        }
    }
}

/// Lets what is wanted wait for its turn behind the change that is open.
async fn wait(session: &mut Session, wanted: &Wanted, open: &ChangeKey) -> Result<Exit, Error> {
    match wanted.plan(session, Turn::Later).await? {
        Planned::Change(plan) => {
            let change = session.pintle.enqueue(*plan, &wanted.queued()?).await?;
            session.say(&format!("{change}  waits for the end of {open}; the next `pintle up` goes on with both"));
        }
        Planned::Nothing { reason, .. } => {
            session.say(&format!("nothing to do after {open}: {reason}"));
        }
    }
    Ok(Exit::Ok)
}

/// What is as it was applied may still not run.
async fn restore(session: &mut Session, wanted: &Wanted) -> Result<Exit, Error> {
    let release = match wanted {
        Wanted::Document(request) => request.release(),
        Wanted::Again { .. } => None,
    };
    let Some(release) = release.filter(|_| !session.detach()) else { return Ok(Exit::Ok) };
    match session.pintle.journal().release(&release).await? {
        Some(view) => session.restore(&view).await,
        None => Ok(Exit::Ok),
    }
}

/// Follows a change that was just opened or allowed to go on, or leaves it to the next `pintle up`.
///
/// # Errors
/// Where it cannot go on.
pub async fn begin(session: &mut Session, log: Arc<ChangeLog>) -> Result<Exit, Error> {
    if session.detach() {
        let change = log.look(|history| history.key.to_string());
        session.say(&change);
        session.say("it goes on with the next `pintle up`");
        return Ok(Exit::Ok);
    }
    let followed = session.follow(vec![log]).await?;
    Ok(session.exit(followed))
}

async fn go_on(session: &mut Session, change: &ChangeKey, log: Arc<ChangeLog>) -> Result<Exit, Error> {
    session.say(&format!("{change}  is open: going on with it first"));
    let followed = session.follow(vec![log]).await?;
    Ok(session.exit(followed))
}
