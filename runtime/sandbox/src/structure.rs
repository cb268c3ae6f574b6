//! The first look at the bytes of a module: is it a whole component, and does it keep within what compiling and running can bear.

use wasmparser::{BinaryReaderError, CanonicalFunction, ComponentExternalKind, FunctionBody, Parser, Payload};

use crate::admission::AdmissionError;

/// Counted over the whole component, nested ones included. A component of Python has 2,500 names and 20 modules.
const NAMES: usize = 10_000;
const MODULES: usize = 64;
/// One function body.
const FUNCTION_BYTES: usize = 2 << 20;
/// Locals times bytes of one function: the compiler's time grows with both. The interpreters of Python and JavaScript have
/// functions of 4 million; 40 million take 10 s.
const FUNCTION_WEIGHT: usize = 32 << 20;
/// The same for all functions that weigh much.
const HEAVY: usize = 1 << 20;
const HEAVY_WEIGHT: usize = 128 << 20;

const MAGIC: &[u8] = b"\0asm";
/// Version 0x0d, layer 1.
const COMPONENT: [u8; 4] = [0x0d, 0, 1, 0];
const CORE: [u8; 4] = [1, 0, 0, 0];

/// Checks that the bytes are one whole component within bounds.
pub(crate) fn check(bytes: &[u8]) -> Result<(), AdmissionError> {
    check_head(bytes)?;
    let mut count = Count::default();
    for payload in Parser::new(0).parse_all(bytes) {
        let looked = payload.map_err(Fault::from).and_then(|payload| count.payload(&payload));
        looked.map_err(|fault| match fault {
            Fault::Unreadable(error) => unreadable(&error, bytes.len()),
            Fault::Refused(error) => error,
        })?;
    }
    Ok(())
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

#[derive(Default)]
struct Count {
    names: usize,
    modules: usize,
    heavy: usize,
}

impl Count {
    fn payload(&mut self, payload: &Payload<'_>) -> Result<(), Fault> {
        match payload {
            Payload::ImportSection(section) => self.names += section.count() as usize,
            Payload::ExportSection(section) => self.names += section.count() as usize,
            Payload::ComponentImportSection(section) => self.names += section.count() as usize,
            Payload::ComponentExportSection(section) => {
                self.names += section.count() as usize;
                for export in section.clone() {
                    if export?.kind == ComponentExternalKind::Module {
                        let reason = "it exports a core module".to_owned();
                        return Err(AdmissionError::Malformed { reason }.into());
                    }
                }
            }
            Payload::ModuleSection { .. } => self.modules += 1,
            Payload::CodeSectionEntry(body) => self.function(body.range().len(), locals(body)?)?,
            Payload::ComponentCanonicalSection(section) => {
                for function in section.clone() {
                    check_builtin(&function?)?;
                }
            }
            _ => {}
        }
        let bounds = [("imports and exports", self.names, NAMES), ("core modules", self.modules, MODULES)];
        for (what, count, limit) in bounds {
            if count > limit {
                return Err(AdmissionError::TooMany { what, count, limit }.into());
            }
        }
        Ok(())
    }

    fn function(&mut self, bytes: usize, locals: usize) -> Result<(), AdmissionError> {
        if bytes > FUNCTION_BYTES {
            return Err(AdmissionError::TooMany { what: "bytes in one function", count: bytes, limit: FUNCTION_BYTES });
        }
        let weight = bytes.saturating_mul(locals);
        if weight > HEAVY {
            self.heavy = self.heavy.saturating_add(weight);
        }
        if weight > FUNCTION_WEIGHT || self.heavy > HEAVY_WEIGHT {
            return Err(AdmissionError::TooHeavy { bytes, locals });
        }
        Ok(())
    }
}

fn check_builtin(function: &CanonicalFunction) -> Result<(), AdmissionError> {
    match function {
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

fn locals(body: &FunctionBody<'_>) -> wasmparser::Result<usize> {
    let mut sum = 0_usize;
    for locals in body.get_locals_reader()? {
        let (count, _) = locals?;
        sum = sum.saturating_add(count as usize);
    }
    Ok(sum)
}
