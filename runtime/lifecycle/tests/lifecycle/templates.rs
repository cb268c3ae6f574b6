//! A stand-in for the templates of the sandbox: `{{ .a.b }}` is the value of that path and nothing else is known. What real templates
//! give, the sandbox's own tests show.

use std::pin::pin;
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};

use pintle_lifecycle::plan::Plan;
use pintle_lifecycle::planning::{Again, PlanError, PlanInput, Planned, Refused, plan, plan_again};
use pintle_lifecycle::template::{Render, Rendering, TemplateError};
use pintle_lifecycle::view::ReleaseView;
use serde_json::Value;

/// Remembers what it was asked to render, and with what.
#[derive(Default)]
pub struct Paths {
    pub asked: Mutex<Vec<(Vec<String>, Value)>>,
    pub checked: Mutex<Vec<String>>,
}

impl Render for Paths {
    fn check<'a>(&'a self, templates: &'a [&'a str]) -> Rendering<'a, ()> {
        self.checked.lock().unwrap().extend(templates.iter().map(|&text| text.to_owned()));
        Box::pin(async { Ok(templates.iter().map(|text| rendered(text, &Value::Null).map(drop)).collect()) })
    }

    fn render<'a>(&'a self, templates: &'a [&'a str], values: &'a Value) -> Rendering<'a, String> {
        let texts = templates.iter().map(|&text| text.to_owned()).collect();
        self.asked.lock().unwrap().push((texts, values.clone()));
        Box::pin(async { Ok(templates.iter().map(|text| rendered(text, values)).collect()) })
    }
}

fn rendered(text: &str, values: &Value) -> Result<String, TemplateError> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, template)) = rest.split_once("{{") {
        let bad = || TemplateError { line: Some(1), column: None, message: format!("cannot read `{template}`") };
        let (path, after) = template.split_once("}}").ok_or_else(bad)?;
        let path = path.trim().strip_prefix('.').ok_or_else(bad)?;
        let value = path.split('.').fold(values, |value, key| &value[key]);
        out += before;
        out += &value
            .as_str()
            .map_or_else(|| if value.is_null() { String::new() } else { value.to_string() }, str::to_owned);
        rest = after;
    }
    Ok(out + rest)
}

/// What is there at once.
pub fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("nothing here waits"),
    }
}

pub fn planned(input: &PlanInput<'_>) -> Result<Planned, PlanError> {
    now(plan(input, &Paths::default()))
}

pub fn deleted(view: &ReleaseView, last: &Plan) -> Result<Plan, Refused> {
    now(plan_again(Again::Delete, view, last, &[], &Paths::default()))
}
