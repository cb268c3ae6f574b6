//! `release.yml`: one installation of a driver, or of plain content, for one tenant.

mod settings;

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use super::API_VERSION;
use super::content::Content;
use super::driver::header;
use super::lifecycle::{self, HookSpec};
use super::not_yet;
use super::problem::{Place, Placed, Problems};
use super::reader::{Cursor, Fields, Source, Templates, nearest, shortened};

pub use settings::{DeletionPolicy, HealthAssessment, HookSettings, HookSkip, ReadyWhen, Retention};

/// A release as a deployer wrote it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReleaseDocument {
    pub api_version: &'static str,
    pub kind: &'static str,
    pub metadata: ReleaseMetadata,
    pub spec: ReleaseSpec,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lifecycle: Vec<HookSpec>,
    /// The file that holds the hooks instead, relative to the folder of the document: a
    /// [`LifecycleDocument`](super::LifecycleDocument).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lifecycle_path: Option<Placed<String>>,
    /// The file as a whole.
    #[serde(skip)]
    pub place: Place,
    /// The document as it was written.
    #[serde(skip)]
    pub raw: serde_json::Value,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReleaseMetadata {
    pub name: Placed<String>,
    /// Where objects without a namespace go.
    pub namespace: Placed<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReleaseSpec {
    /// None: the caller's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    pub cluster: Placed<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver: Option<Placed<DriverSource>>,
    /// The application's version.
    pub version: Placed<String>,
    /// Without a driver: what is applied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<Content>,
    pub values: serde_json::Value,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub components: BTreeMap<String, Placed<Override>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub health_assessment: Option<HealthAssessment>,
    pub hooks: HookSettings,
    pub deletion_policy: DeletionPolicy,
    /// Whether nothing of the release is applied and no hook of it starts.
    pub hold: bool,
}

/// Which driver, and where it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DriverSource {
    pub name: Placed<String>,
    pub version: Placed<String>,
    /// The driver's folder, relative to the folder of the document.
    pub path: Placed<String>,
}

/// What a release sets of a component.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Override {
    /// `{{ app.version }}` may stand in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// On top of the manifest's.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
}

/// The cluster that every Pintle has.
const LOCAL: &str = "local";

impl ReleaseDocument {
    /// Reads the text of `file`, YAML or JSON. What could be read is returned even where there are problems; none where that is
    /// nothing.
    pub fn read(file: &str, text: &str, problems: &mut Problems) -> Option<Self> {
        let source = Source::open(file, text, Templates::Release);
        let document = source.only().and_then(|cursor| read_document(&cursor));
        source.close(problems);
        if let Some(document) = &document {
            lifecycle::check_hooks(&document.lifecycle, document.spec.driver.is_some(), problems);
        }
        document
    }

    /// The document as it is stored: the same wherever it is read from, so its paths are absolute. `folder` is the absolute folder
    /// of the file.
    #[must_use]
    pub fn stored(&self, folder: &Path) -> serde_json::Value {
        let mut raw = self.raw.clone();
        for pointer in ["/spec/driver/path", "/spec/content/manifests/path", "/lifecycle/path"] {
            if let Some(serde_json::Value::String(path)) = raw.pointer_mut(pointer) {
                *path = folder.join(&*path).to_string_lossy().into_owned();
            }
        }
        raw
    }
}

/// A stored document at another version of the application, as text to be read again.
#[must_use]
pub fn at_version(stored: &serde_json::Value, version: &str) -> String {
    let mut document = stored.clone();
    if let Some(spec) = document.get_mut("spec").and_then(serde_json::Value::as_object_mut) {
        spec.insert("version".into(), version.into());
    }
    format!("{document:#}\n")
}

fn read_document(cursor: &Cursor<'_>) -> Option<ReleaseDocument> {
    let (header, metadata, spec, hooks) = cursor.fields(|fields| {
        let header = header(fields, "Release");
        let metadata = fields.required("metadata").and_then(|cursor| read_metadata(&cursor));
        let spec = fields.required("spec").and_then(|cursor| read_spec(&cursor));
        let hooks = fields.optional("lifecycle").map(|value| lifecycle::of_release(&value));
        (header, metadata, spec, hooks.unwrap_or_default())
    })?;
    header.then_some(())?;
    let (lifecycle, lifecycle_path) = hooks;
    Some(ReleaseDocument {
        api_version: API_VERSION,
        kind: "Release",
        metadata: metadata?,
        spec: spec?,
        lifecycle,
        lifecycle_path,
        place: cursor.place(),
        raw: cursor.to_json(),
    })
}

fn read_metadata(cursor: &Cursor<'_>) -> Option<ReleaseMetadata> {
    let (name, namespace) = cursor.fields(|fields| {
        let name = fields.required("name").and_then(|value| Some(value.placed(value.label()?)));
        let namespace = match fields.optional("namespace") {
            Some(value) => value.label().map(|text| value.placed(text)),
            None => Some(fields.cursor().placed("default".to_owned())),
        };
        (name, namespace)
    })?;
    Some(ReleaseMetadata { name: name?, namespace: namespace? })
}

