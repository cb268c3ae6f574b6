//! Conditions: the cases, the fence, and what is hostile.

mod cases;
mod fence;
mod mutations;
mod words;

use std::time::Instant;

use serde_json::{Value, json};

use super::*;

/// The answer of a condition over some values, or the error's words.
fn answer(text: &str, values: &Value) -> Result<bool, String> {
    let known: Vec<&str> = values.as_object().into_iter().flatten().map(|(name, _)| name.as_str()).collect();
    let condition = Condition::compile_with(text, &known).map_err(|error| error.to_string())?;
    condition.holds(values).map_err(|error| error.to_string())
}
