//! Templates are not read yet: every `{{` is refused, but the application's version where the design fixes it.

use super::{Cursor, Templates};
use crate::document::image;
use crate::document::problem::{Place, Problem};
use crate::document::yaml::Value;

impl Cursor<'_> {
    pub(super) fn refuse_templates(&self, templates: Templates) {
        match &self.node.value {
            Value::Text(text) => self.refuse_template(text, templates),
            Value::List(_) => {
                for item in self.items() {
                    item.refuse_templates(templates);
                }
            }
            Value::Map(entries) => {
                for entry in entries {
                    let value = self.key(entry);
                    if entry.key.contains("{{") {
                        self.source.push(template_problem(&self.place_at(entry.at, value.path.clone())));
                    }
                    value.refuse_templates(templates);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number { .. } => {}
        }
    }

    fn refuse_template(&self, text: &str, templates: Templates) {
        if !text.contains("{{") {
            return;
        }
        if templates == Templates::VersionInImages && is_component_image(&self.path) {
            if image::image_at(text, "").contains("{{") {
                self.problem(
                    "Go templates are not yet supported",
                    "`{{ app.version }}` is the only one that can stand in the image of a component, written exactly so",
                );
            }
            return;
        }
        self.source.push(template_problem(&self.place()));
    }
}

fn template_problem(place: &Place) -> Problem {
    place.problem("Go templates are not yet supported", "write the value out")
}

/// Whether a path is `spec.components.NAME.image`.
fn is_component_image(path: &str) -> bool {
    let name = path.strip_prefix("spec.components.").and_then(|rest| rest.strip_suffix(".image"));
    name.is_some_and(|name| !name.contains(['.', '[']))
}
