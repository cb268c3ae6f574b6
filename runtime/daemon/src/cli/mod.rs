//! The command line: a file for each verb with its arguments and its `run`. This one names them, starts what all need, and says how
//! the process ends.

pub mod exit;

mod action;
mod carry_out;
mod check_store;
mod completion;
mod delete;
mod describe;
mod export;
mod follow;
mod get;
mod global;
mod interrupt;
mod logging;
mod logs;
mod paint;
mod plan;
mod print;
mod replay;
mod report;
mod rollback;
mod schema;
mod session;
mod shape;
mod skips;
mod steps;
mod table;
mod test;
mod time;
mod tree;
mod up;
mod upgrade;
mod verbs;

use std::panic::AssertUnwindSafe;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};

use self::exit::Exit;
use self::global::Global;
use self::paint::Paint;
use crate::error::Error;
use crate::weakening::Weakening;

/// Threads that drive changes. What blocks has threads of its own.
const WORKERS: usize = 2;
/// What the end of the process waits for work that blocks.
const GRACE: Duration = Duration::from_millis(500);

/// Runs the lifecycle hooks of deployments, durably
///
/// An action is a function of a WebAssembly component that a driver brings along. Pintle runs it sandboxed, records each step, and
/// goes on where it was when the machine died.
#[derive(Debug, Parser)]
#[command(name = "pintle", version, after_help = Exit::help(), after_long_help = long_help())]
pub(crate) struct CommandLine {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Up(up::Up),
    Plan(plan::Plan),
    Get(get::Get),
    Describe(describe::Describe),
    Steps(steps::Steps),
    Logs(logs::Logs),
    Replay(replay::Replay),
    Upgrade(upgrade::Upgrade),
    Rollback(rollback::Rollback),
    Delete(delete::Delete),
    Test(test::Test),
    Retry(verbs::Retry),
    Undo(verbs::Undo),
    Skip(verbs::Skip),
    Cancel(verbs::Cancel),
    CheckStore(check_store::CheckStore),
    Export(export::Export),
    Action(action::Action),
    Schema(schema::Schema),
    Completion(completion::Completion),
}

impl Verb {
    async fn run(self, global: &Global) -> Result<Exit, Error> {
        match self {
            Self::Up(verb) => verb.run(global).await,
            Self::Plan(verb) => verb.run(global).await,
            Self::Get(verb) => verb.run(global).await,
            Self::Describe(verb) => verb.run(global).await,
            Self::Steps(verb) => verb.run(global).await,
            Self::Logs(verb) => verb.run(global).await,
            Self::Replay(verb) => verb.run(global).await,
            Self::Upgrade(verb) => verb.run(global).await,
            Self::Rollback(verb) => verb.run(global).await,
            Self::Delete(verb) => verb.run(global).await,
            Self::Test(verb) => verb.run(global).await,
            Self::Retry(verb) => verb.run(global).await,
            Self::Undo(verb) => verb.run(global).await,
            Self::Skip(verb) => verb.run(global).await,
            Self::Cancel(verb) => verb.run(global).await,
            Self::CheckStore(verb) => verb.run(global),
            Self::Export(verb) => verb.run(global),
            Self::Action(verb) => verb.run().await,
            Self::Schema(verb) => verb.run(),
            Self::Completion(verb) => verb.run(),
        }
    }
}

/// Runs the command line of this process, and says how the process exits.
#[must_use]
pub fn main() -> ExitCode {
    main_weakened(Weakening::default())
}

/// Runs the command line of a negative control.
#[must_use]
pub fn main_weakened(weakening: Weakening) -> ExitCode {
    let CommandLine { mut global, verb } = CommandLine::parse();
    global.weakening = weakening;
    let stderr = Paint::of(global.color, &std::io::stderr());
    report::panics(stderr);
    let ran = std::panic::catch_unwind(AssertUnwindSafe(|| run(verb, &global, stderr)));
    match ran {
        Ok(Ok(exit)) => exit.into(),
        Ok(Err(error)) => {
            let exit = report::report(&error, stderr);
            if exit == Exit::Store {
                report::full_disk(&global, stderr);
            }
            exit.into()
        }
        // The hook has said it.
        Err(_) => Exit::Defect.into(),
    }
}

fn run(verb: Verb, global: &Global, stderr: Paint) -> Result<Exit, Error> {
    logging::start(global.log, stderr)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(WORKERS).enable_all().build();
    let runtime = runtime.map_err(|error| Error::Defect(format!("the runtime does not start: {error}")))?;
    let result = runtime.block_on(verb.run(global));
    // Work that blocks and that nobody waits for any more must not hold the process for long.
    runtime.shutdown_timeout(GRACE);
    result
}

fn long_help() -> String {
    format!(
        "Examples:\n  \
         pintle up release.yml            set up or change a release, and follow its steps\n  \
         pintle plan release.yml          what would run, without any effect\n  \
         pintle get releases              what there is\n  \
         pintle steps shop-2 --output     what a change did, with the output of failed Jobs\n\n{}\n\
         Environment:\n  \
         PINTLE_STATE   folder of the state, as --state\n  \
         PINTLE_CONFIG  configuration of this machine's cluster, as --config\n  \
         PINTLE_LOG     filter of Pintle's own logs, as in `info` or `warn,pintle_sandbox=debug`; default `warn`\n  \
         NO_COLOR       no colors where --color is `auto`",
        Exit::help()
    )
}
