//! Container image references such as `host:5000/team/shop:1.2.0@sha256:…`.
//!
//! The guest SDK and the host read the same references, so both use this crate. It has no dependencies, because it ends up in
//! every action module. It keeps a reference as it is written: no default registry, no `library/`, no `latest` is added.

mod error;
mod grammar;

pub use error::{ImageError, ImageProblem};

use std::fmt;
use std::str::FromStr;

/// A valid image reference: a repository, perhaps with a tag, perhaps with a digest.
///
/// ```
/// use pintle_image::Image;
///
/// let image: Image = "host:5000/team/shop:1.0.0".parse()?;
/// assert_eq!(image.registry(), Some("host:5000"));
/// assert_eq!(image.name(), "shop");
/// assert_eq!(image.with_tag("1.1.0")?.to_string(), "host:5000/team/shop:1.1.0");
/// # Ok::<(), pintle_image::ImageError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Image {
    repository: String,
    tag: Option<String>,
    digest: Option<String>,
}

impl Image {
    /// The registry and the path, without tag and digest: `host:5000/team/shop`.
    #[must_use]
    pub fn repository(&self) -> &str {
        &self.repository
    }

    /// The registry's host, with its port: `host:5000`. `None` when the reference names none.
    ///
    /// As for Docker, the part before the first slash is a registry when it has a dot, a colon or an upper-case letter, or is
    /// `localhost`. So `shop/server` names none.
    #[must_use]
    pub fn registry(&self) -> Option<&str> {
        grammar::split_registry(&self.repository).0
    }

    /// The repository without its registry: `team/shop`.
    #[must_use]
    pub fn path(&self) -> &str {
        grammar::split_registry(&self.repository).1
    }

    /// The last segment of the path: `shop`.
    #[must_use]
    pub fn name(&self) -> &str {
        self.repository.rsplit('/').next().unwrap_or(&self.repository)
    }

    /// The tag, when the reference has one.
    #[must_use]
    pub fn tag(&self) -> Option<&str> {
        self.tag.as_deref()
    }

    /// The digest with its algorithm, when the reference has one: `sha256:…`.
    #[must_use]
    pub fn digest(&self) -> Option<&str> {
        self.digest.as_deref()
    }

    /// The same repository at another tag. The digest is dropped: it belongs to the former content.
    ///
    /// # Errors
    ///
    /// When `tag` is not a valid tag. A version with build metadata (`1.2.0+5`) is not one: a tag has no `+`.
    pub fn with_tag(&self, tag: impl AsRef<str>) -> Result<Self, ImageError> {
        let tag = tag.as_ref();
        if !grammar::is_tag(tag) {
            return Err(ImageError::new(&format!("{}:{tag}", self.repository), ImageProblem::Tag(tag.to_owned())));
        }
        Ok(Self { repository: self.repository.clone(), tag: Some(tag.to_owned()), digest: None })
    }
}

impl FromStr for Image {
    type Err = ImageError;

    fn from_str(text: &str) -> Result<Self, ImageError> {
        let (rest, digest) = match text.split_once('@') {
            Some((rest, digest)) => (rest, Some(digest)),
            None => (text, None),
        };
        // A colon after the last slash starts a tag; one before it belongs to the registry's port.
        let (repository, tag) = match rest.rsplit_once(':') {
            Some((repository, tag)) if !tag.contains('/') => (repository, Some(tag)),
            _ => (rest, None),
        };
        grammar::check(repository, tag, digest).map_err(|problem| ImageError::new(text, problem))?;
        Ok(Self { repository: repository.to_owned(), tag: tag.map(str::to_owned), digest: digest.map(str::to_owned) })
    }
}

/// The reference as it was written.
impl fmt::Display for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.repository)?;
        if let Some(tag) = &self.tag {
            f.write_str(":")?;
            f.write_str(tag)?;
        }
        if let Some(digest) = &self.digest {
            f.write_str("@")?;
            f.write_str(digest)?;
        }
        Ok(())
    }
}
