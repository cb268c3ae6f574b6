//! A small key-value store of the release that outlives its changes.

use crate::imports::state as host;
use crate::{Error, Result};

/// The value of a key, if there is one.
///
/// # Errors
///
/// [`Error::Denied`] without the permission `state`.
pub fn get(key: &str) -> Result<Option<Vec<u8>>> {
    host::get(key).map_err(Error::from_host)
}

/// The value of a key as text.
///
/// # Errors
///
/// [`Error::Denied`] without the permission `state`, [`Error::Invalid`] when the value is not UTF-8.
pub fn get_text(key: &str) -> Result<Option<String>> {
    let not_text = |_| Error::Invalid(["the value of the key `", key, "` is no UTF-8 text"].concat());
    get(key)?.map(|value| String::from_utf8(value).map_err(not_text)).transpose()
}

/// Sets the value of a key.
///
/// # Errors
///
/// [`Error::Denied`] without the permission `state`, [`Error::Invalid`] when the key or the value is too long.
pub fn put(key: &str, value: impl AsRef<[u8]>) -> Result<()> {
    host::put(key, value.as_ref()).map_err(Error::from_host)
}

/// Removes a key. Removing what is not there changes nothing.
///
/// # Errors
///
/// [`Error::Denied`] without the permission `state`.
pub fn delete(key: &str) -> Result<()> {
    host::delete(key).map_err(Error::from_host)
}
