//! Trees as text: with branches for a terminal, with plain indents for a pipe.

/// A line of a tree, perhaps with more lines below it, and what is inside.
#[derive(Debug, Default)]
pub(crate) struct Branch {
    pub lines: Vec<String>,
    pub inside: Vec<Branch>,
}

impl Branch {
    pub fn new(line: impl Into<String>, inside: Vec<Self>) -> Self {
        Self { lines: vec![line.into()], inside }
    }
}

/// The tree with `├─` and `└─`.
pub(crate) fn with_branches(branches: &[Branch]) -> String {
    let mut text = String::new();
    draw(branches, "", &mut text);
    text
}

fn draw(branches: &[Branch], before: &str, text: &mut String) {
    for (place, branch) in branches.iter().enumerate() {
        let is_last = place + 1 == branches.len();
        let (knot, stem) = if is_last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        let inside = format!("{before}{stem}");
        let below = if branch.inside.is_empty() { "   " } else { "│  " };
        for (place, line) in branch.lines.iter().enumerate() {
            let start = if place == 0 { format!("{before}{knot}") } else { format!("{inside}{below}") };
            push(text, &start, line);
        }
        draw(&branch.inside, &inside, text);
    }
}

/// The tree with two spaces for each depth.
pub(crate) fn with_indents(branches: &[Branch]) -> String {
    let mut text = String::new();
    indent(branches, "", &mut text);
    text
}

fn indent(branches: &[Branch], before: &str, text: &mut String) {
    for branch in branches {
        for (place, line) in branch.lines.iter().enumerate() {
            push(text, &format!("{before}{}", if place == 0 { "" } else { "    " }), line);
        }
        indent(&branch.inside, &format!("{before}  "), text);
    }
}

fn push(text: &mut String, start: &str, line: &str) {
    text.push_str(format!("{start}{line}").trim_end());
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_below_a_branch_keep_its_stem() {
        let leaf = |line: &str| Branch { lines: vec![line.into(), "more".into()], inside: Vec::new() };
        let tree = [Branch { lines: vec!["a".into(), "more".into()], inside: vec![leaf("b"), leaf("c")] }, leaf("d")];
        assert_eq!(
            with_branches(&tree),
            "├─ a\n│  │  more\n│  ├─ b\n│  │     more\n│  └─ c\n│        more\n└─ d\n      more\n"
        );
        assert_eq!(with_indents(&tree), "a\n    more\n  b\n      more\n  c\n      more\nd\n    more\n");
    }
}
