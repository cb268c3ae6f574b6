//! Documents with a mistake in them: a good document, one edit, and all problems that it gives.

use std::fmt::Write;

use pintle_lifecycle::document::Problems;

/// A text in a good document, and what is written in its place.
pub type Edit = (&'static str, &'static str);

/// Every edit with the problems that it gives, each with place, message and cure.
pub fn report(good: &str, edits: &[Edit], read: impl Fn(&str) -> Problems) -> String {
    assert_eq!(read(good), Problems::default());
    let mut report = String::new();
    for (from, to) in edits {
        assert_eq!(good.matches(from).count(), 1, "the edit `{from}` has no single place");
        let problems = read(&good.replace(from, to));
        assert!(!problems.is_empty(), "`{from}` => `{to}` was accepted");
        writeln!(report, "### {from:?} => {to:?}\n{problems}\n").unwrap();
    }
    report
}
