//! YAML text as a tree with positions, built from the parser's events, so that hostile text is refused at the first event too
//! many: no alias is expanded, depth and size are bounded, and nothing recurses over unbounded input.

mod json;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Tag};

/// Bytes of the largest document that is read.
pub const MAX_BYTES: usize = 4 << 20;

/// Lists and maps inside each other.
pub const MAX_DEPTH: usize = 64;

/// Keys, values, and both ends of lists and maps of a file, all together: bounds the work of every reader.
pub const MAX_NODES: usize = 100_000;

/// A value of the document and where it starts.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    pub at: At,
    pub value: Value,
}

/// Line and column, both from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct At {
    pub line: u32,
    pub column: u32,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Null,
    Bool(bool),
    Number {
        /// As it was written: `1.10` is another version than `1.1`.
        raw: String,
        number: serde_json::Number,
    },
    Text(String),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// A key with its value. Keys of a map may repeat: who reads the map says so.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub key: String,
    pub at: At,
    pub value: Node,
}

/// Why a text is not read at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// None where the text is too large to have been looked at.
    pub at: Option<At>,
    pub message: String,
    pub cure: &'static str,
}

/// What ends a line, as YAML has it; both of them end one line together.
const BREAKS: [char; 2] = ['\n', '\r'];

/// A list or map that is not closed yet.
enum Open {
    List(At, Vec<Node>),
    Map(At, Vec<Entry>, Option<(String, At)>),
}

/// The documents of `text`, empty ones included.
///
/// # Errors
/// Where the text is no YAML, or uses more of YAML than documents need.
pub fn parse(text: &str) -> Result<Vec<Node>, Fault> {
    if text.len() > MAX_BYTES {
        return Err(Fault {
            at: None,
            message: format!("the document has {} bytes, more than the {MAX_BYTES} that are read", text.len()),
            cure: "split it, or move large data out of it",
        });
    }
    if let Some(nul) = text.find('\0') {
        return Err(fault(behind(&text[..nul]), "the document has a NUL character", "save it as UTF-8 text"));
    }
    let mut tree = Tree { documents: Vec::new(), open: Vec::new(), nodes: 0 };
    let mut parser = Parser::new_from_str(text);
    let end = end(text);
    while let Some(event) = parser.next_event() {
        let (event, span) = event.map_err(|error| no_yaml(text, end, &error))?;
        tree.take(event, position(span.start).min(end))?;
    }
    Ok(tree.documents)
}

/// The end of the last line. What is missing there the parser misses on a line that is not there.
fn end(text: &str) -> At {
    // A break at the end begins no line.
    behind(text.strip_suffix("\r\n").or_else(|| text.strip_suffix(BREAKS)).unwrap_or(text))
}

/// Where the text goes on behind `before`.
fn behind(before: &str) -> At {
    let breaks = before.matches(BREAKS).count() - before.matches("\r\n").count();
    let last = before.rsplit(BREAKS).next().unwrap_or_default();
    at(breaks + 1, last.chars().count() + 1)
}

fn no_yaml(text: &str, end: At, error: &ScanError) -> Fault {
    let start = position(*error.marker()).min(end);
    if error.info().contains("tab") {
        // The parser names the start of what the tab broke off.
        let indented = |line: &str| line.trim_start_matches(' ').starts_with('\t');
        let text = text.replace("\r\n", "\n");
        let mut lines = text.split(BREAKS).enumerate().skip(error.marker().line().saturating_sub(1));
        if let Some((place, line)) = lines.find(|(_, line)| indented(line)) {
            let column = line.len() - line.trim_start_matches(' ').len() + 1;
            return fault(at(place + 1, column), "this is no YAML: a tab indents the line", "indent with spaces");
        }
    }
    let message = format!("this is no YAML: {}", error.info());
    fault(start, message, "check indentation, quotes, brackets and colons at this line")
}

struct Tree {
    documents: Vec<Node>,
    open: Vec<Open>,
    nodes: usize,
}

