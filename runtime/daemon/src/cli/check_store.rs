//! `pintle check-store`: whether a store has everything that was acknowledged.

use pintle_journal::check::{CheckReport, IndexCheck, Severity};
use pintle_journal::check_store;

use super::exit::Exit;
use super::global::Global;
use super::print::{Form, print, print_json};
use crate::error::Error;

/// Check that the store has everything that was acknowledged
///
/// Reads all of it and changes nothing. Exits with 4 where something is damaged.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  pintle check-store
  pintle check-store --state /var/lib/pintle -o json")]
pub struct CheckStore {
    /// Form of the output
    #[arg(short, long, value_enum, default_value_t = Form::Text, value_name = "FORM")]
    output: Form,
}

impl CheckStore {
    pub fn run(&self, global: &Global) -> Result<Exit, Error> {
        let report = check_store(global.state()?.path())?;
        match self.output {
            Form::Text => print(&text(&report))?,
            Form::Json => print_json(&report)?,
        };
        Ok(if report.is_sound() { Exit::Ok } else { Exit::Store })
    }
}

fn text(report: &CheckReport) -> String {
    let CheckReport { dir, segments, groups, records, changes, bytes, .. } = report;
    let mut lines = vec![format!("store     {}", dir.display())];
    lines.extend(report.holder.as_ref().map(|holder| format!("in use    by pid {} ({})", holder.pid, holder.what)));
    lines.push(format!(
        "log       {records} records of {changes} changes in {groups} groups and {segments} segments, {bytes} bytes"
    ));
    let index = match report.index {
        IndexCheck::None => "none: lists are read from the log",
        IndexCheck::Compared => "compared with the log",
        IndexCheck::NotCompared => "not compared",
    };
    lines.push(format!("index     {index}"));
    for finding in &report.findings {
        let severity = match finding.severity {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Damage => "damage",
        };
        lines.push(format!("{severity:<8}  {}", finding.to_string().replace('\n', "\n          ")));
    }
    lines.push(if report.is_sound() { "sound" } else { "damaged" }.to_owned());
    lines.join("\n") + "\n"
}
