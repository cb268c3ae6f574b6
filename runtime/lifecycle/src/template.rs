//! Templates in strings that people write: what planning asks for and gets back. The sandbox renders them, since a template may try
//! anything.

use std::fmt;
use std::pin::Pin;

use serde_json::Value;

/// What each template gave, in their order.
pub type Each<T> = Result<Vec<Result<T, TemplateError>>, RenderError>;

/// An answer that takes a while.
pub type Rendering<'a, T> = Pin<Box<dyn Future<Output = Each<T>> + Send + 'a>>;

/// Renders Go templates. The same templates and values give the same texts.
pub trait Render: Send + Sync {
    /// Whether each template can be read: its syntax, and that its functions exist.
    fn check<'a>(&'a self, templates: &'a [&'a str]) -> Rendering<'a, ()>;

    /// The text of each template, all with these values.
    fn render<'a>(&'a self, templates: &'a [&'a str], values: &'a Value) -> Rendering<'a, String>;
}

/// Why a template cannot be read or gives no text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateError {
    /// Within the template, from 1.
    pub line: Option<u32>,
    /// In characters, from 1. Errors of syntax have none.
    pub column: Option<u32>,
    /// For a person, without the place.
    pub message: String,
}

/// Why no template was read at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RenderError {
    #[error("{what} have {bytes} bytes, the limit is {limit}")]
    TooLarge { what: &'static str, bytes: usize, limit: usize },
    #[error("templates cannot use these values")]
    Values,
    #[error("templates cannot be rendered now: {0}")]
    Unavailable(String),
}

impl TemplateError {
    /// An error of the template as a whole.
    #[must_use]
    pub fn of_all(message: impl Into<String>) -> Self {
        Self { line: None, column: None, message: message.into() }
    }
}

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.line, self.column) {
            (Some(line), Some(column)) => write!(f, "line {line}, column {column}: {}", self.message),
            (Some(line), None) => write!(f, "line {line}: {}", self.message),
            (None, _) => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for TemplateError {}
