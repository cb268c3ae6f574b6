//! Why a text is no image reference, in words that name the wrong part.

use std::error::Error;
use std::fmt;

/// A text that is no image reference, with the first part of it that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageError {
    image: String,
    problem: ImageProblem,
}

/// The part of a reference that breaks the grammar.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ImageProblem {
    /// There is no repository: the text is empty, or starts with the tag or the digest.
    NoRepository,
    /// The repository is longer than 255 characters; its length.
    TooLong(usize),
    /// What stands before the first slash is no `host` or `host:port`.
    Registry(String),
    /// A part of the path between slashes.
    PathSegment(String),
    /// What follows the last colon.
    Tag(String),
    /// What follows the `@`.
    Digest(String),
}

impl ImageError {
    pub(crate) fn new(image: &str, problem: ImageProblem) -> Self {
        Self { image: image.to_owned(), problem }
    }

    /// The whole text that was refused.
    #[must_use]
    pub fn image(&self) -> &str {
        &self.image
    }

    /// What is wrong with it.
    #[must_use]
    pub fn problem(&self) -> &ImageProblem {
        &self.problem
    }
}

impl fmt::Display for ImageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is no image reference: {}", self.image, self.problem)
    }
}

impl fmt::Display for ImageProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRepository => f.write_str("it names no repository"),
            Self::TooLong(len) => write!(f, "its repository has {len} characters, at most 255 are allowed"),
            Self::Registry(part) => write!(f, "the registry `{part}` must be `host` or `host:port`"),
            Self::PathSegment(part) => write!(
                f,
                "the part `{part}` must be lower-case letters and digits, with single `.`, `_`, `__` or dashes in between"
            ),
            Self::Tag(part) => {
                write!(
                    f,
                    "the tag `{part}` must be 1 to 128 letters, digits, `_`, `.` and `-`, and not start with `.` or `-`"
                )
            }
            Self::Digest(part) => write!(f, "the digest `{part}` must be like `sha256:` and 64 lower-case hex digits"),
        }
    }
}

impl Error for ImageError {}
