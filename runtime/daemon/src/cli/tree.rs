//! The tree of steps in colors.

use super::paint::{Paint, Tone};
use super::table::one_line;

/// Words that a step or change can be, with what they say.
const WORDS: [(&str, Tone); 18] = [
    ("Succeeded", Tone::Good),
    ("Skipped", Tone::Faint),
    ("Running", Tone::Open),
    ("Waiting", Tone::Open),
    ("Stuck", Tone::Open),
    ("Unknown", Tone::Open),
    ("Failed", Tone::Bad),
    ("Trapped", Tone::Bad),
    ("OutOfMemory", Tone::Bad),
    ("CpuBudget", Tone::Bad),
    ("TimedOut", Tone::Bad),
    ("Denied", Tone::Bad),
    ("CallLimit", Tone::Bad),
    ("Nondeterministic", Tone::Bad),
    ("Cancelled", Tone::Bad),
    ("Superseded", Tone::Bad),
    ("Undone", Tone::Bad),
    ("ERROR", Tone::Bad),
];

/// A line of a tree: without characters that could move the cursor, and with its state in color.
#[must_use]
pub fn painted(line: &str, paint: Paint) -> String {
    let line = one_line(line);
    // A state stands alone, behind two spaces: no title has that.
    let found = WORDS.iter().find_map(|(word, tone)| {
        let at = line.find(&format!("  {word}"))? + 2;
        let behind = &line[at + word.len()..];
        (behind.is_empty() || behind.starts_with("  ")).then_some((at, *word, *tone))
    });
    match found {
        Some((at, word, tone)) => {
            format!("{}{}{}", &line[..at], paint.paint(tone, word), &line[at + word.len()..])
        }
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::paint::Color;

    #[test]
    fn the_state_is_painted_and_no_word_of_a_title() {
        let paint = Paint::of(Color::Always, &std::io::stdout());
        let line = painted("├─ Stop Failed things  Succeeded  12 ms", paint);
        assert!(line.starts_with("├─ Stop Failed things  \u{1b}"), "{line}");
        assert!(line.ends_with("  12 ms"), "{line}");
        assert_eq!(painted("  a\u{1b}[2Jb", paint), "  a [2Jb");
        assert_eq!(painted("x  Succeeded", Paint::of(Color::Never, &std::io::stdout())), "x  Succeeded");
    }
}
