//! WASI without the standard library, which never asks for this much.
#![expect(unsafe_code, reason = "imports of the component are declared by hand")]
#![expect(clippy::unnecessary_wraps, reason = "every action has the same signature")]

use crate::bindings::pintle::hooks::types::Error;

#[link(wasm_import_module = "wasi:cli/stdout@0.2.0")]
unsafe extern "C" {
    #[link_name = "get-stdout"]
    fn get_stdout() -> u32;
}

#[link(wasm_import_module = "wasi:io/streams@0.2.0")]
unsafe extern "C" {
    #[link_name = "[method]output-stream.write-zeroes"]
    fn output_stream_write_zeroes(stream: u32, len: u64, result: *mut u8);
}

#[link(wasm_import_module = "wasi:random/random@0.2.0")]
unsafe extern "C" {
    #[link_name = "get-random-u64"]
    fn get_random_u64() -> u64;
}

/// A terabyte in one call.
pub fn write_zeroes() -> Result<(), Error> {
    let mut result = [0_u32; 4];
    // SAFETY: the signature is that of WASI 0.2, and the result area is as large and aligned as it says.
    unsafe { output_stream_write_zeroes(get_stdout(), 1 << 40, result.as_mut_ptr().cast()) };
    Ok(())
}

/// Handles that are never dropped.
pub fn hoard_streams() -> Result<(), Error> {
    for _ in 0..1_000_000 {
        // SAFETY: the signature is that of WASI 0.2.
        unsafe { get_stdout() };
    }
    Ok(())
}

pub fn random_number() -> u64 {
    // SAFETY: the signature is that of WASI 0.2.
    unsafe { get_random_u64() }
}
