//! `lifecycle` is pure: the same history gives the same decisions on any machine, at any time. So nothing in it reads the
//! world, and nothing depends on the order of a hash table, which differs from process to process.

use crate::{
    Finding,
    of_tests::OfTests,
    tokens::{self, Token},
    tree::File,
};

/// Where the rule holds.
const PURE: &str = "runtime/lifecycle/src/";

/// Modules of `std` that read or change the world.
const WORLD: [&str; 6] = ["env", "fs", "net", "os", "process", "thread"];

/// The file that may name `thread`: it runs the library for CEL where the stack is large, and waits for it. What comes back is the
/// same as without.
const WITH_THREAD: &str = "runtime/lifecycle/src/condition/room.rs";

/// Types whose order or value is not the same everywhere.
const UNSTABLE: [&str; 4] = ["HashMap", "HashSet", "Instant", "SystemTime"];

/// Code of the pure room, tests aside, that is not.
#[must_use]
pub fn check(files: &[File]) -> Vec<Finding> {
    let of_tests = OfTests::among(files);
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.is_rust() && file.path.starts_with(PURE) && !of_tests.has(file)) {
        let code = tokens::without_tests(file);
        for token in code.iter().filter(|token| UNSTABLE.contains(&token.text.as_str())) {
            let says = format!("`{}` is not the same everywhere; lifecycle is pure (BTreeMap, Stamp)", token.text);
            findings.push(Finding::at(&file.path, token.line, says));
        }
        for at in 0..code.len() {
            for module in modules_of_std(&code[at..]).filter(|module| is_world(file, &module.text)) {
                let says = format!("`std::{}` is the world; lifecycle is pure: take a value instead", module.text);
                findings.push(Finding::at(&file.path, module.line, says));
            }
        }
    }
    findings
}

fn is_world(file: &File, module: &str) -> bool {
    WORLD.contains(&module) && !(module == "thread" && file.path == WITH_THREAD)
}

/// The modules named where the tokens begin with `std::`: one, or those of a `use` with braces.
fn modules_of_std(tokens: &[Token]) -> impl Iterator<Item = &Token> {
    let path = if tokens::starts_with(tokens, &["std", ":", ":"]) { &tokens[3..] } else { &[] };
    let mut depth = 0_usize;
    let mut is_start = true;
    let mut is_over = false;
    path.iter().filter(move |token| {
        if is_over {
            return false;
        }
        match token.text.as_str() {
            "{" => depth += 1,
            "}" => depth = depth.saturating_sub(1),
            "," if depth == 1 => is_start = true,
            _ => {
                let is_module = is_start && depth <= 1;
                is_start = false;
                is_over = depth == 0;
                return is_module;
            }
        }
        is_over = depth == 0;
        false
    })
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tree::File;

    fn found(path: &str, text: &str) -> usize {
        check(&[File::sample(path, text)]).len()
    }

    #[test]
    fn the_world() {
        for text in [
            "use std::fs;",
            "use std::{fmt, fs::File, str::FromStr};",
            "use std::{collections::{BTreeMap, BTreeSet}, env};",
            "fn a() { std::thread::spawn(b); }",
            "fn a() -> std::time::Instant { b() }",
            "use std::collections::HashMap;",
        ] {
            assert_eq!(found("runtime/lifecycle/src/plan.rs", text), 1, "{text}");
        }
    }

    #[test]
    fn what_looks_like_it() {
        for text in [
            "use std::{fmt, str::FromStr};\nuse crate::{env, process};",
            "use std::collections::{BTreeMap, BTreeSet}; fn fs(env: u8) {}",
            "fn a() { std::mem::take(b, std::fmt::Debug, process); }",
            "#[cfg(test)]\nmod tests { use std::fs; }",
        ] {
            assert_eq!(found("runtime/lifecycle/src/plan.rs", text), 0, "{text}");
        }
        assert_eq!(found("runtime/journal/src/log.rs", "use std::fs;"), 0);
        assert_eq!(found(super::WITH_THREAD, "use std::{fs, thread};"), 1);
    }
}
