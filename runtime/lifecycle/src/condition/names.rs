//! The names that a condition may use: functions with what they take and give, and the types that have names.

use super::kind::Kind::{self, Any, Bool, Bytes, Double, Duration, Int, List, Map, String, Timestamp, Type, UInt};

/// How a function is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Call {
    /// `size(list)`.
    Global,
    /// `text.contains("a")`.
    Member,
    /// Either way.
    Both,
}

/// A function.
pub(super) struct Function {
    pub name: &'static str,
    pub call: Call,
    /// The kinds of each argument; the first is what a member is called on.
    pub takes: &'static [&'static [Kind]],
    /// How many of the arguments at the end may be left out.
    pub optional: usize,
    pub gives: Kind,
    /// How it is written.
    pub example: &'static str,
}

/// Names of types that are values: `type(x) == string`.
pub(super) const TYPES: &[&str] =
    &["bool", "bytes", "double", "int", "list", "map", "null_type", "string", "type", "uint"];

/// Macros, and how they are written.
pub(super) const MACROS: &[(&str, &str)] = &[
    ("has", "has(cluster.labels.zone)"),
    ("all", "list.all(item, item > 0)"),
    ("exists", "list.exists(item, item > 0)"),
    ("exists_one", "list.exists_one(item, item > 0)"),
    ("existsOne", "list.existsOne(item, item > 0)"),
    ("filter", "list.filter(item, item > 0)"),
    ("map", "list.map(item, item + 1)"),
];

const fn global(name: &'static str, takes: &'static [&'static [Kind]], gives: Kind, example: &'static str) -> Function {
    Function { name, call: Call::Global, takes, optional: 0, gives, example }
}

const fn of_text(name: &'static str, example: &'static str) -> Function {
    Function { name, call: Call::Member, takes: &[&[String], &[String]], optional: 0, gives: Bool, example }
}

const fn of_time(name: &'static str, takes: &'static [&'static [Kind]], example: &'static str) -> Function {
    Function { name, call: Call::Member, takes, optional: 1, gives: Int, example }
}

const DATE: &[&[Kind]] = &[&[Timestamp], &[String]];
const CLOCK: &[&[Kind]] = &[&[Timestamp, Duration], &[String]];

/// Every function.
pub(super) const FUNCTIONS: &[Function] = &[
    Function {
        name: "size",
        call: Call::Both,
        takes: &[&[String, Bytes, List, Map]],
        optional: 0,
        gives: Int,
        example: "size(list)",
    },
    Function {
        name: "matches",
        call: Call::Both,
        takes: &[&[String], &[String]],
        optional: 0,
        gives: Bool,
        example: "text.matches(\"^a+$\")",
    },
    of_text("contains", "text.contains(\"a\")"),
    of_text("startsWith", "text.startsWith(\"a\")"),
    of_text("endsWith", "text.endsWith(\"a\")"),
    global("bool", &[&[Bool, String]], Bool, "bool(\"true\")"),
    global("bytes", &[&[String, Bytes]], Bytes, "bytes(\"a\")"),
    global("double", &[&[Int, UInt, Double, String]], Double, "double(\"1.5\")"),
    global("duration", &[&[String, Duration]], Duration, "duration(\"90m\")"),
    global("dyn", &[&[]], Any, "dyn(value)"),
    global("int", &[&[Int, UInt, Double, String, Timestamp]], Int, "int(\"42\")"),
    global("string", &[&[Bool, Int, UInt, Double, String, Bytes, Duration, Timestamp]], String, "string(42)"),
    global("timestamp", &[&[String, Int, Timestamp]], Timestamp, "timestamp(\"2026-01-31T00:00:00Z\")"),
    global("type", &[&[]], Type, "type(value)"),
    global("uint", &[&[Int, UInt, Double, String]], UInt, "uint(\"42\")"),
    of_time("getDate", DATE, "time.getDate()"),
    of_time("getDayOfMonth", DATE, "time.getDayOfMonth()"),
    of_time("getDayOfWeek", DATE, "time.getDayOfWeek()"),
    of_time("getDayOfYear", DATE, "time.getDayOfYear()"),
    of_time("getFullYear", DATE, "time.getFullYear()"),
    of_time("getHours", CLOCK, "time.getHours()"),
    of_time("getMilliseconds", CLOCK, "time.getMilliseconds()"),
    of_time("getMinutes", CLOCK, "time.getMinutes()"),
    of_time("getMonth", DATE, "time.getMonth()"),
    of_time("getSeconds", CLOCK, "time.getSeconds()"),
];

/// The function of a name.
pub(super) fn function(name: &str) -> Option<&'static Function> {
    FUNCTIONS.iter().find(|function| function.name == name)
}

/// The names of all functions and macros.
pub(super) fn callable() -> Vec<&'static str> {
    FUNCTIONS.iter().map(|function| function.name).chain(MACROS.iter().map(|(name, _)| *name)).collect()
}
