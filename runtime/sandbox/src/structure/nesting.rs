//! How deep the types of a component nest. The reader of such a type goes down by recursion and knows no bound, so a module of
//! some kilobytes would overflow the stack of whoever reads it, which ends the process: here they are read one level at a time.

use wasmparser::{BinaryReader, ComponentImport, ComponentType, InstanceTypeDeclaration, Result};

use super::Fault;
use crate::admission::AdmissionError;

/// Components of all languages nest their types 3 deep.
const DEPTH: usize = 16;

// Binary format of a component: what a type, and a declaration in one, begins with.
const COMPONENT_TYPE: u8 = 0x41;
const INSTANCE_TYPE: u8 = 0x42;
const TYPE: u8 = 0x01;
const IMPORT: u8 = 0x03;

/// Checks the content of a section of component types, and tells how many types and declarations there are.
pub(super) fn check(mut section: BinaryReader<'_>) -> std::result::Result<usize, Fault> {
    let mut count = 0;
    for _ in 0..section.read_var_u32()? {
        count += check_type(&mut section)?;
    }
    Ok(count)
}

fn check_type(reader: &mut BinaryReader<'_>) -> std::result::Result<usize, Fault> {
    // How many declarations are still to come in each type that is open, the outermost first.
    let mut open: Vec<u32> = Vec::new();
    open.extend(begin_type(reader)?);
    let mut count = 1;
    while let Some(left) = open.last_mut() {
        if *left == 0 {
            open.pop();
            continue;
        }
        *left -= 1;
        count += 1;
        open.extend(declaration(reader)?);
        if open.len() > DEPTH {
            let what = "levels of types inside types";
            return Err(AdmissionError::TooMany { what, count: open.len(), limit: DEPTH }.into());
        }
    }
    Ok(count)
}

/// Reads a type, or of one that holds others the begin: then the answer is how many declarations follow.
fn begin_type(reader: &mut BinaryReader<'_>) -> Result<Option<u32>> {
    if !matches!(peek(reader)?, COMPONENT_TYPE | INSTANCE_TYPE) {
        reader.read::<ComponentType<'_>>()?;
        return Ok(None);
    }
    reader.read_u8()?;
    reader.read_var_u32().map(Some)
}

fn declaration(reader: &mut BinaryReader<'_>) -> Result<Option<u32>> {
    match peek(reader)? {
        TYPE => {
            reader.read_u8()?;
            begin_type(reader)
        }
        IMPORT => {
            reader.read_u8()?;
            reader.read::<ComponentImport<'_>>().map(|_| None)
        }
        // Core types, aliases and exports, none of which holds a type of a component.
        _ => reader.read::<InstanceTypeDeclaration<'_>>().map(|_| None),
    }
}

fn peek(reader: &BinaryReader<'_>) -> Result<u8> {
    reader.clone().read_u8()
}
