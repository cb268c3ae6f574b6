//! The answers of cel-go 0.32 to some expressions, which are ours too.

use std::collections::BTreeMap;

use cel::common::types::{CelBytes, CelDouble, CelInt, CelList, CelMap, CelNull, CelString, CelUInt};
use cel::common::value::Val;
use serde::Deserialize;

use super::*;

/// One row: what an expression gives, or where it fails.
#[derive(Deserialize)]
pub(super) struct Case {
    pub name: String,
    pub expr: String,
    pub values: Value,
    #[serde(default)]
    want: Value,
    /// `compile` or `eval`.
    error_at: Option<String>,
    #[serde(default)]
    go_error: String,
    #[serde(rename = "type")]
    gives: Option<String>,
}

/// Rows that fail in another stage than in cel-go, and why. None: the library finds kinds that do not fit at evaluation at the
/// earliest (`"a" == 1` is false to it, `flag ? 1 : "a"` is 1), but the check before it finds all that these rows have.
const OTHER_STAGE: [(&str, &str, &str); 0] = [];

pub(super) fn all() -> Vec<Case> {
    include_str!("cases.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A result as JSON.
fn plain(value: &dyn Val) -> Value {
    if let Some(value) = value.downcast_ref::<CelBool>() {
        json!(value.inner())
    } else if let Some(value) = value.downcast_ref::<CelInt>() {
        json!(value.inner())
    } else if let Some(value) = value.downcast_ref::<CelUInt>() {
        json!(value.inner())
    } else if let Some(value) = value.downcast_ref::<CelDouble>() {
        json!(value.inner())
    } else if let Some(value) = value.downcast_ref::<CelString<'_>>() {
        json!(value.inner())
    } else if let Some(list) = value.downcast_ref::<CelList<'_>>() {
        list.inner().iter().map(|item| plain(item.as_ref())).collect()
    } else if let Some(map) = value.downcast_ref::<CelMap<'_>>() {
        let key = |key: &dyn Val| plain(key).as_str().map(ToOwned::to_owned).unwrap();
        map.inner().iter().map(|(name, value)| (key(name.inner()), plain(value.as_ref()))).collect()
    } else {
        assert!(value.downcast_ref::<CelNull>().is_some() || value.downcast_ref::<CelBytes<'_>>().is_none());
        Value::Null
    }
}

/// What an expression gives, with the name of its type; or the stage in which it fails.
fn outcome(case: &Case) -> Result<(String, Value), &'static str> {
    let known: Vec<&str> = case.values.as_object().unwrap().keys().map(String::as_str).collect();
    let expression = Expression::compile(&case.expr, &known).map_err(|_| "compile")?;
    let read = |result: &CowVal<'_, '_>| Ok((result.get_type().name().to_owned(), plain(result.as_ref())));
    expression.evaluate(&case.values, read).map_err(|_| "eval")
}

#[test]
fn every_row_gives_what_it_gives_in_go() {
    let cases = all();
    assert_eq!(cases.len(), 88);
    let mut wrong = Vec::new();
    for case in &cases {
        let other = OTHER_STAGE.iter().find(|(name, ..)| *name == case.name).map(|(_, stage, _)| *stage);
        let want = match &case.error_at {
            Some(stage) => Err(other.unwrap_or(stage)),
            None => Ok((case.gives.clone().unwrap(), case.want.clone())),
        };
        let got = outcome(case);
        if got != want.clone().map_err(|stage| if stage == "compile" { "compile" } else { "eval" }) {
            wrong.push(format!("{}: {} gives {got:?}, not {want:?}", case.name, case.expr));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_true_or_false_is_so_by_the_door_and_nothing_else_is() {
    for case in all().iter().filter(|case| case.error_at.is_none()) {
        let answer = answer(&case.expr, &case.values);
        if let Some(want) = case.want.as_bool() {
            assert_eq!(answer, Ok(want), "{}", case.name);
        } else {
            let error = answer.unwrap_err();
            assert!(error.contains("true or false"), "{}: {error}", case.name);
        }
    }
}

#[test]
fn syntax_errors_are_where_go_finds_them() {
    let mut found = BTreeMap::new();
    for case in all() {
        if !case.go_error.contains("Syntax error") {
            continue;
        }
        let place = case.go_error.strip_prefix("ERROR: <input>:").unwrap();
        let mut numbers = place.split(':').map(|number| number.parse::<usize>().unwrap_or_default());
        let error = Condition::compile_with(&case.expr, &["cluster", "flag"]).unwrap_err();
        let want = (numbers.next().unwrap(), numbers.next().unwrap());
        assert_eq!((error.line, error.column), want, "{}: {error}", case.name);
        found.insert(case.name, want);
    }
    assert_eq!(found.len(), 5, "{found:?}");
}
