//! What Pintle offers to a module: the WIT package of this build, and the WASI interfaces that standard libraries pull in.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use wit_parser::{PackageName, Resolve, WorldItem};

const WIT: &str = include_str!("../../../wit/actions.wit");

/// Packages of WASI 0.2 that are linked; `wasi:http` is not among them.
const WASI: [&str; 6] = ["cli", "clocks", "filesystem", "io", "random", "sockets"];

pub(crate) static OFFER: LazyLock<Offer> =
    LazyLock::new(|| Offer::parse(WIT).expect("wit/actions.wit is checked by a test"));

/// The interfaces of the WIT package with their functions.
#[derive(Debug)]
pub(crate) struct Offer {
    package: PackageName,
    imports: BTreeMap<String, BTreeSet<String>>,
    pub(crate) export: String,
}

/// What is wrong with a name that a module imports.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Another version of a package that we have.
    Version { package: String, wanted: String, offered: String },
    /// Nothing of that name.
    Unknown,
    /// The interface is there, the function is not.
    Function(String),
}

impl Offer {
    fn parse(wit: &str) -> Option<Self> {
        let mut resolve = Resolve::default();
        let package = resolve.push_str("actions.wit", wit).ok()?;
        let world = resolve.select_world(&[package], Some("action-module")).ok()?;
        let interface = |item: &WorldItem| match item {
            WorldItem::Interface { id, .. } => {
                let interface = &resolve.interfaces[*id];
                Some((interface.name.clone()?, interface.functions.keys().cloned().collect()))
            }
            _ => None,
        };
        let (export, _) = resolve.worlds[world].exports.values().find_map(interface)?;
        Some(Self {
            package: resolve.packages[package].name.clone(),
            imports: resolve.worlds[world].imports.values().filter_map(interface).collect(),
            export,
        })
    }

    /// Version of the WIT package: `0.1.0`.
    pub(crate) fn version(&self) -> String {
        version(&self.package)
    }

    /// Whether this is our package, in whichever version.
    pub(crate) fn is_ours(&self, package: &PackageName) -> bool {
        self.package.namespace == package.namespace && self.package.name == package.name
    }

    /// Whether a module that was built for this version of our package fits: a minor version only adds functions.
    pub(crate) fn fits(&self, package: &PackageName) -> Result<(), Refusal> {
        let fits = match (&self.package.version, &package.version) {
            (Some(ours), Some(theirs)) => {
                let same_minor = ours.major > 0 || ours.minor == theirs.minor;
                ours.major == theirs.major && same_minor && theirs.pre.is_empty()
            }
            _ => false,
        };
        if fits {
            return Ok(());
        }
        Err(Refusal::Version {
            package: format!("{}:{}", package.namespace, package.name),
            wanted: version(package),
            offered: self.version(),
        })
    }

    /// Whether a module may import these functions of this interface.
    pub(crate) fn has<'a>(
        &self,
        package: &PackageName,
        interface: &str,
        functions: impl IntoIterator<Item = &'a String>,
    ) -> Result<(), Refusal> {
        if self.is_ours(package) {
            self.fits(package)?;
            let offered = self.imports.get(interface).ok_or(Refusal::Unknown)?;
            return match functions.into_iter().find(|function| !offered.contains(*function)) {
                Some(function) => Err(Refusal::Function(function.clone())),
                None => Ok(()),
            };
        }
        if package.namespace != "wasi" || !WASI.contains(&package.name.as_str()) {
            return Err(Refusal::Unknown);
        }
        match &package.version {
            Some(version) if version.major == 0 && version.minor == 2 && version.pre.is_empty() => Ok(()),
            _ => Err(Refusal::Version {
                package: format!("wasi:{}", package.name),
                wanted: version(package),
                offered: "0.2".to_owned(),
            }),
        }
    }
}

pub(crate) fn version(package: &PackageName) -> String {
    package.version.as_ref().map_or_else(|| "no version".to_owned(), ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wit_of_this_build_is_offered() {
        let offer = Offer::parse(WIT).expect("wit/actions.wit parses and has the world action-module");
        assert_eq!(offer.export, "actions");
        let interfaces: Vec<&str> = offer.imports.keys().map(String::as_str).collect();
        // `types` has no function; it is imported for the error record.
        let expected = ["components", "context", "durable", "jobs", "logging", "releases", "state", "types"];
        assert_eq!(interfaces, expected);
        assert!(offer.imports["jobs"].contains("wait-any"));
    }
}
