//! libFuzzer with bytes that shall be release.yml. `cargo xtask fuzz release` builds and runs it.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::documents::release(bytes));
