//! The tree of steps as text.

use super::{ChangeTree, NodeKind, StepNode};
use crate::drawing::{Branch, with_branches, with_indents};

/// How steps are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// With branches, for a terminal.
    Tree,
    /// With indents, for a pipe.
    Plain,
}

impl ChangeTree {
    /// The change and its steps as lines, ended by a line break. With `output`, what failed workloads printed is under their steps.
    #[must_use]
    pub fn text(&self, style: Style, output: bool) -> String {
        let versions = match &self.from_version {
            Some(from) if *from != self.to_version => format!("{from} → {}", self.to_version),
            _ => self.to_version.clone(),
        };
        let mut lines = vec![format!("{}  {} {versions}  {}", self.change, self.kind, self.state)];
        lines.extend(self.message.lines().map(|line| format!("    {line}")));
        let branches: Vec<Branch> = self.steps.iter().map(|step| branch(step, output)).collect();
        let steps = match style {
            Style::Tree => with_branches(&branches),
            Style::Plain => with_indents(&branches),
        };
        format!("{}\n{steps}", lines.join("\n"))
    }
}

fn branch(step: &StepNode, output: bool) -> Branch {
    let mut lines = vec![line(step)];
    // What is inside says what went wrong; the step around it would only repeat it.
    if !matches!(step.kind, NodeKind::Mode | NodeKind::Sync) {
        lines.extend(step.message.lines().map(str::to_owned));
    }
    lines.extend(step.notes.iter().cloned());
    if output && !step.output.is_empty() {
        if step.output.cut {
            lines.push("Earlier output was cut".to_owned());
        }
        lines.extend(step.output.text.lines().map(|line| format!("> {line}")));
    }
    Branch { lines, inside: step.children.iter().map(|child| branch(child, output)).collect() }
}

/// The step in one line, without what is inside.
fn line(step: &StepNode) -> String {
    let mut words = vec![step.title.clone(), step.state.to_owned()];
    if let (Some(started), Some(finished)) = (&step.started, &step.finished) {
        words.push(elapsed(finished.since(started)));
    }
    let mut asides = Vec::new();
    if step.kind != NodeKind::Call && (step.tried_again || step.attempt > 1) {
        asides.push(format!("attempt {}", step.attempt));
    }
    if let Some(starter) = &step.started_by {
        asides.push(format!("started by {starter}"));
    }
    if !asides.is_empty() {
        words.push(format!("({})", asides.join(", ")));
    }
    words.join("  ")
}

/// Milliseconds as people read them: `340 ms`, `1.2 s`, `2 min 5 s`, `3 h 4 min`.
#[must_use]
pub fn elapsed(ms: u64) -> String {
    let seconds = ms / 1_000;
    match seconds {
        0 => format!("{ms} ms"),
        1..60 => format!("{seconds}.{} s", ms % 1_000 / 100),
        60..3_600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3_600, seconds % 3_600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::elapsed;

    #[test]
    fn elapsed_time_reads_short() {
        for (ms, text) in [
            (0, "0 ms"),
            (999, "999 ms"),
            (1_250, "1.2 s"),
            (59_999, "59.9 s"),
            (125_000, "2 min 5 s"),
            (11_040_000, "3 h 4 min"),
        ] {
            assert_eq!(elapsed(ms), text);
        }
    }
}
