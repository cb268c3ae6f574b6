//! Measures Pintle against the raw limits of the machine: `cargo xtask bench`. Nothing here asserts a time; the table says what
//! was reached, and `docs/performance.md` keeps it.

mod actions;
mod child;
mod cold;
mod compile;
mod journal;
mod measure;
mod plans;
mod raw_action;
mod raw_log;
mod recovery;
mod report;
mod site;
mod templates;
mod waiting;
mod world;

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};
use tokio::runtime::Runtime;

use crate::report::Line;

/// As the program has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Measures Pintle against the raw limits of the machine.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    child: Option<Child>,
    /// Parts of names of lines; all without
    filter: Vec<String>,
    /// Rounds of each line; medians are shown
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// A folder on the disk to measure
    #[arg(long)]
    disk: Option<PathBuf>,
    /// The program to measure
    #[arg(long, default_value = "target/release/pintle")]
    program: PathBuf,
    /// The example to measure with, laid out
    #[arg(long, default_value = "examples-actions/shop")]
    shop: PathBuf,
    /// A module of a Rust action
    #[arg(long, default_value = "examples-actions/shop/actions.wasm")]
    example: PathBuf,
    /// Where the lines are written as JSON
    #[arg(long)]
    json: Option<PathBuf>,
}

/// Started by the benches themselves.
#[derive(Subcommand)]
enum Child {
    #[command(hide = true)]
    Wait { folder: PathBuf, changes: usize },
    #[command(hide = true)]
    Recover { folder: PathBuf, changes: usize },
}

/// What all benches have.
pub struct Bench {
    pub runtime: Runtime,
    pub rounds: usize,
    pub program: PathBuf,
    pub shop: PathBuf,
    pub example: PathBuf,
    filter: Vec<String>,
    disk: PathBuf,
}

impl Bench {
    /// Whether a line is asked for.
    pub fn wants(&self, name: &str) -> bool {
        self.filter.is_empty() || self.filter.iter().any(|part| name.contains(part.as_str()))
    }

    /// A fresh folder on the disk that is measured.
    ///
    /// # Errors
    /// Where none can be made.
    pub fn folder(&self) -> Result<tempfile::TempDir> {
        let folder = tempfile::Builder::new().prefix("bench-").tempdir_in(&self.disk);
        folder.with_context(|| format!("no folder can be made in {}", self.disk.display()))
    }

    /// Which side goes first in a round: they take turns.
    pub fn order(&self, round: usize) -> [usize; 2] {
        if round.is_multiple_of(2) { [0, 1] } else { [1, 0] }
    }

    /// The module of the benches.
    pub fn guest(&self) -> Vec<u8> {
        guest_artifacts::bytes("guest-bench")
    }
}

type Measure = fn(&Bench) -> Result<Vec<Line>>;

/// Each with the lines that it makes.
const ALL: [(&[&str], Measure); 10] = [
    (&["journal.append.1", "journal.append.8", "journal.append.64", "journal.append.512"], journal::append),
    (&["call.serial", "call.bytes", "call.syncs"], actions::calls),
    (&["action.noop.latency"], actions::latency),
    (&["action.noop.rate.1", "action.noop.rate.16", "action.noop.rate.128"], actions::rates),
    (&["action.noop.rate.after100k"], actions::after_history),
    (&["waiting.10000.bytes", "waiting.100000.bytes", "waiting.100000.cpu"], waiting::memory),
    (&["recovery.10000.first", "recovery.10000.all"], recovery::recovery),
    (&["cli.cold"], cold::cold),
    (&["compile.rust"], compile::rust),
    (&["template.compile", "template.load", "template.render", "template.each"], templates::templates),
];

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    match arguments.child {
        Some(Child::Wait { folder, changes }) => return runtime.block_on(waiting::wait(&folder, changes)),
        Some(Child::Recover { folder, changes }) => return runtime.block_on(recovery::recover(&folder, changes)),
        None => {}
    }
    let bench = Bench {
        runtime,
        rounds: arguments.rounds.max(1),
        program: std::path::absolute(arguments.program)?,
        shop: arguments.shop,
        example: arguments.example,
        filter: arguments.filter,
        disk: arguments.disk.unwrap_or_else(std::env::temp_dir),
    };
    let mut lines = Vec::new();
    for (names, measure) in ALL {
        if names.iter().any(|name| bench.wants(name)) {
            eprintln!("measuring {}", names.join(", "));
            lines.extend(measure(&bench).with_context(|| format!("measuring {}", names.join(", ")))?);
        }
    }
    report::print(&lines);
    if let Some(path) = arguments.json {
        report::write(&path, &lines)?;
        println!("written: {}", path.display());
    }
    Ok(())
}
