//! The rules of the house that no other tool checks. Each rule is a pure function from what it reads to findings, with tests on
//! bad samples; `tests/repository.rs` applies them all to this repository.
//!
//! tree, packages → rule → findings

pub mod copies;
pub mod first_lines;
pub mod leftovers;
pub mod names;
pub mod of_tests;
pub mod packages;
pub mod purity;
pub mod references;
pub mod rooms;
pub mod shared_build;
pub mod sizes;
pub mod tokens;
pub mod tree;

use std::fmt;

/// One place that breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// File or package.
    pub place: String,
    /// Counted from 1; none where the whole file is meant.
    pub line: Option<usize>,
    /// What is wrong, and the cure.
    pub says: String,
}

impl Finding {
    /// A finding about a whole file or package.
    #[must_use]
    pub fn of(place: &str, says: impl Into<String>) -> Self {
        Self { place: place.to_owned(), line: None, says: says.into() }
    }

    /// A finding about one line.
    #[must_use]
    pub fn at(place: &str, line: usize, says: impl Into<String>) -> Self {
        Self { line: Some(line), ..Self::of(place, says) }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.place)?;
        if let Some(line) = self.line {
            write!(formatter, ":{line}")?;
        }
        write!(formatter, ": {}", self.says)
    }
}
