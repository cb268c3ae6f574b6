//! As much of WASI preview 1 as Go's runtime needs: a clock that counts how often it is read, randomness that is always the same,
//! no arguments, no environment, no files, and an output that is only kept for messages.

use wasmtime::{Caller, Extern, Linker, Memory, Module, Result, Val};
use wasmtime_wasi::I32Exit;

use crate::template::instance::Running;
use crate::trapped::Refused;

const NAME: &str = "wasi_snapshot_preview1";
const SUCCESS: i32 = 0;
const BAD_DESCRIPTOR: i32 = 8;
/// What a program prints before it ends says why, at its beginning.
const PRINTED_BYTES: usize = 4 << 10;
/// Go refuses a clock that stands at 0.
const CLOCK_STEP: u64 = 1_000;

pub(super) fn add_to_linker(linker: &mut Linker<Running>, module: &Module) -> Result<()> {
    linker.allow_shadowing(true);
    for import in module.imports().filter(|import| import.module() == NAME) {
        if let Some(function) = import.ty().func() {
            linker.func_new(NAME, import.name(), function.clone(), |_, _, results| {
                results.fill(Val::I32(BAD_DESCRIPTOR));
                Ok(())
            })?;
        }
    }
    linker.func_wrap(NAME, "sched_yield", || SUCCESS)?;
    linker.func_wrap(NAME, "proc_exit", |code: i32| -> Result<()> { Err(I32Exit(code).into()) })?;
    linker.func_wrap(NAME, "args_get", |_: i32, _: i32| SUCCESS)?;
    linker.func_wrap(NAME, "environ_get", |_: i32, _: i32| SUCCESS)?;
    linker.func_wrap(NAME, "args_sizes_get", none)?;
    linker.func_wrap(NAME, "environ_sizes_get", none)?;
    linker.func_wrap(NAME, "clock_time_get", |mut guest: Caller<'_, Running>, _: i32, _: i64, at: u32| {
        guest.data_mut().clock += CLOCK_STEP;
        let now = guest.data().clock;
        write(&mut guest, at, &now.to_le_bytes())
    })?;
    linker.func_wrap(NAME, "random_get", |mut guest: Caller<'_, Running>, at: u32, size: u32| {
        bytes(&mut guest, at, size)?.fill(7);
        Ok(SUCCESS)
    })?;
    linker.func_wrap(NAME, "fd_write", print)?;
    linker.allow_shadowing(false);
    Ok(())
}

fn none(mut guest: Caller<'_, Running>, count: u32, size: u32) -> Result<i32> {
    write(&mut guest, count, &[0; 4])?;
    write(&mut guest, size, &[0; 4])
}

fn print(mut guest: Caller<'_, Running>, _: i32, list: u32, count: u32, written: u32) -> Result<i32> {
    let mut sum = 0_u32;
    for part in 0..count {
        let entry = bytes(&mut guest, list.saturating_add(part.saturating_mul(8)), 8)?;
        let word = |bytes: &[u8]| bytes.iter().rev().fold(0_u32, |word, byte| word << 8 | u32::from(*byte));
        let (at, size) = (word(&entry[..4]), word(&entry[4..]));
        let text = bytes(&mut guest, at, size)?.to_vec();
        let printed = &mut guest.data_mut().printed;
        printed.extend(text.into_iter().take(PRINTED_BYTES.saturating_sub(printed.len())));
        sum = sum.saturating_add(size);
    }
    write(&mut guest, written, &sum.to_le_bytes())
}

fn write(guest: &mut Caller<'_, Running>, at: u32, what: &[u8]) -> Result<i32> {
    bytes(guest, at, u32::try_from(what.len())?)?.copy_from_slice(what);
    Ok(SUCCESS)
}

fn memory(guest: &mut Caller<'_, Running>) -> Result<Memory> {
    let memory = guest.get_export("memory").and_then(Extern::into_memory);
    memory.ok_or_else(|| Refused::new("the module has no memory").into())
}

/// Bytes of the guest.
pub(super) fn bytes<'a>(guest: &'a mut Caller<'_, Running>, at: u32, size: u32) -> Result<&'a mut [u8]> {
    let memory = memory(guest)?;
    let memory = memory.data_mut(guest);
    let (start, size) = (at as usize, size as usize);
    let end = start.saturating_add(size);
    memory.get_mut(start..end).ok_or_else(|| Refused::new("the module gave a place outside of its memory").into())
}
