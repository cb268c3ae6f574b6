//! Conditions in documents: compiled while they are read, with errors at their line and column in the file.

use super::Cursor;
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
        let wanted = text.split('\n').nth(line.checked_sub(1)?)?;
        let start = usize::try_from(self.node.at.line).ok()?.checked_sub(1)?;
        let mut written = self.source.text.split('\n').enumerate().skip(start);
        // The text begins on its own line, or on the one below its `|`.
        let first = text.split('\n').next()?;
        let (begin, _) = written.by_ref().take(2).find(|(number, content)| {
            let from = if *number == start { usize::try_from(self.node.at.column).unwrap_or(1) - 1 } else { 0 };
            content.char_indices().nth(from).is_some_and(|(byte, _)| content[byte..].contains(first))
        })?;
        let number = begin + line - 1;
        let content = self.source.text.split('\n').nth(number)?;
        let from = if number == start { usize::try_from(self.node.at.column).ok()?.checked_sub(1)? } else { 0 };
        let (from, _) = content.char_indices().nth(from)?;
        let byte = from + content[from..].find(wanted)?;
        let column = content[..byte].chars().count() + column;
        let narrow = |n: usize| u32::try_from(n).ok();
        Some(self.place_at(At { line: narrow(number + 1)?, column: narrow(column)? }, self.path.clone()))
    }
}
