//! Pintle without one of its rules of durability, for the negative controls of `cargo xtask soak kills`: `PINTLE_WEAKENED` says
//! which.

use std::process::ExitCode;

use pintle::weakening::Weakening;
use pintle_journal::Acknowledge;
use pintle_sandbox::Intents;

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    if words.next().is_some_and(|word| word == "shim") {
        return pintle_platform::shim_main(words);
    }
    let weakening = match std::env::var("PINTLE_WEAKENED").as_deref() {
        Ok("ack") => Weakening { acknowledge: Acknowledge::BeforeWrite, ..Weakening::default() },
        Ok("keys") => Weakening { intents: Intents::LeftOut, ..Weakening::default() },
        _ => {
            eprintln!("error: PINTLE_WEAKENED must be `ack` or `keys`");
            return ExitCode::FAILURE;
        }
    };
    pintle::cli::main_weakened(weakening)
}
