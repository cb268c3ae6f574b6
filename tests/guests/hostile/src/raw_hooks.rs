//! Calls of Pintle without the bindings, which never hand over arguments like these.
#![expect(unsafe_code, reason = "imports of the component are declared by hand")]
#![expect(clippy::unnecessary_wraps, reason = "every action has the same signature")]

use crate::bindings::pintle::hooks::types::Error;

#[link(wasm_import_module = "pintle:hooks/components@0.1.0")]
unsafe extern "C" {
    #[link_name = "stop"]
    fn components_stop(names: *const Text, count: usize, result: *mut u8);
}

/// A text in a list, as the canonical ABI lays it out.
#[derive(Clone, Copy)]
#[repr(C)]
struct Text {
    address: *const u8,
    bytes: usize,
}

/// 100 MiB that are nowhere: a list of the same KiB.
pub fn repeated_argument() -> Result<(), Error> {
    let text = [b'x'; 1 << 10];
    let names = vec![Text { address: text.as_ptr(), bytes: text.len() }; 100 << 10];
    let mut result = [0_u32; 5];
    // SAFETY: the signature is that of the WIT, a list of texts is a list of addresses and lengths, and the result area is as large
    // and aligned as it says.
    unsafe { components_stop(names.as_ptr(), names.len(), result.as_mut_ptr().cast()) };
    Ok(())
}
