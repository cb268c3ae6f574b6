//! A request that waits for its turn, whole: its files are as they were when it came, whatever becomes of those of the disk.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pintle_lifecycle::document::Problems;
use pintle_lifecycle::document::release::HookSkip;
use pintle_lifecycle::planning::Module;
use serde::{Deserialize, Serialize};

use super::Request;
use super::documents::Documents;
use super::files::{Files, Kept};
use crate::error::Error;

/// Where the document of a release came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Origin {
    File(PathBuf),
    /// From the journal.
    Text {
        shown: String,
        text: String,
    },
}

/// A request as the journal keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KeptRequest {
    tenant: String,
    origin: Origin,
    files: Kept,
    /// By file, as locations name them. They were admitted.
    modules: BTreeMap<String, Module>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    skip_hooks: Vec<HookSkip>,
    /// Where images are looked up that neither driver nor release bring.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    images: Option<PathBuf>,
}

impl Request {
    /// The request, to be planned again when its turn comes. It has no problems, and its modules are admitted.
    ///
    /// # Errors
    /// Where this process has no current folder.
    pub fn keep(&self) -> Result<KeptRequest, Error> {
        let absolute = |path: &Path| {
            std::path::absolute(path).map_err(|source| Error::Unreadable { path: path.to_owned(), source })
        };
        let origin = match &self.origin {
            Origin::File(path) => Origin::File(absolute(path)?),
            text @ Origin::Text { .. } => text.clone(),
        };
        let files = self.documents.kept.absolute();
        let files = files.map_err(|source| Error::Unreadable { path: PathBuf::from("."), source })?;
        let admitted = self.modules.iter().filter_map(|(file, module)| Some((file.clone(), module.clone().ok()?)));
        Ok(KeptRequest {
            tenant: self.tenant.clone(),
            origin,
            files,
            modules: admitted.collect(),
            skip_hooks: self.skip_hooks.clone(),
            images: self.images.clone(),
        })
    }

    /// The request as it was kept.
    #[must_use]
    pub fn of_kept(kept: KeptRequest) -> Self {
        let KeptRequest { tenant, origin, files, modules, skip_hooks, images } = kept;
        let mut problems = Problems::default();
        let files = Files::Kept(files);
        let documents = match &origin {
            Origin::File(path) => Documents::of_file(path, files, &mut problems),
            Origin::Text { shown, text } => Documents::of_text(shown, text, Path::new("/"), files, &mut problems),
        };
        let modules = modules.into_iter().map(|(file, module)| (file, Ok(module))).collect();
        Self { tenant, origin, problems, documents, modules, skip_hooks, images }
    }
}
