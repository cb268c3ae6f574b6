//! What is wrong with a document: where, what, and what to do about it, collected so that a person sees all of it at once.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use serde::{Serialize, Serializer};

/// A place in a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Place {
    pub file: Arc<str>,
    /// `spec.actions[0].timeout`; empty for a document as a whole.
    pub path: String,
    /// From 1; 0 where no line is known.
    pub line: u32,
    /// In characters, from 1.
    pub column: u32,
}

/// A value and where it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed<T> {
    pub value: T,
    pub place: Place,
}

/// Something wrong with a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    #[serde(flatten)]
    pub place: Place,
    pub message: String,
    /// What to do; empty where the message says it.
    pub cure: String,
}

/// Everything that is wrong, in the order of files, lines and columns.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, thiserror::Error)]
#[serde(rename_all = "camelCase")]
pub struct Problems {
    found: Vec<Problem>,
    /// Problems beyond [`Problems::MAX`], which are counted only.
    #[serde(skip_serializing_if = "is_zero")]
    left_off: usize,
}

impl Place {
    /// `driver.yml:12:7`, or the file alone where no line is known.
    #[must_use]
    pub fn position(&self) -> String {
        if self.line == 0 { self.file.to_string() } else { format!("{}:{}:{}", self.file, self.line, self.column) }
    }

    /// A place with a path of its own: a field that is not there is told at the map that lacks it.
    #[must_use]
    pub fn with_path(&self, path: impl Into<String>) -> Self {
        Self { path: path.into(), ..self.clone() }
    }

    /// Control characters, which a document may have brought into the words, become spaces: a terminal would obey them.
    pub fn problem(&self, message: impl Into<String>, cure: impl Into<String>) -> Problem {
        Problem { place: self.clone(), message: harmless(message.into()), cure: harmless(cure.into()) }
    }
}

impl Problems {
    /// As many as a person can use. It also bounds the work on a hostile document.
    pub const MAX: usize = 100;

    /// Adds a problem; of several about the same path at the same place the first is kept, since the others follow from it.
    pub fn push(&mut self, problem: Problem) {
        if self.found.iter().any(|known| known.place == problem.place) {
            return;
        }
        if self.found.len() == Self::MAX {
            self.left_off += 1;
            return;
        }
        // A problem goes behind its file's others that are not after it; files stay in the order in which they came.
        let key = |p: &Problem| (p.place.line, p.place.column);
        let same_file = |p: &&Problem| p.place.file == problem.place.file;
        let place = match self.found.iter().rposition(|p| same_file(&p) && key(p) <= key(&problem)) {
            Some(before) => before + 1,
            None => self.found.iter().position(|p| same_file(&p)).unwrap_or(self.found.len()),
        };
        self.found.insert(place, problem);
    }

    pub fn extend(&mut self, others: Self) {
        self.left_off += others.left_off;
        for problem in others.found {
            self.push(problem);
        }
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Problem> {
        self.found.iter()
    }

    /// How many more there are, which are counted only.
    #[must_use]
    pub fn left_off(&self) -> usize {
        self.left_off
    }

    /// # Errors
    /// The problems, where there are any.
    pub fn check(self) -> Result<(), Self> {
        if self.is_empty() { Ok(()) } else { Err(self) }
    }
}

impl From<Problem> for Problems {
    fn from(problem: Problem) -> Self {
        Self { found: vec![problem], left_off: 0 }
    }
}

fn harmless(text: String) -> String {
    if text.contains(char::is_control) { text.replace(char::is_control, " ") } else { text }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl fmt::Display for Problem {
    /// `driver.yml:12:7: spec.actions[0].timeout: …`, and the cure on a line of its own.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.place.position())?;
        if !self.place.path.is_empty() {
            write!(f, "{}: ", self.place.path)?;
        }
        f.write_str(&self.message)?;
        if self.cure.is_empty() { Ok(()) } else { write!(f, "\n    {}", self.cure) }
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, problem) in self.found.iter().enumerate() {
            if place > 0 {
                f.write_str("\n")?;
            }
            problem.fmt(f)?;
        }
        if self.left_off > 0 { write!(f, "\nand {} more problems", self.left_off) } else { Ok(()) }
    }
}

impl<T> Deref for Placed<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: Serialize> Serialize for Placed<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(file: &str, line: u32, path: &str, message: &str) -> Problem {
        Place { file: file.into(), path: path.into(), line, column: 3 }.problem(message, "do it so")
    }

    #[test]
    fn problems_come_by_file_and_line_and_each_place_once() {
        let mut problems = Problems::default();
        for (file, line, path) in [("b.yml", 9, "x"), ("a.yml", 4, "y"), ("b.yml", 2, "z"), ("a.yml", 4, "y2")] {
            problems.push(problem(file, line, path, "first"));
            problems.push(problem(file, line, path, "second"));
        }
        assert_eq!(
            problems.to_string(),
            "b.yml:2:3: z: first\n    do it so\nb.yml:9:3: x: first\n    do it so\n\
             a.yml:4:3: y: first\n    do it so\na.yml:4:3: y2: first\n    do it so"
        );
    }

    #[test]
    fn problems_beyond_the_bound_are_counted() {
        let mut problems = Problems::default();
        for line in 1..=103 {
            problems.push(problem("a.yml", line, "x", "wrong"));
        }
        assert!(problems.to_string().ends_with("\nand 3 more problems"), "{problems}");
        assert_eq!(problems.iter().count(), Problems::MAX);
    }

    #[test]
    fn a_terminal_is_told_nothing_but_text() {
        assert!(problem("a.yml", 1, "x", "no \u{1b}[2J\u{85}\r\n name").to_string().contains("x: no  [2J    name\n"));
    }

    #[test]
    fn without_a_line_the_file_is_named_alone() {
        assert_eq!(
            problem("release.yml", 0, "", "not readable").to_string(),
            "release.yml: not readable\n    do it so"
        );
    }
}
