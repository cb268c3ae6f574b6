//! The first look at the bytes of a module: is it a whole component, and does it keep within what reading, compiling and running
//! it can bear. Whatever is not bounded here has no bound: neither the readers nor the compiler know one.

mod nesting;
mod unfolding;
mod weight;

use wasmparser::{BinaryReader, BinaryReaderError, CanonicalFunction, CanonicalOption, ElementItems, Parser, Payload};

use crate::admission::AdmissionError;
use crate::pool;
use crate::structure::unfolding::Unfolding;
use crate::structure::weight::Scale;

/// Counted over the whole component, nested ones included. A component of Python has 7,000 names and 14 modules.
const NAMES: usize = 10_000;
const MODULES: usize = 64;
/// Python has 15,000.
const ELEMENTS: usize = 200_000;
/// One function body. Python has one of 430,000.
const FUNCTION_BYTES: usize = 1 << 20;

const MAGIC: &[u8] = b"\0asm";
/// Version 0x0d, layer 1.
const COMPONENT: [u8; 4] = [0x0d, 0, 1, 0];
const CORE: [u8; 4] = [1, 0, 0, 0];

/// Checks that the bytes are one whole component within bounds, and tells how long the compiler will take for it, about, in
/// microseconds.
pub(crate) fn check(bytes: &[u8]) -> Result<usize, AdmissionError> {
    check_head(bytes)?;
    let mut look = Look { bytes, ..Look::default() };
    for payload in Parser::new(0).parse_all(bytes) {
        let looked = payload.map_err(Fault::from).and_then(|payload| look.payload(&payload));
        looked.map_err(|fault| match fault {
            Fault::Unreadable(error) => unreadable(&error, bytes.len()),
            Fault::Refused(error) => error,
        })?;
    }
    look.scale.sum(look.unfolding.joints())
}

fn check_head(bytes: &[u8]) -> Result<(), AdmissionError> {
    let truncated = || AdmissionError::Truncated { size: bytes.len() };
    if !MAGIC.starts_with(&bytes[..bytes.len().min(MAGIC.len())]) {
        return Err(AdmissionError::NotWasm);
    }
    let head: [u8; 4] = bytes.get(4..8).and_then(|head| head.try_into().ok()).ok_or_else(truncated)?;
    match head {
        COMPONENT => Ok(()),
        CORE => Err(AdmissionError::CoreModule),
        [a, b, c, d] => {
            Err(AdmissionError::Malformed { reason: format!("unknown binary version {a:02x} {b:02x} {c:02x} {d:02x}") })
        }
    }
}

fn unreadable(error: &BinaryReaderError, size: usize) -> AdmissionError {
    // The parser says so where a section reaches over the end, and for bad lengths in the middle as well.
    if error.message().contains("unexpected end") && error.offset() <= size {
        return AdmissionError::Truncated { size };
    }
    AdmissionError::Malformed { reason: error.to_string() }
}

/// What stopped the look.
enum Fault {
    Unreadable(BinaryReaderError),
    Refused(AdmissionError),
}

impl From<BinaryReaderError> for Fault {
    fn from(error: BinaryReaderError) -> Self {
        Self::Unreadable(error)
    }
}

impl From<AdmissionError> for Fault {
    fn from(error: AdmissionError) -> Self {
        Self::Refused(error)
    }
}

/// What was seen so far.
#[derive(Default)]
struct Look<'a> {
    bytes: &'a [u8],
    names: usize,
    modules: usize,
    memories: usize,
    tables: usize,
    elements: usize,
    unfolding: Unfolding,
    scale: Scale,
}

impl Look<'_> {
    fn payload(&mut self, payload: &Payload<'_>) -> Result<(), Fault> {
        match payload {
            Payload::ImportSection(section) => self.names += section.clone().into_imports().count(),
            Payload::ExportSection(section) => self.names += section.count() as usize,
            Payload::ComponentImportSection(section) => self.names += section.count() as usize,
            Payload::ComponentExportSection(section) => self.names += section.count() as usize,
            Payload::ModuleSection { .. } => self.modules += 1,
            Payload::MemorySection(section) => self.memories += section.count() as usize,
            Payload::TableSection(section) => self.tables += section.count() as usize,
            Payload::ElementSection(section) => {
                for element in section.clone() {
                    self.elements += match element?.items {
                        ElementItems::Functions(items) => items.count() as usize,
                        ElementItems::Expressions(_, items) => items.count() as usize,
                    };
                }
            }
            Payload::CodeSectionEntry(body) if body.range().len() > FUNCTION_BYTES => {
                let (what, count) = ("bytes in one function", body.range().len());
                return Err(AdmissionError::TooMany { what, count, limit: FUNCTION_BYTES }.into());
            }
            Payload::ComponentTypeSection(section) => {
                let range = section.range();
                let content = self.bytes.get(range.clone()).unwrap_or_default();
                self.unfolding.add(nesting::check(BinaryReader::new(content, range.start))?);
            }
            Payload::ComponentCanonicalSection(section) => {
                for function in section.clone() {
                    check_builtin(&function?)?;
                }
            }
            _ => {}
        }
        for (what, count, limit) in [
            ("imports and exports", self.names, NAMES),
            ("core modules", self.modules, MODULES),
            ("memories", self.memories, pool::MEMORIES as usize),
            ("tables", self.tables, pool::TABLES as usize),
            ("elements of tables", self.elements, ELEMENTS),
        ] {
            if count > limit {
                return Err(AdmissionError::TooMany { what, count, limit }.into());
            }
        }
        self.unfolding.payload(payload)?;
        self.scale.payload(payload)
    }
}

fn check_builtin(function: &CanonicalFunction) -> Result<(), AdmissionError> {
    match function {
        CanonicalFunction::Lift { options, .. } | CanonicalFunction::Lower { options, .. }
            if options.contains(&CanonicalOption::Async) =>
        {
            Err(AdmissionError::Asynchronous { name: "Async".to_owned() })
        }
        CanonicalFunction::Lift { .. }
        | CanonicalFunction::Lower { .. }
        | CanonicalFunction::ResourceDrop { .. }
        | CanonicalFunction::ResourceRep { .. } => Ok(()),
        // Handles of own resources live in the host's memory, where no limiter sees them.
        CanonicalFunction::ResourceNew { .. } => Err(AdmissionError::OwnResources),
        other => {
            let name = format!("{other:?}");
            let name = name.split([' ', '{', '(']).next().unwrap_or_default().to_owned();
            Err(AdmissionError::Asynchronous { name })
        }
    }
}
