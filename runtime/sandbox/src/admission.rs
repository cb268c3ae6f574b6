//! Whether bytes are an action module that this Pintle can run, in words that say what to do, before anything is compiled.

use serde::{Deserialize, Serialize};
use tokio::task::JoinError;
use wit_parser::decoding::DecodedWasm;
use wit_parser::{Resolve, World, WorldItem, WorldKey};

use crate::offer::{OFFER, Refusal, version};
use crate::private_file::FileError;
use crate::structure;

/// Why a module is not admitted.
#[derive(Debug, thiserror::Error)]
pub enum AdmissionError {
    #[error(
        "the module has {size} bytes, a module may have {limit}: build it in release mode, without debug information"
    )]
    TooLarge { size: usize, limit: usize },
    #[error("this is no WebAssembly: it does not begin with `\\0asm`")]
    NotWasm,
    #[error("this is a core module, not a component: build it for the target wasm32-wasip2")]
    CoreModule,
    #[error("the module is cut off: it ends after {size} bytes in the middle of a section; copy or build it again")]
    Truncated { size: usize },
    #[error("the module cannot be read: {reason}")]
    Malformed { reason: String },
    #[error("the module has {count} {what}; it may have {limit}")]
    TooMany { what: &'static str, count: usize, limit: usize },
    #[error(
        "the module would take too long to compile: {what} would take {times} times as long as it may: build it with \
         optimization, and split what is large"
    )]
    TooHeavy { what: String, times: usize },
    #[error(
        "the module uses `{name}`, a part of asynchronous components, which this Pintle does not run: build it with \
         synchronous functions only"
    )]
    Asynchronous { name: String },
    #[error("the module defines resources of its own; an action module may use those of WASI only")]
    OwnResources,
    #[error(
        "the module exports no `pintle:hooks/{wanted}`, so it has no actions (it exports {found}): \
         build it as a cdylib with the Pintle SDK {offered}"
    )]
    NoActions { wanted: String, found: String, offered: String },
    #[error(
        "the module wants {package} {wanted}, this Pintle offers {offered}: build it with an SDK for {offered}, \
         or use a Pintle that offers {wanted}"
    )]
    Version { package: String, wanted: String, offered: String },
    #[error("the module imports `{name}`, which an action does not have{why}")]
    Import { name: String, why: &'static str },
    #[error(
        "the module calls `{function}` of `{interface}`, which this Pintle does not have (it offers {offered}): \
         use a newer Pintle, or an older SDK"
    )]
    Function { function: String, interface: String, offered: String },
    #[error("the module does not fit: {reason}")]
    Unfit { reason: String },
    #[error("the module could not be compiled: {reason}")]
    Compile { reason: String },
    #[error("the module does not say which actions it has: {reason}")]
    Describe { reason: String },
    /// A reader or the compiler panicked.
    #[error("the module cannot be read: {0}")]
    Unreadable(#[from] JoinError),
    #[error(transparent)]
    File(#[from] FileError),
}

impl AdmissionError {
    /// The same without control characters: a module's names and words come to terminals and logs, which would obey them.
    pub(crate) fn plain(self) -> Self {
        let plain = |text: String| text.replace(|c: char| c.is_control() && c != '\n', " ");
        match self {
            Self::Malformed { reason } => Self::Malformed { reason: plain(reason) },
            Self::TooHeavy { what, times } => Self::TooHeavy { what: plain(what), times },
            Self::Asynchronous { name } => Self::Asynchronous { name: plain(name) },
            Self::NoActions { wanted, found, offered } => Self::NoActions { wanted, found: plain(found), offered },
            Self::Version { package, wanted, offered } => {
                Self::Version { package: plain(package), wanted: plain(wanted), offered }
            }
            Self::Import { name, why } => Self::Import { name: plain(name), why },
            Self::Function { function, interface, offered } => {
                Self::Function { function: plain(function), interface: plain(interface), offered }
            }
            Self::Unfit { reason } => Self::Unfit { reason: plain(reason) },
            Self::Compile { reason } => Self::Compile { reason: plain(reason) },
            Self::Describe { reason } => Self::Describe { reason: plain(reason) },
            own_words => own_words,
        }
    }
}

/// An interface that a module imports or exports, and the functions of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Interface {
    /// `pintle:hooks/components@0.1.0`; the name alone for a function that stands in no interface.
    pub name: String,
    pub functions: Vec<String>,
}

/// What the types of a component say about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shape {
    pub imports: Vec<Interface>,
    pub exports: Vec<Interface>,
    /// Version of the WIT package that the module wants.
    pub wit: String,
    /// Names of the calls that it could make: `components.stop`.
    pub calls: Vec<String>,
    /// How long the compiler will take, about, in microseconds.
    pub weight: usize,
}

