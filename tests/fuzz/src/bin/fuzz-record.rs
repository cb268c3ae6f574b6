//! libFuzzer with bytes that shall be records. `cargo xtask fuzz record` builds and runs it.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::record::run(bytes));
