//! `ConfigMap`s and `Secret`s that hooks see: those of the applied render, and those that hooks made, each in a file of its own.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pintle_lifecycle::json::Json;
use pintle_lifecycle::plan::Target;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::manifest::invalid;
use crate::local::Local;
use crate::local::durable::{create_dirs, list, read_json, write_json};
use crate::local::release_dir::{ReleaseDir, checked};
use crate::platform::PlatformError;

pub(super) const CONFIG_MAP: &str = "ConfigMap";
pub(super) const SECRET: &str = "Secret";
/// By these an object is of the same hook, whichever change made it.
const OF_HOOK: [&str; 2] = ["pintle.dev/hook-phase", "pintle.dev/hook-name"];

/// An object that a hook made.
#[derive(Debug, Serialize, Deserialize)]
struct Made {
    /// The effect that wrote it last.
    key: String,
    object: Json,
}

/// What an object is known by.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Id {
    kind: String,
    namespace: String,
    name: String,
}

/// The objects that a hook may take its environment from.
#[derive(Debug)]
pub(super) struct Objects {
    objects: Vec<(Id, Value)>,
}

impl Local {
    pub(in crate::local) async fn write_objects(
        &self,
        key: &str,
        target: &Target,
        objects: &[Json],
    ) -> Result<(), PlatformError> {
        let dir = self.release(target)?;
        let _held = self.locks.hold(&dir.objects()).await;
        let applied = applied(&dir, target)?;
        let mut files = Vec::new();
        // Everything that can be found wrong is found before the first is written.
        for object in objects {
            let value = object.value();
            let id = Id::of(&value, target);
            if ![CONFIG_MAP, SECRET].contains(&id.kind.as_str()) {
                let cure = "ConfigMaps and Secrets are all that it keeps";
                return Err(invalid(&format!("{id}: the local platform has no such kind: {cure}")));
            }
            data(&id, &value)?;
            if applied.iter().any(|(there, _)| *there == id) {
                return Err(PlatformError::Conflict(format!("{id} is there already: the release itself has it")));
            }
            let file = id.file(&dir)?;
            if made(&dir, &file)?.is_some_and(|there| !there.is_of(key, &value)) {
                return Err(PlatformError::Conflict(format!("{id} is there already, and another hook made it")));
            }
            files.push((file, Made { key: key.to_owned(), object: object.clone() }));
        }
        create_dirs(&dir.objects()).map_err(|error| dir.trouble(&error))?;
        files.iter().try_for_each(|(file, made)| write_json(file, made)).map_err(|error| dir.trouble(&error))
    }

    pub(in crate::local) async fn read_objects(
        &self,
        target: &Target,
        objects: &[Json],
    ) -> Result<Vec<Option<Json>>, PlatformError> {
        let dir = self.release(target)?;
        let _held = self.locks.hold(&dir.objects()).await;
        let read = |object: &Json| {
            let file = Id::of(&object.value(), target).file(&dir)?;
            Ok(made(&dir, &file)?.map(|made| made.object))
        };
        objects.iter().map(read).collect()
    }

    pub(in crate::local) async fn remove_objects(
        &self,
        key: &str,
        target: &Target,
        objects: &[Json],
    ) -> Result<(), PlatformError> {
        let dir = self.release(target)?;
        let _held = self.locks.hold(&dir.objects()).await;
        for object in objects.iter().map(Json::value) {
            let file = Id::of(&object, target).file(&dir)?;
            // One that another hook made has taken the place of one that is gone.
            if made(&dir, &file)?.is_some_and(|there| there.is_of(key, &object)) {
                match std::fs::remove_file(file) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(dir.trouble(&error)),
                    _ => {}
                }
            }
        }
        Ok(())
    }
}

impl Objects {
    /// # Errors
    /// Where a file cannot be read.
    pub(super) fn of(dir: &ReleaseDir, target: &Target) -> Result<Self, PlatformError> {
        let mut objects = applied(dir, target)?;
        for file in list(&dir.objects()).map_err(|error| dir.trouble(&error))? {
            if let Some(made) = made(dir, &dir.objects().join(file))? {
                let value = made.object.value();
                objects.push((Id::of(&value, target), value));
            }
        }
        Ok(Self { objects })
    }

    /// What is in the object of that name; none where there is none.
    ///
    /// # Errors
    /// `Invalid` where it is damaged.
    pub(super) fn data(
        &self,
        kind: &str,
        namespace: &str,
        name: &str,
    ) -> Result<Option<BTreeMap<String, String>>, PlatformError> {
        let wanted = Id { kind: kind.into(), namespace: namespace.into(), name: name.into() };
        self.objects.iter().find(|(id, _)| *id == wanted).map(|(id, value)| data(id, value)).transpose()
    }
}

impl Made {
    /// Whether the same hook makes `object` with that key.
    fn is_of(&self, key: &str, object: &Value) -> bool {
        let there = self.object.value();
        let label = |object: &Value, name: &str| object["metadata"]["labels"][name].as_str().map(str::to_owned);
        let same = |name: &str| label(&there, name).is_some_and(|value| label(object, name) == Some(value));
        self.key == key || OF_HOOK.iter().all(|name| same(name))
    }
}

impl Id {
    fn of(object: &Value, target: &Target) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let metadata = &object["metadata"];
        let namespace = metadata["namespace"].as_str().unwrap_or(&target.namespace).to_owned();
        Self { kind: text(&object["kind"]), namespace, name: text(&metadata["name"]) }
    }

    fn file(&self, dir: &ReleaseDir) -> Result<PathBuf, PlatformError> {
        let (kind, name) = (checked("kind", &self.kind)?, checked(&self.kind, &self.name)?);
        let namespace = checked("namespace", &self.namespace)?;
        Ok(dir.objects().join(format!("{kind}.{namespace}.{name}")))
    }
}

impl std::fmt::Display for Id {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.kind, self.name)
    }
}

fn applied(dir: &ReleaseDir, target: &Target) -> Result<Vec<(Id, Value)>, PlatformError> {
    let objects = dir.applied()?.map(|applied| applied.render.objects).unwrap_or_default();
    Ok(objects.iter().map(Json::value).map(|value| (Id::of(&value, target), value)).collect())
}

fn made(dir: &ReleaseDir, file: &Path) -> Result<Option<Made>, PlatformError> {
    read_json(file).map_err(|error| dir.trouble(&error))
}

/// Keys and values; what is no text, as `binaryData` of a `ConfigMap`, is left out.
fn data(id: &Id, object: &Value) -> Result<BTreeMap<String, String>, PlatformError> {
    let map = |field: &str| -> Result<BTreeMap<String, String>, PlatformError> {
        let value = object.get(field).filter(|value| !value.is_null()).cloned();
        let read = value.map(serde_json::from_value).transpose();
        read.map(Option::unwrap_or_default).map_err(|error| invalid(&format!("{id}: {field}: {error}")))
    };
    if id.kind != SECRET {
        return map("data");
    }
    let mut all = BTreeMap::new();
    for (key, value) in map("data")? {
        let broken = |_| invalid(&format!("{id}: data.{key} is no base64"));
        if let Ok(text) = String::from_utf8(STANDARD.decode(value).map_err(broken)?) {
            all.insert(key, text);
        }
    }
    all.extend(map("stringData")?);
    Ok(all)
}
