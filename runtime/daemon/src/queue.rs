//! The queue of a release: changes are serial, and one more may wait. A newer request takes the place of the one that waits, which is
//! recorded as superseded and never silently dropped. What a change that waits will do is planned when its turn comes.

use std::sync::Arc;

use pintle_journal::change_log::ChangeLog;
use pintle_journal::journal::ChangeQuery;
use pintle_lifecycle::document::release::HookSkip;
use pintle_lifecycle::ending::ChangeState;
use pintle_lifecycle::ids::{ChangeKey, ReleaseKey};
use pintle_lifecycle::json::Json;
use pintle_lifecycle::plan::Plan;
use pintle_lifecycle::planning::Planned;
use pintle_lifecycle::record::Event;
use serde::{Deserialize, Serialize};

use crate::again::{What, plan_what};
use crate::embedded::Pintle;
use crate::error::Error;
use crate::request::{KeptRequest, Request, Turn};
use crate::who::who;

/// What waits, as the journal keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Queued {
    Document(Box<KeptRequest>),
    Again {
        what: What,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        skip: Vec<HookSkip>,
    },
}

impl Pintle {
    /// Lets a change wait until the open one of its release has ended; `plan` is what it would do now. Durable when this returns. What
    /// waited before is superseded.
    ///
    /// # Errors
    /// Where the journal does not take it.
    pub async fn enqueue(&self, plan: Plan, queued: &Queued) -> Result<ChangeKey, Error> {
        let release = plan.target.release.clone();
        let request = serde_json::to_value(queued)
            .map_err(|error| Error::Defect(format!("the request cannot be kept: {error}")))?;
        let changes = self.journal().release(&release).await?.map_or(0, |view| view.changes);
        let change = release.change(changes + 1);
        let event = Event::ChangeQueued { plan: Arc::new(plan), request: Json::from(request), by: who() };
        // First the newer one: whatever happens in between, nothing is lost.
        let (_log, receipt) = self.create(&change, event)?;
        receipt.await?;
        self.supersede(&release, Some(&change), &format!("{change} came after it")).await?;
        Ok(change)
    }

    /// Ends all changes of a release that wait, but one.
    ///
    /// # Errors
    /// Where the journal cannot be read or written.
    pub async fn supersede(&self, release: &ReleaseKey, but: Option<&ChangeKey>, why: &str) -> Result<(), Error> {
        let query = ChangeQuery { release: Some(release.clone()), open: true, limit: 0 };
        for view in self.journal().changes(query).await? {
            if view.state == ChangeState::Waiting && Some(&view.key) != but {
                let log = self.recover(&view.key).await?;
                self.close(&log, ChangeState::Superseded, why.to_owned()).await?;
            }
        }
        Ok(())
    }

    /// Opens the change of a release that waits, if there is one and its turn has come. One that has nothing left to do, or cannot be
    /// planned any more, ends, and says so.
    ///
    /// # Errors
    /// Where the journal cannot be read or written.
    pub async fn take_turn(&self, release: &ReleaseKey) -> Result<Option<Arc<ChangeLog>>, Error> {
        let Some(view) = self.journal().release(release).await? else { return Ok(None) };
        let Some(waiting) = view.waiting.clone().filter(|_| view.open.is_none()) else { return Ok(None) };
        self.supersede(release, Some(&waiting), &format!("{waiting} came after it")).await?;
        let log = self.recover(&waiting).await?;
        let request = self.request_of(&waiting).await?;
        let templates = self.templates();
        let planned = match request {
            Queued::Document(kept) => Request::of_kept(*kept).plan(self.journal(), &templates).await,
            Queued::Again { what, skip } => {
                plan_what(self.journal(), &templates, release, what, &skip, Turn::Now).await
            }
        };
        match planned {
            Ok(Planned::Change(plan)) => {
                let by = log.look(|history| history.by.clone());
                self.record(&log, Event::ChangeOpened { plan: Arc::new(*plan), by }).await?;
                return Ok(Some(log));
            }
            Ok(Planned::Nothing { reason, change: None }) => {
                self.close(&log, ChangeState::Superseded, format!("nothing is left to do: {reason}")).await?;
            }
            Ok(Planned::Nothing { reason, change: Some(_) }) => {
                self.close(&log, ChangeState::Failed, reason).await?;
            }
            Err(error @ (Error::Documents(_) | Error::Refused { .. } | Error::Busy { .. })) => {
                let words = match &error {
                    Error::Documents(problems) => problems.to_string(),
                    other => other.to_string(),
                };
                self.close(&log, ChangeState::Failed, words).await?;
            }
            // This machine or its store: the change waits for better times.
            Err(error) => return Err(error),
        }
        Ok(None)
    }

    async fn request_of(&self, change: &ChangeKey) -> Result<Queued, Error> {
        let first = self.journal().records(change).await?.into_iter().next();
        let Some(Event::ChangeQueued { request, .. }) = first.map(|record| record.event) else {
            return Err(Error::Defect(format!("{change} waits and has no request")));
        };
        serde_json::from_value(request.value())
            .map_err(|error| Error::Defect(format!("the request of {change} cannot be read: {error}")))
    }

    async fn close(&self, log: &ChangeLog, state: ChangeState, message: String) -> Result<(), Error> {
        self.record(log, Event::ChangeFinished { state, message }).await
    }
}
