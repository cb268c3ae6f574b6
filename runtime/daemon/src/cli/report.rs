//! Errors as people see them: what, where, and the cure, each on a line of its own.

use std::error::Error as _;
use std::io::Write as _;

use pintle_lifecycle::document::{Problem, Problems};

use super::exit::Exit;
use super::global::Global;
use super::paint::{Paint, Tone};
use crate::error::Error;

/// Says an error on stderr.
pub fn report(error: &Error, paint: Paint) -> Exit {
    // Nobody hears it: the exit code still tells.
    drop(std::io::stderr().write_all(text(error, paint).as_bytes()));
    error.exit()
}

/// With less than this free, in bytes, a store cannot go on: its log takes its place in pieces of so many.
const FULL: u64 = 4 << 20;

/// Says how much is free and what helps, after an error of the store that may come of a full disk.
pub fn full_disk(global: &Global, paint: Paint) {
    let Ok(state) = global.state() else { return };
    if let Some(free) = state.free().filter(|free| *free < FULL) {
        let folder = state.path().display();
        let cure = format!(
            "the disk is full, {free} bytes are free in {folder}: free some space, then `pintle up` goes on with what is open"
        );
        drop(std::io::stderr().write_all(help(&cure, paint).as_bytes()));
    }
}

/// Lets a panic be told as what it is, a defect, without a backtrace.
pub fn panics(paint: Paint) {
    std::panic::set_hook(Box::new(move |panic| {
        let message = panic.payload_as_str().unwrap_or("a panic");
        let place = panic.location().map(|at| format!(" ({}:{})", at.file(), at.line())).unwrap_or_default();
        let error = Error::Defect(format!("{message}{place}"));
        drop(std::io::stderr().write_all(text(&error, paint).as_bytes()));
    }));
}

fn text(error: &Error, paint: Paint) -> String {
    if let Error::Documents(problems) = error {
        return documents(problems, paint);
    }
    let mut what = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        // A transparent error has the words of its source.
        let words = error.to_string();
        if !what.ends_with(&words) {
            what = format!("{what}: {words}");
        }
        source = error.source();
    }
    block(&what, None, &error.cure(), paint)
}

fn documents(problems: &Problems, paint: Paint) -> String {
    let each = problems.iter().map(|problem| {
        let Problem { place, message, cure } = problem;
        let path = if place.path.is_empty() { String::new() } else { format!(" {}", place.path) };
        block(message, Some(&format!("{}{path}", place.position())), cure, paint)
    });
    let more = match problems.left_off() {
        0 => String::new(),
        more => block(&format!("{more} more problems are not shown"), None, "correct these first", paint),
    };
    format!("{}{more}", each.collect::<String>())
}

fn block(what: &str, at: Option<&str>, cure: &str, paint: Paint) -> String {
    let mut lines = vec![format!("{} {what}\n", paint.paint(Tone::Bad, "error:"))];
    lines.extend(at.map(|at| format!("  {} {at}\n", paint.paint(Tone::Faint, "at"))));
    lines.push(help(cure, paint));
    lines.concat()
}

fn help(cure: &str, paint: Paint) -> String {
    let lines = cure.lines().map(|line| format!("  {} {line}\n", paint.paint(Tone::Strong, "help:")));
    lines.collect::<Vec<_>>().concat()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::cli::paint::Color;

    #[test]
    fn an_error_says_its_causes_once_and_its_cure() {
        let source = std::io::Error::other("the disk is on fire");
        let error = Error::Unreadable { path: PathBuf::from("a.wasm"), source };
        assert_eq!(
            text(&error, Paint::of(Color::Never, &std::io::stderr())),
            "error: cannot read a.wasm: the disk is on fire\n  help: correct the path, or make the file readable\n"
        );
    }
}
