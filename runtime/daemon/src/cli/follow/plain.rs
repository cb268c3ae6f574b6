//! Following in a pipe: a line for what began and holds others, a line for what ended, in the order in which it happened.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write as _};

use pintle_lifecycle::call::Call;
use pintle_lifecycle::ids::StepId;
use pintle_lifecycle::record::{Event, Level, Record, StepKind};
use pintle_lifecycle::stamp::Stamp;
use pintle_lifecycle::tree::{ChangeTree, NodeKind, StepNode, elapsed};

use crate::cli::paint::Paint;
use crate::cli::tree::painted;
use crate::story::{Shown, Story, line};

/// A step that runs for so long is said to run, in milliseconds.
const LONG: u64 = 10_000;

pub(super) struct Plain {
    paint: Paint,
    /// Steps that were said to run for long.
    said: BTreeSet<(String, StepId, u32)>,
}

/// The steps of a tree by id and attempt, with their depths.
struct Steps<'t>(BTreeMap<(&'t StepId, u32), (usize, &'t StepNode)>);

impl Plain {
    pub fn new(paint: Paint) -> Self {
        Self { paint, said: BTreeSet::new() }
    }

    pub fn say(&self, text: &str) {
        write(&[painted(text, self.paint)]);
    }

    /// What is there already was shown by whoever ran before; a new change says what it is.
    pub fn begin(&self, stories: &[Story]) {
        for story in stories.iter().filter(|story| story.history.next == 1) {
            self.say(&heading(story));
        }
    }

    pub fn show(&mut self, stories: &[Story], news: &[&Record], now: Stamp) {
        let mut lines = Vec::new();
        for story in stories {
            let tree = story.tree(Shown::None);
            let steps = Steps::of(&tree);
            for record in news.iter().filter(|record| record.change == story.history.key) {
                self.told(story, &steps, record, &mut lines);
            }
            self.long(story, &steps, now, &mut lines);
        }
        write(&lines);
    }

    fn told(&self, story: &Story, steps: &Steps<'_>, record: &Record, lines: &mut Vec<String>) {
        let change = &record.change;
        let mut push = |depth: usize, text: &str| {
            lines.push(format!("{change}  {}{}", "  ".repeat(depth), painted(text, self.paint)));
        };
        match &record.event {
            Event::StepStarted { step, attempt, kind, title, .. } => {
                let holds = matches!(kind, StepKind::Mode | StepKind::Sync | StepKind::Action);
                if let Some((depth, node)) = steps.get(step, *attempt).filter(|_| holds) {
                    push(depth, &step_title(title, node.attempt));
                }
            }
            Event::CallIntent { step, attempt, ordinal, call: Call::SetVersion { .. } | Call::Sync, .. } => {
                if let Some((depth, node)) = steps.get(&step.call(*attempt, *ordinal), *attempt) {
                    push(depth, &node.title);
                }
            }
            Event::StepFinished { step, attempt, .. } => {
                if let Some((depth, node)) = steps.get(step, *attempt) {
                    ended(depth, node, &step_title(&node.title, *attempt), &mut push);
                }
            }
            Event::CallOutcome { step, attempt, ordinal, .. } => {
                if let Some((depth, node)) = steps.get(&step.call(*attempt, *ordinal), *attempt) {
                    ended(depth, node, &node.title, &mut push);
                }
            }
            Event::StepLog { step, attempt, level, message, fields, .. } if *level >= Level::Info => {
                let depth = steps.get(step, *attempt).map_or(0, |(depth, _)| depth);
                line(*level, message, fields).lines().for_each(|line| push(depth + 1, line));
            }
            Event::Asked { verb, by } => push(0, &format!("{} asked by {by}", verb.as_str())),
            Event::UndoBegan { reason } => push(0, &format!("undo, because of: {reason}")),
            Event::ChangeFinished { state, message } => {
                let took = elapsed(record.at.since(&story.history.opened));
                push(0, &format!("{}  {state}  {took}", story.history.plan.kind));
                message.lines().for_each(|line| push(1, line));
            }
            // The question of a stuck change is told when following it is over.
            Event::ChangeOpened { .. }
            | Event::ChangeQueued { .. }
            | Event::CallIntent { .. }
            | Event::StepLog { .. }
            | Event::HookCreated { .. }
            | Event::ObjectsFound { .. }
            | Event::HookJudged { .. }
            | Event::HooksEnded
            | Event::ChangeStuck { .. } => {}
        }
    }

    /// Says of what takes long that it runs, once.
    fn long(&mut self, story: &Story, steps: &Steps<'_>, now: Stamp, lines: &mut Vec<String>) {
        let change = story.history.key.to_string();
        for (depth, node) in steps.0.values() {
            let runs = node.finished.is_none() && node.children.is_empty() && node.state == "Running";
            let long = node.started.is_some_and(|started| now.since(&started) >= LONG);
            if runs && long && self.said.insert((change.clone(), node.id.clone(), node.attempt)) {
                let text = painted(&format!("{}  Running", node.title), self.paint);
                lines.push(format!("{change}  {}{text}", "  ".repeat(*depth)));
            }
        }
    }
}

impl<'t> Steps<'t> {
    fn of(tree: &'t ChangeTree) -> Self {
        let mut steps = Self(BTreeMap::new());
        tree.steps.iter().for_each(|step| steps.add(0, step));
        steps
    }

    fn add(&mut self, depth: usize, step: &'t StepNode) {
        self.0.insert((&step.id, step.attempt), (depth, step));
        step.children.iter().for_each(|child| self.add(depth + 1, child));
    }

    fn get(&self, id: &StepId, attempt: u32) -> Option<(usize, &'t StepNode)> {
        self.0.get(&(id, attempt)).copied()
    }
}

/// How a step ended, and what a person needs beside it. What only holds others leaves the words to them.
fn ended(depth: usize, node: &StepNode, title: &str, push: &mut impl FnMut(usize, &str)) {
    let took = match (&node.started, &node.finished) {
        (Some(started), Some(finished)) => format!("  {}", elapsed(finished.since(started))),
        _ => String::new(),
    };
    push(depth, &format!("{title}  {}{took}", node.state));
    if !matches!(node.kind, NodeKind::Mode | NodeKind::Sync) {
        node.message.lines().for_each(|line| push(depth + 1, line));
    }
    node.notes.iter().for_each(|note| push(depth + 1, note));
    if node.output.cut {
        push(depth + 1, "Earlier output was cut");
    }
    node.output.text.lines().for_each(|line| push(depth + 1, &format!("> {line}")));
}

fn step_title(title: &str, attempt: u32) -> String {
    if attempt > 1 { format!("{title}, attempt {attempt}") } else { title.to_owned() }
}

fn heading(story: &Story) -> String {
    let history = &story.history;
    let versions = match &history.plan.from_version {
        Some(from) if *from != history.plan.to_version => format!("{from} → {}", history.plan.to_version),
        _ => history.plan.to_version.clone(),
    };
    format!("{}  {} {versions}", history.key, history.plan.kind)
}

/// A pipe that nobody reads does not stop a change.
fn write(lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    let mut stdout = io::stdout().lock();
    let text: String = lines.iter().flat_map(|line| [line.trim_end(), "\n"]).collect();
    drop(stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()));
}
