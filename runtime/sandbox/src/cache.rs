//! Compiled code on disk: one directory for each engine and build, in which each module has its code and what is known of it.
//! Code is only trusted if its sha256 is the one that was written beside it.

use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};

use pintle_lifecycle::digest;
use serde::{Deserialize, Serialize};
use wasmtime::component::Component;
use wasmtime::{Engine, Module};

use crate::module::ActionInfo;
use crate::private_file::{self, FileError};

/// Changes when what is kept here changes.
const FORMAT: u32 = 1;

/// The code of one engine.
#[derive(Debug, Clone)]
pub(crate) struct Cache {
    dir: PathBuf,
}

/// What is known of a module beside its code.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Known {
    /// sha256 of the code.
    pub code: String,
    pub wit: String,
    pub calls: Vec<String>,
    pub actions: Vec<ActionInfo>,
}

/// What the code is: a component with actions, or a module of our own.
pub(crate) trait Code: Sized {
    /// Maps the code from its file, so that instances share its pages.
    fn map(engine: &Engine, path: &Path) -> wasmtime::Result<Self>;
}

impl Code for Component {
    fn map(engine: &Engine, path: &Path) -> wasmtime::Result<Self> {
        #[expect(
            unsafe_code,
            reason = "wasmtime trusts compiled code as it trusts itself; there is no checked way to load it"
        )]
        // SAFETY: the file lies in a directory that only this user can write, and has what `precompile_component` gave: it was
        // just written, or has the sha256 that was written beside it.
        unsafe {
            Self::deserialize_file(engine, path)
        }
    }
}

impl Code for Module {
    fn map(engine: &Engine, path: &Path) -> wasmtime::Result<Self> {
        #[expect(
            unsafe_code,
            reason = "wasmtime trusts compiled code as it trusts itself; there is no checked way to load it"
        )]
        // SAFETY: as for components, of what `precompile_module` gave.
        unsafe {
            Self::deserialize_file(engine, path)
        }
    }
}

impl Known {
    /// Nothing but the code, of this sha256.
    pub(crate) fn code_alone(code: String) -> Self {
        Self { code, wit: String::new(), calls: Vec::new(), actions: Vec::new() }
    }
}

impl Cache {
    /// Opens the directory of this engine and removes those of others, whose code is of no use any more.
    pub(crate) fn open(dir: &Path, engine: &Engine) -> Result<Self, FileError> {
        private_file::private_dir(dir)?;
        let key = key(engine);
        for entry in dir.read_dir().map_err(|e| FileError::new("read", dir, e))?.flatten() {
            let name = entry.file_name();
            let of_an_engine =
                name.to_str().is_some_and(|name| name.len() == key.len() && digest::unhex(name).is_some());
            if of_an_engine && name.to_str() != Some(&key) {
                // Another version of Pintle may be using it and compiles again then.
                drop(std::fs::remove_dir_all(entry.path()));
            }
        }
        let dir = dir.join(key);
        private_file::private_dir(&dir)?;
        Ok(Self { dir })
    }

    fn code_path(&self, digest: &str) -> PathBuf {
        self.dir.join(format!("{digest}.cwasm"))
    }

    fn known_path(&self, digest: &str) -> PathBuf {
        self.dir.join(format!("{digest}.json"))
    }

    /// The code of a module; none where there is none or it is not what was written.
    pub(crate) fn load<C: Code>(&self, engine: &Engine, digest: &str) -> Result<Option<(C, Known)>, FileError> {
        let path = self.code_path(digest);
        for folder in [&path, &self.known_path(digest)].into_iter().filter(|path| path.is_dir()) {
            tracing::warn!(path = %folder.display(), "a folder is in the place of compiled code; it is removed");
            std::fs::remove_dir_all(folder).map_err(|error| FileError::new("remove", folder, error))?;
        }
        let known = private_file::read(&self.known_path(digest))?;
        let Some(known) = known.and_then(|bytes| serde_json::from_slice::<Known>(&bytes).ok()) else {
            return Ok(None);
        };
        let Some(code) = private_file::read(&path)? else { return Ok(None) };
        if digest::sha256(&code) != known.code {
            tracing::warn!(path = %path.display(), "the compiled code was changed; the module is compiled again");
            return Ok(None);
        }
        drop(code);
        match C::map(engine, &path) {
            Ok(code) => Ok(Some((code, known))),
            Err(error) => {
                tracing::warn!(path = %path.display(), error = format!("{error:#}"), "the compiled code does not load");
                Ok(None)
            }
        }
    }

    /// Keeps the code of a module.
    pub(crate) fn put_code(&self, digest: &str, code: &[u8]) -> Result<Unproven, FileError> {
        let (code_path, known_path) = (self.code_path(digest), self.known_path(digest));
        private_file::write(&code_path, code)?;
        Ok(Unproven { sha256: digest::sha256(code), code_path, known_path, proven: false })
    }
}

/// Code of a module that may still turn out to be none that we run. Its file is removed with this, unless something is known of the
/// module: refused modules must not fill the disk.
#[derive(Debug)]
pub(crate) struct Unproven {
    pub(crate) sha256: String,
    code_path: PathBuf,
    known_path: PathBuf,
    proven: bool,
}

impl Unproven {
    pub(crate) fn load<C: Code>(&self, engine: &Engine) -> wasmtime::Result<C> {
        C::map(engine, &self.code_path)
    }

    /// Keeps what is known of the module. The code counts from now on.
    pub(crate) fn keep(mut self, known: &Known) -> Result<(), FileError> {
        let json = serde_json::to_vec(known).expect("its fields are strings, lists and booleans");
        private_file::write(&self.known_path, &json)?;
        self.proven = true;
        Ok(())
    }
}

impl Drop for Unproven {
    fn drop(&mut self) {
        if !self.proven {
            // What maps the file keeps what it maps. Someone else may be quicker.
            drop(std::fs::remove_file(&self.code_path));
        }
    }
}

/// Tells engines and builds apart: 16 hex digits. wasmtime itself would load code that was compiled without canonical NaNs.
fn key(engine: &Engine) -> String {
    struct Bytes(Vec<u8>);
    impl Hasher for Bytes {
        fn write(&mut self, bytes: &[u8]) {
            self.0.extend_from_slice(bytes);
        }
        fn finish(&self) -> u64 {
            0
        }
    }
    let mut bytes = Bytes(Vec::new());
    engine.precompile_compatibility_hash().hash(&mut bytes);
    (FORMAT, env!("CARGO_PKG_VERSION")).hash(&mut bytes);
    digest::short(&bytes.0)
}
