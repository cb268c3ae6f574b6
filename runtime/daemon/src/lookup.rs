//! Finding releases and changes by the names that people type, and what they may have meant where there is none.

use pintle_journal::journal::{ChangeQuery, Journal};
use pintle_lifecycle::ids::{ChangeKey, ReleaseKey};
use pintle_lifecycle::view::{ChangeView, ReleaseView};

use crate::error::Error;
use crate::nearest::nearest;

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
        return Err(Error::Deleted { name: key.name.clone(), by: key.change(view.changes) });
    }
    Ok(view)
}
