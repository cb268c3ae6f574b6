//! `driver.yml`: an application's components, content, actions and the permissions that they ask for.

mod action;
mod component;
mod permissions;

use serde::Serialize;

pub(super) use action::{ATTEMPTS_MAX, HOOKS, MODES, ON_FAILURE, read_location, read_on_failure};
pub use action::{ActionSpec, HookName, Location, ModeName};
pub use component::{ComponentSpec, check_workloads};

use super::API_VERSION;
use super::content::{self, Content};
use super::lifecycle::{self, HookSpec};
use super::problem::{Place, Placed, Problems};
use super::reader::{Cursor, Fields, Source, Templates, shortened};
use crate::grant::Permissions;
use crate::hook::HookSource;

/// A driver as its author wrote it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DriverDocument {
    pub api_version: &'static str,
    pub kind: &'static str,
    pub metadata: DriverMetadata,
    pub spec: DriverSpec,
    /// The file as a whole.
    #[serde(skip)]
    pub place: Place,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DriverMetadata {
    pub name: Placed<String>,
    pub version: Placed<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DriverSpec {
    pub components: Vec<ComponentSpec>,
    /// None only where the document has problems.
    pub content: Option<Content>,
    pub actions: Vec<ActionSpec>,
    pub permissions: Permissions,
    /// Hooks that every release of the driver gets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lifecycle: Vec<HookSpec>,
}

impl DriverDocument {
    /// Reads the text of `file`. What could be read is returned even where there are problems; none where that is nothing.
    pub fn read(file: &str, text: &str, problems: &mut Problems) -> Option<Self> {
        let source = Source::open(file, text, Templates::Driver);
        let document = source.only().and_then(|cursor| read_document(&cursor));
        source.close(problems);
        if let Some(document) = &document {
            lifecycle::check_names(&document.spec.lifecycle, problems);
        }
        document
    }

    /// The actions of a mode, in the order in which they run.
    pub fn actions_of(&self, hook: HookName, mode: Option<ModeName>) -> impl Iterator<Item = &ActionSpec> {
        self.spec.actions.iter().filter(move |action| action.hook == hook && action.mode == mode)
    }

    /// Where the actions are, those of its hooks last.
    pub fn locations(&self) -> impl Iterator<Item = &Placed<Location>> {
        self.spec.actions.iter().map(|action| &action.location).chain(lifecycle::locations(&self.spec.lifecycle))
    }

    /// Files of the modules that actions are in, each once.
    #[must_use]
    pub fn modules(&self) -> Vec<&str> {
        let mut files: Vec<&str> = self.locations().map(|location| location.file.as_str()).collect();
        files.sort_unstable();
        files.dedup();
        files
    }
}

fn read_document(cursor: &Cursor<'_>) -> Option<DriverDocument> {
    let (header, metadata, spec) = cursor.fields(|fields| {
        let header = header(fields, "Driver");
        let metadata = fields.required("metadata").and_then(|cursor| read_metadata(&cursor));
        let spec = fields.required("spec").and_then(|cursor| read_spec(&cursor));
        (header, metadata, spec)
    })?;
    header.then_some(())?;
    Some(DriverDocument {
        api_version: API_VERSION,
        kind: "Driver",
        metadata: metadata?,
        spec: spec?,
        place: cursor.place(),
    })
}

/// Reads `apiVersion` and `kind`; whether they are what this reader reads.
pub(super) fn header(fields: &Fields<'_>, kind: &str) -> bool {
    let fits = |name: &'static str, expected: &str| {
        let Some(value) = fields.required(name) else { return false };
        let fits = value.checked_text(|text| {
            if text == expected {
                return Ok(());
            }
            let message = format!("`{}` is not what this file has to be", shortened(text));
            Err((message, format!("write `{name}: {expected}`")))
        });
        fits.is_some()
    };
    let version = fits("apiVersion", API_VERSION);
    fits("kind", kind) && version
}

fn read_metadata(cursor: &Cursor<'_>) -> Option<DriverMetadata> {
    let (name, version) = cursor.fields(|fields| {
        let name = fields.required("name").and_then(|value| Some(value.placed(value.label()?)));
        let version = fields.required("version").and_then(|value| Some(value.placed(value.version()?)));
        (name, version)
    })?;
    Some(DriverMetadata { name: name?, version: version? })
}

fn read_spec(cursor: &Cursor<'_>) -> Option<DriverSpec> {
    cursor.fields(|fields| {
        let components = fields.optional("components").map(|list| component::read(&list)).unwrap_or_default();
        let content = fields.required("content").and_then(|value| read_content(&value));
        let actions = fields.optional("actions").map(|list| action::read(&list)).unwrap_or_default();
        let permissions = fields.optional("permissions");
        let permissions = permissions.and_then(|value| permissions::read(&value, &components.declared));
        let hooks = fields.optional("lifecycle").map(|value| lifecycle::phases(&value, HookSource::Driver));
        DriverSpec {
            components: components.whole,
            content,
            actions,
            permissions: permissions.unwrap_or_default(),
            lifecycle: hooks.unwrap_or_default(),
        }
    })
}

fn read_content(cursor: &Cursor<'_>) -> Option<Content> {
    let content = Content::read(cursor)?;
    let path = content.path();
    if !content::is_inside(path) {
        let message = format!("`{}` leaves the folder of the driver", shortened(path));
        cursor.problem_at(&path.place, message, "a driver holds all of its files: name a path inside its folder");
    }
    Some(content)
}
