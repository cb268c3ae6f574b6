//! Nothing unfinished and nothing of one machine is left in the tree.

use std::path::Path;

use crate::{
    Finding,
    of_tests::OfTests,
    tokens::{self, Token},
    tree::File,
};

/// Notes to oneself. In two parts, or this file would break its own rule.
const NOTES: [&str; 3] = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")];

/// Macros of code that is not finished.
const UNFINISHED: [&str; 3] = ["todo", "unimplemented", "dbg"];

/// Files with one ignored test that is none: the process that the tests beside it start and kill.
const WITH_CHILD: [&str; 2] = ["runtime/journal/src/index/faults.rs", "runtime/journal/tests/journal/crash.rs"];

/// Where home and work directories begin on some machine.
const OF_ONE_MACHINE: [&str; 4] =
    [concat!("/ho", "me/"), concat!("/ro", "ot/"), concat!("/Us", "ers/"), concat!("/wo", "rk/")];

/// Unfinished code, ignored tests, notes to oneself, absolute paths, and `unwrap` outside of tests.
#[must_use]
pub fn check(files: &[File]) -> Vec<Finding> {
    let of_tests = OfTests::among(files);
    files.iter().flat_map(|file| in_text(file).into_iter().chain(in_code(file, &of_tests))).collect()
}

fn in_text(file: &File) -> Vec<Finding> {
    if Path::new(&file.path).extension().is_some_and(|extension| extension == "lock") {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for (line, number) in file.text.lines().zip(1..) {
        let mut words = line.split(|letter: char| !letter.is_alphanumeric());
        if let Some(note) = words.find(|word| NOTES.contains(word)) {
            findings.push(Finding::at(&file.path, number, format!("{note}: do it, or file an issue")));
        }
        for place in OF_ONE_MACHINE.into_iter().filter(|place| names_folder(line, place)) {
            findings.push(Finding::at(&file.path, number, format!("`{place}…` is a path of one machine")));
        }
    }
    findings
}

/// Whether an absolute path begins with `place`: before it is nothing that a path goes on from.
fn names_folder(line: &str, place: &str) -> bool {
    let goes_on = |letter: char| letter.is_alphanumeric() || matches!(letter, '.' | '_' | '-' | '~' | '}' | '/');
    line.match_indices(place).any(|(at, _)| !line.get(..at).is_some_and(|before| before.ends_with(goes_on)))
}

fn in_code(file: &File, of_tests: &OfTests) -> Vec<Finding> {
    if !file.is_rust() {
        return Vec::new();
    }
    let all = tokens::of(file);
    let mut findings: Vec<_> = (0..all.len()).filter_map(|at| unfinished(file, all.get(at..)?)).collect();
    findings.extend(ignored(file, &all));
    if !of_tests.has(file) {
        let code = tokens::without_tests(file);
        let is_unwrap = |tokens: &&[Token]| tokens::starts_with(*tokens, &[".", "unwrap", "("]);
        findings.extend(code.windows(3).filter(is_unwrap).map(|tokens| {
            Finding::at(
                &file.path,
                tokens[1].line,
                "`unwrap` outside of tests: give an error, or `expect` the invariant",
            )
        }));
    }
    findings
}

fn unfinished(file: &File, tokens: &[Token]) -> Option<Finding> {
    let line = tokens.first()?.line;
    if let Some(name) = UNFINISHED.iter().find(|name| tokens::starts_with(tokens, &[name, "!"])) {
        return Some(Finding::at(&file.path, line, format!("`{name}!` is left")));
    }
    None
}

fn ignored(file: &File, tokens: &[Token]) -> Vec<Finding> {
    let is_ignore = |tokens: &&[Token]| tokens::starts_with(*tokens, &["#", "[", "ignore"]);
    let allowed = usize::from(WITH_CHILD.contains(&file.path.as_str()));
    let found = tokens.windows(3).filter(is_ignore).skip(allowed);
    found.map(|tokens| Finding::at(&file.path, tokens[0].line, "an ignored test: make it run, or remove it")).collect()
}

#[cfg(test)]
mod tests {
    use super::{NOTES, OF_ONE_MACHINE, check};
    use crate::tree::File;

    fn found(path: &str, text: &str) -> usize {
        check(&[File::sample(path, text)]).len()
    }

    #[test]
    fn unfinished_code() {
        for text in
            ["fn a() { todo!() }", "fn a() { b(unimplemented!(\"c\")) }", "fn a() { dbg!(1); }", "#[ignore] fn a() {}"]
        {
            assert_eq!(found("tests/a.rs", text), 1, "{text}");
        }
        assert_eq!(found("src/a.rs", "#[test]\n#[ignore = \"slow\"]\nfn a() {}"), 1);
        for (ignored, expected) in [(1, 0), (2, 1)] {
            assert_eq!(
                found(super::WITH_CHILD[0], &"#[test] #[ignore = \"child\"] fn a() {}".repeat(ignored)),
                expected
            );
        }
        assert_eq!(found("src/a.rs", "/// Never `todo!()`.\nfn todo() { b(\"dbg!(1)\"); ignore(todo); }"), 0);
    }

    #[test]
    fn notes_to_oneself() {
        for note in NOTES {
            assert_eq!(found("README.md", &format!("fine\n<!-- {note}: more -->")), 1);
            assert_eq!(found("README.md", &format!("{note}S and {}", note.to_lowercase())), 0);
        }
    }

    #[test]
    fn paths_of_one_machine() {
        for place in OF_ONE_MACHINE {
            assert_eq!(found("a.sh", &format!("cd {place}pintle")), 1, "{place}");
            assert_eq!(found("a.rs", &format!("//! `{place}pintle`")), 1, "{place}");
            assert_eq!(found("a.sh", &format!("cd target{place} && cd ${{base}}{place}")), 0, "{place}");
            assert_eq!(found("Cargo.lock", place), 0);
        }
    }

    #[test]
    fn unwrap_in_tests_alone() {
        let test = "#[cfg(test)]\nmod tests { fn a() { b().unwrap(); } }";
        assert_eq!(found("runtime/journal/src/a.rs", "fn a() { b().unwrap(); }"), 1);
        assert_eq!(found("runtime/journal/src/a.rs", test), 0);
        assert_eq!(found("runtime/journal/src/a.rs", &format!("{test}\nfn c() {{ b().unwrap() }}")), 1);
        assert_eq!(found("runtime/journal/src/a.rs", "fn a() { b().unwrap_or(1); }"), 0);
        assert_eq!(found("tests/crash/src/a.rs", "fn a() { b().unwrap(); }"), 0);
    }
}
