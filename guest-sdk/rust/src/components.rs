//! The named parts of the release that can be stopped and started.

use std::time::Duration;

use crate::imports::components as host;
use crate::{Error, Image, Result, durable};

/// How many replicas of a component there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Status {
    /// Replicas asked for; 0 while stopped.
    pub desired: u32,
    /// Replicas that exist.
    pub running: u32,
    /// Replicas that are ready.
    pub ready: u32,
}

/// Scales to zero and waits until every process or Pod is gone. Stopping what is stopped changes nothing. The components stay
/// stopped through the syncs of this change until [`start`].
///
/// # Errors
///
/// [`Error::NotFound`] for a name that the driver does not declare, [`Error::Denied`] without the permission
/// `components.stop`.
pub fn stop<N: AsRef<str>>(names: impl IntoIterator<Item = N>) -> Result<()> {
    host::stop(&owned(names)).map_err(Error::from_host)
}

/// Scales back to what the render sets, else to the count before the first stop, and waits until ready.
///
/// # Errors
///
/// [`Error::NotFound`] for a name that the driver does not declare, [`Error::Denied`] without the permission
/// `components.start`, [`Error::Failed`] when a component does not get ready.
pub fn start<N: AsRef<str>>(names: impl IntoIterator<Item = N>) -> Result<()> {
    host::start(&owned(names)).map_err(Error::from_host)
}

/// The images of a component's regular containers, the component's own container first. There is at least one.
///
/// # Errors
///
/// [`Error::NotFound`] for a name that the driver does not declare, [`Error::Denied`] without the permission
/// `components.images`, [`Error::Invalid`] when a container's image is no image reference.
pub fn images(name: &str) -> Result<Vec<Image>> {
    let images = host::images(name).map_err(Error::from_host)?;
    if images.is_empty() {
        return Err(Error::NotFound(["the component `", name, "` has no container"].concat()));
    }
    images.iter().map(|image| image.parse().map_err(Error::from_image)).collect()
}

/// How many replicas there are now.
///
/// # Errors
///
/// [`Error::NotFound`] for a name that the driver does not declare.
pub fn status(name: &str) -> Result<Status> {
    let host::ComponentStatus { desired, running, ready } = host::status(name).map_err(Error::from_host)?;
    Ok(Status { desired, running, ready })
}

/// Waits until all replicas that are asked for are ready.
///
/// # Errors
///
/// [`Error::TimedOut`] after `timeout`, [`Error::NotFound`] for a name that the driver does not declare.
pub fn wait_ready<N: AsRef<str>>(names: impl IntoIterator<Item = N>, timeout: Duration) -> Result<()> {
    host::wait_ready(&owned(names), durable::milliseconds(timeout)).map_err(Error::from_host)
}

fn owned<N: AsRef<str>>(names: impl IntoIterator<Item = N>) -> Vec<String> {
    names.into_iter().map(|name| name.as_ref().to_owned()).collect()
}
