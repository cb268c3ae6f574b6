//! Why a call was not done. The host speaks in codes, which may grow; an author matches an enum.

use std::fmt;

use crate::bindings::pintle::hooks::types;

/// The result of a call, and of an action.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a call was not done, or why an action failed. Each has a message for people: what, where, and what would help.
///
/// Any other error becomes [`Error::Failed`] through `?`. For that reason this type does not implement
/// [`std::error::Error`] itself.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The driver did not ask for it, or the tenant's policy does not allow it.
    Denied(String),
    /// The arguments make no sense.
    Invalid(String),
    /// The component, Job or action does not exist.
    NotFound(String),
    /// Something else changed it at the same time, or holds it.
    Conflict(String),
    /// A newer change replaced this one.
    Superseded(String),
    /// It took longer than allowed.
    TimedOut(String),
    /// It was done and failed: a Job with a non-zero exit code, a component that does not get ready.
    Failed(String),
    /// The cluster, the registry or Pintle's store does not answer now.
    Unavailable(String),
    /// A person cancelled the change.
    Cancelled(String),
    /// A code that this version of the SDK does not know.
    Other {
        /// The code as the host sent it.
        code: String,
        /// For people.
        message: String,
    },
}

impl Error {
    /// A failure that the action itself found.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::Failed(message.into())
    }

    /// A value, such as an argument of the hook, that the action cannot work with.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::Invalid(message.into())
    }

    /// The code in the WIT: `denied`, `not-found`, ….
    #[must_use]
    pub fn code(&self) -> &str {
        match self {
            Self::Denied(_) => "denied",
            Self::Invalid(_) => "invalid",
            Self::NotFound(_) => "not-found",
            Self::Conflict(_) => "conflict",
            Self::Superseded(_) => "superseded",
            Self::TimedOut(_) => "timed-out",
            Self::Failed(_) => "failed",
            Self::Unavailable(_) => "unavailable",
            Self::Cancelled(_) => "cancelled",
            Self::Other { code, .. } => code,
        }
    }

    /// The message, without the code.
    #[must_use]
    pub fn message(&self) -> &str {
        match self {
            Self::Denied(message)
            | Self::Invalid(message)
            | Self::NotFound(message)
            | Self::Conflict(message)
            | Self::Superseded(message)
            | Self::TimedOut(message)
            | Self::Failed(message)
            | Self::Unavailable(message)
            | Self::Cancelled(message)
            | Self::Other { message, .. } => message,
        }
    }
}

/// To and from the WIT. No `From`: the record there is a [`std::error::Error`] too, and becomes [`Error::Failed`] through `?`.
impl Error {
    pub(crate) fn from_host(types::Error { code, message }: types::Error) -> Self {
        match code.as_str() {
            "denied" => Self::Denied(message),
            "invalid" => Self::Invalid(message),
            "not-found" => Self::NotFound(message),
            "conflict" => Self::Conflict(message),
            "superseded" => Self::Superseded(message),
            "timed-out" => Self::TimedOut(message),
            "failed" => Self::Failed(message),
            "unavailable" => Self::Unavailable(message),
            "cancelled" => Self::Cancelled(message),
            _ => Self::Other { code, message },
        }
    }

    #[expect(clippy::needless_pass_by_value, reason = "a function for `map_err`")]
    pub(crate) fn from_image(error: pintle_image::ImageError) -> Self {
        Self::Invalid(error.to_string())
    }

    pub(crate) fn into_host(self) -> types::Error {
        types::Error { code: self.code().to_owned(), message: self.message().to_owned() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message())
    }
}

impl<E: std::error::Error> From<E> for Error {
    fn from(error: E) -> Self {
        let mut message = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            message.push_str(": ");
            message.push_str(&cause.to_string());
            source = cause.source();
        }
        Self::Failed(message)
    }
}

/// So that `?` works in tests and programs that return a boxed error.
impl From<Error> for Box<dyn std::error::Error + Send + Sync> {
    fn from(error: Error) -> Self {
        error.to_string().into()
    }
}

impl From<Error> for Box<dyn std::error::Error> {
    fn from(error: Error) -> Self {
        error.to_string().into()
    }
}
