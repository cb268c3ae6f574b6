//! Why a condition has no answer, in words. Values in the library's errors may be large: nothing here prints one whole.

use std::fmt::{self, Write};

use cel::common::types::{CelBytes, CelString};
use cel::common::value::Val;
use cel::{ExecutionError, Value};

use super::kind::{Kind, symbol};
use crate::document::reader::shortened;

/// The words of an error.
pub(super) fn of(error: &ExecutionError) -> String {
    match error {
        ExecutionError::NoSuchKey(key) => {
            let key = shortened(key);
            format!("there is no `{key}`; `has(…)` asks whether there is, and `\"{key}\" in …` too")
        }
        ExecutionError::UndeclaredReference(name) => format!("`{}` has no value here", shortened(name)),
        ExecutionError::NoSuchOverload(overload) => {
            let kinds: Vec<_> = overload.argument_types().iter().map(|kind| with_article(kind)).collect();
            format!("{} does not work on {}", named(overload.function()), kinds.join(" and "))
        }
        ExecutionError::UnsupportedBinaryOperator(operator, left, right) => {
            format!("{} does not work on {} and {}", named(operator), kind(left), kind(right))
        }
        ExecutionError::ValuesNotComparable(left, right) => {
            format!("{} and {} have no order", kind(left), kind(right))
        }
        ExecutionError::UnsupportedKeyType(key) | ExecutionError::UnsupportedIndex(key, _) => {
            format!("{} is no key", kind(key))
        }
        ExecutionError::UnexpectedType { got, want } => {
            format!("{} is no {}", with_article(&shortened(got)), shortened(want))
        }
        ExecutionError::FunctionError { function, message } => {
            format!("`{}`: {}", shortened(function), cut(message))
        }
        ExecutionError::DivisionByZero(_) | ExecutionError::RemainderByZero(_) => "a division by zero".to_owned(),
        ExecutionError::Overflow(operator, ..) => format!("the result of {} is too large", named(operator)),
        ExecutionError::IndexOutOfBounds(index) => format!("the list has no item {}", number(index)),
        other => cut(other),
    }
}

/// A value that is no answer: what it is, and which where that is short.
pub(super) fn value(value: &dyn Val) -> String {
    let kind = with_article(value.get_type().name());
    if let Some(text) = value.downcast_ref::<CelString<'_>>() {
        return format!("{kind}, {:?}", shortened(text.inner()));
    }
    if value.downcast_ref::<CelBytes<'_>>().is_some() {
        return kind;
    }
    match Value::try_from(value) {
        Ok(Value::Int(number)) => format!("{kind}, {number}"),
        Ok(Value::UInt(number)) => format!("{kind}, {number}"),
        Ok(Value::Float(number)) => format!("{kind}, {number}"),
        _ => kind,
    }
}

fn kind(value: &Value) -> String {
    let kind = match value {
        Value::List(_) => "list",
        Value::Map(_) => "map",
        Value::Int(_) => "int",
        Value::UInt(_) => "uint",
        Value::Float(_) => "double",
        Value::String(_) => "string",
        Value::Bytes(_) => "bytes",
        Value::Bool(_) => "bool",
        Value::Duration(_) => "duration",
        Value::Timestamp(_) => "timestamp",
        Value::Null => "null_type",
        _ => "value",
    };
    with_article(kind)
}

/// The library's name of a kind, as people say it.
fn with_article(name: &str) -> String {
    Kind::of_name(name).map_or_else(|| format!("a {name}"), |kind| kind.with_article().to_owned())
}

fn named(function: &str) -> String {
    let name = match function {
        "add" => "+",
        "sub" | "negate" => "-",
        "mul" => "*",
        "div" => "/",
        "rem" => "%",
        "_._" => "a field",
        "_[_]" => "an index",
        other => symbol(other),
    };
    if name.contains(' ') { name.to_owned() } else { format!("`{}`", shortened(name)) }
}

/// What something prints, up to a length after which it is not asked any more.
fn cut(what: &(impl fmt::Display + ?Sized)) -> String {
    let mut text = Cut(String::new());
    // It ends with an error where the text is full.
    let _ = write!(text, "{what}");
    shortened(&text.0)
}

struct Cut(String);

impl Write for Cut {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.extend(text.chars().take(200));
        if self.0.len() < 200 { Ok(()) } else { Err(fmt::Error) }
    }
}

fn number(index: &Value) -> String {
    match index {
        Value::Int(number) => number.to_string(),
        Value::UInt(number) => number.to_string(),
        other => kind(other),
    }
}
