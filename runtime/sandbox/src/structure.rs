//! The first look at the bytes of a module: is it a whole component, and does it keep within what compiling and running can bear.

use wasmparser::{CanonicalFunction, ComponentExternalKind, Parser, Payload};

use crate::admission::AdmissionError;

/// Counted over the whole component, nested ones included.
const NAMES: usize = 2000;
const MODULES: usize = 64;
/// One function body: the compiler's time grows faster than a function.
const FUNCTION_BYTES: usize = 2 << 20;

const MAGIC: &[u8] = b"\0asm";
/// Version 0x0d, layer 1.
const COMPONENT: [u8; 4] = [0x0d, 0, 1, 0];
const CORE: [u8; 4] = [1, 0, 0, 0];

/// Checks that the bytes are one whole component within bounds.
pub(crate) fn check(bytes: &[u8]) -> Result<(), AdmissionError> {
    check_head(bytes)?;
    let mut count = Count::default();
    for payload in Parser::new(0).parse_all(bytes) {
        let payload = payload.map_err(|error| unreadable(&error, bytes.len()))?;
        count.payload(&payload).map_err(|error| unreadable(&error, bytes.len()))??;
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

fn unreadable(error: &wasmparser::BinaryReaderError, size: usize) -> AdmissionError {
    // The parser says so where a section reaches over the end, and for bad lengths in the middle as well.
    if error.message().contains("unexpected end") && error.offset() <= size {
        return AdmissionError::Truncated { size };
    }
    AdmissionError::Malformed { reason: error.to_string() }
}

#[derive(Default)]
struct Count {
    names: usize,
    modules: usize,
}

impl Count {
    fn payload(&mut self, payload: &Payload<'_>) -> wasmparser::Result<Result<(), AdmissionError>> {
        match payload {
            Payload::ImportSection(section) => self.names += section.count() as usize,
            Payload::ExportSection(section) => self.names += section.count() as usize,
            Payload::ComponentImportSection(section) => self.names += section.count() as usize,
            Payload::ComponentExportSection(section) => {
                self.names += section.count() as usize;
                for export in section.clone() {
                    if export?.kind == ComponentExternalKind::Module {
                        let reason = "it exports a core module".to_owned();
                        return Ok(Err(AdmissionError::Malformed { reason }));
                    }
                }
            }
            Payload::ModuleSection { .. } => self.modules += 1,
            Payload::CodeSectionEntry(body) if body.range().len() > FUNCTION_BYTES => {
                let what = "bytes in one function";
                return Ok(Err(AdmissionError::TooMany { what, count: body.range().len(), limit: FUNCTION_BYTES }));
            }
            Payload::ComponentCanonicalSection(section) => {
                for function in section.clone() {
                    // Handles of own resources live in the host's memory, where no limiter sees them.
                    if matches!(function?, CanonicalFunction::ResourceNew { .. }) {
                        return Ok(Err(AdmissionError::OwnResources));
                    }
                }
            }
            _ => {}
        }
        let bounds = [("imports and exports", self.names, NAMES), ("core modules", self.modules, MODULES)];
        for (what, count, limit) in bounds {
            if count > limit {
                return Ok(Err(AdmissionError::TooMany { what, count, limit }));
            }
        }
        Ok(Ok(()))
    }
}
