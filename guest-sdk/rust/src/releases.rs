//! The release itself: bring its content to a version, or apply it as it is.

use crate::imports::releases as host;
use crate::{Error, Result};

/// What a sync did.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Synced {
    /// Something of the release was applied.
    Changed,
    /// Everything was there already.
    Unchanged,
    /// A word that this version of the SDK does not know.
    Other(String),
}

impl Synced {
    fn from_host(word: String) -> Self {
        match word.as_str() {
            "changed" => Self::Changed,
            "unchanged" => Self::Unchanged,
            _ => Self::Other(word),
        }
    }
}

/// Syncs the release at the target version of the change, or at the version it has.
///
/// # Errors
///
/// [`Error::Invalid`] for any other version, [`Error::Denied`] without the permission `releases.set-version`,
/// [`Error::Failed`] when the sync fails.
pub fn set_version(version: impl AsRef<str>) -> Result<Synced> {
    host::set_version(version.as_ref()).map(Synced::from_host).map_err(Error::from_host)
}

/// Applies the change's render as it is.
///
/// # Errors
///
/// [`Error::Denied`] without the permission `releases.sync`, [`Error::Failed`] when the sync fails.
pub fn sync() -> Result<Synced> {
    host::sync().map(Synced::from_host).map_err(Error::from_host)
}
