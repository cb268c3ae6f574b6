//! From what is wanted of a release to the end of the change that brings it: first the change that is open, then the next.

use std::sync::Arc;

use pintle_journal::change_log::ChangeLog;
use pintle_lifecycle::document::release::HookSkip;
use pintle_lifecycle::ids::{ChangeKey, ReleaseKey};
use pintle_lifecycle::planning::{Again, Planned, Refused, plan_again};

use super::exit::Exit;
use super::session::{Ended, Session};
use crate::error::Error;
use crate::lookup;
use crate::request::{Request, last_plan};

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

/// What is done without a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    Gone,
    Tested,
    /// Back to a revision; without, to the last one that is not what the newest change brought.
    BackTo(Option<u64>),
}

impl Wanted {
    async fn plan(&self, session: &Session) -> Result<Planned, Error> {
        let (journal, templates) = (session.pintle.journal(), session.pintle.templates());
        let (release, what, skip) = match self {
            Self::Document(request) => return request.plan(journal, &templates).await,
            Self::Again { release, what, skip } => (release, what, skip),
        };
        let view = lookup::release(journal, release).await?;
        let last = last_plan(journal, &view).await?;
        let to = match what {
            What::BackTo(revision) => Some(lookup::revision(journal, &view, *revision).await?),
            What::Gone | What::Tested => None,
        };
        let again = match (what, &to) {
            (What::Tested, _) => Again::Test,
            (What::BackTo(_), Some(to)) => Again::Rollback(to),
            _ => Again::Delete,
        };
        let nothing = |reason: &str, change| Ok(Planned::Nothing { reason: reason.to_owned(), change });
        match plan_again(again, &view, &last, skip, &templates).await {
            Ok(plan) => Ok(Planned::Change(Box::new(plan))),
            Err(Refused::Open(open)) if *what == What::Tested => {
                Err(Error::Busy { release: release.name.clone(), open })
            }
            Err(Refused::Open(open)) => nothing("", Some(open)),
            Err(Refused::Gone(_)) if *what == What::Gone => nothing("the release is deleted already", None),
            Err(Refused::Plan(error)) => Err(error.into()),
            Err(refused) => Err(Error::Refused { what: refused.to_string(), cure: String::new() }),
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
        match wanted.plan(session).await? {
            Planned::Change(plan) => {
                let log = session.pintle.open_change(*plan).await?;
                return begin(session, log).await;
            }
            Planned::Nothing { reason, change: None } => {
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
                    return Err(Error::Busy { release: change.release.name.clone(), open: change });
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
