//! A verdict in words: a line for the attempt, and what explains it under it.

use pintle_lifecycle::call::Call;
use pintle_lifecycle::ending::Ending;
use pintle_sandbox::{Behaviour, Difference, Line, OtherLine, Replay, Verdict};

use crate::cli::table::one_line;
use crate::story;

/// The most bytes of one call, ending or line.
const MOST: usize = 300;
/// What stands before the first difference of two long texts, in bytes.
const BEFORE: usize = 100;
/// Log lines that explain a difference.
const LINES: usize = 10;

/// `upgrade-core/upgrade, attempt 1`.
pub fn name(replay: &Replay) -> String {
    format!("{}, attempt {}", replay.step, replay.attempt)
}

pub fn text(number: usize, replay: &Replay, verdict: &Verdict) -> String {
    let mut text = format!("{number}  {}: {}\n", name(replay), behaviour(verdict));
    if let Some(other) = &verdict.other_line {
        text.extend(["   ", &line(other), "\n"]);
    }
    if let Behaviour::Differs(_) = verdict.behaviour {
        let left_out = verdict.lines.len().saturating_sub(LINES);
        if !verdict.lines.is_empty() {
            text.push_str("   the module logged until then:\n");
        }
        if left_out > 0 {
            text.extend(["     … ", &left_out.to_string(), " earlier lines\n"]);
        }
        text.extend(
            verdict.lines[left_out..].iter().flat_map(|line| ["     ".to_owned(), shown(line), "\n".to_owned()]),
        );
    }
    text
}

fn behaviour(verdict: &Verdict) -> String {
    let calls = if verdict.calls == 1 { "1 call".to_owned() } else { format!("{} calls", verdict.calls) };
    let log = if verdict.other_line.is_some() { ", but for its log" } else { "" };
    match &verdict.behaviour {
        Behaviour::Same => format!("does the same{log} ({calls}, {})", ended(verdict.recorded.as_ref())),
        Behaviour::SameAsFar => {
            let ended = ended(verdict.recorded.as_ref());
            format!("as far as it was recorded, it does the same{log} ({calls}, {ended})")
        }
        Behaviour::Differs(difference) => differs(difference, verdict.recorded.as_ref()),
    }
}

/// What is not the same, in words that need no context.
pub fn differs(difference: &Difference, recorded: Option<&Ending>) -> String {
    match difference {
        Difference::Call { ordinal, journal, module } => {
            let (journal, module) = excerpts(&whole(journal), &whole(module));
            format!("differs at call {}: the journal has {journal}, the module asks for {module}", ordinal + 1)
        }
        Difference::OneMore { ordinal, module } => format!(
            "differs at call {}: the journal has the end ({}), the module asks for one more call: {}",
            ordinal + 1,
            ended(recorded),
            cut(&whole(module))
        ),
        Difference::Missing { ordinal, journal, module } => format!(
            "differs at call {}: the journal has {}, the module ends ({})",
            ordinal + 1,
            cut(&whole(journal)),
            ended(Some(module))
        ),
        Difference::Ending { journal, module } => {
            let (journal, module) = excerpts(&ending(journal), &ending(module));
            format!("differs at its end: the journal has {journal}, the module ends with {module}")
        }
        Difference::NoEntry(problem) => format!("differs: {}", one_line(problem)),
    }
}

fn line(other: &OtherLine) -> String {
    let none = || "none".to_owned();
    let (journal, module) =
        (other.journal.as_ref().map_or_else(none, whole_line), other.module.as_ref().map_or_else(none, whole_line));
    let (journal, module) = excerpts(&journal, &module);
    format!("line {} of the log differs: the journal has {journal}, the module logs {module}", other.number + 1)
}

/// A log line in one line, cut.
fn shown(line: &Line) -> String {
    cut(&whole_line(line))
}

pub fn whole_line(line: &Line) -> String {
    one_line(&story::line(line.level, &line.message, &line.fields))
}

fn ended(ending: Option<&Ending>) -> String {
    ending.map_or_else(|| "not ended".to_owned(), |ending| cut(&self::ending(ending)))
}

pub fn ending(ending: &Ending) -> String {
    one_line(&ending.to_string())
}

/// A call with all of its arguments.
pub fn whole(call: &Call) -> String {
    let mut value = serde_json::to_value(call).unwrap_or_default();
    if let Some(fields) = value.as_object_mut() {
        fields.remove("name");
    }
    one_line(&format!("{}({value})", call.name()))
}

/// Two texts, cut so that the first difference is in them.
fn excerpts(one: &str, other: &str) -> (String, String) {
    let common = one.bytes().zip(other.bytes()).take_while(|(one, other)| one == other).count();
    if common < MOST - BEFORE {
        return (cut(one), cut(other));
    }
    let from = one.floor_char_boundary(common - BEFORE);
    (format!("…{}", cut(&one[from..])), format!("…{}", cut(&other[from..])))
}

fn cut(text: &str) -> String {
    if text.len() <= MOST {
        return text.to_owned();
    }
    format!("{}…", &text[..text.floor_char_boundary(MOST)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_late_in_a_long_text_is_shown() {
        let long = "ä".repeat(1_000);
        let (one, other) = excerpts(&format!("{long}old tail"), &format!("{long}new tail"));
        assert!(one.ends_with("äold tail") && one.len() < MOST + 10, "{one}");
        assert!(other.ends_with("änew tail") && other.starts_with('…'), "{other}");
        assert_eq!(excerpts("old", "new"), ("old".to_owned(), "new".to_owned()));
    }
}
