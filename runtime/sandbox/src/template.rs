//! Go templates, rendered by Go itself: its module runs under bounds like an action, and in an instance of its own for each batch.
//!
//! texts → those with `{{` → one instance → answers, one by one → what ended the instance is the next template's error

mod code;
mod instance;
mod wasi;

use std::sync::Arc;

use pintle_lifecycle::template::{Each, Render, RenderError, Rendering, TemplateError};
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::OnceCell;

use crate::sandbox::{Room, Sandbox};
use crate::template::code::Code;
use crate::template::instance::{Finish, Instance, Request, Work};

/// What templates may use up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TemplateBounds {
    /// Bytes of one template.
    pub template_bytes: usize,
    /// Bytes of all templates of a call.
    pub templates_bytes: usize,
    /// Bytes of the values as JSON.
    pub values_bytes: usize,
    /// Bytes of one text.
    pub text_bytes: usize,
    /// Bytes of all texts of a call.
    pub texts_bytes: usize,
    /// CPU time of one template.
    pub cpu_ms: u64,
    /// CPU time of all templates of a call.
    pub all_cpu_ms: u64,
    /// Memory of an instance, in which Go itself has about 10 MiB.
    pub memory_bytes: u64,
}

impl Default for TemplateBounds {
    fn default() -> Self {
        Self {
            template_bytes: 256 << 10,
            templates_bytes: 4 << 20,
            values_bytes: 1 << 20,
            text_bytes: 1 << 20,
            texts_bytes: 16 << 20,
            cpu_ms: 1_000,
            all_cpu_ms: 20_000,
            memory_bytes: 128 << 20,
        }
    }
}

/// Renders templates in a sandbox. Clones are the same.
#[derive(Clone)]
pub struct Templates(Arc<Shared>);

struct Shared {
    room: Arc<Room>,
    bounds: TemplateBounds,
    code: OnceCell<Code>,
}

impl Templates {
    /// Nothing is compiled before it is needed.
    #[must_use]
    pub fn open(sandbox: &Sandbox, bounds: TemplateBounds) -> Self {
        Self(Arc::new(Shared { room: Arc::clone(&sandbox.0), bounds, code: OnceCell::new() }))
    }

    /// Compiles the module now, which takes seconds the first time, so that the first template need not wait.
    ///
    /// # Errors
    /// [`RenderError::Unavailable`] where the compiled code cannot be kept.
    pub async fn prepare(&self) -> Result<(), RenderError> {
        self.code().await.map(drop)
    }

    /// Whether each template can be read: its syntax, and that its functions exist.
    ///
    /// # Errors
    /// [`RenderError`] where they are too many, or there is no room for an instance.
    pub async fn check(&self, templates: &[&str]) -> Each<()> {
        let checked = self.each(Work::Check, templates, &Value::Null, |_| String::new()).await?;
        Ok(checked.into_iter().map(|one| one.map(drop)).collect())
    }

    /// The text of each template, all with these values.
    ///
    /// # Errors
    /// [`RenderError`] where they are too many or the values too large, or there is no room for an instance.
    pub async fn render(&self, templates: &[&str], values: &Value) -> Each<String> {
        self.each(Work::Render, templates, values, str::to_owned).await
    }

    /// `plain` is the answer for a string that is no template.
    async fn each(&self, work: Work, templates: &[&str], values: &Value, plain: fn(&str) -> String) -> Each<String> {
        let bounds = &self.0.bounds;
        let is_real = |text: &&str| text.contains("{{") && text.len() <= bounds.template_bytes;
        let real: Vec<&str> = templates.iter().copied().filter(is_real).collect();
        let bytes = real.iter().map(|text| text.len()).sum();
        within("the templates", bytes, bounds.templates_bytes)?;
        let values = serde_json::value::to_raw_value(values).map_err(|_| RenderError::Values)?;
        within("the values", values.get().len(), bounds.values_bytes)?;
        let mut answers = self.answers(work, &real, &values).await?.into_iter();
        let answer = |text: &&str| {
            if !text.contains("{{") {
                return Ok(plain(text));
            }
            let real = is_real(text).then(|| answers.next()).flatten();
            real.unwrap_or_else(|| Err(too_long(text.len(), bounds.template_bytes)))
        };
        Ok(templates.iter().map(answer).collect())
    }

    /// Begins again in a new instance after what ended one.
    async fn answers(&self, work: Work, templates: &[&str], values: &RawValue) -> Each<String> {
        let bounds = &self.0.bounds;
        let mut answers = Vec::with_capacity(templates.len());
        let (mut cpu_ms, mut bytes) = (bounds.all_cpu_ms, bounds.texts_bytes);
        while answers.len() < templates.len() {
            if cpu_ms == 0 {
                answers.push(Err(none_left(bounds)));
                continue;
            }
            let request = Request { templates: &templates[answers.len()..], values, output: bounds.text_bytes };
            let Finish { answers: some, ended, cpu_used_ms, bytes_left } =
                self.instance(cpu_ms, bytes).await?.run(work, &request).await?;
            cpu_ms = cpu_ms.saturating_sub(cpu_used_ms.max(1));
            bytes = bytes_left;
            let was_first = some.is_empty();
            answers.extend(some);
            match ended {
                // What it ended at may be what the ones before left in memory: a template counts when it is alone.
                Some(error) if was_first => answers.push(Err(error)),
                None if answers.len() < templates.len() => {
                    return Err(RenderError::Unavailable("the module left templates out".to_owned()));
                }
                Some(_) | None => {}
            }
        }
        Ok(answers)
    }

    async fn instance(&self, cpu_ms: u64, bytes: usize) -> Result<Instance<'_>, RenderError> {
        Ok(Instance { room: &self.0.room, code: self.code().await?, bounds: &self.0.bounds, cpu_ms, bytes })
    }

    async fn code(&self) -> Result<&Code, RenderError> {
        self.0.code.get_or_try_init(|| code::ready(&self.0.room)).await
    }
}

impl Render for Templates {
    fn check<'a>(&'a self, templates: &'a [&'a str]) -> Rendering<'a, ()> {
        Box::pin(self.check(templates))
    }

    fn render<'a>(&'a self, templates: &'a [&'a str], values: &'a Value) -> Rendering<'a, String> {
        Box::pin(self.render(templates, values))
    }
}

impl std::fmt::Debug for Templates {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Templates").field("bounds", &self.0.bounds).finish_non_exhaustive()
    }
}

fn within(what: &'static str, bytes: usize, limit: usize) -> Result<(), RenderError> {
    if bytes > limit { Err(RenderError::TooLarge { what, bytes, limit }) } else { Ok(()) }
}

fn too_long(bytes: usize, limit: usize) -> TemplateError {
    TemplateError::of_all(format!("the template has {bytes} bytes, the limit is {limit}"))
}

fn none_left(bounds: &TemplateBounds) -> TemplateError {
    let limit = bounds.all_cpu_ms;
    TemplateError::of_all(format!("the templates before this one used up the {limit} ms of CPU time that all have"))
}
