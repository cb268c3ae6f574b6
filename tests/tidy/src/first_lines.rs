//! Every Rust file says first what it is for: its first line is a module comment.

use crate::{Finding, tree::File};

/// Files whose first line is no `//!`.
#[must_use]
pub fn check(files: &[File]) -> Vec<Finding> {
    let is_documented = |file: &&File| file.text.starts_with("//! ") || file.text.starts_with("#![doc = include_str!(");
    let rust = files.iter().filter(|file| file.is_rust());
    rust.filter(|file| !is_documented(file))
        .map(|file| Finding::at(&file.path, 1, "begin with a `//!` paragraph: what it is for, and why it is there"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tree::File;

    #[test]
    fn a_comment_of_another_kind_is_none() {
        let good = ["//! Weights of hooks.\nuse a;\n", "#![doc = include_str!(\"../README.md\")]\n"];
        let bad = ["", "use a;\n", "// Weights.\n", "/// Weights.\n", "//!\n", "use a;\n//! Weights.\n"];
        for (index, text) in good.iter().chain(&bad).enumerate() {
            let found = check(&[File::sample("src/weight.rs", text)]);
            assert_eq!(found.len(), usize::from(index >= good.len()), "{text:?}");
        }
        assert_eq!(check(&[File::sample("notes.md", "Weights")]), []);
    }
}
