//! `pintle up`: brings a release to its document, or goes on with what is open.

use std::path::PathBuf;
use std::sync::Arc;

use pintle_journal::change_log::ChangeLog;
use pintle_lifecycle::ending::ChangeState;

use super::carry_out::{Wanted, carry_out};
use super::exit::Exit;
use super::global::Global;
use super::session::{Following, Session};
use super::skips::Skips;
use crate::error::Error;
use crate::request::{Keep, Request};

/// Set up or change a release, and follow its steps
///
/// With FILE: brings the release to what the document says. A change of it that is open goes on first. Without FILE: goes on with
/// all changes that are open, as after a crash, a Ctrl-C or `--detach`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  pintle up release.yml            set up the release, or upgrade it after an edit
  pintle up                        go on with everything that is open
  pintle up release.yml --detach   write the change down and leave it to the next `pintle up`")]
pub struct Up {
    /// The document of the release: release.yml
    file: Option<PathBuf>,
    #[command(flatten)]
    skips: Skips,
    #[command(flatten)]
    following: Following,
}

impl Up {
    pub async fn run(self, global: &Global) -> Result<Exit, Error> {
        let Some(file) = self.file else {
            if self.following.detach {
                return Err(Error::Usage {
                    what: "`--detach` without a FILE leaves nothing behind".to_owned(),
                    cure: "name the document of a release, as in `pintle up release.yml --detach`".to_owned(),
                });
            }
            return go_on(&mut Session::open(global, self.following)?).await;
        };
        let request = Request::of_file(&file, &global.tenant).without(self.skips.skip_hooks);
        let mut session = Session::open(global, self.following)?;
        let mut request = request.with_images_of(session.pintle.config());
        request.admit(|| session.pintle.sandbox().cloned(), Keep::Yes, session.pintle.journal()).await?;
        carry_out(&mut session, Wanted::Document(Box::new(request))).await
    }
}

/// Goes on with all open changes at once, then starts again what should run and does not.
async fn go_on(session: &mut Session) -> Result<Exit, Error> {
    let mut all = Exit::Ok;
    let mut logs = Vec::new();
    for change in session.pintle.journal().open_changes().await? {
        let log = session.pintle.recover(&change).await?;
        // Its turn comes below.
        if log.look(pintle_lifecycle::history::History::state) != ChangeState::Waiting {
            session.say(&format!("{change}  going on"));
            logs.push(log);
        }
    }
    let mut is_idle = logs.is_empty();
    while !logs.is_empty() || is_idle {
        if !logs.is_empty() {
            let followed = session.follow(std::mem::take(&mut logs)).await?;
            all = all.and(session.exit(followed));
        }
        if all != Exit::Detached {
            logs = turns(session).await?;
        }
        if is_idle && logs.is_empty() {
            session.say("nothing to do: no change is open");
        }
        is_idle = false;
    }
    for view in session.pintle.journal().releases().await? {
        if all == Exit::Detached {
            break;
        }
        session.pintle.clear_hooks(&view.key).await?;
        all = all.and(session.restore(&view).await?);
    }
    Ok(all)
}

/// The changes whose turn has come.
async fn turns(session: &mut Session) -> Result<Vec<Arc<ChangeLog>>, Error> {
    let mut logs = Vec::new();
    for view in session.pintle.journal().releases().await?.into_iter().filter(|view| view.waiting.is_some()) {
        if let Some(log) = session.pintle.take_turn(&view.key).await? {
            session.say(&format!("{}  its turn has come", log.look(|history| history.key.to_string())));
            logs.push(log);
        }
    }
    Ok(logs)
}
