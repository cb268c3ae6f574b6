//! Conditions in documents: compiled while they are read, with errors at their line and column in the file.

use super::{Cursor, Source};
use crate::condition::{Condition, ConditionError};
use crate::document::problem::{Place, Placed};
use crate::document::yaml::At;

impl Cursor<'_> {
    /// The text of a condition over `variables`; a problem where it does not compile.
    #[must_use]
    pub fn condition(&self, variables: &[&str]) -> Option<Placed<String>> {
        let text = self.text()?;
        match Condition::compile_with(&text, variables) {
            Ok(_) => Some(self.placed(text)),
            Err(error) => {
                self.condition_problem(&text, &error);
                None
            }
        }
    }

    fn condition_problem(&self, text: &str, error: &ConditionError) {
        const CURE: &str = "docs/conditions.md says what a condition can be";
        if let Some(place) = self.place_in(text, error.line, error.column) {
            self.problem_at(&place, error.message.as_str(), CURE);
        } else {
            let ConditionError { line, column, message } = error;
            self.problem(format!("in line {line}, column {column} of the condition: {message}"), CURE);
        }
    }

    /// Where a place in a text is in the file; none where the text is written with escapes or folded.
    fn place_in(&self, text: &str, line: usize, column: usize) -> Option<Place> {
        let start = usize::try_from(self.node.at.line).ok()?.checked_sub(1)?;
        let offset = usize::try_from(self.node.at.column).ok()?.checked_sub(1)?;
        // What may hold a line of the text: behind its key on the first line, and all of the others.
        let written = |number: usize| {
            let content = self.source.line(number)?;
            let (from, _) = content.char_indices().nth(if number == start { offset } else { 0 })?;
            Some((content, from))
        };
        let found = |number: usize, wanted: &str| {
            let (content, from) = written(number)?;
            Some((content, from + content[from..].find(wanted)?))
        };
        // The text begins on its own line, or on the one below its `|`.
        let first = text.split('\n').next()?;
        let begin = (start..start + 2).find(|number| found(*number, first).is_some())?;
        let number = begin + line.checked_sub(1)?;
        let (content, byte) = found(number, text.split('\n').nth(line - 1)?)?;
        let column = content[..byte].chars().count() + column;
        let narrow = |n: usize| u32::try_from(n).ok();
        Some(self.place_at(At { line: narrow(number + 1)?, column: narrow(column)? }, self.path.clone()))
    }
}

impl Source {
    /// A line of the file, from 0.
    fn line(&self, number: usize) -> Option<&str> {
        let ends = self.ends.get_or_init(|| {
            let breaks = self.text.match_indices('\n').map(|(byte, _)| byte);
            breaks.chain([self.text.len()]).collect()
        });
        let start = if number == 0 { 0 } else { ends.get(number - 1)? + 1 };
        self.text.get(start..*ends.get(number)?)
    }
}
