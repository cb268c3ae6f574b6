//! libFuzzer with bytes that shall be a segment of the log. `cargo xtask fuzz segment` builds and runs it.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::segment::run(bytes));
