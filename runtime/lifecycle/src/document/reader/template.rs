//! Where templates may stand, and the refusal of those that stand elsewhere. What a document declares is known before anything is
//! rendered; only what it runs and applies may hang on values.

use super::{Cursor, Templates};
use crate::document::image;
use crate::document::problem::Placed;
use crate::document::template::{OPEN, Template, push_step};
use crate::document::yaml::Value;

/// Fields of a hook whose strings may be templates.
const IN_HOOKS: [&str; 4] = ["jobTemplate", "podTemplate", "objects", "action.args"];

impl Templates {
    /// Whether a string at this path may be a Go template.
    fn allow(self, path: &str) -> bool {
        match self {
            Self::Refused => false,
            Self::Manifests => true,
            Self::Release | Self::Lifecycle => is_in_hook(path, "lifecycle."),
            Self::Driver => is_in_hook(path, "spec.lifecycle.") || is_workload_name(path),
        }
    }
}

impl Cursor<'_> {
    /// Whether this is a template at a place where one may stand: what it says is known when it is rendered.
    #[must_use]
    pub fn is_template(&self) -> bool {
        matches!(&self.node.value, Value::Text(text) if text.contains(OPEN)) && self.source.templates.allow(&self.path)
    }

    /// All templates in this value, by pointers from here.
    #[must_use]
    pub fn templates(&self) -> Vec<Template> {
        let mut found = Vec::new();
        self.collect(&mut String::new(), &mut found);
        found
    }

    fn collect(&self, pointer: &mut String, found: &mut Vec<Template>) {
        let mut inside = |step: &str, value: &Self| {
            let end = pointer.len();
            push_step(pointer, step);
            value.collect(pointer, found);
            pointer.truncate(end);
        };
        match &self.node.value {
            Value::Text(text) if text.contains(OPEN) => {
                let text = Placed { value: text.clone(), place: self.place() };
                found.push(Template { pointer: pointer.clone(), text });
            }
            Value::List(_) => {
                self.items().iter().enumerate().for_each(|(place, item)| inside(&place.to_string(), item));
            }
            Value::Map(entries) => entries.iter().for_each(|entry| inside(&entry.key, &self.key(entry))),
            Value::Null | Value::Bool(_) | Value::Number { .. } | Value::Text(_) => {}
        }
    }

    pub(super) fn refuse_templates(&self) {
        match &self.node.value {
            Value::Text(text) => self.refuse_template(text),
            Value::List(_) => {
                for item in self.items() {
                    item.refuse_templates();
                }
            }
            Value::Map(entries) => {
                for entry in entries {
                    let value = self.key(entry);
                    if entry.key.contains(OPEN) {
                        let place = self.place_at(entry.at, value.path.clone());
                        let cure = "write the key out: a template stands in a value";
                        self.source.push(place.problem("a key cannot be a template", cure));
                    }
                    value.refuse_templates();
                }
            }
            Value::Null | Value::Bool(_) | Value::Number { .. } => {}
        }
    }

    fn refuse_template(&self, text: &str) {
        if !text.contains(OPEN) || self.source.templates.allow(&self.path) {
            return;
        }
        let cure = if self.source.templates == Templates::Release && is_component_image(&self.path) {
            if !image::image_at(text, "").contains(OPEN) {
                return;
            }
            "`{{ app.version }}` is the only one that can stand in the image of a component, written exactly so"
        } else {
            "write the value out: templates stand in manifests and in what hooks run"
        };
        self.problem("a template cannot stand here", cure);
    }
}

/// Whether a path is inside of what a hook runs: `lifecycle.PHASE[N].jobTemplate.…`.
fn is_in_hook(path: &str, lifecycle: &str) -> bool {
    let Some((_, field)) = path.strip_prefix(lifecycle).and_then(|rest| rest.split_once("].")) else { return false };
    let rest = IN_HOOKS.iter().find_map(|known| field.strip_prefix(known));
    rest.is_some_and(|rest| rest.starts_with(['.', '[']))
}

/// Whether a path is `spec.components[N].workload.name`.
fn is_workload_name(path: &str) -> bool {
    let place = path.strip_prefix("spec.components[").and_then(|rest| rest.strip_suffix("].workload.name"));
    place.is_some_and(|place| place.bytes().all(|c| c.is_ascii_digit()))
}

/// Whether a path is `spec.components.NAME.image`.
fn is_component_image(path: &str) -> bool {
    let name = path.strip_prefix("spec.components.").and_then(|rest| rest.strip_suffix(".image"));
    name.is_some_and(|name| !name.contains(['.', '[']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_stand_in_what_runs_and_nowhere_else() {
        for (templates, path, allowed) in [
            (Templates::Release, "lifecycle.preSync[0].jobTemplate.spec.template.spec.containers[0].image", true),
            (Templates::Release, "lifecycle.preSync[0].objects[0].data[\"a b\"]", true),
            (Templates::Release, "lifecycle.preSync[12].action.args[\"a b\"]", true),
            (Templates::Release, "lifecycle.preSync[0].action.location", false),
            (Templates::Release, "lifecycle.preSync[0].name", false),
            (Templates::Release, "lifecycle.preSync[0].jobTemplates.x", false),
            (Templates::Release, "spec.lifecycle.preSync[0].jobTemplate.spec", false),
            (Templates::Release, "spec.values.a", false),
            (Templates::Driver, "spec.lifecycle.preSync[0].podTemplate.spec", true),
            (Templates::Driver, "spec.components[3].workload.name", true),
            (Templates::Driver, "spec.components[3].workload.kind", false),
            (Templates::Driver, "spec.components[3].name", false),
            (Templates::Manifests, "metadata.name", true),
            (Templates::Refused, "metadata.name", false),
        ] {
            assert_eq!(templates.allow(path), allowed, "{templates:?} {path}");
        }
    }
}
