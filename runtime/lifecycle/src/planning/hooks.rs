//! Hooks of a change: which of them run, and what they run with every template rendered.

use serde_json::Value;

use super::content::{render_each, template_problem};
use super::{Module, PlanError};
use crate::condition::Condition;
use crate::document::Problems;
use crate::document::lifecycle::{HookSpec, WorkSpec};
use crate::document::release::HookSkip;
use crate::document::template::templates_in;
use crate::hook::{DeclaredHook, Hook, HookPhase, HookWork, OnTimeout, in_order};
use crate::ids::StepId;
use crate::json::Json;
use crate::plan::{ActionPlan, ChangeKind, OnFailure, Retry};
use crate::template::{Render, RenderError, TemplateError};

/// Whoever leaves hooks out.
#[derive(Debug, Clone, Copy, Default)]
pub struct Skips<'a> {
    /// `spec.hooks.skip` of the release.
    pub release: &'a [HookSkip],
    /// Asked for with the change alone: `--skip-hooks`.
    pub asked: &'a [HookSkip],
}

impl Skips<'_> {
    /// A hook that is named must be there: a name with a mistake in it would let run what shall not.
    pub(super) fn check(&self, declared: &[DeclaredHook]) -> Result<(), PlanError> {
        let fits_none = |skip: &&HookSkip| !declared.iter().any(|declared| skip.fits(&declared.hook));
        match self.asked.iter().filter(|skip| skip.name.is_some()).find(fits_none) {
            Some(skip) => Err(PlanError::NoHook(skip.clone())),
            None => Ok(()),
        }
    }
}

/// The hooks that documents declare, with all templates read.
pub(super) struct Specs<'a> {
    pub specs: Vec<&'a HookSpec>,
    pub declared: Vec<DeclaredHook>,
}

impl<'a> Specs<'a> {
    /// `module` gives the module in a file of the driver.
    pub(super) fn of(specs: Vec<&'a HookSpec>, namespace: &str, module: impl Fn(&str) -> Option<&'a Module>) -> Self {
        let (specs, declared) = specs
            .into_iter()
            .filter_map(|spec| Some((spec, declared(spec, work(spec, spec.work.clone(), namespace, &module)?))))
            .unzip();
        Self { specs, declared }
    }

    /// The hooks of a change of that kind. Templates that are not rendered now are read all the same.
    pub(super) async fn open(
        &self,
        kind: ChangeKind,
        skips: Skips<'_>,
        values: &Value,
        render: &dyn Render,
        problems: &mut Problems,
    ) -> Result<Vec<Hook>, RenderError> {
        let chosen = self.declared.iter().map(|declared| choose(declared, kind, skips, values));
        let chosen: Vec<Option<Hook>> = chosen.collect();
        let is_rendered = |place: &usize| matches!(&chosen[*place], Some(Hook { skip: None, .. }));
        let (rendered, read): (Vec<usize>, Vec<usize>) = (0..self.specs.len()).partition(is_rendered);
        self.check(&read, render, problems).await?;
        let texts = self.texts(&rendered, values, render, problems).await?;
        let mut hooks = chosen;
        for (place, texts) in rendered.into_iter().zip(texts) {
            let (spec, Some(hook)) = (self.specs[place], &mut hooks[place]) else { continue };
            let Some(texts) = texts.filter(|_| !spec.templates.is_empty()) else { continue };
            put_rendered(&mut hook.work, spec.rendered(&texts, problems));
        }
        Ok(in_order(hooks.into_iter().flatten().collect()))
    }

    async fn check(&self, places: &[usize], render: &dyn Render, problems: &mut Problems) -> Result<(), RenderError> {
        let templates: Vec<_> = places.iter().flat_map(|place| &self.specs[*place].templates).collect();
        if templates.is_empty() {
            return Ok(());
        }
        let texts: Vec<&str> = templates.iter().map(|template| template.text.as_str()).collect();
        for (template, checked) in templates.iter().zip(render.check(&texts).await?) {
            if let Err(error) = checked {
                problems.push(template_problem(&template.text, &error));
            }
        }
        Ok(())
    }

