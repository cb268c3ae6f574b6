//! A change as its durable records tell it to whoever follows: the history, and the lines that actions logged, which no history
//! keeps.

use std::collections::BTreeMap;

use pintle_journal::change_log::OpenError;
use pintle_journal::journal::Journal;
use pintle_lifecycle::call::Output;
use pintle_lifecycle::history::{BrokenHistory, History};
use pintle_lifecycle::ids::{ChangeKey, StepId};
use pintle_lifecycle::record::{Event, Level, Record};
use pintle_lifecycle::tree::{ChangeTree, StepNode};

use crate::error::Error;

/// A change with what its actions logged.
#[derive(Debug, Clone)]
pub struct Story {
    pub history: History,
    /// By step and attempt.
    lines: BTreeMap<(StepId, u32), Vec<String>>,
}

/// How many lines of a step's log are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    None,
    /// The last few.
    Last(usize),
    All,
}

impl Story {
    /// The change as the journal has it.
    ///
    /// # Errors
    /// Where there is none, or its records cannot be read.
    pub async fn read(journal: &dyn Journal, change: &ChangeKey) -> Result<Self, Error> {
        let broken = |source: OpenError| Error::Change { change: change.clone(), source: Box::new(source) };
        let records = journal.records(change).await.map_err(|error| broken(error.into()))?;
        let story = Self::of(&records).map_err(|error| broken(error.into()))?;
        story.ok_or_else(|| broken(OpenError::Unknown(change.clone())))
    }

    /// The change that the records tell; none without records.
    ///
    /// # Errors
    /// Where they do not fit together.
    pub fn of<'a>(records: impl IntoIterator<Item = &'a Record>) -> Result<Option<Self>, BrokenHistory> {
        let mut records = records.into_iter();
        let Some(first) = records.next() else { return Ok(None) };
        let mut story = Self { history: History::open(first)?, lines: BTreeMap::new() };
        for record in records {
            story.take(record)?;
        }
        Ok(Some(story))
    }

    /// Takes in the next record.
    ///
    /// # Errors
    /// Where it does not fit.
    pub fn take(&mut self, record: &Record) -> Result<(), BrokenHistory> {
        self.history.apply(record)?;
        if let Event::StepLog { step, attempt, level, message, fields, .. } = &record.event
            && *level >= Level::Info
        {
            self.lines.entry((step.clone(), *attempt)).or_default().push(line(*level, message, fields));
        }
        Ok(())
    }

    /// The steps, with lines of their logs among the notes.
    #[must_use]
    pub fn tree(&self, shown: Shown) -> ChangeTree {
        let mut tree = ChangeTree::of(&self.history);
        for step in &mut tree.steps {
            keep_output_once(step);
            if shown != Shown::None {
                self.add_lines(step, shown);
            }
        }
        tree
    }

    fn add_lines(&self, step: &mut StepNode, shown: Shown) {
        // A call is known by an id of its own, so its action's lines are not found under it.
        if let Some(lines) = self.lines.get(&(step.id.clone(), step.attempt)) {
            let left_out = match shown {
                Shown::None => lines.len(),
                Shown::Last(most) => lines.len().saturating_sub(most),
                Shown::All => 0,
            };
            if left_out > 0 {
                step.notes.push(format!("… {left_out} earlier lines"));
            }
            step.notes.extend(lines[left_out..].iter().cloned());
        }
        for child in &mut step.children {
            self.add_lines(child, shown);
        }
    }
}

/// The action that failed because of a Job has that Job's output as well: it stays where it was printed.
fn keep_output_once(step: &mut StepNode) {
    step.children.iter_mut().for_each(keep_output_once);
    if step.children.iter().any(|child| child.output == step.output) {
        step.output = Output::default();
    }
}

/// A log line for people: `INFO upgrade complete orders=3`.
#[must_use]
pub fn line(level: Level, message: &str, fields: &[(String, String)]) -> String {
    let fields = fields.iter().map(|(name, value)| format!(" {name}={value}"));
    format!("{} {message}{}", level.as_str(), fields.collect::<String>())
}
