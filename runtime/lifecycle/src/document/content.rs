//! `content` of a driver or release: where its manifests are.

use serde::Serialize;

use super::problem::Placed;
use super::reader::Cursor;

/// What is applied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Content {
    Manifests { manifests: ManifestsContent },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ManifestsContent {
    /// A file or folder, relative to the folder of the document.
    pub path: Placed<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Type {
    Manifests,
    Helm,
}

impl Content {
    /// The file or folder of manifests, relative to the folder of the document.
    #[must_use]
    pub fn path(&self) -> &Placed<String> {
        let Self::Manifests { manifests } = self;
        &manifests.path
    }

    pub(super) fn read(cursor: &Cursor<'_>) -> Option<Self> {
        let (kind, manifests, helm) =
            cursor.fields(|fields| (fields.required("type"), fields.optional("manifests"), fields.optional("helm")))?;
        let kind = kind?;
        match kind.word(&[("manifests", Type::Manifests), ("helm", Type::Helm)])? {
            Type::Helm => {
                kind.problem("content of type helm is not yet supported", "use `type: manifests`");
                None
            }
            Type::Manifests => {
                if let Some(helm) = helm {
                    helm.problem("`helm` does not belong to content of type manifests", "remove it");
                }
                let Some(manifests) = manifests else {
                    cursor.problem("the field `manifests` is missing", "add `manifests: {path: …}`");
                    return None;
                };
                let path = manifests.fields(|fields| fields.required("path"))??;
                let text = path.text().filter(|text| is_path(&path, text))?;
                Some(Self::Manifests { manifests: ManifestsContent { path: path.placed(text) } })
            }
        }
    }
}

fn is_path(cursor: &Cursor<'_>, text: &str) -> bool {
    if text.is_empty() {
        cursor.problem("the path is empty", "name a file or folder, as in ./manifests");
    }
    !text.is_empty()
}

/// Whether a path stays inside the folder that it is relative to, so that a package can be moved as a whole.
pub(super) fn is_inside(path: &str) -> bool {
    !path.starts_with('/') && !path.split('/').any(|part| part == "..")
}
