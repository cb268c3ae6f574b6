//! Bytes as a module of actions: each is refused with words, or comes in and is described. Compiled is only what is small and was
//! found good before, since that takes a thousand times as long.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use pintle_lifecycle::digest;
use pintle_sandbox::{AdmissionError, Sandbox, SandboxConfig};
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// Modules with more bytes are not compiled here.
const COMPILED: usize = 16 << 10;
/// One module in so many is compiled while a fuzzer runs.
const SHARE: u8 = 16;
/// A sandbox keeps what it compiled, so it is left after so many modules.
const KEPT: u32 = 256;

/// What is asked of a sandbox again and again.
struct Rig {
    runtime: Runtime,
    sandbox: Sandbox,
    compiled: u32,
    _folder: TempDir,
}

static RIG: Mutex<Option<Rig>> = Mutex::new(None);

/// Checks the bytes, which may be text as well, and compiles a few.
///
/// # Panics
/// Where the sandbox does what its documentation says it does not.
pub fn run(bytes: &[u8]) {
    look(bytes, SHARE);
}

/// The same, and compiles whatever is small enough.
///
/// # Panics
/// As [`run`].
pub fn run_each(bytes: &[u8]) {
    look(bytes, 1);
}

/// Lets panics of the decoder of components pass: admission takes them for what they are, a module whose types make no sense.
/// libFuzzer would end at the panic itself.
pub fn pass_over_the_decoder() {
    let others = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !panic.location().is_some_and(|location| location.file().contains("/wit-parser-")) {
            others(panic);
        }
    }));
}

fn look(bytes: &[u8], share: u8) {
    // Text is easier to bend into other components than bytes are.
    let text = bytes.starts_with(b"(component").then(|| wat::parse_bytes(bytes).ok()).flatten();
    let bytes = text.as_deref().unwrap_or(bytes);
    let mut rig = RIG.lock().unwrap_or_else(PoisonError::into_inner);
    let rig = rig.get_or_insert_with(Rig::new);
    if let Err(error) = rig.runtime.block_on(rig.sandbox.check(bytes)) {
        assert_told(&error);
        return;
    }
    let sha256 = digest::sha256(bytes);
    let is_chosen = u8::from_str_radix(&sha256[..2], 16).is_ok_and(|byte| byte % share == 0);
    if bytes.len() > COMPILED || !is_chosen {
        return;
    }
    match rig.runtime.block_on(rig.sandbox.inspect(bytes)) {
        Ok(inspection) => {
            assert_eq!((inspection.size, inspection.digest), (bytes.len(), sha256));
            assert!(!inspection.actions.is_empty() && !inspection.wit.is_empty());
            assert!(inspection.exports.iter().any(|export| export.name.starts_with("pintle:hooks/actions@")));
        }
        Err(error) => {
            assert_told(&error);
            let is_later = matches!(
                error,
                AdmissionError::Compile { .. } | AdmissionError::Unfit { .. } | AdmissionError::Describe { .. }
            );
            assert!(is_later, "the check found it good before: {error:?}");
        }
    }
    rig.compiled += 1;
    if rig.compiled == KEPT {
        *rig = Rig::new();
    }
}

/// It is the module's fault, in words that a terminal can show.
fn assert_told(error: &AdmissionError) {
    assert!(!matches!(error, AdmissionError::Unreadable(_) | AdmissionError::File(_)), "{error:?}");
    let words = error.to_string();
    assert!(!words.is_empty() && words.len() < 16 << 10, "{} bytes: {words:.1000}", words.len());
    assert!(!words.contains(|c: char| c.is_control() && c != '\n'), "a terminal would obey {words:?}");
}

impl Rig {
    fn new() -> Self {
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
        let folder = folder.expect("this machine has a place for a folder");
        let config = SandboxConfig { instances: 1, memory_bytes: 64 << 20, ..SandboxConfig::new(folder.path()) };
        let sandbox = Sandbox::new(config).expect("this machine has room for one guest");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        Self { runtime: runtime.expect("this process may have threads"), sandbox, compiled: 0, _folder: folder }
    }
}
