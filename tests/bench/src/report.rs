//! The table on the terminal and the file beside it.

use std::path::Path;

use anyhow::{Context, Result};
use serde::Serialize;

use crate::measure::{Pair, Rounds};

/// One line: a name, what was measured, and what the same round's raw limit was.
#[derive(Debug, Serialize)]
pub struct Line {
    pub name: String,
    /// The median of the rounds.
    pub value: f64,
    pub unit: &'static str,
    /// The median of the baseline's rounds; null where there is none.
    pub baseline: Option<f64>,
    /// The median of the rounds' ratios, value to baseline.
    pub ratio: Option<f64>,
    /// The distance of the extreme rounds, as a part of the median.
    pub spread: f64,
    /// What is aimed at, in words.
    pub reach: &'static str,
}

impl Line {
    pub fn of(name: impl Into<String>, unit: &'static str, reach: &'static str, pair: &Pair) -> Self {
        Self {
            name: name.into(),
            value: pair.value.median(),
            unit,
            baseline: Some(pair.baseline.median()),
            ratio: Some(pair.ratio()),
            spread: pair.value.spread(),
            reach,
        }
    }

    pub fn alone(name: impl Into<String>, unit: &'static str, reach: &'static str, rounds: &Rounds) -> Self {
        let (value, spread) = (rounds.median(), rounds.spread());
        Self { name: name.into(), value, unit, baseline: None, ratio: None, spread, reach }
    }
}

/// Prints the lines as a table.
pub fn print(lines: &[Line]) {
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table.set_header(["NAME", "VALUE", "UNIT", "BASELINE", "RATIO", "SPREAD", "REACH"]);
    for line in lines {
        table.add_row([
            line.name.clone(),
            short(line.value),
            line.unit.to_owned(),
            line.baseline.map(short).unwrap_or_default(),
            line.ratio.map(|ratio| format!("{ratio:.2}")).unwrap_or_default(),
            format!("{:.0} %", line.spread * 100.0),
            line.reach.to_owned(),
        ]);
    }
    println!("{table}");
}

/// Writes the lines as JSON.
///
/// # Errors
/// Where the file cannot be written.
pub fn write(path: &Path, lines: &[Line]) -> Result<()> {
    let json = serde_json::to_string_pretty(lines)?;
    std::fs::write(path, json + "\n").with_context(|| format!("cannot write {}", path.display()))
}

fn short(value: f64) -> String {
    match value.abs() {
        large if large >= 100.0 => format!("{value:.0}"),
        middle if middle >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}
