//! Every input that is kept, through the functions that the fuzzer calls: the corpus, and what once broke a promise.

use std::fs;
use std::path::{Path, PathBuf};

use fuzz::TARGETS;

/// Bounds of what the repository keeps.
const FILES: usize = 200;
const BYTES: u64 = 1 << 20;

fn folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// In the order of their names.
fn files(kind: &str, target: &str) -> Vec<PathBuf> {
    let folder = folder().join(kind).join(target);
    let Ok(entries) = fs::read_dir(&folder) else { return Vec::new() };
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

#[track_caller]
fn holds(name: &str) {
    let target = TARGETS.iter().find(|target| target.name == name).unwrap();
    let corpus = files("corpus", name);
    assert!(corpus.len() >= 5, "the corpus of {name} has {} files", corpus.len());
    for file in corpus.iter().chain(&files("faults", name)) {
        // What was printed last before a failure.
        println!("{}", file.display());
        (target.run)(&fs::read(file).unwrap());
    }
}

#[test]
fn segments() {
    holds("segment");
}

#[test]
fn records() {
    holds("record");
}

#[test]
fn drivers() {
    holds("driver");
}

#[test]
fn releases() {
    holds("release");
}

#[test]
fn modules() {
    holds("admission");
}

#[test]
fn every_kept_file_belongs_to_a_target_and_all_are_small() {
    let (mut count, mut bytes) = (0, 0);
    for kind in ["corpus", "faults"] {
        for entry in fs::read_dir(folder().join(kind)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            assert!(TARGETS.iter().any(|target| target.name == name), "there is no target {name}");
            let files = files(kind, &name);
            count += files.len();
            bytes += files.iter().map(|file| fs::metadata(file).unwrap().len()).sum::<u64>();
        }
    }
    assert!(
        count <= FILES && bytes <= BYTES,
        "{count} files with {bytes} bytes are more than a repository should keep"
    );
}
