//! Where an embedded Pintle keeps what it has: one folder, private to its user.

use std::path::{Path, PathBuf};

use crate::error::Error;

/// The folder of the store, the modules and the running processes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateDir(PathBuf);

impl StateDir {
    /// The folder at `path`, which need not be there yet.
    ///
    /// # Errors
    /// Where the working directory is unknown, so that a relative path means nothing.
    pub fn at(path: &Path) -> Result<Self, Error> {
        let absolute = std::path::absolute(path);
        Ok(Self(absolute.map_err(|source| Error::Unreadable { path: path.to_owned(), source })?))
    }

    /// The folder of the user who runs this: `$XDG_STATE_HOME/pintle`, else `~/.local/state/pintle`.
    ///
    /// # Errors
    /// Where the environment names no home.
    pub fn of_user() -> Result<Self, Error> {
        // A relative path is to be ignored, says the XDG base directory specification.
        let folder = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let state = folder("XDG_STATE_HOME").or_else(|| Some(folder("HOME")?.join(".local/state")));
        match state {
            Some(state) => Ok(Self(state.join("pintle"))),
            None => Err(Error::Usage {
                what: "neither HOME nor XDG_STATE_HOME says where the state is".to_owned(),
                cure: "name a folder with --state or PINTLE_STATE".to_owned(),
            }),
        }
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Bytes that may still be written to its file system; none where that does not tell.
    #[must_use]
    pub fn free(&self) -> Option<u64> {
        let there = self.0.ancestors().find(|path| path.exists())?;
        let stat = rustix::fs::statvfs(there).ok()?;
        Some(stat.f_bavail.saturating_mul(stat.f_frsize))
    }

    /// Modules by their sha256.
    #[must_use]
    pub fn modules(&self) -> PathBuf {
        self.0.join("modules")
    }

    /// Compiled code, which can be made again.
    #[must_use]
    pub fn cache(&self) -> PathBuf {
        self.0.join("cache")
    }

    /// Processes of the local platform.
    #[must_use]
    pub fn run(&self) -> PathBuf {
        self.0.join("run")
    }
}
