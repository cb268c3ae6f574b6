//! Names of releases, changes and steps. They are written into journal keys and file names, so their text form is part of
//! the stored format: `tenant/shop`, `tenant/shop-12`, `upgrade-core/upgrade`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A release: unique by tenant and name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ReleaseKey {
    pub tenant: String,
    pub name: String,
}

/// A change: the release and its own count. `Display` is what people see (`shop-12`); the stored form names the tenant.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ChangeKey {
    pub release: ReleaseKey,
    pub number: u64,
}

/// A step of a change: a path of names that follows from the plan alone, so a recovered change finds its steps again.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StepId(String);

/// Text that is no name of a release or change.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no {what}; expected {expected}")]
pub struct BadName {
    what: &'static str,
    expected: &'static str,
    text: String,
}

/// Whether `text` is a DNS-1123 label: what releases, tenants, components and hooks are called.
#[must_use]
pub fn is_label(text: &str) -> bool {
    let edge = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit();
    let bytes = text.as_bytes();
    !bytes.is_empty()
        && bytes.len() <= 63
        && edge(bytes[0])
        && edge(bytes[bytes.len() - 1])
        && bytes.iter().all(|&c| edge(c) || c == b'-')
}

impl ReleaseKey {
    /// # Errors
    /// Where tenant or name is no DNS-1123 label.
    pub fn new(tenant: &str, name: &str) -> Result<Self, BadName> {
        for text in [tenant, name] {
            if !is_label(text) {
                return Err(BadName {
                    what: "name of a tenant or release",
                    expected: "lower-case letters, digits and `-`, at most 63",
                    text: text.to_owned(),
                });
            }
        }
        Ok(Self { tenant: tenant.to_owned(), name: name.to_owned() })
    }

    /// The change of this release with that number.
    #[must_use]
    pub fn change(&self, number: u64) -> ChangeKey {
        ChangeKey { release: self.clone(), number }
    }
}

impl ChangeKey {
    /// The stored form, unique in a store: `tenant/shop-12`.
    #[must_use]
    pub fn stored(&self) -> String {
        format!("{}/{self}", self.release.tenant)
    }

    /// Reads `shop-12` as a change of `tenant`.
    ///
    /// # Errors
    /// Where the text has no number at its end or no release name before it.
    pub fn parse(tenant: &str, text: &str) -> Result<Self, BadName> {
        let bad =
            || BadName { what: "change", expected: "a release and its count, as in `shop-12`", text: text.to_owned() };
        let (name, number) = text.rsplit_once('-').ok_or_else(bad)?;
        let number: u64 = number.parse().map_err(|_| bad())?;
        let release = ReleaseKey::new(tenant, name).map_err(|_| bad())?;
        Ok(Self { release, number })
    }
}

impl StepId {
    #[must_use]
    pub fn root(name: &str) -> Self {
        Self(name.to_owned())
    }

    #[must_use]
    pub fn child(&self, name: &str) -> Self {
        Self(format!("{}/{name}", self.0))
    }

    /// The step that a call is shown as, and that a sync started by it nests under.
    #[must_use]
    pub fn call(&self, attempt: u32, ordinal: u32) -> Self {
        Self(format!("{}/{attempt}.{ordinal}", self.0))
    }

    /// The step around it by its name; none for a root.
    #[must_use]
    pub fn parent(&self) -> Option<Self> {
        self.0.rsplit_once('/').map(|(parent, _)| Self(parent.to_owned()))
    }

    /// Of the step of a hook, what its phase is in; none where that is a root.
    #[must_use]
    pub fn within_phase(&self) -> Option<Self> {
        self.parent()?.parent()
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ReleaseKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.tenant, self.name)
    }
}

impl fmt::Display for ChangeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.release.name, self.number)
    }
}

impl fmt::Display for StepId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for ReleaseKey {
    type Err = BadName;

    fn from_str(text: &str) -> Result<Self, BadName> {
        let (tenant, name) = text.split_once('/').ok_or_else(|| BadName {
            what: "release",
            expected: "`tenant/name`",
            text: text.to_owned(),
        })?;
        Self::new(tenant, name)
    }
}

impl FromStr for ChangeKey {
    type Err = BadName;

    fn from_str(text: &str) -> Result<Self, BadName> {
        let (tenant, change) = text.split_once('/').ok_or_else(|| BadName {
            what: "change",
            expected: "`tenant/release-number`",
            text: text.to_owned(),
        })?;
        Self::parse(tenant, change)
    }
}

impl TryFrom<String> for ReleaseKey {
    type Error = BadName;

    fn try_from(text: String) -> Result<Self, BadName> {
        text.parse()
    }
}

impl TryFrom<String> for ChangeKey {
    type Error = BadName;

    fn try_from(text: String) -> Result<Self, BadName> {
        text.parse()
    }
}

impl From<ReleaseKey> for String {
    fn from(key: ReleaseKey) -> Self {
        key.to_string()
    }
}

impl From<ChangeKey> for String {
    fn from(key: ChangeKey) -> Self {
        key.stored()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_reads_back_from_its_stored_form() {
        let key = ReleaseKey::new("acme", "web-shop").unwrap().change(12);
        assert_eq!(key.to_string(), "web-shop-12");
        assert_eq!(key.stored().parse::<ChangeKey>().unwrap(), key);
    }

    #[test]
    fn what_is_no_name_is_refused_with_its_text() {
        for text in ["shop", "shop-", "shop-x", "-3", "Shop-1", ""] {
            let error = ChangeKey::parse("acme", text).unwrap_err().to_string();
            assert!(error.contains(&format!("`{text}`")), "{error}");
        }
        assert!("acme/../x-1".parse::<ChangeKey>().is_err());
    }
}
