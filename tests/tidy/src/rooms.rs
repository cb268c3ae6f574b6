//! daemon → sandbox → {journal, platform} → lifecycle: nothing points back, and each foreign thing has one room that names it.

use std::collections::BTreeMap;

use crate::{
    Finding,
    packages::{Dependency, Package},
};

/// A room and the rooms that it may use.
const ROOMS: [(&str, &[&str]); 5] = [
    ("pintle-lifecycle", &[]),
    ("pintle-journal", &["pintle-lifecycle"]),
    ("pintle-platform", &["pintle-lifecycle"]),
    ("pintle-sandbox", &["pintle-lifecycle", "pintle-journal", "pintle-platform"]),
    ("pintle", &["pintle-lifecycle", "pintle-journal", "pintle-platform", "pintle-sandbox"]),
];

/// Packages of ours that are no rooms and that a room may use.
const OPEN_TO_ROOMS: [&str; 1] = ["pintle-image"];

/// Packages of ours that only the tests of a room may use.
const OPEN_TO_TESTS: [&str; 1] = ["guest-artifacts"];

/// Foreign packages by the beginning of their names, and the only room that may use them.
const ONE_ROOM: [(&str, &str); 5] = [
    ("sled", "pintle-journal"),
    ("crossbeam-epoch", "pintle-journal"),
    ("kube", "pintle-platform"),
    ("k8s-openapi", "pintle-platform"),
    ("wasmtime", "pintle-sandbox"),
];

/// What the pure room may not use at all, by the beginning of the name.
const NOT_PURE: [&str; 7] = ["tokio", "wasmtime", "kube", "sled", "hyper", "rustix", "rand"];

/// Dependencies that point back, reach past a door, or go round.
#[must_use]
pub fn check(packages: &[Package]) -> Vec<Finding> {
    let ours: Vec<_> = packages.iter().map(|package| package.name.as_str()).collect();
    let mut findings = Vec::new();
    for package in packages {
        let room = ROOMS.iter().find(|(name, _)| *name == package.name);
        for dependency in &package.dependencies {
            let wrong = match room {
                Some((_, allowed)) => wrong_in_room(&package.name, allowed, dependency, &ours),
                None => None,
            };
            findings.extend(wrong.map(|says| Finding::of(&package.path, says)));
        }
        if goes_round(&package.name, packages) {
            findings.push(Finding::of(&package.path, format!("{} depends on itself through others", package.name)));
        }
    }
    let missing = ROOMS.iter().filter(|(name, _)| !ours.contains(name));
    findings.extend(missing.map(|(name, _)| Finding::of(name, "this room is not there: has it another name now?")));
    findings
}

fn wrong_in_room(room: &str, allowed: &[&str], dependency: &Dependency, ours: &[&str]) -> Option<String> {
    let is_open_to_tests = dependency.is_for_tests && OPEN_TO_TESTS.contains(&dependency.name.as_str());
    let dependency = dependency.name.as_str();
    let is_open = allowed.contains(&dependency) || OPEN_TO_ROOMS.contains(&dependency);
    if ours.contains(&dependency) && !is_open && !is_open_to_tests {
        return Some(format!("{room} may not use {dependency}: {} → {{{}}}", room, allowed.join(", ")));
    }
    if room == "pintle-lifecycle" && NOT_PURE.iter().any(|name| is_of(dependency, name)) {
        return Some(format!("{room} is pure and may not use {dependency}"));
    }
    let owner = ONE_ROOM.iter().find(|(name, owner)| is_of(dependency, name) && *owner != room);
    owner.map(|(_, owner)| format!("{room} may not use {dependency}: only {owner} does"))
}

/// `kube` itself and `kube-runtime`, but not `kubed`.
fn is_of(dependency: &str, name: &str) -> bool {
    dependency.strip_prefix(name).is_some_and(|end| end.is_empty() || end.starts_with(['-', '_']))
}

