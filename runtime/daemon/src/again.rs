//! Changes that need no document: a delete, a test, a rollback.

use pintle_journal::journal::Journal;
use pintle_lifecycle::document::release::HookSkip;
use pintle_lifecycle::ids::ReleaseKey;
use pintle_lifecycle::planning::{Again, Planned, Refused, plan_again};
use pintle_lifecycle::template::Render;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::lookup;
use crate::request::{Turn, last_plan};

/// What is done without a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum What {
    Gone,
    Tested,
    /// Back to a revision; without, to the last one that is not what the newest change brought.
    BackTo(Option<u64>),
}

/// Plans it from what the journal knows of the release. One that comes later is planned as if no change were open.
///
/// # Errors
/// Where it is refused, or the journal cannot be read.
pub async fn plan_what(
    journal: &dyn Journal,
    templates: &dyn Render,
    release: &ReleaseKey,
    what: What,
    skip: &[HookSkip],
    turn: Turn,
) -> Result<Planned, Error> {
    let mut view = lookup::release(journal, release).await?;
    if turn == Turn::Later {
        view.open = None;
    }
    let last = last_plan(journal, &view).await?;
    let to = match what {
        What::BackTo(revision) => Some(lookup::revision(journal, &view, revision).await?),
        What::Gone | What::Tested => None,
    };
    let again = match (what, &to) {
        (What::Tested, _) => Again::Test,
        (What::BackTo(_), Some(to)) => Again::Rollback(to),
        _ => Again::Delete,
    };
    let nothing = |reason: &str, change| Ok(Planned::Nothing { reason: reason.to_owned(), change });
    match plan_again(again, &view, &last, skip, templates).await {
        Ok(plan) => Ok(Planned::Change(Box::new(plan))),
        Err(Refused::Open(open)) if what == What::Tested => Err(Error::Busy { release: release.name.clone(), open }),
        Err(Refused::Open(open)) => nothing("", Some(open)),
        Err(Refused::Gone(_)) if what == What::Gone => nothing("the release is deleted already", None),
        Err(Refused::Plan(error)) => Err(error.into()),
        Err(refused) => Err(Error::Refused { what: refused.to_string(), cure: String::new() }),
    }
}