impl Tree {
    fn take(&mut self, event: Event<'_>, at: At) -> Result<(), Fault> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            let message = format!("the file holds more than {MAX_NODES} values");
            return Err(fault(at, message, "split it, or move large data out of it"));
        }
        match event {
            Event::Alias(_) => {
                return Err(fault(at, "aliases (`*name`) are not read", "write the value out where it is used"));
            }
            Event::Scalar(text, style, _, tag) => self.scalar(&text, style, tag.as_deref(), at)?,
            Event::SequenceStart(_, tag) => self.start(Open::List(at, Vec::new()), tag.as_deref(), at)?,
            Event::MappingStart(_, tag) => self.start(Open::Map(at, Vec::new(), None), tag.as_deref(), at)?,
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some(Open::List(at, items)) => self.add(Node { at, value: Value::List(items) }),
                Some(Open::Map(at, entries, _)) => self.add(Node { at, value: Value::Map(entries) }),
                None => return Err(fault(at, "a list or map ends that did not start", "check the brackets")),
            },
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentStart(_) | Event::DocumentEnd => {}
        }
        Ok(())
    }

    fn start(&mut self, open: Open, tag: Option<&Tag>, at: At) -> Result<(), Fault> {
        if let Some(tag) = tag.filter(|tag| !(tag.is_yaml_core_schema() && ["map", "seq"].contains(&&*tag.suffix))) {
            return Err(bad_tag(tag, at));
        }
        if self.awaits_key() {
            return Err(fault(
                at,
                "a list or map cannot be a key",
                "a key is one word followed by a colon; a text that begins with `{{` stands in quotes",
            ));
        }
        if self.open.len() == MAX_DEPTH {
            let message = format!("lists and maps are nested more than {MAX_DEPTH} deep");
            return Err(fault(at, message, "no document of Pintle needs that depth; check the brackets"));
        }
        self.open.push(open);
        Ok(())
    }

    fn scalar(&mut self, text: &str, style: ScalarStyle, tag: Option<&Tag>, at: At) -> Result<(), Fault> {
        if let Some(Open::Map(_, _, key @ None)) = self.open.last_mut() {
            *key = Some((text.to_owned(), at));
            return Ok(());
        }
        let value = match tag {
            None if style == ScalarStyle::Plain => plain(text),
            None => Value::Text(text.to_owned()),
            Some(tag) if tag.is_yaml_core_schema() && tag.suffix == "str" => Value::Text(text.to_owned()),
            Some(tag) if tag.is_yaml_core_schema() && ["int", "float", "bool", "null"].contains(&&*tag.suffix) => {
                plain(text)
            }
            Some(tag) => return Err(bad_tag(tag, at)),
        };
        self.add(Node { at, value });
        Ok(())
    }

    fn awaits_key(&self) -> bool {
        matches!(self.open.last(), Some(Open::Map(_, _, None)))
    }

    fn add(&mut self, mut node: Node) {
        match self.open.last_mut() {
            None => self.documents.push(node),
            Some(Open::List(_, items)) => items.push(node),
            Some(Open::Map(_, entries, key)) => {
                if let Some((key, at)) = key.take() {
                    // The parser puts a value that is not there at whatever comes next.
                    if node.value == Value::Null {
                        node.at = at;
                    }
                    entries.push(Entry { key, at, value: node });
                }
            }
        }
    }
}

/// A plain scalar by the core schema of YAML 1.2: `yes` and `on` are text there.
fn plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ => match number(text) {
            Some(number) => Value::Number { raw: text.to_owned(), number },
            None => Value::Text(text.to_owned()),
        },
    }
}

fn number(text: &str) -> Option<serde_json::Number> {
    if let Some(digits) = text.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).ok().map(Into::into);
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return u64::from_str_radix(digits, 8).ok().map(Into::into);
    }
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    if digits.bytes().all(|c| c.is_ascii_digit()) {
        if let Ok(whole) = text.parse::<i64>() {
            return Some(whole.into());
        }
        if let Ok(whole) = text.parse::<u64>() {
            return Some(whole.into());
        }
    }
    // Rust reads what the core schema calls a float, and `.inf`, `.nan` and `1_000` as no number.
    serde_json::Number::from_f64(text.parse().ok()?)
}

fn position(marker: Marker) -> At {
    at(marker.line(), marker.col() + 1)
}

fn at(line: usize, column: usize) -> At {
    let narrow = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    At { line: narrow(line.max(1)), column: narrow(column) }
}

fn fault(at: At, message: impl Into<String>, cure: &'static str) -> Fault {
    Fault { at: Some(at), message: message.into(), cure }
}

