//! What documents refer to is there: links to files, and paths of files in backticks.

use std::{
    collections::BTreeSet,
    path::{Component, Path, PathBuf},
};

use crate::{Finding, tree::File};

/// A word in backticks that ends so and has a `/` is the path of a file.
const EXTENSIONS: [&str; 5] = ["md", "rs", "toml", "wit", "yml"];

/// References of Markdown files to nothing.
#[must_use]
pub fn check(files: &[File]) -> Vec<Finding> {
    let paths: BTreeSet<_> = files.iter().map(|file| Path::new(&file.path)).collect();
    let is_there = |path: &Path| paths.iter().any(|file| file.starts_with(path));
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| Path::new(&file.path).extension().is_some_and(|extension| extension == "md"))
    {
        let folder = Path::new(&file.path).parent().unwrap_or(Path::new(""));
        for (line, number) in file.text.lines().zip(1..) {
            let broken = |path: &&str| !resolved(folder, path).is_some_and(|path| is_there(&path));
            let links = links(line).filter(broken);
            // A path in backticks is one from the root or from the folder, as it reads best.
            let named = named(line).filter(broken).filter(|path| !is_there(Path::new(path)));
            findings.extend(
                links.chain(named).map(|path| Finding::at(&file.path, number, format!("there is no `{path}`"))),
            );
        }
    }
    findings
}

/// Targets of links to files: no addresses, no places inside the same document.
fn links(line: &str) -> impl Iterator<Item = &str> {
    let targets = line.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next());
    targets.filter(|target| !target.is_empty() && !target.contains(':'))
}

/// Paths of files in backticks, but for those with a placeholder in capitals.
fn named(line: &str) -> impl Iterator<Item = &str> {
    let words = line.split('`').skip(1).step_by(2);
    words.filter(|word| {
        let path = Path::new(word);
        let is_path = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || "./_-".contains(letter);
        word.contains('/')
            && word.chars().all(is_path)
            && path.extension().is_some_and(|extension| EXTENSIONS.iter().any(|known| extension == *known))
    })
}

/// The path from the root of the repository; none where it leaves that.
fn resolved(folder: &Path, path: &str) -> Option<PathBuf> {
    let mut resolved = folder.to_owned();
    for part in Path::new(path).components() {
        match part {
            Component::Normal(name) => resolved.push(name),
            Component::CurDir => {}
            Component::ParentDir => resolved.pop().then_some(())?,
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(resolved)
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tree::File;

    fn found(text: &str) -> usize {
        let files = [
            File::sample("docs/cli.md", text),
            File::sample("docs/store.md", ""),
            File::sample("runtime/journal/src/lib.rs", ""),
        ];
        check(&files).len()
    }

    #[test]
    fn links_to_nothing() {
        for text in [
            "[a](gone.md)",
            "[a](../runtime/gone)",
            "see [a](store.md) and [b](gone.md#x)",
            "[a](../../x.md)",
            "[a](/docs)",
        ] {
            assert_eq!(found(text), 1, "{text}");
        }
        for text in ["[a](store.md#x) [b](../runtime/journal)", "[a](https://example.com/x.md)", "[a](#x)"] {
            assert_eq!(found(text), 0, "{text}");
        }
    }

    #[test]
    fn paths_of_nothing() {
        for text in ["`runtime/journal/src/gone.rs`", "a `docs/store.md` b `docs/gone.md`"] {
            assert_eq!(found(text), 1, "{text}");
        }
        for text in [
            "`runtime/journal/src/lib.rs`",
            "`runtime/journal/src/NAME.rs`",
            "`retention.rs`",
            "runtime/gone.rs",
            "`a/*.rs`",
        ] {
            assert_eq!(found(text), 0, "{text}");
        }
    }
}
