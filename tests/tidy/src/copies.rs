//! One version of each dependency in the build. What cannot be helped is skipped in `deny.toml`, with its reason: one list, which
//! `cargo deny` reads too; this rule also holds where that is not installed, and finds skips that nothing needs any more.

use std::collections::{BTreeMap, BTreeSet};

use toml::{Table, Value};

use crate::Finding;

/// Where the skips are.
const PLACE: &str = "deny.toml";

/// The versions of each package in what `cargo tree --prefix none --format {p}` prints: what is built, and not what the lock file
/// has for other machines and features.
#[must_use]
pub fn versions(tree: &str) -> BTreeMap<String, BTreeSet<String>> {
    let mut versions: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for line in tree.lines() {
        let mut words = line.split(' ');
        if let (Some(name), Some(version)) = (words.next(), words.next().and_then(|word| word.strip_prefix('v'))) {
            versions.entry(name.to_owned()).or_default().insert(version.to_owned());
        }
    }
    versions
}

/// Packages with more than one version that is not skipped, skips without a reason, and skips of nothing.
///
/// # Errors
/// A `deny.toml` that cannot be read.
pub fn check(versions: &BTreeMap<String, BTreeSet<String>>, deny: &str) -> Result<Vec<Finding>, String> {
    let deny: Table = deny.parse().map_err(|error| format!("{PLACE}: {error}"))?;
    let skips = deny.get("bans").and_then(|bans| bans.get("skip")).and_then(Value::as_array);
    let mut skipped = BTreeSet::new();
    let mut findings = Vec::new();
    for skip in skips.into_iter().flatten() {
        let krate = skip.get("crate").and_then(Value::as_str);
        let Some((name, version)) = krate.and_then(|krate| krate.split_once('@')) else {
            return Err(format!(
                "{PLACE}: a skip is written {{ crate = \"name@version\", reason = \"…\" }}, not {skip}"
            ));
        };
        if skip.get("reason").and_then(Value::as_str).is_none_or(str::is_empty) {
            findings.push(Finding::of(PLACE, format!("the skip of {name} {version} has no reason")));
        }
        let is_needed = versions.get(name).is_some_and(|versions| versions.len() > 1 && versions.contains(version));
        if !is_needed {
            findings.push(Finding::of(PLACE, format!("the skip of {name} {version} is not needed: remove it")));
        }
        skipped.insert((name, version));
    }
    for (name, versions) in versions {
        let kept: Vec<_> =
            versions.iter().filter(|version| !skipped.contains(&(name, version))).map(String::as_str).collect();
        if kept.len() > 1 {
            findings.push(Finding::of(name, format!("is built in {} versions: {}", kept.len(), kept.join(", "))));
        }
    }
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::{check, versions};

    fn two_versions() -> BTreeMap<String, BTreeSet<String>> {
        BTreeMap::from([
            ("syn".to_owned(), BTreeSet::from(["2.0.1".to_owned(), "3.0.0".to_owned()])),
            ("sled".to_owned(), BTreeSet::from(["0.34.7".to_owned()])),
        ])
    }

    fn found(skips: &str) -> Vec<String> {
        let deny = format!("[bans]\nskip = [{skips}]\n");
        check(&two_versions(), &deny).unwrap().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_second_version_needs_a_skip_with_a_reason() {
        assert_eq!(found(""), ["syn: is built in 2 versions: 2.0.1, 3.0.0"]);
        assert_eq!(found("{ crate = \"syn@2.0.1\", reason = \"wit-bindgen\" }"), [""; 0]);
        assert_eq!(found("{ crate = \"syn@2.0.1\" }"), ["deny.toml: the skip of syn 2.0.1 has no reason"]);
        assert_eq!(found("{ crate = \"syn@2.0.1\", reason = \"\" }").len(), 1);
    }

    #[test]
    fn a_skip_that_nothing_needs_is_found() {
        let needed = "{ crate = \"syn@2.0.1\", reason = \"wit-bindgen\" }";
        for skip in ["sled@0.34.7", "syn@1.0.0", "gone@1.0.0"] {
            let found = found(&format!("{needed}, {{ crate = \"{skip}\", reason = \"once\" }}"));
            assert_eq!(found.len(), 1, "{found:?}");
        }
    }

    #[test]
    fn a_skip_of_any_version_is_refused() {
        assert!(check(&two_versions(), "[bans]\nskip = [{ crate = \"syn\", reason = \"all\" }]").is_err());
    }

    #[test]
    fn versions_are_read_from_lines() {
        let tree = "pintle v0.1.0 (/somewhere/runtime/daemon)\nsyn v2.0.1\n\nsyn v3.0.0 (*)\nsyn v3.0.0 (proc-macro)\nsled v0.34.7\n";
        let mut expected = two_versions();
        expected.insert("pintle".to_owned(), BTreeSet::from(["0.1.0".to_owned()]));
        assert_eq!(versions(tree), expected);
    }
}