fn bad_tag(tag: &Tag, at: At) -> Fault {
    fault(at, format!("the tag `{tag}` is not known"), "remove it")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn json_of(text: &str) -> serde_json::Value {
        let documents = parse(text).unwrap_or_else(|fault| panic!("{text:?}: {fault:?}"));
        assert_eq!(documents.len(), 1, "{text:?}");
        documents[0].to_json()
    }

    #[test]
    fn scalars_follow_the_core_schema() {
        for (text, value) in [
            ("~", json!(null)),
            ("true", json!(true)),
            ("yes", json!("yes")),
            ("12", json!(12)),
            ("-7", json!(-7)),
            ("+7", json!(7)),
            ("0x1F", json!(31)),
            ("0o17", json!(15)),
            ("017", json!(17)),
            ("1.50", json!(1.5)),
            (".5", json!(0.5)),
            ("1e3", json!(1000.0)),
            ("18446744073709551615", json!(u64::MAX)),
            ("1.2.0", json!("1.2.0")),
            ("1_000", json!("1_000")),
            (".inf", json!(".inf")),
            ("inf", json!("inf")),
            ("'12'", json!("12")),
            ("\"a\\u0041\"", json!("aA")),
            ("!!str 12", json!("12")),
            ("!!int 12", json!(12)),
            ("2026-11-29", json!("2026-11-29")),
            (".", json!(".")),
            ("...x", json!("...x")),
        ] {
            assert_eq!(json_of(text), value, "{text}");
        }
    }

    #[test]
    fn positions_count_from_one_and_a_missing_value_is_at_its_key() {
        let documents = parse("a: 1\nb:\n  - x\n  - {c: 2}\nd:\n").unwrap();
        let Value::Map(entries) = &documents[0].value else { panic!("no map") };
        assert_eq!(entries[0].value.at, At { line: 1, column: 4 });
        let Value::List(items) = &entries[1].value.value else { panic!("no list") };
        assert_eq!(items[0].at, At { line: 3, column: 5 });
        assert_eq!(items[1].at, At { line: 4, column: 5 });
        assert_eq!((entries[2].at, entries[2].value.at), (At { line: 5, column: 1 }, At { line: 5, column: 1 }));
    }

    #[test]
    fn line_ends_and_a_byte_order_mark_do_not_matter() {
        assert_eq!(json_of("\u{feff}a: 1\r\nb: [2]\r\n"), json!({"a": 1, "b": [2]}));
    }

    #[test]
    fn json_is_read_as_it_is() {
        let value =
            json!({"a": [1, 2.5, null, true, "x\n\t\"é\u{1}🦀"], "": {}, "b c": {"d": []}, "1": "2", "n": -3e-9});
        assert_eq!(json_of(&value.to_string()), value);
        assert_eq!(json_of(&serde_json::to_string_pretty(&value).unwrap()), value);
    }

    #[test]
    fn documents_of_one_text_come_one_by_one() {
        let documents = parse("a: 1\n---\n---\nb: 2\n...\n").unwrap();
        let values: Vec<_> = documents.iter().map(Node::to_json).collect();
        assert_eq!(values, [json!({"a": 1}), json!(null), json!({"b": 2})]);
    }

    #[test]
    fn what_is_refused_is_refused_with_its_line() {
        for (text, line, column, message) in [
            ("a: 1\nb: [1, 2\nc: 3\n", 3, 2, "this is no YAML"),
            ("a: 1\n\tb: 2\n", 2, 1, "a tab indents the line"),
            ("a: 'x\n", 1, 4, "this is no YAML"),
            ("a: &x 1\nb: *x\n", 2, 4, "aliases"),
            ("a: !secret x\n", 1, 4, "the tag `!secret` is not known"),
            ("? [a]\n: 1\n", 1, 3, "cannot be a key"),
            ("a: 1\nb: x\0y\n", 2, 5, "NUL"),
            ("a: 1\r\nb: 2\rc: 3\nd: x\0y\n", 4, 5, "NUL"),
            ("a: 1\r\tb: 2\n", 2, 1, "a tab indents the line"),
            // Nothing is missing behind the last line.
            ("a: 1\nb: {c", 2, 6, "this is no YAML"),
            ("a: 1\r\nb: {c\r\n", 2, 6, "this is no YAML"),
        ] {
            let fault = parse(text).unwrap_err();
            assert!(fault.message.contains(message), "{text:?}: {fault:?}");
            assert_eq!(fault.at, Some(At { line, column }), "{text:?}: {fault:?}");
        }
    }

    #[test]
    fn depth_is_bounded() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(parse(&nested(MAX_DEPTH)).is_ok());
        assert!(parse(&nested(MAX_DEPTH + 1)).unwrap_err().message.contains("64 deep"));
    }
}
