//! libFuzzer with bytes that shall be a module. `cargo xtask fuzz admission` builds and runs it.
#![no_main]

libfuzzer_sys::fuzz_target!(init: fuzz::admission::pass_over_the_decoder(), |bytes: &[u8]| fuzz::admission::run(bytes));
