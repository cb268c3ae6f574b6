//! The packages of the workspace as their manifests declare them, and what each has to inherit.

use toml::{Table, Value};

use crate::{Finding, tree::File};

/// One package of ours.
#[derive(Debug, Clone)]
pub struct Package {
    pub name: String,
    /// Its manifest, from the root of the repository.
    pub path: String,
    /// What it depends on: for the build, for tests and on any target, too.
    pub dependencies: Vec<Dependency>,
    manifest: Table,
}

/// What a package depends on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Dependency {
    /// Its real name, not the one that it is given.
    pub name: String,
    /// Whether only tests have it.
    pub is_for_tests: bool,
}

/// Tables that name dependencies, at the top of a manifest or of one `target`.
const DEPENDENCIES: [&str; 3] = ["dependencies", "dev-dependencies", "build-dependencies"];

/// Keys of `[package]` that have one value for all.
const INHERITED: [&str; 4] = ["edition", "rust-version", "license", "publish"];

/// Reads the packages in the tree.
///
/// # Errors
/// A manifest that is no TOML.
pub fn read(files: &[File]) -> Result<Vec<Package>, String> {
    let manifests = files.iter().filter(|file| file.path == "Cargo.toml" || file.path.ends_with("/Cargo.toml"));
    let parsed = manifests.map(|file| {
        let manifest: Table = file.text.parse().map_err(|error| format!("{}: {error}", file.path))?;
        Ok((file.path.clone(), manifest))
    });
    let manifests = parsed.collect::<Result<Vec<_>, String>>()?;
    let root = manifests.iter().find(|(path, _)| path == "Cargo.toml").map(|(_, manifest)| manifest.clone());
    let renamed = |key: &str| root.as_ref()?.get("workspace")?.get("dependencies")?.get(key)?.get("package")?.as_str();
    let package = |(path, manifest): (String, Table)| {
        let name = manifest.get("package")?.get("name")?.as_str()?.to_owned();
        let dependencies = dependencies_of(&manifest, &renamed);
        Some(Package { name, path, dependencies, manifest })
    };
    Ok(manifests.into_iter().filter_map(package).collect())
}

fn dependencies_of<'n>(manifest: &Table, renamed: &impl Fn(&str) -> Option<&'n str>) -> Vec<Dependency> {
    let targets = manifest.get("target").and_then(Value::as_table).into_iter().flat_map(Table::values);
    let mut dependencies = Vec::new();
    for scope in std::iter::once(manifest).chain(targets.filter_map(Value::as_table)) {
        for kind in DEPENDENCIES {
            for (key, value) in scope.get(kind).and_then(Value::as_table).into_iter().flatten() {
                let own = value.get("package").and_then(Value::as_str);
                let name = own.or_else(|| renamed(key)).unwrap_or(key).to_owned();
                dependencies.push(Dependency { name, is_for_tests: kind == "dev-dependencies" });
            }
        }
    }
    dependencies
}

/// Packages that do not inherit what is the same for all.
#[must_use]
pub fn check_inherited(packages: &[Package]) -> Vec<Finding> {
    let is_inherited =
        |value: Option<&Value>| value.and_then(|value| value.get("workspace")) == Some(&Value::Boolean(true));
    let mut findings = Vec::new();
    for package in packages {
        let table = package.manifest.get("package");
        for key in INHERITED.into_iter().filter(|key| !is_inherited(table.and_then(|table| table.get(key)))) {
            findings.push(Finding::of(&package.path, format!("write `{key}.workspace = true` under [package]")));
        }
        let lints = package.manifest.get("lints");
        if !is_inherited(lints) {
            findings.push(Finding::of(&package.path, "write `workspace = true` under [lints]"));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::{check_inherited, read};
    use crate::tree::File;

    const GOOD: &str = "[package]\nname = \"a\"\nedition.workspace = true\nrust-version.workspace = true\n\
                        license.workspace = true\npublish.workspace = true\n[lints]\nworkspace = true\n";

    fn found(manifest: &str) -> usize {
        check_inherited(&read(&[File::sample("a/Cargo.toml", manifest)]).unwrap()).len()
    }

    #[test]
    fn own_and_missing_values_are_found() {
        assert_eq!(found(GOOD), 0);
        assert_eq!(found(&GOOD.replace("edition.workspace = true", "edition = \"2021\"")), 1);
        assert_eq!(found(&GOOD.replace("license.workspace = true", "license.workspace = false")), 1);
        assert_eq!(found(&GOOD.replace("publish.workspace = true\n", "")), 1);
        assert_eq!(found(&GOOD.replace("[lints]\nworkspace = true\n", "")), 1);
        assert_eq!(found("[package]\nname = \"a\"\n"), 5);
    }

    #[test]
    fn dependencies_of_every_kind_and_name_are_read() {
        let root = "[workspace.dependencies]\nstore = {package = \"sled\", version = \"1\"}\n";
        let manifest = "[package]\nname = \"a\"\n[dependencies]\nstore.workspace = true\nb = \"1\"\n[dev-dependencies]\nc = \"1\"\n\
                        [build-dependencies]\nd = {version = \"1\", package = \"real-d\"}\n\
                        [target.'cfg(unix)'.dependencies]\ne = \"1\"\n";
        let packages = read(&[File::sample("Cargo.toml", root), File::sample("a/Cargo.toml", manifest)]).unwrap();
        assert_eq!(packages.len(), 1);
        let mut dependencies: Vec<_> =
            packages[0].dependencies.iter().map(|found| (found.name.as_str(), found.is_for_tests)).collect();
        dependencies.sort_unstable();
        assert_eq!(dependencies, [("b", false), ("c", true), ("e", false), ("real-d", false), ("sled", false)]);
    }

    #[test]
    fn a_manifest_that_is_no_toml_is_an_error() {
        assert!(read(&[File::sample("a/Cargo.toml", "[package")]).unwrap_err().starts_with("a/Cargo.toml: "));
    }
}
