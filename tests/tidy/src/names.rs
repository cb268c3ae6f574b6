//! Files, modules and types are named by the domain. A name that fits anything says nothing.

use std::path::Path;

use crate::{
    Finding,
    tokens::{self, Token},
    tree::File,
};

/// Words that name nothing.
const BANNED: [&str; 12] = [
    "common",
    "engine",
    "handler",
    "helper",
    "manager",
    "misc",
    "operation",
    "service",
    "task",
    "util",
    "utility",
    "workflow",
];

/// What is declared with a name of ours.
const DECLARES: [&str; 6] = ["enum", "mod", "struct", "trait", "type", "union"];

/// Rust files, their folders, and what they declare, with a banned word in the name.
#[must_use]
pub fn check(files: &[File]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        let parts = Path::new(&file.path).iter().map(|part| part.to_string_lossy());
        for word in parts.flat_map(|part| banned_in(&part)) {
            findings.push(Finding::of(&file.path, format!("the path says `{word}`: name it by what it is about")));
        }
        for declared in tokens::of(file).windows(2).filter_map(declared_name) {
            for word in banned_in(&declared.text) {
                let says = format!("`{}` says `{word}`: name it by what it is", declared.text);
                findings.push(Finding::at(&file.path, declared.line, says));
            }
        }
    }
    findings
}

fn declared_name(pair: &[Token]) -> Option<&Token> {
    let [keyword, name] = pair else { return None };
    DECLARES.contains(&keyword.text.as_str()).then_some(name)
}

/// The banned words in a name of any case, in the singular.
fn banned_in(name: &str) -> Vec<&'static str> {
    words(name).iter().filter_map(|word| BANNED.into_iter().find(|banned| is_form_of(word, banned))).collect()
}

fn is_form_of(word: &str, banned: &str) -> bool {
    word.strip_prefix(banned).is_some_and(|end| matches!(end, "" | "s"))
        || banned.strip_suffix('y').is_some_and(|stem| word.strip_prefix(stem) == Some("ies"))
}

/// `ReadyPlan`, `ready_plan` and `ready-plan.rs` as words in lower case.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut after_lower = false;
    for letter in name.chars() {
        if !letter.is_alphanumeric() || letter.is_uppercase() && after_lower {
            words.push(String::new());
        }
        after_lower = letter.is_lowercase() || letter.is_numeric();
        if let (true, Some(word)) = (letter.is_alphanumeric(), words.last_mut()) {
            word.extend(letter.to_lowercase());
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tree::File;

    fn found(path: &str, text: &str) -> usize {
        check(&[File::sample(path, text)]).len()
    }

    #[test]
    fn paths() {
        for path in
            ["src/utils.rs", "src/path_util.rs", "src/helpers/mod.rs", "runtime/common/src/lib.rs", "a/utilities.rs"]
        {
            assert_eq!(found(path, ""), 1, "{path}");
        }
        for path in ["src/weight.rs", "xtask/src/main.rs", "src/commons.md", "src/score.rs", "src/service.yml"] {
            assert_eq!(found(path, ""), 0, "{path}");
        }
    }

    #[test]
    fn declared_names() {
        for text in [
            "struct StepManager;",
            "pub(crate) enum TaskKind {}",
            "mod tasks;",
            "trait HttpHandler {}",
            "type Engine = u8;",
        ] {
            assert_eq!(found("src/a.rs", text), 1, "{text}");
        }
        for text in
            ["use wasmtime::Engine;", "struct Multitasking;", "// struct Manager", "fn f() { g(\"struct Manager\") }"]
        {
            assert_eq!(found("src/a.rs", text), 0, "{text}");
        }
    }
}