    /// The texts of each hook's templates; none where one of them has a problem.
    async fn texts(
        &self,
        places: &[usize],
        values: &Value,
        render: &dyn Render,
        problems: &mut Problems,
    ) -> Result<Vec<Option<Vec<String>>>, RenderError> {
        let each = places.iter().map(|place| self.specs[*place].templates.as_slice());
        let all: Vec<&[_]> = each.collect();
        render_each(&all, values, render, problems).await
    }
}

/// The hooks of a change that is made from an earlier plan: no document is at hand.
///
/// # Errors
/// Where a template gives no text, with the hook's name.
pub(super) async fn reopen(
    declared: &[DeclaredHook],
    kind: ChangeKind,
    skips: Skips<'_>,
    values: &Value,
    render: &dyn Render,
) -> Result<Vec<Hook>, PlanError> {
    let mut hooks: Vec<Hook> = declared.iter().filter_map(|declared| choose(declared, kind, skips, values)).collect();
    let mut all: Vec<(usize, String, String)> = Vec::new();
    for (place, hook) in hooks.iter().enumerate().filter(|(_, hook)| hook.skip.is_none()) {
        all.extend(templates_in(&json_of(&hook.work)).into_iter().map(|(pointer, text)| (place, pointer, text)));
    }
    if !all.is_empty() {
        let texts: Vec<&str> = all.iter().map(|(_, _, text)| text.as_str()).collect();
        let rendered = render.render(&texts, values).await?;
        let mut works: Vec<Value> = hooks.iter().map(|hook| json_of(&hook.work)).collect();
        for ((place, pointer, _), text) in all.iter().zip(rendered) {
            let text = text.map_err(|error| refused(&hooks[*place], &error))?;
            if let Some(string) = works[*place].pointer_mut(pointer) {
                *string = text.into();
            }
        }
        for (hook, work) in hooks.iter_mut().zip(works) {
            set_json(&mut hook.work, work);
        }
    }
    Ok(in_order(hooks))
}

fn refused(hook: &Hook, error: &TemplateError) -> PlanError {
    PlanError::Hook { phase: hook.phase, name: hook.name.clone(), problem: error.to_string() }
}

/// The hook in a change of that kind, with why it does not run there; none where the change does not come to its phase.
fn choose(declared: &DeclaredHook, kind: ChangeKind, skips: Skips<'_>, values: &Value) -> Option<Hook> {
    let hook = &declared.hook;
    if !hook.phase.is_of(kind) {
        return None;
    }
    let fits = |skip: &HookSkip| skip.fits(hook);
    let reason = match &declared.on {
        Some(on) if !on.contains(&kind) => {
            let on: Vec<String> = on.iter().map(ToString::to_string).collect();
            Some(format!("it is for {} alone", on.join(", ")))
        }
        _ if skips.asked.iter().any(fits) => Some("left out with `--skip-hooks`".to_owned()),
        _ if skips.release.iter().any(fits) => Some("left out by `spec.hooks.skip`".to_owned()),
        _ => unless(&declared.condition, values),
    };
    Some(Hook { skip: reason, ..hook.clone() })
}

/// Why a condition does not hold; none where it does.
fn unless(condition: &str, values: &Value) -> Option<String> {
    let shown = crate::document::reader::shortened(condition);
    match Condition::compile(condition).map(|condition| condition.holds(values)) {
        Ok(Ok(true)) => None,
        Ok(Ok(false)) => Some(format!("`if` is false: {shown}")),
        Ok(Err(why)) => Some(format!("`if` has no answer: {shown}: {why}")),
        Err(error) => Some(format!("`if` cannot be read: {error}")),
    }
}

