//! Parsing, and the parser's errors in words for the person who wrote the condition.

use cel::common::ast::SourceInfo;
use cel::{Env, IdedExpr, ParseError, ParseErrors};

use super::ConditionError;
use crate::document::reader::shortened;

/// Parses; to be called where the stack is large.
///
/// # Errors
/// The first error of the parser.
pub(super) fn parse(env: &Env, text: &str) -> Result<(IdedExpr, SourceInfo), ConditionError> {
    env.parser().parse_with_source_info(text).map_err(|errors| first(text, &errors))
}

/// The place of a byte: line and column from 1, in characters.
pub(super) fn place(text: &str, byte: usize) -> (usize, usize) {
    let before = text.get(..byte).unwrap_or(text);
    let line = before.bytes().filter(|&byte| byte == b'\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (line, column)
}

fn first(text: &str, errors: &ParseErrors) -> ConditionError {
    let Some(error) = errors.errors.first() else {
        return ConditionError { line: 1, column: 1, message: "this is no condition".to_owned() };
    };
    let (line, column) = place_of(text, error);
    // Never by the error's `Display`: it panics past column 65,535.
    ConditionError { line, column, message: words(&error.msg) }
}

fn place_of(text: &str, error: &ParseError) -> (usize, usize) {
    let line = usize::try_from(error.pos.0).unwrap_or_default().max(1);
    let column = usize::try_from(error.pos.1).unwrap_or_default().max(1);
    // Errors of macros count bytes, all others characters.
    if error.msg.starts_with("Syntax error")
        || !error.msg.starts_with(OF_MACROS[0]) && !error.msg.starts_with(OF_MACROS[1])
    {
        return (line, column);
    }
    let content = text.split('\n').nth(line - 1).unwrap_or_default();
    (line, content.get(..column - 1).map_or(column, |before| before.chars().count() + 1))
}

/// How the errors of macros begin.
const OF_MACROS: [&str; 2] = ["argument must be a simple name", "invalid argument to has"];

fn words(message: &str) -> String {
    if message.contains("Recursion limit") {
        return "this is nested too deep: write it flatter".to_owned();
    }
    if let Some(found) = message.strip_prefix("reserved identifier: ") {
        return format!("`{}` is a word that CEL keeps for itself: take another name", shortened(found));
    }
    if message.starts_with(OF_MACROS[0]) {
        return "the first argument is the name of one item: `list.all(item, item > 0)`".to_owned();
    }
    if message.starts_with(OF_MACROS[1]) {
        return "`has` asks for a field: `has(cluster.labels.zone)`".to_owned();
    }
    if message.starts_with("unsupported syntax") {
        let found = shortened(input(message).unwrap_or_default());
        return format!("`{found}` is no part of conditions: `has(…)` asks for a field, `map[\"key\"]` takes any key");
    }
    let message = message.strip_prefix("Syntax error: ").unwrap_or(message);
    match input(message) {
        Some(found) if message.starts_with("token recognition") => unknown_letters(found),
        Some("<EOF>") => "the condition ends too early: something is missing here".to_owned(),
        Some(found) => unexpected(found),
        None => shortened(message),
    }
}

/// What the parser found: the text between the first and the last quote before what it expected.
fn input(message: &str) -> Option<&str> {
    let end = message.find("' expecting").or_else(|| message.rfind('\''))?;
    message.get(message.find('\'')? + 1..end)
}

fn unexpected(found: &str) -> String {
    let cure = match found {
        "and" | "AND" => "write `&&`",
        "or" | "OR" => "write `||`",
        "not" | "NOT" => "write `!`",
        "is" => "write `==`",
        _ => "an operator, a bracket or a quote is missing or too much",
    };
    format!("`{}` does not fit here: {cure}", shortened(found))
}

fn unknown_letters(found: &str) -> String {
    let cure = match found.trim_end() {
        "=" => "write `==`",
        "&" => "write `&&`",
        "|" => "write `||`",
        text if text.contains('\\') => "the text is not closed, or has an unknown escape; `\\\\` is a backslash",
        text if text.contains(['"', '\'']) => "close the text with the quote that opens it, on the same line",
        _ => "remove it, or put it into quotes",
    };
    format!("`{}` means nothing in CEL: {cure}", shortened(found.trim_end()))
}
