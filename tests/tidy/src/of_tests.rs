//! Which Rust files only tests compile: suites, the packages under the folder `tests`, and modules declared under `#[cfg(test)]`.

use std::{collections::BTreeSet, path::Path};

use crate::{tokens, tree::File};

/// What is compiled for tests alone.
#[derive(Debug)]
pub struct OfTests {
    /// Paths of modules, without the ending.
    modules: BTreeSet<String>,
}

impl OfTests {
    /// Reads the declarations of modules.
    #[must_use]
    pub fn among(files: &[File]) -> Self {
        let rust = files.iter().filter(|file| file.is_rust());
        Self { modules: rust.flat_map(|file| declared(file).map(|name| format!("{}{name}", folder(file)))).collect() }
    }

    #[must_use]
    pub fn has(&self, file: &File) -> bool {
        let path = Path::new(&file.path);
        let is_in_module = |module: &String| {
            file.path.strip_prefix(module.as_str()).is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
        };
        path.iter().any(|part| part == "tests") || self.modules.iter().any(is_in_module)
    }
}

/// Names in `#[cfg(test)] mod name;`.
fn declared(file: &File) -> impl Iterator<Item = String> {
    const DECLARATION: [&str; 8] = ["#", "[", "cfg", "(", "test", ")", "]", "mod"];
    let tokens = tokens::of(file);
    let at = (0..tokens.len()).filter(|at| tokens::starts_with(&tokens[*at..], &DECLARATION));
    let names = at.filter_map(|at| match &tokens[at + DECLARATION.len()..] {
        [name, end, ..] if end.text == ";" => Some(name.text.clone()),
        _ => None,
    });
    names.collect::<Vec<_>>().into_iter()
}

/// Where the modules of a file are: beside a root or `mod.rs`, else in the folder of its name.
fn folder(file: &File) -> String {
    let path = file.path.strip_suffix(".rs").unwrap_or(&file.path);
    let is_root = |name: &str| matches!(name, "lib" | "main" | "mod");
    match path.rsplit_once('/') {
        Some((folder, name)) if is_root(name) => format!("{folder}/"),
        _ => format!("{path}/"),
    }
}

#[cfg(test)]
mod tests {
    use super::OfTests;
    use crate::tree::File;

    #[test]
    fn modules_are_found_by_their_declaration() {
        let files = [
            File::sample("a/src/lib.rs", "mod plan; #[cfg(test)]\nmod sample; #[cfg(test)] mod inline { fn a() {} }"),
            File::sample("a/src/store/mod.rs", "#[cfg(test)] mod faults;"),
            File::sample("a/src/world.rs", "#[cfg(test)] mod tests; #[cfg(unix)] mod pids;"),
        ];
        let of_tests = OfTests::among(&files);
        let has = |path: &str| of_tests.has(&File::sample(path, ""));
        for path in
            ["a/src/sample.rs", "a/src/sample/deep.rs", "a/src/store/faults.rs", "a/src/world/tests.rs", "a/tests/b.rs"]
        {
            assert!(has(path), "{path}");
        }
        for path in ["a/src/plan.rs", "a/src/samples.rs", "a/src/inline.rs", "a/src/faults.rs", "a/src/world/pids.rs"] {
            assert!(!has(path), "{path}");
        }
    }
}
