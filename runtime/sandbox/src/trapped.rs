//! From wasmtime's errors to the ending that people see: what kind of crash, in which words, and where by function names.

use pintle_lifecycle::ending::Ending;
use wasmtime::{Trap, WasmBacktrace};
use wasmtime_wasi::I32Exit;

/// The most frames and the longest name that an ending keeps.
const FRAMES: usize = 32;
const NAME_BYTES: usize = 200;

/// What every panicking Rust guest has on top of its stack.
const PANIC_MACHINERY: [&str; 9] = [
    "std::",
    "core::panicking::",
    "core::option::",
    "core::result::",
    "alloc::alloc::",
    "alloc::raw_vec::",
    "__rust",
    "rust_panic",
    "abort",
];

/// The guest asked for something that has no answer, so it ends with these words.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Refused(String);

impl Refused {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

/// The guest ends for a reason that stands elsewhere: the host's stop, or a bound that was exceeded.
#[derive(Debug, thiserror::Error)]
#[error("the guest was stopped")]
pub(crate) struct Halted;

/// The ending of a guest that crashed, which had logged this first line at level ERROR and printed this as it panicked.
pub(crate) fn ending(error: &wasmtime::Error, first_error: Option<String>, panic: String) -> Ending {
    let (kind, words) = kind(error, !panic.is_empty());
    Ending::Trapped { kind, message: words.or(first_error).unwrap_or(panic), backtrace: backtrace(error) }
}

/// Whether the guest itself failed, and not the machine under it.
pub(crate) fn is_guests(error: &wasmtime::Error) -> bool {
    error.is::<Trap>() || error.is::<I32Exit>() || error.is::<Refused>() || error.is::<WasmBacktrace>()
}

fn kind(error: &wasmtime::Error, panicked: bool) -> (String, Option<String>) {
    if let Some(refused) = error.downcast_ref::<Refused>() {
        return ("refused".to_owned(), Some(refused.0.clone()));
    }
    if let Some(exit) = error.downcast_ref::<I32Exit>() {
        return (format!("exit with code {}", exit.0), None);
    }
    let Some(trap) = error.downcast_ref::<Trap>() else {
        return ("refused".to_owned(), Some(root(error)));
    };
    let kind = match trap {
        Trap::UnreachableCodeReached if panicked => "panic",
        Trap::UnreachableCodeReached => "unreachable code",
        Trap::StackOverflow => "stack overflow",
        Trap::MemoryOutOfBounds => "memory access out of bounds",
        Trap::TableOutOfBounds => "table access out of bounds",
        Trap::IndirectCallToNull => "call of a null function",
        Trap::BadSignature => "call of a function of another type",
        Trap::IntegerOverflow => "integer overflow",
        Trap::IntegerDivisionByZero => "division by zero",
        Trap::BadConversionToInteger => "conversion to an integer out of range",
        other => return (other.to_string().trim_start_matches("wasm trap: ").to_owned(), None),
    };
    (kind.to_owned(), None)
}

/// wasmtime's words without its own backtrace.
fn root(error: &wasmtime::Error) -> String {
    let text = error.root_cause().to_string();
    if text.contains("fuel allocated for hostcalls") {
        return "one call carried more bytes than a call may carry".to_owned();
    }
    text
}

fn backtrace(error: &wasmtime::Error) -> Vec<String> {
    let Some(backtrace) = error.downcast_ref::<WasmBacktrace>() else { return Vec::new() };
    let frames = backtrace.frames().iter();
    let names: Vec<String> = frames
        .map(|frame| frame.func_name().map_or_else(|| format!("function {}", frame.func_index()), demangled))
        .collect();
    let machinery = names.iter().take_while(|name| PANIC_MACHINERY.iter().any(|part| name.starts_with(part))).count();
    let first = if machinery == names.len() { 0 } else { machinery };
    names.into_iter().skip(first).take(FRAMES).collect()
}

fn demangled(name: &str) -> String {
    let mut name = format!("{:#}", rustc_demangle::demangle(name));
    if name.len() > NAME_BYTES {
        name.truncate(name.floor_char_boundary(NAME_BYTES));
        name.push('…');
    }
    name
}
