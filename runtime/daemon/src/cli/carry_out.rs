//! From what is wanted of a release to the end of the change that brings it: first the change that is open, then the next.

use std::sync::Arc;

use pintle_journal::change_log::ChangeLog;
use pintle_journal::journal::Journal;
use pintle_lifecycle::ids::{ChangeKey, ReleaseKey};
use pintle_lifecycle::planning::{DeleteRefused, Planned, plan_delete};

use super::exit::Exit;
use super::session::{Ended, Session};
use crate::error::Error;
use crate::lookup;
use crate::request::{Request, last_plan};

/// What a release shall become.
pub enum Wanted {
    Document(Box<Request>),
    Gone(ReleaseKey),
}

impl Wanted {
    async fn plan(&self, journal: &dyn Journal) -> Result<Planned, Error> {
        let release = match self {
            Self::Document(request) => return request.plan(journal).await,
            Self::Gone(release) => release,
        };
        let view = lookup::release(journal, release).await?;
        match plan_delete(&view, &last_plan(journal, &view).await?) {
            Ok(plan) => Ok(Planned::Change(Box::new(plan))),
            Err(DeleteRefused::Open(open)) => Ok(Planned::Nothing { reason: String::new(), change: Some(open) }),
            Err(DeleteRefused::Gone(_)) => {
                Ok(Planned::Nothing { reason: "the release is deleted already".to_owned(), change: None })
            }
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
        match wanted.plan(session.pintle.journal()).await? {
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
        Wanted::Gone(_) => None,
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
