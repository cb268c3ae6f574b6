//! `pintle replay`: actions of a change once more, from their journal alone.

mod said;
mod shape;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pintle_lifecycle::digest;
use pintle_lifecycle::ids::ChangeKey;
use pintle_sandbox::{Behaviour, Module, NoRoom, SandboxError, Verdict};

use super::exit::Exit;
use super::global::Global;
use super::print::{Form, print, print_json};
use crate::error::Error;
use crate::looking::Looking;
use crate::state_dir::StateDir;
use crate::{input_file, lookup, reading};

/// Run actions of a change again from their journal, without any effect
///
/// The module runs in the sandbox, and each call that it makes is answered with what was recorded: nothing else is asked, nothing is
/// written, and a Pintle that runs meanwhile is not in the way. Says whether the module still makes the same calls and ends the same.
/// With `--module` it tells whether a new build would have done what the old one did.
///
/// Attempts are numbered in the order in which they started. Where an attempt was cut off (cancelled, timed out, out of CPU time,
/// still open) it is compared as far as it was recorded. A log line that differs is told and does not count, but for `--strict`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  pintle replay shop-2
  pintle replay shop-2 --step 1
  pintle replay shop-2 --step upgrade-core/upgrade --module actions.wasm")]
pub struct Replay {
    /// The change, as in shop-2
    change: String,
    /// Only this attempt, by its number, or all attempts of a step, by its id [default: all attempts of actions]
    #[arg(long, value_name = "STEP")]
    step: Option<String>,
    /// Another build of the module, in place of the one that ran
    #[arg(long, value_name = "FILE")]
    module: Option<PathBuf>,
    /// A log line that differs counts as well
    #[arg(long)]
    strict: bool,
    /// Form of the output
    #[arg(short, long, value_enum, default_value_t = Form::Text, value_name = "FORM")]
    output: Form,
}

/// An attempt with its place among those of its change, from 1.
struct Numbered {
    number: usize,
    replay: pintle_sandbox::Replay,
}

impl Replay {
    pub async fn run(self, global: &Global) -> Result<Exit, Error> {
        let (change, state) = (global.change(&self.change)?, global.state()?);
        let all = read(&state, &change).await?;
        let chosen = choose(all, &change, self.step.as_deref())?;
        let modules = Modules::new(state)?;
        let other = match &self.module {
            Some(file) => Some(modules.of_file(file, &chosen).await?),
            None => None,
        };
        let mut told = Vec::new();
        let mut same = true;
        for Numbered { number, replay } in &chosen {
            let module = match &other {
                Some(module) => Arc::clone(module),
                None => modules.frozen(replay).await?,
            };
            let ran = replay.run(modules.looking.sandbox(), &module).await;
            let verdict = ran.map_err(|NoRoom(problem)| SandboxError::Engine(problem))?;
            same &= self.is_same(&verdict);
            match self.output {
                Form::Text => drop(print(&said::text(*number, replay, &verdict))?),
                Form::Json => told.push(shape::Replayed::of(*number, replay, &module, verdict)),
            }
        }
        match self.output {
            Form::Text if chosen.is_empty() => drop(print(&format!("{change} ran no action: nothing to replay\n"))?),
            Form::Text => {}
            Form::Json => drop(print_json(&shape::Replay { change: change.to_string(), same, attempts: told })?),
        }
        Ok(if same { Exit::Ok } else { Exit::ChangeFailed })
    }

    fn is_same(&self, verdict: &Verdict) -> bool {
        let logs_the_same = verdict.other_line.is_none() || !self.strict;
        logs_the_same && !matches!(verdict.behaviour, Behaviour::Differs(_))
    }
}

async fn read(state: &StateDir, change: &ChangeKey) -> Result<Vec<Numbered>, Error> {
    let journal = reading::open(state)?;
    lookup::change(&*journal, change).await?;
    let records = journal.records(change).await?;
    let all = pintle_sandbox::Replay::all(&records);
    let all = all.map_err(|source| Error::Change { change: change.clone(), source: Box::new(source.into()) })?;
    Ok(all.into_iter().zip(1..).map(|(replay, number)| Numbered { number, replay }).collect())
}

fn choose(all: Vec<Numbered>, change: &ChangeKey, wanted: Option<&str>) -> Result<Vec<Numbered>, Error> {
    let Some(wanted) = wanted else { return Ok(all) };
    let known: Vec<String> = all.iter().map(|one| format!("{} ({})", one.number, said::name(&one.replay))).collect();
    let is_wanted = |one: &Numbered| one.replay.step.as_str() == wanted || one.number.to_string() == wanted;
    let chosen: Vec<Numbered> = all.into_iter().filter(is_wanted).collect();
    if chosen.is_empty() {
        return Err(Error::NoAttempt { change: change.clone(), wanted: wanted.to_owned(), known });
    }
    Ok(chosen)
}

/// Where the modules of replays come from. They are compiled apart, so that the state stays as it is.
struct Modules {
    state: StateDir,
    looking: Looking,
}

impl Modules {
    fn new(state: StateDir) -> Result<Self, Error> {
        Ok(Self { state, looking: Looking::apart()? })
    }

    /// Another build for the attempts.
    async fn of_file(&self, file: &Path, attempts: &[Numbered]) -> Result<Arc<Module>, Error> {
        let mut digests: Vec<&str> = attempts.iter().map(|one| one.replay.module.as_str()).collect();
        digests.sort_unstable();
        digests.dedup();
        if digests.len() > 1 {
            return Err(Error::Usage {
                what: format!("these attempts are of {} modules, and one is given", digests.len()),
                cure: "name the attempts that it is for with --step".to_owned(),
            });
        }
        let path = file.to_owned();
        let bytes = input_file::read(file, input_file::MODULE)
            .map_err(|source| Error::Unreadable { path: path.clone(), source })?;
        let admitted = self.looking.sandbox().admit(&bytes).await;
        admitted.map_err(|source| Error::Module { path, source: Box::new(source) })
    }

    /// The module that ran the attempt.
    async fn frozen(&self, replay: &pintle_sandbox::Replay) -> Result<Arc<Module>, Error> {
        if let Ok(module) = self.looking.sandbox().module(&replay.module).await {
            return Ok(module);
        }
        let path = self.state.modules().join(format!("{}.wasm", replay.module));
        let gone = |what: String| Error::Refused {
            what,
            cure: "put its bytes back, or give the module with --module".to_owned(),
        };
        let read = input_file::read(&path, input_file::MODULE);
        let bytes = read.map_err(|error| {
            gone(format!("the module of {} cannot be read at {}: {error}", said::name(replay), path.display()))
        })?;
        if digest::sha256(&bytes) != replay.module {
            return Err(gone(format!("the module of {} at {} has been changed", said::name(replay), path.display())));
        }
        let admitted = self.looking.sandbox().admit(&bytes).await;
        admitted.map_err(|source| Error::Module { path, source: Box::new(source) })
    }
}
