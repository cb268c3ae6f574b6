//! Content with its templates rendered: manifests, and the workloads of components.

use std::borrow::Cow;

use super::{PlanError, PlanInput, check, values};
use crate::document::driver::check_workloads;
use crate::document::template::Template;
use crate::document::{Manifest, Place, Placed, Problem, Problems};
use crate::plan::{Target, Workload};
use crate::template::{Render, RenderError, TemplateError};

pub(super) struct Content<'a> {
    pub manifests: Cow<'a, [Manifest]>,
    /// In the order of the driver's components.
    pub workloads: Vec<Workload>,
}

impl<'a> Content<'a> {
    pub(super) async fn of(input: &PlanInput<'a>, target: &Target, render: &dyn Render) -> Result<Self, PlanError> {
        let components = check::components(input);
        let mut workloads: Vec<Workload> =
            components.iter().map(|component| component.workload.value.clone()).collect();
        if !check::has_templates(input) {
            return Ok(Self { manifests: Cow::Borrowed(input.manifests), workloads });
        }
        let mut problems = Problems::default();
        let spec = &input.release.spec;
        let values = values::of_content(target, &spec.values, &spec.version);
        let names: Vec<Template> = components.iter().filter_map(|component| component.template()).map(named).collect();
        let mut all: Vec<&[Template]> = input.manifests.iter().map(|manifest| manifest.templates.as_slice()).collect();
        all.push(&names);
        let mut texts = render_each(&all, &values, render, &mut problems).await?;
        if let Some(names) = texts.pop().flatten() {
            let of_template = components.iter().zip(&mut workloads).filter(|(spec, _)| spec.template().is_some());
            of_template.zip(names).for_each(|((_, workload), name)| workload.name = name);
        }
        let rendered = input.manifests.iter().zip(texts).filter_map(|(manifest, texts)| match texts {
            Some(texts) if manifest.templates.is_empty() || texts.is_empty() => Some(manifest.clone()),
            Some(texts) => manifest.rendered(&texts, &mut problems),
            None => None,
        });
        let manifests: Vec<Manifest> = rendered.collect();
        // What could not be rendered has no name that anything could fit.
        problems.check()?;
        let mut problems = Problems::default();
        check_workloads(components.iter().zip(&workloads), &mut problems);
        check::content(input, &manifests, &workloads.iter().collect::<Vec<_>>(), &mut problems);
        problems.check()?;
        Ok(Self { manifests: Cow::Owned(manifests), workloads })
    }
}

fn named(name: &Placed<String>) -> Template {
    Template { pointer: String::new(), text: name.clone() }
}

/// The texts of each list of templates, all in one call; none, and a problem, where one of them gives no text.
pub(super) async fn render_each(
    lists: &[&[Template]],
    values: &serde_json::Value,
    render: &dyn Render,
    problems: &mut Problems,
) -> Result<Vec<Option<Vec<String>>>, RenderError> {
    let texts: Vec<&str> = lists.iter().copied().flatten().map(|template| template.text.as_str()).collect();
    let mut rendered = if texts.is_empty() { Vec::new() } else { render.render(&texts, values).await? }.into_iter();
    let mut each = Vec::new();
    for list in lists {
        let mut whole = Some(Vec::new());
        for template in *list {
            match rendered.next() {
                Some(Ok(text)) => whole.as_mut().into_iter().for_each(|texts| texts.push(text.clone())),
                Some(Err(error)) => {
                    problems.push(template_problem(&template.text, &error));
                    whole = None;
                }
                None => whole = None,
            }
        }
        each.push(whole);
    }
    Ok(each)
}

/// Where a template is wrong: within a text of several lines, its own line counts from where the text begins.
pub(super) fn template_problem(text: &Placed<String>, error: &TemplateError) -> Problem {
    let place: &Place = &text.place;
    let within = match (error.line, error.column) {
        (Some(line), Some(column)) => format!("line {line}, column {column} of the template: "),
        (Some(line), None) => format!("line {line} of the template: "),
        (None, _) => String::new(),
    };
    place.problem(format!("the template gives no text: {within}{}", error.message), "see docs/templates.md")
}
