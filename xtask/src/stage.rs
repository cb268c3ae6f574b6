//! A stage of a subcommand: named when it starts, with its time when it ends.

use std::time::Instant;

use anyhow::Result;

/// Runs `work` as the stage `name`; says so on stderr.
#[expect(clippy::disallowed_methods, reason = "a build is timed by the real clock")]
pub fn stage<T>(name: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    eprintln!("== {name}");
    let start = Instant::now();
    let result = work();
    let ending = if result.is_ok() { "" } else { " FAILED" };
    eprintln!("== {name}:{ending} {:.1} s", start.elapsed().as_secs_f64());
    result
}
