//! Which changes go on: those that are open. Each is taken up from its records and driven as if it had never been left.

use pintle_journal::journal::{ChangeQuery, Journal};
use pintle_lifecycle::ids::ChangeKey;

use crate::error::Error;

/// The open changes, oldest first.
///
/// # Errors
/// Where the journal cannot be read.
pub async fn open_changes(journal: &dyn Journal) -> Result<Vec<ChangeKey>, Error> {
    let views = journal.changes(ChangeQuery { open: true, ..ChangeQuery::default() }).await?;
    Ok(views.into_iter().rev().map(|view| view.key).collect())
}
