//! One-off programs in a container of their own: migrations, backups, checks.

use std::fmt;
use std::time::Duration;

use crate::imports::jobs as host;
use crate::{Error, Image, ImageError, Result, durable};

/// A Job to run. Nothing happens before [`run`](Job::run) or [`start`](Job::start).
///
/// ```
/// use pintle_sdk::prelude::*;
/// # let _host = pintle_sdk::fake::Host::new().component("server", ["registry.example.com/shop:1"]).install();
/// Job::new("registry.example.com/shop:1.1.0")
///     .command(["shop", "db", "migrate"])
///     .env_from("server")
///     .timeout(Duration::from_secs(600))
///     .run()?;
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "a Job does nothing until `run` or `start`"]
pub struct Job {
    spec: host::JobSpec,
    wrong_image: Option<Error>,
}

/// What [`Job::new`] takes: an image, its text, or the result of [`Image::with_tag`].
pub trait IntoImage {
    /// The image, if it is one.
    ///
    /// # Errors
    ///
    /// When the text is no image reference.
    fn into_image(self) -> Result<Image, ImageError>;
}

impl IntoImage for Image {
    fn into_image(self) -> Result<Image, ImageError> {
        Ok(self)
    }
}

impl IntoImage for &Image {
    fn into_image(self) -> Result<Image, ImageError> {
        Ok(self.clone())
    }
}

impl IntoImage for Result<Image, ImageError> {
    fn into_image(self) -> Result<Image, ImageError> {
        self
    }
}

impl IntoImage for &str {
    fn into_image(self) -> Result<Image, ImageError> {
        self.parse()
    }
}

impl IntoImage for String {
    fn into_image(self) -> Result<Image, ImageError> {
        self.parse()
    }
}

impl Job {
    /// A Job of this image. If it is no image reference, [`run`](Job::run) and [`start`](Job::start) answer
    /// [`Error::Invalid`].
    pub fn new(image: impl IntoImage) -> Self {
        let (image, wrong_image) = match image.into_image() {
            Ok(image) => (image.to_string(), None),
            Err(error) => (String::new(), Some(Error::from_image(error))),
        };
        let spec = host::JobSpec {
            image,
            command: Vec::new(),
            args: Vec::new(),
            env: Vec::new(),
            env_from_component: None,
            timeout_ms: None,
            retries: 0,
            pod_template_json: None,
            api_token: false,
        };
        Self { spec, wrong_image }
    }

    /// The program and its first arguments, instead of the image's own.
    pub fn command<S: Into<String>>(mut self, command: impl IntoIterator<Item = S>) -> Self {
        self.spec.command = command.into_iter().map(Into::into).collect();
        self
    }

    /// Arguments, after the command's or the image's own program.
    pub fn args<S: Into<String>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.spec.args = args.into_iter().map(Into::into).collect();
        self
    }

    /// One more environment variable. It wins over the same one from [`env_from`](Job::env_from).
    pub fn env(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.spec.env.push((key.into(), value.into()));
        self
    }

    /// Copies the environment of this component's container first.
    pub fn env_from(mut self, component: impl Into<String>) -> Self {
        self.spec.env_from_component = Some(component.into());
        self
    }

    /// How long it may run. Without one: as long as the action may.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.spec.timeout_ms = Some(durable::milliseconds(timeout));
        self
    }

    /// How often it is tried again after it failed. Without it: never.
    pub fn retries(mut self, retries: u32) -> Self {
        self.spec.retries = retries;
        self
    }

    /// Gives the Job a token for this release in `PINTLE_TOKEN`.
    pub fn api_token(mut self) -> Self {
        self.spec.api_token = true;
        self
    }

    /// A whole pod template as JSON, for what the other functions cannot say.
    pub fn pod_template_json(mut self, template: impl Into<String>) -> Self {
        self.spec.pod_template_json = Some(template.into());
        self
    }

    /// Runs it to its end.
    ///
    /// # Errors
    ///
    /// [`Error::Failed`], with the end of its output, when it fails; [`Error::TimedOut`] after its timeout; [`Error::Invalid`]
    /// when its image is no image reference; [`Error::Denied`] for an image outside the permission `jobs.images`.
    pub fn run(&self) -> Result<JobResult> {
        host::run(self.checked()?).map(JobResult::from_host).map_err(Error::from_host)
    }

    /// Starts it and returns at once; [`wait_any`] waits for its end.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] when its image is no image reference; [`Error::Denied`] for an image outside the permission
    /// `jobs.images`.
    pub fn start(&self) -> Result<JobId> {
        host::start(self.checked()?).map(JobId).map_err(Error::from_host)
    }

    fn checked(&self) -> Result<&host::JobSpec> {
        match &self.wrong_image {
            Some(error) => Err(error.clone()),
            None => Ok(&self.spec),
        }
    }
}

/// A Job that was started. It means the same after a replay, so it may be kept in [`state`](crate::state).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(String);

impl JobId {
    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<String> for JobId {
    fn from(id: String) -> Self {
        Self(id)
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// How a Job ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct JobResult {
    /// Which Job.
    pub id: JobId,
    /// Whether it did what it should.
    pub succeeded: bool,
    /// The exit code of its process, when it had one.
    pub exit_code: Option<i32>,
    /// The end of its output: whole lines, at most 200 and 64 KiB.
    pub output: String,
    /// Why it failed; empty when it succeeded.
    pub reason: String,
}

impl JobResult {
    fn from_host(host::JobResult { id, succeeded, exit_code, output, reason }: host::JobResult) -> Self {
        Self { id: JobId(id), succeeded, exit_code, output, reason }
    }
}

/// Waits for the first of these Jobs to end, whether it succeeded or failed.
///
/// # Errors
///
/// [`Error::Invalid`] for an empty list, [`Error::NotFound`] for a Job that was not started in this change.
pub fn wait_any(ids: &[JobId]) -> Result<JobResult> {
    let ids: Vec<String> = ids.iter().map(|id| id.0.clone()).collect();
    host::wait_any(&ids).map(|(_, result)| JobResult::from_host(result)).map_err(Error::from_host)
}

/// Ends a Job. Cancelling one that has ended changes nothing.
///
/// # Errors
///
/// [`Error::NotFound`] for a Job that was not started in this change.
pub fn cancel(id: &JobId) -> Result<()> {
    host::cancel(&id.0).map_err(Error::from_host)
}
