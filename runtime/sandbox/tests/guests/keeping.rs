//! Modules are compiled once, and what is kept is never trusted blindly.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use pintle_sandbox::{ModuleError, Sandbox, SandboxConfig};
use tempfile::TempDir;

use crate::components::by_hand;

fn sandbox(dir: &TempDir) -> Sandbox {
    Sandbox::new(SandboxConfig { instances: 1, ..SandboxConfig::new(dir.path()) }).unwrap()
}

/// Files of that extension below the directory.
pub fn files(dir: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in dir.read_dir().unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            found.extend(files(&entry, extension));
        } else if entry.extension().is_some_and(|e| e == extension) {
            found.push(entry);
        }
    }
    found
}

/// Tells whether a file was written anew.
fn inode(path: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    fs::metadata(path).unwrap().ino()
}

#[tokio::test]
async fn a_module_is_compiled_once_for_all_sandboxes_on_its_directory() {
    let dir = tempfile::tempdir().unwrap();
    let bytes = by_hand("", "", "");
    let first = sandbox(&dir).admit(&bytes).await.unwrap();
    let code = files(dir.path(), "cwasm");
    assert_eq!(code.len(), 1);
    let written = inode(&code[0]);

    let second = sandbox(&dir);
    let module = second.module(&first.digest).await.unwrap();
    assert_eq!((&module.actions, &module.wit, &module.calls), (&first.actions, &first.wit, &first.calls));
    second.admit(&bytes).await.unwrap();
    assert_eq!(inode(&code[0]), written, "it was compiled again");
}

#[tokio::test]
async fn code_that_was_changed_is_compiled_again() {
    let dir = tempfile::tempdir().unwrap();
    let bytes = by_hand("", "", "");
    let digest = sandbox(&dir).admit(&bytes).await.unwrap().digest.clone();
    let code = files(dir.path(), "cwasm").remove(0);
    let known = files(dir.path(), "json").remove(0);
    let whole = fs::read(&code).unwrap();

    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    for (what, path, content) in [
        ("one bit", &code, flipped),
        ("cut off", &code, whole[..1000].to_vec()),
        ("empty", &code, Vec::new()),
        ("no JSON", &known, b"{".to_vec()),
    ] {
        fs::write(path, content).unwrap();
        let module = sandbox(&dir).module(&digest).await.unwrap();
        assert_eq!(module.actions[0].name, "act", "{what}");
        assert_eq!(fs::read(&code).unwrap(), whole, "{what}");
    }
    fs::remove_file(&code).unwrap();
    sandbox(&dir).module(&digest).await.unwrap();
    assert_eq!(fs::read(&code).unwrap(), whole);
    for path in [&code, &known] {
        fs::remove_file(path).unwrap();
        fs::create_dir(path).unwrap();
        sandbox(&dir).module(&digest).await.unwrap();
        assert_eq!(fs::read(&code).unwrap(), whole, "a folder is in the place of {}", path.display());
    }
}

#[tokio::test]
async fn a_module_that_is_gone_or_another_is_not_replaced_by_anything() {
    let dir = tempfile::tempdir().unwrap();
    let digest = sandbox(&dir).admit(&by_hand("", "", "")).await.unwrap().digest.clone();
    let path = files(dir.path(), "wasm").remove(0);

    fs::write(&path, by_hand("", "", "(drop (call $now))")).unwrap();
    let error = sandbox(&dir).module(&digest).await.unwrap_err();
    assert!(matches!(error, ModuleError::Changed { .. }), "{error}");

    fs::remove_file(&path).unwrap();
    let error = sandbox(&dir).module(&digest).await.unwrap_err();
    assert!(matches!(error, ModuleError::Missing { .. }), "{error}");

    for name in ["", "../../etc/passwd", &digest[..63], &format!("{digest}0")] {
        let error = sandbox(&dir).module(name).await.unwrap_err();
        assert!(matches!(error, ModuleError::BadDigest(_)), "{name}: {error}");
    }
}

#[tokio::test]
async fn only_this_user_can_read_what_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let config = SandboxConfig::new(dir.path());
    fs::create_dir(&config.modules_dir).unwrap();
    fs::set_permissions(&config.modules_dir, fs::Permissions::from_mode(0o755)).unwrap();
    sandbox(&dir).admit(&by_hand("", "", "")).await.unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&config.modules_dir), 0o700);
    assert_eq!(mode(&config.cache_dir), 0o700);
    for extension in ["wasm", "cwasm", "json"] {
        for file in files(dir.path(), extension) {
            assert_eq!(mode(&file), 0o600, "{}", file.display());
        }
    }
    assert!(files(dir.path(), "unfinished").is_empty());
}

#[tokio::test]
async fn code_of_another_engine_is_removed() {
    let dir = tempfile::tempdir().unwrap();
    let config = SandboxConfig::new(dir.path());
    let (other, unknown) = (config.cache_dir.join("0123456789abcdef"), config.cache_dir.join("notes"));
    fs::create_dir_all(&other).unwrap();
    fs::create_dir_all(&unknown).unwrap();
    let _sandbox = sandbox(&dir);
    assert!(!other.exists());
    assert!(unknown.exists(), "what is not ours stays");
}

#[tokio::test]
async fn what_a_writer_left_that_died_is_removed() {
    let dir = tempfile::tempdir().unwrap();
    let config = SandboxConfig::new(dir.path());
    fs::create_dir(&config.modules_dir).unwrap();
    let mut child = std::process::Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    let left = |pid: u32| config.modules_dir.join(format!("0123.{pid}-0.unfinished"));
    let (dead, alive) = (left(child.id()), left(std::process::id()));
    fs::write(&dead, "half").unwrap();
    fs::write(&alive, "half").unwrap();
    let _sandbox = sandbox(&dir);
    assert!(!dead.exists());
    assert!(alive.exists(), "its writer is at it");
}