fn declared(spec: &HookSpec, work: HookWork) -> DeclaredHook {
    let is_action = matches!(work, HookWork::Action { .. });
    let hook = Hook {
        phase: spec.phase,
        name: spec.name.value.clone(),
        source: spec.source,
        weight: spec.weight,
        run_after: spec.run_after,
        timeout_ms: spec.timeout_ms,
        on_failure: spec.on_failure.unwrap_or(on_failure(spec.phase)),
        follow_up: spec.on_failure,
        on_timeout: spec.on_timeout.unwrap_or(if is_action { OnTimeout::Stop } else { OnTimeout::Leave }),
        cleanup: spec.cleanup,
        delete_before_creation: spec.delete_before_creation,
        fenced: spec.fenced,
        pivot: spec.pivot,
        work,
        skip: None,
    };
    DeclaredHook { hook, on: spec.on.clone(), condition: spec.condition.value.clone() }
}

/// Where nothing is said a change goes on, as users of hooks know it; but a test that fails has failed.
fn on_failure(phase: HookPhase) -> OnFailure {
    if phase == HookPhase::Test { OnFailure::Fail } else { OnFailure::Continue }
}

/// None for an action whose module has a problem, which is told already.
fn work<'a>(
    spec: &HookSpec,
    work: WorkSpec,
    namespace: &str,
    module: &impl Fn(&str) -> Option<&'a Module>,
) -> Option<HookWork> {
    Some(match work {
        WorkSpec::Workload { kind, template } => {
            let own = template.pointer("/metadata/namespace").and_then(Value::as_str).map(str::to_owned);
            HookWork::Workload { kind, namespace: own.unwrap_or_else(|| namespace.to_owned()), object: template.into() }
        }
        WorkSpec::Objects { objects, ready_when } => HookWork::Objects { objects: objects_of(&objects), ready_when },
        WorkSpec::Action { location, args } => {
            let module = module(&location.file)?;
            HookWork::Action {
                action: Box::new(ActionPlan {
                    step: StepId::root(spec.phase.step_name()).child(&spec.name),
                    name: spec.name.value.clone(),
                    description: String::new(),
                    module: module.digest.clone(),
                    export: location.export.clone(),
                    wit: module.wit.clone(),
                    has_undo: module.undoes.contains(&location.export),
                    timeout_ms: spec.timeout_ms,
                    on_failure: spec.on_failure.unwrap_or(on_failure(spec.phase)),
                    retry: Retry::default(),
                    pivot: spec.pivot,
                    args: args.into(),
                }),
            }
        }
    })
}

fn objects_of(list: &Value) -> Vec<Json> {
    list.as_array().into_iter().flatten().map(Json::from).collect()
}

/// Takes over what its templates gave.
fn put_rendered(work: &mut HookWork, rendered: WorkSpec) {
    match (work, rendered) {
        (HookWork::Workload { object, namespace, .. }, WorkSpec::Workload { template, .. }) => {
            if let Some(own) = template.pointer("/metadata/namespace").and_then(Value::as_str) {
                own.clone_into(namespace);
            }
            *object = template.into();
        }
        (HookWork::Objects { objects, .. }, WorkSpec::Objects { objects: list, .. }) => *objects = objects_of(&list),
        (HookWork::Action { action }, WorkSpec::Action { args, .. }) => action.args = args.into(),
        // A template changes texts and no kinds.
        _ => {}
    }
}

/// What templates of a hook stand in, as its document has it.
fn json_of(work: &HookWork) -> Value {
    match work {
        HookWork::Workload { object, .. } => object.value(),
        HookWork::Objects { objects, .. } => objects.iter().map(Json::value).collect(),
        HookWork::Action { action } => action.args.value(),
    }
}

fn set_json(work: &mut HookWork, json: Value) {
    match work {
        HookWork::Workload { object, namespace, .. } => {
            if let Some(own) = json.pointer("/metadata/namespace").and_then(Value::as_str) {
                own.clone_into(namespace);
            }
            *object = json.into();
        }
        HookWork::Objects { objects, .. } => *objects = objects_of(&json),
        HookWork::Action { action } => action.args = json.into(),
    }
}
