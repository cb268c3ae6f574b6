//! Templates of documents, rendered in a sandbox that is made when the first one is.

use std::sync::OnceLock;

use pintle_lifecycle::template::{Render, RenderError, Rendering};
use pintle_sandbox::{Sandbox, TemplateBounds, Templates};
use serde_json::Value;

use crate::error::Error;

/// Renders in the sandbox that `make` gives, once it is needed.
pub(crate) struct InSandbox<F> {
    make: F,
    made: OnceLock<Templates>,
}

impl<F: Fn() -> Result<Sandbox, Error> + Send + Sync> InSandbox<F> {
    pub fn of(make: F) -> Self {
        Self { make, made: OnceLock::new() }
    }

    fn templates(&self) -> Result<&Templates, RenderError> {
        if let Some(made) = self.made.get() {
            return Ok(made);
        }
        let sandbox = (self.make)().map_err(|error| RenderError::Unavailable(error.to_string()))?;
        Ok(self.made.get_or_init(|| Templates::open(&sandbox, TemplateBounds::default())))
    }
}

impl<F: Fn() -> Result<Sandbox, Error> + Send + Sync> Render for InSandbox<F> {
    fn check<'a>(&'a self, templates: &'a [&'a str]) -> Rendering<'a, ()> {
        Box::pin(async { self.templates()?.check(templates).await })
    }

    fn render<'a>(&'a self, templates: &'a [&'a str], values: &'a Value) -> Rendering<'a, String> {
        Box::pin(async { self.templates()?.render(templates, values).await })
    }
}

/// For where no sandbox can be had.
pub(crate) struct NoTemplates;

impl Render for NoTemplates {
    fn check<'a>(&'a self, _templates: &'a [&'a str]) -> Rendering<'a, ()> {
        Box::pin(async { Err(none()) })
    }

    fn render<'a>(&'a self, _templates: &'a [&'a str], _values: &'a Value) -> Rendering<'a, String> {
        Box::pin(async { Err(none()) })
    }
}

fn none() -> RenderError {
    RenderError::Unavailable("there is no sandbox to render them in".to_owned())
}
