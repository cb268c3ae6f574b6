//! Following on a terminal: the tree of steps, drawn over its former self. What does not fit the window is drawn whole at the end.

use std::io::{self, Write as _};

use pintle_lifecycle::tree::Style;

use crate::cli::interrupt::OnInterrupt;
use crate::cli::paint::{Paint, Tone};
use crate::cli::table::one_line;
use crate::cli::tree::painted;
use crate::story::{Shown, Story};

/// Lines of a step's log that are shown while it runs; all of them are at the end.
const LOG_LINES: usize = 3;
/// Of a terminal that does not tell its size.
const SIZE: (usize, usize) = (80, 24);

pub(super) struct Live {
    paint: Paint,
    on_interrupt: OnInterrupt,
    /// Lines that are drawn and will be drawn over.
    drawn: usize,
}

impl Live {
    pub fn new(paint: Paint, on_interrupt: OnInterrupt) -> Self {
        Self { paint, on_interrupt, drawn: 0 }
    }

    /// A line that stays, above what is drawn.
    pub fn say(&mut self, line: &str) {
        let text = format!("{}{}\n", self.back(), one_line(line));
        self.drawn = 0;
        write(&text);
    }

    /// Draws the changes as they are now, as much as the window has room for.
    pub fn draw(&mut self, stories: &[Story]) {
        if stories.is_empty() {
            return;
        }
        let (width, height) = size();
        let mut lines = self.lines(stories, Shown::Last(LOG_LINES));
        let hint = match self.on_interrupt {
            OnInterrupt::Detach => "Ctrl-C detaches: the next `pintle up` goes on",
            OnInterrupt::Cancel => "Ctrl-C cancels: the running action is stopped, nothing is undone",
        };
        lines.push(self.paint.paint(Tone::Faint, hint));
        let room = height.saturating_sub(1).max(2);
        if lines.len() > room {
            let hidden = lines.len() - room + 1;
            lines.drain(..hidden);
            lines.insert(0, self.paint.paint(Tone::Faint, &format!("… {hidden} lines above")));
        }
        let lines: Vec<String> = lines.iter().map(|line| cut(line, width)).collect();
        let text = format!("{}{}\n", self.back(), lines.join("\n"));
        self.drawn = lines.len();
        write(&text);
    }

    /// Draws the changes whole and leaves them there.
    pub fn end(&mut self, stories: &[Story]) {
        let text = format!("{}{}\n", self.back(), self.lines(stories, Shown::All).join("\n"));
        self.drawn = 0;
        write(&text);
    }

    fn lines(&self, stories: &[Story], shown: Shown) -> Vec<String> {
        let texts = stories.iter().map(|story| story.tree(shown).text(Style::Tree, true));
        texts.flat_map(|text| text.lines().map(|line| painted(line, self.paint)).collect::<Vec<_>>()).collect()
    }

    /// What takes the cursor back over what is drawn and clears it.
    fn back(&self) -> String {
        if self.drawn == 0 { String::new() } else { format!("\r\u{1b}[{}A\u{1b}[J", self.drawn) }
    }
}

fn size() -> (usize, usize) {
    let size = terminal_size::terminal_size_of(io::stdout());
    size.map_or(SIZE, |(width, height)| (usize::from(width.0), usize::from(height.0)))
}

/// A line that does not wrap. Colors take no room.
fn cut(line: &str, width: usize) -> String {
    let (mut kept, mut used, mut escape) = (String::new(), 0, false);
    for c in line.chars() {
        if escape {
            escape = c != 'm';
        } else if c == '\u{1b}' {
            escape = true;
        } else {
            used += unicode_width::UnicodeWidthChar::width(c).unwrap_or(0);
            if used >= width {
                return format!("{kept}\u{1b}[0m…");
            }
        }
        kept.push(c);
    }
    kept
}

/// A terminal that is gone does not stop a change.
fn write(text: &str) {
    let mut stdout = io::stdout().lock();
    drop(stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_before_it_wraps_and_colors_take_no_room() {
        assert_eq!(cut("abc", 4), "abc");
        assert_eq!(cut("abcd", 4), "abc\u{1b}[0m…");
        assert_eq!(cut("\u{1b}[1mabc\u{1b}[0m", 4), "\u{1b}[1mabc\u{1b}[0m");
        assert_eq!(cut("日本語", 5), "日本\u{1b}[0m…");
    }
}
