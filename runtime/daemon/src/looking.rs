//! A sandbox that only looks at modules, and leaves nothing behind: for `pintle plan` and `pintle action inspect`.

use pintle_sandbox::{Sandbox, SandboxConfig};
use tempfile::TempDir;

use crate::embedded::sandbox_config;
use crate::error::Error;
use crate::state_dir::StateDir;

/// A sandbox to look with.
pub struct Looking {
    sandbox: Sandbox,
    /// Where it keeps what it must keep, until it is dropped.
    _scratch: Option<TempDir>,
}

impl Looking {
    /// Uses the code that a Pintle with this state has compiled already, if there is one.
    ///
    /// # Errors
    /// Where there is no place for temporary files, or the engine does not start.
    pub fn with(state: &StateDir) -> Result<Self, Error> {
        if state.cache().is_dir() && state.modules().is_dir() {
            // Its folder may be read-only to this user: then it is as if there were none.
            if let Ok(sandbox) = Sandbox::new(sandbox_config(state)) {
                return Ok(Self { sandbox, _scratch: None });
            }
        }
        Self::apart()
    }

    /// Has no state at all.
    ///
    /// # Errors
    /// As [`Looking::with`].
    pub fn apart() -> Result<Self, Error> {
        let scratch = tempfile::Builder::new().prefix("pintle-").tempdir();
        let scratch = scratch.map_err(|source| Error::Unwritable { path: std::env::temp_dir(), source })?;
        let config = SandboxConfig { instances: 1, ..SandboxConfig::new(scratch.path()) };
        Ok(Self { sandbox: Sandbox::new(config)?, _scratch: Some(scratch) })
    }

    #[must_use]
    pub fn sandbox(&self) -> &Sandbox {
        &self.sandbox
    }
}
