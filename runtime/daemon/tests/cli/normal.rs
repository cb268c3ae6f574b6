//! What differs between two runs of the same commands, put into words: paths, times, pids, digests.

use crate::place::Place;

/// The text with everything that may differ replaced.
pub fn normal(text: &str, place: &Place) -> String {
    let here = place.path().to_string_lossy().into_owned();
    let real = std::fs::canonicalize(place.path()).unwrap().to_string_lossy().into_owned();
    let text = text.replace(&real, "<DIR>").replace(&here, "<DIR>").replace(&place.port.to_string(), "<PORT>");
    lines(&text)
}

fn lines(text: &str) -> String {
    let mut in_table = false;
    let mut done = String::new();
    for line in text.lines() {
        let line = scan(line);
        in_table = is_heading(&line) || in_table && !line.is_empty();
        done.push_str(if in_table { row(&line) } else { line }.trim_end());
        done.push('\n');
    }
    done
}

/// The heading of a table: more than one column, all in capitals.
fn is_heading(line: &str) -> bool {
    columns(line).len() > 1 && line.chars().all(|c| c.is_ascii_uppercase() || c == ' ')
}

/// A row of a table. Columns are as wide as their cells, some of which were replaced.
fn row(line: &str) -> String {
    let rest = line.trim_start_matches(' ');
    let indent = &line[..line.len() - rest.len()];
    let cells = columns(rest).into_iter().map(|cell| if is_age(&cell) { "<AGE>".to_owned() } else { cell });
    format!("{indent}{}", cells.collect::<Vec<_>>().join("   "))
}

/// What stands at least three spaces apart.
fn columns(text: &str) -> Vec<String> {
    text.split("   ").map(str::trim).filter(|cell| !cell.is_empty()).map(str::to_owned).collect()
}

fn is_age(cell: &str) -> bool {
    cell.strip_suffix('s').is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|c| c.is_ascii_digit()))
}

/// What may stand at a place of a text, with its replacement. `#` is a digit, `%` a hex digit, all else itself.
const SHAPES: [(&str, &str); 2] = [("####-##-##T##:##:##.###Z", "<TIME>"), ("%%%%%%%%%%%%%%%%", "<UID>")];
/// Numbers after these texts.
const BEFORE: [(&str, &str); 8] = [
    ("pid ", "<PID>"),
    ("kill ", "<PID>"),
    ("byte ", "<N>"),
    ("\"wall\":", "<MS>"),
    ("\"up\":", "<MS>"),
    ("\"boot\":", "<BOOT>"),
    ("\"bytes\": ", "<N>"),
    ("\"groups\": ", "<N>"),
];
/// Numbers before these texts.
const AFTER: [(&str, &str); 4] =
    [(" ms", "<TOOK>"), (" s", "<TOOK>"), (" bytes", "<N> bytes"), (" groups", "<N> groups")];

fn scan(text: &str) -> String {
    let mut done = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let starts_word = !done.ends_with(|c: char| c.is_ascii_alphanumeric());
        let found = if starts_word { found(&done, rest) } else { None };
        if let Some((len, replacement)) = found {
            done.push_str(replacement);
            rest = &rest[len..];
        } else {
            done.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    done
}

fn found(done: &str, rest: &str) -> Option<(usize, &'static str)> {
    let word = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_hexdigit()).len();
    let ends = !rest[word..].starts_with(|c: char| c.is_ascii_alphanumeric());
    if ends && word == 64 {
        return Some((64, "<SHA256>"));
    }
    if ends && word == 12 && done.ends_with("module ") {
        return Some((12, "<SHA256>"));
    }
    // The end of a Job's name: shop-2-b363ca5c.
    if ends && word == 8 && done.ends_with('-') {
        return Some((8, "<HASH>"));
    }
    for (shape, replacement) in SHAPES {
        if fits(shape, rest) && !rest[shape.len()..].starts_with(|c: char| c.is_ascii_alphanumeric()) {
            return Some((shape.len(), replacement));
        }
    }
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    if digits == 0 {
        return None;
    }
    if let Some((_, replacement)) = BEFORE.iter().find(|(before, _)| done.ends_with(before)) {
        return Some((digits, replacement));
    }
    let fraction = rest[digits..].strip_prefix('.').map_or(0, |rest| {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        if digits == 0 { 0 } else { digits + 1 }
    });
    let number = digits + fraction;
    AFTER.iter().find_map(|(after, replacement)| {
        let behind = rest[number..].strip_prefix(after)?;
        (!behind.starts_with(|c: char| c.is_ascii_alphanumeric())).then_some((number + after.len(), *replacement))
    })
}

fn fits(shape: &str, text: &str) -> bool {
    let mut text = text.bytes();
    shape.bytes().all(|wanted| match (wanted, text.next()) {
        (b'#', Some(c)) => c.is_ascii_digit(),
        (b'%', Some(c)) => c.is_ascii_digit() || (b'a'..=b'f').contains(&c),
        (wanted, c) => c == Some(wanted),
    })
}

#[test]
fn what_differs_is_replaced_and_nothing_else() {
    for (text, normal) in [
        ("shop-1  setup  Succeeded  248 ms", "shop-1  setup  Succeeded  <TOOK>"),
        ("  done  1.2 s", "  done  <TOOK>"),
        ("at most 5m", "at most 5m"),
        ("2 steps, 3 splines", "2 steps, 3 splines"),
        ("since 2026-11-29T23:51:30.782Z)", "since <TIME>)"),
        ("NAME       AGE\nshop       12s\n\na     b", "NAME   AGE\nshop   <AGE>\n\na     b"),
        ("by pid 4711 (pintle)", "by pid <PID> (pintle)"),
        ("the Job shop-2-b363ca5c of shop-2", "the Job shop-2-<HASH> of shop-2"),
        ("UID:   025dadcacf9cb5ed", "UID:   <UID>"),
        (r#"{"wall":1795,"up":5,"boot":7}"#, r#"{"wall":<MS>,"up":<MS>,"boot":<BOOT>}"#),
    ] {
        assert_eq!(lines(text), format!("{normal}\n"), "{text}");
    }
}
