//! Files stay short enough to be read at once. (Functions too: clippy's `too_many_lines`, with its limit in `clippy.toml`.)

use std::collections::BTreeMap;

use crate::{Finding, tree::File};

/// Lines of a file.
pub const LIMIT: usize = 400;

/// Lines of a file that has a reason.
pub const LIMIT_WITH_REASON: usize = 600;

/// Files above [`LIMIT`], each with the reason why it is not two.
pub const LONG_FILES: [(&str, &str); 0] = [];

/// Files that are too long for what `reasons` allows, and reasons that nothing needs any more.
#[must_use]
pub fn check(files: &[File], reasons: &[(&str, &str)]) -> Vec<Finding> {
    let mut reasons: BTreeMap<_, _> = reasons.iter().copied().collect();
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        let lines = file.text.lines().count();
        if lines <= LIMIT {
            continue;
        }
        let limit = if reasons.remove(file.path.as_str()).is_some() { LIMIT_WITH_REASON } else { LIMIT };
        if lines > limit {
            findings.push(Finding::of(&file.path, format!("{lines} lines, the limit is {limit}: one concept a file")));
        }
    }
    findings.extend(reasons.keys().map(|path| Finding::of(path, "has a reason to be long, and is not: remove it")));
    findings
}

#[cfg(test)]
mod tests {
    use super::{LIMIT, LIMIT_WITH_REASON, check};
    use crate::tree::File;

    fn file(lines: usize) -> [File; 1] {
        [File::sample("src/plan.rs", &"\n".repeat(lines))]
    }

    #[test]
    fn a_reason_allows_more_but_not_everything() {
        let reason = [("src/plan.rs", "one match over all records")];
        let long = |lines, reasons: &[(&str, &str)]| !check(&file(lines), reasons).is_empty();
        assert!(!long(LIMIT, &[]));
        assert!(long(LIMIT + 1, &[]));
        assert!(!long(LIMIT + 1, &reason));
        assert!(!long(LIMIT_WITH_REASON, &reason));
        assert!(long(LIMIT_WITH_REASON + 1, &reason));
    }

    #[test]
    fn a_reason_that_is_not_needed_any_more_is_found() {
        let reason = [("src/plan.rs", "one match over all records")];
        assert_eq!(check(&file(LIMIT), &reason).len(), 1);
        assert_eq!(check(&[], &reason).len(), 1);
    }
}