/// Whether a package reaches itself over dependencies of any kind. Cargo allows that for tests, and a reader is lost.
fn goes_round(name: &str, packages: &[Package]) -> bool {
    let by_name: BTreeMap<_, _> = packages.iter().map(|package| (package.name.as_str(), package)).collect();
    let next = |name: &str| by_name.get(name).map_or(&[][..], |package| &package.dependencies);
    let mut reached: Vec<&str> = Vec::new();
    let names = |name| next(name).iter().map(|dependency| dependency.name.as_str());
    let mut open: Vec<&str> = names(name).collect();
    while let Some(dependency) = open.pop() {
        if dependency == name {
            return true;
        }
        if !reached.contains(&dependency) {
            reached.push(dependency);
            open.extend(names(dependency));
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::{ROOMS, check};
    use crate::{packages, tree::File};

    /// The rooms with one more dependency, and one package that is no room.
    fn found(room: &str, kind: &str, dependency: &str) -> Vec<String> {
        let manifest = |name: &str, dependencies: &str| {
            File::sample(&format!("{name}/Cargo.toml"), &format!("[package]\nname = \"{name}\"\n{dependencies}"))
        };
        let room_files = ROOMS.iter().map(|(name, allowed)| {
            let mut tables = vec!["[dependencies]".to_owned()];
            tables.extend(allowed.iter().map(|allowed| format!("{allowed} = \"1\"")));
            if *name == room {
                tables.push(format!("[{kind}.x]\nversion = \"1\"\npackage = \"{dependency}\""));
            }
            manifest(name, &tables.join("\n"))
        });
        let mut files: Vec<_> = room_files.collect();
        files.extend(["pintle-sdk", "pintle-image", "guest-artifacts"].map(|name| manifest(name, "")));
        check(&packages::read(&files).unwrap()).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn forwards_and_foreign_packages_are_fine() {
        assert_eq!(found("pintle-lifecycle", "dependencies", "serde"), [""; 0]);
        assert_eq!(found("pintle-lifecycle", "dependencies", "pintle-image"), [""; 0]);
        assert_eq!(found("pintle-journal", "dependencies", "sled"), [""; 0]);
        assert_eq!(found("pintle-platform", "dependencies", "kube-runtime"), [""; 0]);
        assert_eq!(found("pintle-journal", "dependencies", "kubed"), [""; 0]);
    }

    #[test]
    fn backwards_is_found_and_so_is_the_circle() {
        for kind in ["dependencies", "dev-dependencies", "build-dependencies"] {
            let found = found("pintle-lifecycle", kind, "pintle-journal");
            assert!(found[0].contains("pintle-lifecycle may not use pintle-journal"), "{found:?}");
            assert!(found.iter().any(|finding| finding.contains("depends on itself")), "{found:?}");
        }
        assert_eq!(found("pintle-journal", "dependencies", "pintle-platform").len(), 1);
        assert_eq!(found("pintle-platform", "dependencies", "pintle-sdk").len(), 1);
    }

    #[test]
    fn some_packages_are_open_to_tests_alone() {
        assert_eq!(found("pintle-sandbox", "dev-dependencies", "guest-artifacts"), [""; 0]);
        assert_eq!(found("pintle-sandbox", "dependencies", "guest-artifacts").len(), 1);
    }

    #[test]
    fn each_foreign_thing_has_one_room() {
        for (room, dependency) in [
            ("pintle", "sled"),
            ("pintle", "wasmtime-wasi"),
            ("pintle-sandbox", "kube"),
            ("pintle-journal", "k8s-openapi"),
            ("pintle-lifecycle", "tokio"),
            ("pintle-lifecycle", "rand_chacha"),
        ] {
            assert_eq!(found(room, "dependencies", dependency).len(), 1, "{room} {dependency}");
        }
    }

    #[test]
    fn a_room_that_is_gone_is_found() {
        assert_eq!(check(&[]).len(), ROOMS.len());
    }
}
