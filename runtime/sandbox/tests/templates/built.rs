//! The module that is committed is the one that its source makes, byte by byte, where Go is there to tell.

use std::path::Path;
use std::process::Command;

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/template");
/// Another Go makes other bytes.
const VERSION: &str = include_str!("../../template/go.version");

/// Why the module cannot be built here.
fn missing() -> Option<String> {
    let go = Command::new("go").args(["env", "GOVERSION"]).current_dir(SOURCE).output();
    let Ok(go) = go else { return Some("there is no `go`".to_owned()) };
    let version = String::from_utf8_lossy(&go.stdout).trim().to_owned();
    (version != VERSION.trim()).then(|| format!("`go` is {version:?}, not {}", VERSION.trim()))
}

fn unpack(packed: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut decoder = ruzstd::decoding::StreamingDecoder::new(packed).unwrap();
    std::io::Read::read_to_end(&mut decoder, &mut bytes).unwrap();
    bytes
}

#[test]
fn the_module_is_what_its_source_makes() {
    let is_demanded = std::env::var("PINTLE_DEMAND").is_ok_and(|value| value == "1");
    if let Some(missing) = missing() {
        assert!(!is_demanded, "{missing}, and PINTLE_DEMAND=1 leaves nothing out");
        println!("left out: {missing}");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let built = dir.path().join("template.wasm");
    let go = Command::new(Path::new(SOURCE).join("build")).arg(&built).output().unwrap();
    let said = String::from_utf8_lossy(&go.stderr);
    if !go.status.success()
        && !is_demanded
        && ["dial tcp", "lookup", "disabled by GOPROXY"].iter().any(|part| said.contains(part))
    {
        println!("left out: the sources of Sprig cannot be fetched: {said}");
        return;
    }
    assert!(go.status.success(), "{said}");
    let packed = std::fs::read(Path::new(SOURCE).join("template.wasm.zst")).unwrap();
    let same = std::fs::read(&built).unwrap() == unpack(&packed);
    assert!(same, "template.wasm.zst is not what its source makes: run `runtime/sandbox/template/build` and commit it");
}
