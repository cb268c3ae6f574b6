//! Programs and suites share each compiled dependency. Cargo compiles a package once more where a suite asks for a feature that no
//! program has, and with it everything that depends on it: wasmtime, say, for minutes.

use std::collections::BTreeSet;

use crate::Finding;

/// Packages that are compiled twice, each with the reason why that is cheap enough.
pub const BUILT_TWICE: [(&str, &str); 0] = [];

/// Packages with features in the programs that the suites do not have in this way. Both are what `cargo tree --prefix none
/// --format "{p} {f}"` prints.
#[must_use]
pub fn check(programs: &str, suites: &str, built_twice: &[(&str, &str)]) -> Vec<Finding> {
    let suites = packages(suites);
    let mut allowed: BTreeSet<_> = built_twice.iter().map(|(name, _)| *name).collect();
    let mut findings = Vec::new();
    for package in packages(programs).difference(&suites) {
        let name = package.split(' ').next().unwrap_or(package);
        if !built_twice.iter().any(|(allowed, _)| *allowed == name) {
            let says = format!(
                "is compiled twice, as {package} for programs, and for suites with more: give both its features"
            );
            findings.push(Finding::of(name, says));
        }
        allowed.remove(name);
    }
    findings
        .extend(allowed.into_iter().map(|name| Finding::of(name, "is not compiled twice any more: remove its reason")));
    findings
}

/// The lines, without the mark of those that were printed before.
fn packages(tree: &str) -> BTreeSet<&str> {
    tree.lines().map(|line| line.trim_end_matches(" (*)").trim_end()).filter(|line| !line.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn a_feature_that_only_suites_have_is_found() {
        let programs = "rustix v1.1.6 fs\nsled v0.34.7 \n\nrustix v1.1.6 fs (*)\n";
        assert_eq!(check(programs, "rustix v1.1.6 fs\nsled v0.34.7\ntempfile v3.0.0\n", &[]), []);
        let found = check(programs, "rustix v1.1.6 fs,net\nsled v0.34.7\n", &[]);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].place, "rustix");
    }

    #[test]
    fn a_reason_allows_it_as_long_as_it_is_needed() {
        let reason = [("rustix", "small")];
        assert_eq!(check("rustix v1.1.6 fs", "rustix v1.1.6 fs,net", &reason), []);
        assert_eq!(check("rustix v1.1.6 fs", "rustix v1.1.6 fs", &reason).len(), 1);
    }
}
