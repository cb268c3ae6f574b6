//! libFuzzer with bytes that shall be driver.yml. `cargo xtask fuzz driver` builds and runs it.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::documents::driver(bytes));
