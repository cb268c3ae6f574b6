//! A transcript: lines with `$` are run by a shell, what follows is what they print. stderr comes after stdout, marked `2>`; an exit
//! code other than 0 is the last line. `PINTLE_UPDATE_GOLDEN=1` writes what was printed.

use std::fs;
use std::path::PathBuf;

use crate::normal::normal;
use crate::place::Place;

const UPDATE: &str = "PINTLE_UPDATE_GOLDEN";

/// Plays a transcript and compares.
pub fn play(name: &str) {
    let path = path(name);
    let expected = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let place = Place::new();
    let mut played = String::new();
    for line in expected.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            played.extend([line, "\n", &run(&place, command)]);
        } else if line.starts_with('#') || line.is_empty() {
            played.extend([line, "\n"]);
        }
    }
    if std::env::var_os(UPDATE).is_some_and(|value| value == "1") {
        fs::write(&path, played).unwrap();
        return;
    }
    assert!(played == expected, "{}\n{}", path.display(), difference(&expected, &played));
}

fn run(place: &Place, command: &str) -> String {
    let output = place.shell(command);
    let stdout = normal(&String::from_utf8_lossy(&output.stdout), place);
    let stderr = normal(&String::from_utf8_lossy(&output.stderr), place);
    let mut text: String = stdout.lines().flat_map(|line| [mark(line), line, "\n"]).collect();
    text.extend(stderr.lines().flat_map(|line| if line.is_empty() { ["2>", "", "\n"] } else { ["2> ", line, "\n"] }));
    match output.status.code() {
        Some(0) => {}
        Some(code) => text.extend(["[exit ", &code.to_string(), "]\n"]),
        None => text.push_str("[killed]\n"),
    }
    text
}

/// Tells a line of output apart from what a transcript itself has: comments, commands, empty lines.
fn mark(line: &str) -> &str {
    if line.is_empty() || line.starts_with(['#', '$', '.']) { "." } else { "" }
}

pub fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/cli/transcripts").join(format!("{name}.txt"))
}

/// The lines around the first that differs.
fn difference(expected: &str, played: &str) -> String {
    let (expected, played): (Vec<_>, Vec<_>) = (expected.lines().collect(), played.lines().collect());
    let at = expected.iter().zip(&played).take_while(|(one, other)| one == other).count();
    let around = |lines: &[&str]| lines[at.saturating_sub(5)..(at + 8).min(lines.len())].join("\n");
    format!("differs at line {}\n--- expected\n{}\n--- played\n{}\n", at + 1, around(&expected), around(&played))
}
