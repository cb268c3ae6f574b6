//! Colors, where a person sees them: on a terminal, unless `--color` or `NO_COLOR` says otherwise.

use std::io::IsTerminal;

use anstyle::{AnsiColor, Style};

/// `--color`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Color {
    Auto,
    Always,
    Never,
}

/// Paints texts for one stream.
#[derive(Debug, Clone, Copy)]
pub struct Paint {
    colored: bool,
}

/// What a text says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    Good,
    Bad,
    /// Goes on, or needs a look.
    Open,
    Faint,
    Strong,
}

impl Paint {
    /// For a stream that is `stream`. `NO_COLOR` with any text wins over `auto`.
    #[must_use]
    pub fn of(color: Color, stream: &impl IsTerminal) -> Self {
        let colored = match color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => stream.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|text| text.is_empty()),
        };
        Self { colored }
    }

    #[must_use]
    pub fn is_colored(self) -> bool {
        self.colored
    }

    #[must_use]
    pub fn paint(self, tone: Tone, text: &str) -> String {
        if !self.colored || text.is_empty() {
            return text.to_owned();
        }
        let style = match tone {
            Tone::Good => AnsiColor::Green.on_default(),
            Tone::Bad => AnsiColor::Red.on_default().bold(),
            Tone::Open => AnsiColor::Yellow.on_default(),
            Tone::Faint => Style::new().dimmed(),
            Tone::Strong => Style::new().bold(),
        };
        format!("{style}{text}{style:#}")
    }
}