fn read_spec(cursor: &Cursor<'_>) -> Option<ReleaseSpec> {
    cursor.fields(|fields| {
        let tenant = fields.optional("tenant").and_then(|value| value.label());
        let cluster = fields.required("cluster").and_then(|value| read_cluster(&value));
        let (driver, content) = read_source(fields);
        let version = fields.required("version").and_then(|value| Some(value.placed(value.version()?)));
        let values = fields.optional("values").map(|value| read_values(&value));
        let components = fields.optional("components").map(|value| read_components(&value)).unwrap_or_default();
        let health = fields.optional("healthAssessment").and_then(|value| settings::read_health(&value));
        let hooks = fields.optional("hooks").and_then(|value| settings::read_hooks(&value));
        let deletion = fields.optional("deletionPolicy").and_then(|value| settings::read_deletion(&value));
        let hold = fields.optional("hold").and_then(|value| value.boolean());
        Some(ReleaseSpec {
            tenant,
            cluster: cluster?,
            driver,
            version: version?,
            content,
            values: values.unwrap_or_else(|| serde_json::Value::Object(serde_json::Map::new())),
            components,
            health_assessment: health,
            hooks: hooks.unwrap_or_default(),
            deletion_policy: deletion.unwrap_or_default(),
            hold: hold.unwrap_or_default(),
        })
    })?
}

fn read_cluster(cursor: &Cursor<'_>) -> Option<Placed<String>> {
    let name = cursor.label()?;
    if name != LOCAL {
        let cure = format!("use `{LOCAL}`, the processes of this machine");
        cursor.problem(format!("clusters other than `{LOCAL}` are not yet supported"), cure);
        return None;
    }
    Some(cursor.placed(name))
}

/// A driver or content of its own: exactly one of them.
fn read_source(fields: &Fields<'_>) -> (Option<Placed<DriverSource>>, Option<Content>) {
    let (driver, content) = (fields.optional("driver"), fields.optional("content"));
    match (&driver, &content) {
        (Some(_), Some(content)) => content.problem(
            "a release with a driver takes its content from there",
            "remove `content`, or remove `driver` to do without one",
        ),
        (None, None) => fields.cursor().problem(
            "the release has neither a driver nor content",
            "add `driver: {name: …, version: …, path: …}` or `content: {type: manifests, manifests: {path: …}}`",
        ),
        _ => {}
    }
    (driver.and_then(|value| read_driver(&value)), content.and_then(|value| Content::read(&value)))
}

fn read_driver(cursor: &Cursor<'_>) -> Option<Placed<DriverSource>> {
    let (name, version, path) = cursor.fields(|fields| {
        let name = fields.required("name").and_then(|value| Some(value.placed(value.label()?)));
        let version = fields.required("version").and_then(|value| Some(value.placed(value.version()?)));
        let path = fields.optional("path").and_then(|value| Some(value.placed(value.text()?)));
        if fields.optional("path").is_none() {
            let place = fields.cursor().place();
            let path = format!("{}.path", place.path);
            let cure = "add `path:` with the folder of the driver";
            fields.cursor().problem_at(&place.with_path(path), "drivers without a `path` are not yet supported", cure);
        }
        (name, version, path)
    })?;
    Some(cursor.placed(DriverSource { name: name?, version: version?, path: path? }))
}

fn read_values(cursor: &Cursor<'_>) -> serde_json::Value {
    if !cursor.is_map() {
        cursor.problem("the values are no map", "write `values:` with names and values");
    }
    not_yet::secret_refs(cursor);
    cursor.to_json()
}

fn read_components(cursor: &Cursor<'_>) -> BTreeMap<String, Placed<Override>> {
    let mut components = BTreeMap::new();
    for (name, value) in cursor.entries() {
        let read = value.fields(|fields| Override {
            image: fields.optional("image").and_then(|image| image.image()),
            env: fields.optional("env").map(|env| read_env(&env)).unwrap_or_default(),
        });
        if let Some(read) = read {
            components.insert(name.to_owned(), value.placed(read));
        }
    }
    components
}

/// A map of variables. A value from a secret is a map and comes later.
pub(super) fn read_env(cursor: &Cursor<'_>) -> BTreeMap<String, String> {
    let mut env = BTreeMap::new();
    for (name, value) in cursor.entries() {
        if name.is_empty() || name.contains('=') {
            value.problem(format!("`{}` is no name of a variable", shortened(name)), "use letters, digits and `_`");
        } else if value.is_map() && value.entries().iter().any(|(key, _)| *key == "secretRef") {
            not_yet::secret_refs(&value);
        } else if let Some(text) = value.text() {
            env.insert(name.to_owned(), text);
        }
    }
    env
}

impl ReleaseDocument {
    /// Refuses settings of components that `declared` does not name.
    pub fn check_components(&self, declared: &[&str], problems: &mut Problems) {
        for (name, value) in &self.spec.components {
            if declared.contains(&name.as_str()) {
                continue;
            }
            let cure = match (nearest(name, declared), &self.spec.driver) {
                (Some(name), _) => format!("did you mean `{name}`?"),
                (None, Some(_)) if !declared.is_empty() => format!("the driver has {}", declared.join(", ")),
                (None, Some(_)) => "the driver declares no components: remove it".to_owned(),
                (None, None) => "a release without a driver has no components: change the manifest".to_owned(),
            };
            problems.push(value.place.problem(format!("there is no component `{}`", shortened(name)), cure));
        }
    }
}
