//! `pintle retry`, `undo`, `skip` and `cancel`: what a person decides about a change that failed, runs or is stuck.

use std::sync::Arc;

use pintle_journal::change_log::ChangeLog;
use pintle_lifecycle::ending::ChangeState;
use pintle_lifecycle::ids::ChangeKey;
use pintle_lifecycle::plan::ChangeKind;
use pintle_lifecycle::record::Verb;
use pintle_lifecycle::undo::pivot;
use pintle_lifecycle::view::ChangeView;

use super::carry_out::begin;
use super::exit::Exit;
use super::global::Global;
use super::interrupt::OnInterrupt;
use super::session::{Followed, Following, Session};
use crate::error::Error;
use crate::lookup;

/// Make a new attempt of the failed step of a change, with the same plan
///
/// For a change that failed, was cancelled, or is stuck; the newest one of its release.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  pintle retry shop-2")]
pub struct Retry {
    /// The change, as in shop-2
    change: String,
    #[command(flatten)]
    following: Following,
}

/// Take back what a change did, newest step first
///
/// For a change that failed, was cancelled, is stuck or is open; the newest one of its release. What runs is stopped. An action is
/// undone by its own undo, or by calls that follow from what it found: stop and start, versions. Where neither is possible, or
/// somebody changed things since, a person is asked. After a step marked as a pivot a change only goes forward.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  pintle undo shop-2")]
pub struct Undo {
    /// The change, as in shop-2
    change: String,
    #[command(flatten)]
    following: Following,
}

/// Go on after the step that failed or waits for a person, as if it had done what it should
///
/// For a change that failed or is stuck; the newest one of its release. In the middle of an undo it leaves that step as it is.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  pintle skip shop-2")]
pub struct Skip {
    /// The change, as in shop-2
    change: String,
    #[command(flatten)]
    following: Following,
}

/// Stop the running action of a change and its Jobs; nothing is undone
///
/// For a change that is open or stuck. What it changed so far stays; `pintle steps` shows what that was.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  pintle cancel shop-2")]
pub struct Cancel {
    /// The change, as in shop-2
    change: String,
}

impl Retry {
    pub async fn run(self, global: &Global) -> Result<Exit, Error> {
        let mut session = Session::open(global, self.following)?;
        let change = allowed(global, &session, &self.change, Verb::Retry).await?;
        if !session.detach() && bring_back(&mut session, &change).await? == Exit::Detached {
            return Ok(Exit::Detached);
        }
        let log = ask(&session, &change, Verb::Retry).await?;
        begin(&mut session, log).await
    }
}

impl Undo {
    pub async fn run(self, global: &Global) -> Result<Exit, Error> {
        let mut session = Session::open(global, self.following)?;
        let change = allowed(global, &session, &self.change, Verb::Undo).await?;
        let log = session.pintle.recover(&change).await?;
        if let Some(step) = log.look(|history| pivot(history).map(str::to_owned)) {
            let what = format!("{change} only goes forward after `{step}`: it cannot be taken back");
            let cure = format!("`pintle retry {change}` goes on with it");
            return Err(Error::Refused { what, cure });
        }
        session.pintle.ask(&log, Verb::Undo).await?;
        if session.detach() {
            return begin(&mut session, log).await;
        }
        match session.follow(vec![log]).await? {
            // Here it is what was asked for.
            Followed::Ended(ended) if ended.iter().all(|ended| ended.state == ChangeState::Undone) => Ok(Exit::Ok),
            followed => Ok(session.exit(followed)),
        }
    }
}

impl Skip {
    pub async fn run(self, global: &Global) -> Result<Exit, Error> {
        let mut session = Session::open(global, self.following)?;
        let change = allowed(global, &session, &self.change, Verb::Skip).await?;
        let log = ask(&session, &change, Verb::Skip).await?;
        begin(&mut session, log).await
    }
}

impl Cancel {
    pub async fn run(self, global: &Global) -> Result<Exit, Error> {
        let mut session = Session::open(global, Following { detach: false, on_interrupt: OnInterrupt::Detach })?;
        let change = allowed(global, &session, &self.change, Verb::Cancel).await?;
        let log = ask(&session, &change, Verb::Cancel).await?;
        match session.follow(vec![log]).await? {
            // Here it is what was asked for.
            Followed::Ended(ended) if ended.iter().all(|ended| ended.state == ChangeState::Cancelled) => Ok(Exit::Ok),
            followed => Ok(session.exit(followed)),
        }
    }
}

/// The change with that id, where the verb makes sense for it.
async fn allowed(global: &Global, session: &Session, id: &str, verb: Verb) -> Result<ChangeKey, Error> {
    let change = global.change(id)?;
    let journal = session.pintle.journal();
    let view = lookup::change(journal, &change).await?;
    let release = lookup::release(journal, &change.release).await?;
    let is_last = [release.newest(), release.last()].contains(&change);
    check(&view, &release.newest(), is_last, verb)?;
    Ok(change)
}

/// Records that a verb was asked for.
async fn ask(session: &Session, change: &ChangeKey, verb: Verb) -> Result<Arc<ChangeLog>, Error> {
    let log = session.pintle.recover(change).await?;
    session.pintle.ask(&log, verb).await?;
    Ok(log)
}

/// Starts again what should run: a step that waits for a process which died meanwhile would fail at each attempt. Where it does
/// not start, the new attempt may be what mends it.
async fn bring_back(session: &mut Session, change: &ChangeKey) -> Result<Exit, Error> {
    let view = lookup::release(session.pintle.journal(), &change.release).await?;
    match session.restore(&view).await {
        Err(Error::Restore { release, source }) => {
            tracing::warn!(%release, "what should run is not all there: {source}");
            Ok(Exit::Ok)
        }
        restored => restored,
    }
}

/// Whether the verb makes sense for the change now.
fn check(view: &ChangeView, newest: &ChangeKey, is_last: bool, verb: Verb) -> Result<(), Error> {
    let (change, state) = (view.key.clone(), view.state);
    let refuse = |what: String, cure: String| Err(Error::Refused { what, cure });
    let nothing = |cure: String| refuse(format!("{change} is {state}: there is nothing to {}", verb.as_str()), cure);
    let open = matches!(state, ChangeState::Running | ChangeState::Waiting);
    match (verb, state) {
        (Verb::Cancel, state) if state.is_final() => nothing(String::new()),
        (Verb::Cancel, _) => Ok(()),
        (Verb::Undo, ChangeState::Succeeded) if view.kind != ChangeKind::Delete => {
            nothing(format!("`pintle rollback {}` brings back what was before", change.release.name))
        }
        (_, ChangeState::Succeeded | ChangeState::Undone) => nothing(String::new()),
        (Verb::Undo, ChangeState::Waiting) => nothing(format!("`pintle cancel {change}` takes it out of the queue")),
        (Verb::Retry | Verb::Skip, _) if open => refuse(
            format!("{change} has not ended: there is nothing to {}", verb.as_str()),
            "`pintle up` goes on with it".to_owned(),
        ),
        _ if !is_last => refuse(
            format!("{change} is not the newest change of its release"),
            format!("look at {newest}, the newest one"),
        ),
        (Verb::Retry | Verb::Undo | Verb::Skip, _) => Ok(()),
    }
}
