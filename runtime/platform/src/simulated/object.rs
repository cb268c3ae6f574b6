//! Objects that hooks put into a simulated world. They stay when the release is removed.

use std::fmt;

use pintle_lifecycle::json::Json;
use pintle_lifecycle::plan::Target;
use serde_json::Value;

use super::effect::effect;
use super::{Method, Release, State, World};
use crate::platform::PlatformError;

/// What an object is found by.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectId {
    pub kind: String,
    pub namespace: String,
    pub name: String,
}

/// Who made an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Maker {
    Hook {
        release: String,
        phase: String,
        hook: String,
    },
    /// Nobody that Pintle knows.
    Stranger,
}

impl ObjectId {
    fn new(object: &Value, namespace: &str) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let metadata = &object["metadata"];
        Self {
            kind: text(&object["kind"]),
            namespace: metadata["namespace"].as_str().unwrap_or(namespace).to_owned(),
            name: text(&metadata["name"]),
        }
    }
}

impl Maker {
    /// The hook in the labels of an object.
    fn of(object: &Value, target: &Target) -> Self {
        let label = |key: &str| object["metadata"]["labels"][key].as_str().unwrap_or_default().to_owned();
        Self::Hook {
            release: target.uid.clone(),
            phase: label("pintle.dev/hook-phase"),
            hook: label("pintle.dev/hook-name"),
        }
    }
}

impl World {
    /// Lets an object be there that nobody knows who made.
    pub fn put_stranger(&self, object: &Value) {
        self.state().makers.insert(ObjectId::new(object, "default"), Maker::Stranger);
    }
}

impl World {
    pub(super) fn find_objects(&self, target: &Target, objects: &[Json]) -> Vec<Option<Json>> {
        let state = self.state();
        let there = state.releases.get(&target.uid).map(|release| &release.hook_objects);
        let find = |(id, _): (ObjectId, Value)| there.and_then(|there| there.get(&id)).map(Json::from);
        read(target, objects).into_iter().map(find).collect()
    }
}

impl State {
    pub(super) fn put_objects(
        &mut self,
        key: &str,
        target: &Target,
        objects: &[Json],
        whole: bool,
    ) -> Result<(), PlatformError> {
        let objects = read(target, objects);
        for (id, object) in &objects {
            let conflict = match self.makers.get(id) {
                Some(maker) => *maker != Maker::of(object, target),
                None => self.releases.get(&target.uid).is_some_and(|release| release.applies(id, target)),
            };
            if conflict {
                return Err(PlatformError::Conflict(format!("{id} is there and was not made by the hook")));
            }
        }
        let there = self.releases.get(&target.uid).map(|release| &release.hook_objects);
        let changes = objects.iter().any(|(id, object)| there.and_then(|there| there.get(id)) != Some(object));
        self.effects.count(effect(key, Method::PutObjects, names(&objects)), changes, whole);
        for (id, object) in part(objects, whole) {
            self.makers.insert(id.clone(), Maker::of(&object, target));
            self.release(target).hook_objects.insert(id, object);
        }
        Ok(())
    }

    pub(super) fn delete_objects(&mut self, key: &str, target: &Target, objects: &[Json], whole: bool) {
        let objects = read(target, objects);
        let ours = |state: &Self, id: &ObjectId, object: &Value| {
            state.makers.get(id).is_some_and(|maker| *maker == Maker::of(object, target))
        };
        let changes = objects.iter().any(|(id, object)| ours(self, id, object));
        self.effects.count(effect(key, Method::DeleteObjects, names(&objects)), changes, whole);
        for (id, object) in part(objects, whole) {
            if ours(self, &id, &object) {
                self.makers.remove(&id);
                self.release(target).hook_objects.remove(&id);
            }
        }
        if self.releases.get(&target.uid).is_some_and(|release| release.is_removed() && release.hook_objects.is_empty())
        {
            self.releases.remove(&target.uid);
        }
    }

    /// Removes a release but for what its hooks put. Whether anything was there.
    pub(super) fn remove_release(&mut self, target: &Target, whole: bool) -> bool {
        let Some(release) = self.releases.get_mut(&target.uid).filter(|release| !release.is_removed()) else {
            return false;
        };
        if whole {
            let hook_objects = std::mem::take(&mut release.hook_objects);
            if hook_objects.is_empty() {
                self.releases.remove(&target.uid);
            } else {
                *release = Release { hook_objects, ..Release::new(&target.release) };
            }
        }
        true
    }
}

impl Release {
    /// Whether nothing is left of it but what its hooks put.
    fn is_removed(&self) -> bool {
        self.applied.is_none() && self.workloads.is_empty() && self.jobs.is_empty() && self.objects.is_empty()
    }

    fn applies(&self, id: &ObjectId, target: &Target) -> bool {
        self.objects.iter().any(|object| ObjectId::new(object, &target.namespace) == *id)
    }
}

fn read(target: &Target, objects: &[Json]) -> Vec<(ObjectId, Value)> {
    let read = |object: &Json| {
        let object = object.value();
        (ObjectId::new(&object, &target.namespace), object)
    };
    objects.iter().map(read).collect()
}

/// All of them, or the first half.
fn part(objects: Vec<(ObjectId, Value)>, whole: bool) -> impl Iterator<Item = (ObjectId, Value)> {
    let count = if whole { objects.len() } else { objects.len() / 2 };
    objects.into_iter().take(count)
}

fn names(objects: &[(ObjectId, Value)]) -> String {
    objects.iter().map(|(id, _)| id.to_string()).collect::<Vec<_>>().join(", ")
}

/// `ConfigMap default/settings`
impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}/{}", self.kind, self.namespace, self.name)
    }
}
