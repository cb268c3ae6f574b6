//! The one binary. `pintle shim` is what outlives Pintle beside each process: it is told apart before anything else starts.

use std::process::ExitCode;

/// Records are made on one thread and freed on another, which is where it is much quicker than the system's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    if words.next().is_some_and(|word| word == "shim") {
        return pintle_platform::shim_main(words);
    }
    pintle::cli::main()
}
