//! Finding releases and changes by the names that people type, and what they may have meant where there is none.

use pintle_journal::journal::{ChangeQuery, Journal};
use pintle_lifecycle::ending::ChangeState;
use pintle_lifecycle::ids::{ChangeKey, ReleaseKey};
use pintle_lifecycle::plan::{ChangeKind, Plan};
use pintle_lifecycle::view::{ChangeView, ReleaseView};

use crate::error::Error;
use crate::nearest::nearest;
use crate::request::plan_of;

/// The release of that name, deleted ones included.
///
/// # Errors
/// [`Error::NoRelease`] with the nearest names there are.
pub async fn release(journal: &dyn Journal, key: &ReleaseKey) -> Result<ReleaseView, Error> {
    if let Some(view) = journal.release(key).await? {
        return Ok(view);
    }
    let known = journal.releases().await?.into_iter().filter(|view| view.key.tenant == key.tenant);
    let near = nearest(&key.name, known.map(|view| view.key.name));
    Err(Error::NoRelease { name: key.name.clone(), tenant: key.tenant.clone(), near })
}

/// The change with that id.
///
/// # Errors
/// [`Error::NoChange`] with the nearest ids there are.
pub async fn change(journal: &dyn Journal, key: &ChangeKey) -> Result<ChangeView, Error> {
    if let Some(view) = journal.change(key).await? {
        return Ok(view);
    }
    let tenant = &key.release.tenant;
    let known =
        journal.changes(ChangeQuery::default()).await?.into_iter().filter(|view| view.key.release.tenant == *tenant);
    let near = nearest(&key.to_string(), known.map(|view| view.key.to_string()));
    Err(Error::NoChange { id: key.to_string(), tenant: tenant.clone(), near })
}

/// The release of that name, unless it is deleted.
///
/// # Errors
/// [`Error::NoRelease`], or [`Error::Deleted`] where it was.
pub async fn live_release(journal: &dyn Journal, key: &ReleaseKey) -> Result<ReleaseView, Error> {
    let view = release(journal, key).await?;
    if view.deleted {
        return Err(Error::Deleted { name: key.name.clone(), by: view.newest() });
    }
    Ok(view)
}

/// The plan of the change that brought a revision: the count of successful renders, from 1. Without a number it is the last one before
/// what the newest change brought, or wanted to bring.
///
/// # Errors
/// Where there is no such revision, with those that there are.
pub async fn revision(journal: &dyn Journal, view: &ReleaseView, revision: Option<u64>) -> Result<Plan, Error> {
    let wanted = match revision {
        Some(revision) => revision,
        None if view.last_state == ChangeState::Succeeded => view.revision.saturating_sub(1),
        None => view.revision,
    };
    let query = ChangeQuery { release: Some(view.key.clone()), open: false, limit: 0 };
    let mut number = 0;
    for change in journal.changes(query).await?.into_iter().rev() {
        let renders = !matches!(change.kind, ChangeKind::Delete | ChangeKind::Test);
        if change.state != ChangeState::Succeeded || !renders {
            continue;
        }
        let plan = plan_of(journal, &change.key).await?;
        // A deleted release of that name had revisions of its own.
        if plan.target.uid == view.uid {
            number += 1;
            if number == wanted {
                return Ok(plan);
            }
        }
    }
    let what = match (revision, number) {
        (_, 0) => format!("the release {} has no revision to go back to", view.key.name),
        (None, _) => format!("the release {} has no revision before this one", view.key.name),
        (Some(_), 1) => format!("the release {} has no revision {wanted}: it has revision 1 alone", view.key.name),
        (Some(_), last) => format!("the release {} has no revision {wanted}: it has 1 to {last}", view.key.name),
    };
    Err(Error::Refused { what, cure: "`pintle get changes` lists what it was".to_owned() })
}