/// Reads a module of at most `limit` bytes and decides whether it is one that we can run.
pub(crate) fn admit(bytes: &[u8], limit: usize) -> Result<Shape, AdmissionError> {
    if bytes.len() > limit {
        return Err(AdmissionError::TooLarge { size: bytes.len(), limit });
    }
    let weight = structure::check(bytes)?;
    let malformed = |reason: String| AdmissionError::Malformed { reason };
    // It takes types apart that no tool makes, and panics on some.
    let decoded = std::panic::catch_unwind(|| wit_component::decode(bytes));
    let decoded = decoded.map_err(|_| malformed("its types make no sense".to_owned()))?;
    let (resolve, world) = match decoded.map_err(|error| malformed(format!("{error:#}")))? {
        DecodedWasm::Component(resolve, world) => (resolve, world),
        DecodedWasm::WitPackage(..) => return Err(malformed("it holds WIT only, no code".to_owned())),
    };
    let world = &resolve.worlds[world];
    let wit = check_export(&resolve, world)?;
    let mut calls = Vec::new();
    for (key, item) in &world.imports {
        check_import(&resolve, key, item, &mut calls)?;
    }
    Ok(Shape {
        imports: interfaces(&resolve, world.imports.iter()),
        exports: interfaces(&resolve, world.exports.iter()),
        wit,
        calls,
        weight,
    })
}

/// Finds the export that every module has, and tells the version. Others are left over from the tools that built the module.
fn check_export(resolve: &Resolve, world: &World) -> Result<String, AdmissionError> {
    for item in world.exports.values() {
        let WorldItem::Interface { id, .. } = item else { continue };
        let interface = &resolve.interfaces[*id];
        let Some(package) = interface.package.map(|package| &resolve.packages[package].name) else { continue };
        if OFFER.is_ours(package) && interface.name.as_deref() == Some(&OFFER.export) {
            OFFER.fits(package).map_err(|refusal| refused(refusal, "", &OFFER.export))?;
            return Ok(version(package));
        }
    }
    let found: Vec<String> = interfaces(resolve, world.exports.iter()).into_iter().map(|i| i.name).take(8).collect();
    let found = if found.is_empty() { "nothing".to_owned() } else { found.join(", ") };
    Err(AdmissionError::NoActions { wanted: OFFER.export.clone(), found, offered: OFFER.version() })
}

fn check_import(
    resolve: &Resolve,
    key: &WorldKey,
    item: &WorldItem,
    calls: &mut Vec<String>,
) -> Result<(), AdmissionError> {
    let name = resolve.name_world_key(key);
    let interface = match item {
        WorldItem::Interface { id, .. } => &resolve.interfaces[*id],
        WorldItem::Function(_) => return Err(AdmissionError::Import { name, why: "" }),
        WorldItem::Type { .. } => return Ok(()),
    };
    let (Some(package), Some(short)) = (interface.package, &interface.name) else {
        return Err(AdmissionError::Import { name, why: "" });
    };
    let package = &resolve.packages[package].name;
    OFFER.has(package, short, interface.functions.keys()).map_err(|refusal| refused(refusal, &name, short))?;
    if OFFER.is_ours(package) && !matches!(short.as_str(), "context" | "logging") {
        calls.extend(interface.functions.keys().map(|function| format!("{short}.{function}")));
    }
    Ok(())
}

fn refused(refusal: Refusal, name: &str, interface: &str) -> AdmissionError {
    match refusal {
        Refusal::Version { package, wanted, offered } => AdmissionError::Version { package, wanted, offered },
        Refusal::Function(function) => {
            AdmissionError::Function { function, interface: interface.to_owned(), offered: OFFER.version() }
        }
        Refusal::Unknown => {
            let why = if name.starts_with("wasi:http/") { ": it has no network" } else { "" };
            AdmissionError::Import { name: name.to_owned(), why }
        }
    }
}

fn interfaces<'a>(resolve: &Resolve, items: impl Iterator<Item = (&'a WorldKey, &'a WorldItem)>) -> Vec<Interface> {
    items
        .filter_map(|(key, item)| {
            let functions = match item {
                WorldItem::Interface { id, .. } => resolve.interfaces[*id].functions.keys().cloned().collect(),
                WorldItem::Function(_) => Vec::new(),
                WorldItem::Type { .. } => return None,
            };
            Some(Interface { name: resolve.name_world_key(key), functions })
        })
        .collect()
}
