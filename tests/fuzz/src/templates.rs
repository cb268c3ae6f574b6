//! A stand-in for the templates of the sandbox, which have a fuzz target of their own: whatever is closed gives the same text.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use pintle_lifecycle::template::{Render, Rendering, TemplateError};
use serde_json::Value;

pub struct StandIn;

impl Render for StandIn {
    fn check<'a>(&'a self, templates: &'a [&'a str]) -> Rendering<'a, ()> {
        Box::pin(async { Ok(templates.iter().map(|text| rendered(text).map(drop)).collect()) })
    }

    fn render<'a>(&'a self, templates: &'a [&'a str], _values: &'a Value) -> Rendering<'a, String> {
        Box::pin(async { Ok(templates.iter().map(|text| rendered(text)).collect()) })
    }
}

fn rendered(text: &str) -> Result<String, TemplateError> {
    match text.split_once("{{").map(|(_, rest)| rest.split_once("}}")) {
        Some(None) => Err(TemplateError::of_all("it is not closed")),
        Some(Some(_)) => Ok("rendered".to_owned()),
        None => Ok(text.to_owned()),
    }
}

/// What is there at once.
pub fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("nothing here waits"),
    }
}
