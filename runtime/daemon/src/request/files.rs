//! The files that a request is made of: those of the disk, or the same as they were when the request was kept for its turn.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::input_file;

/// Endings of files that hold manifests.
pub(super) const MANIFESTS: [&str; 3] = ["yml", "yaml", "json"];

/// Texts and lists of files, by their paths.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Kept {
    texts: BTreeMap<PathBuf, String>,
    /// The files of a path that names manifests.
    manifests: BTreeMap<PathBuf, Vec<PathBuf>>,
}

/// Where files come from.
#[derive(Debug)]
pub(super) enum Files {
    /// What was read is kept.
    Disk(RefCell<Kept>),
    Kept(Kept),
}

impl Kept {
    /// The same with absolute paths, so that they mean the same wherever they are read.
    ///
    /// # Errors
    /// Where this process has no current folder.
    pub fn absolute(&self) -> io::Result<Self> {
        let mut kept = Self::default();
        for (path, text) in &self.texts {
            kept.texts.insert(std::path::absolute(path)?, text.clone());
        }
        for (path, files) in &self.manifests {
            let files = files.iter().map(std::path::absolute).collect::<io::Result<_>>()?;
            kept.manifests.insert(std::path::absolute(path)?, files);
        }
        Ok(kept)
    }
}

impl Files {
    pub fn disk() -> Self {
        Self::Disk(RefCell::default())
    }

    /// What was read.
    pub fn into_kept(self) -> Kept {
        match self {
            Self::Disk(kept) => kept.into_inner(),
            Self::Kept(kept) => kept,
        }
    }

    pub fn text(&self, path: &Path) -> io::Result<String> {
        match self {
            Self::Disk(kept) => {
                let text = input_file::read_text(path)?;
                kept.borrow_mut().texts.insert(path.to_owned(), text.clone());
                Ok(text)
            }
            Self::Kept(kept) => kept.texts.get(path).cloned().ok_or_else(not_kept),
        }
    }

    /// The file, or the files of the folder in the order of their names.
    pub fn manifests(&self, path: &Path) -> io::Result<Vec<PathBuf>> {
        match self {
            Self::Disk(kept) => {
                let files = manifest_files(path)?;
                kept.borrow_mut().manifests.insert(path.to_owned(), files.clone());
                Ok(files)
            }
            Self::Kept(kept) => kept.manifests.get(path).cloned().ok_or_else(not_kept),
        }
    }

    /// The bytes of a module; none where it was admitted when the request was kept.
    pub fn module(&self, path: &Path) -> io::Result<Option<Vec<u8>>> {
        match self {
            Self::Disk(_) => input_file::read(path, input_file::MODULE).map(Some),
            Self::Kept(_) => Ok(None),
        }
    }

    /// Where a path leads, where that is not below the folder. What is not there is told by whoever reads it.
    pub fn outside(&self, path: &Path, folder: &Path) -> Option<PathBuf> {
        let Self::Disk(_) = self else { return None };
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let (real, whole) = (fs::canonicalize(path).ok()?, fs::canonicalize(folder).ok()?);
        (!real.starts_with(whole)).then_some(real)
    }
}

fn manifest_files(path: &Path) -> io::Result<Vec<PathBuf>> {
    if !fs::metadata(path)?.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    files.retain(|file| file.extension().is_some_and(|end| MANIFESTS.iter().any(|known| end == *known)));
    files.sort();
    Ok(files)
}

fn not_kept() -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, "it was not kept")
}
