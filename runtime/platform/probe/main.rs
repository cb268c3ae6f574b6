//! A Pintle that is nothing but its platform. Tests use it as the shim, and as a Pintle of their own that they can kill: it makes one
//! call that it reads from its arguments, and prints what came of it.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use pintle_lifecycle::hook::{HookKind, HookRef};
use pintle_lifecycle::json::Json;
use pintle_lifecycle::plan::{Render, Target, Workload};
use pintle_platform::{HookWorkload, Job, Local, LocalConfig, Platform, PlatformError, shim_main};
use serde::Deserialize;

/// A call of the platform.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum Call {
    Apply {
        key: String,
        render: Render,
    },
    Scale {
        key: String,
        workload: Workload,
        replicas: u32,
    },
    RunJob {
        key: String,
        id: String,
        job: Box<Job>,
    },
    /// Created fenced, let run, and waited for.
    RunHook {
        key: String,
        object: Json,
    },
    DeleteHook {
        key: String,
        hook: HookRef,
    },
}

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    match args.as_slice() {
        [word, rest @ ..] if word == "shim" => shim_main(rest.iter().cloned()),
        [run_dir, target, call] => {
            let read = |text: &OsString| text.to_str().map(str::to_owned).ok_or("an argument is no UTF-8");
            let result = read(target).and_then(|target| Ok((target, read(call)?)));
            match result.map_err(ToString::to_string).and_then(|(target, call)| run(run_dir.into(), &target, &call)) {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => {
                    eprintln!("{error}");
                    ExitCode::FAILURE
                }
            }
        }
        _ => {
            eprintln!("usage: pintle-platform-probe RUN_DIR TARGET CALL, the last two as JSON");
            ExitCode::FAILURE
        }
    }
}

fn run(run_dir: PathBuf, target: &str, call: &str) -> Result<(), String> {
    let target: Target = serde_json::from_str(target).map_err(|error| error.to_string())?;
    let call: Call = serde_json::from_str(call).map_err(|error| error.to_string())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let shim = std::env::current_exe().map_err(|error| error.to_string())?;
    let local = Local::new(LocalConfig::new(run_dir, shim));
    let made = runtime.map_err(|error| error.to_string())?.block_on(make(&local, &target, call));
    made.map_err(|error| error.to_string())
}

async fn make(local: &Local, target: &Target, call: Call) -> Result<(), PlatformError> {
    match call {
        Call::Apply { key, render } => local.apply(&key, target, &render, &BTreeSet::new()).await,
        Call::Scale { key, workload, replicas } => local.scale(&key, target, &workload, replicas).await,
        Call::RunJob { key, id, job } => {
            local.start_job(&key, target, &id, &job).await?;
            println!("started");
            local.wait_job(target, &id).await.map(drop)
        }
        Call::RunHook { key, object } => {
            let hook = local.create_hook(&key, target, &workload(&object)).await?;
            println!("created");
            local.lift_hook(&key, target, &hook).await?;
            println!("lifted");
            local.wait_hook(target, &hook).await.map(drop)
        }
        Call::DeleteHook { key, hook } => {
            local.delete_hook(&key, target, &hook, false).await?;
            println!("accepted");
            Ok(())
        }
    }
}

fn workload(object: &Json) -> HookWorkload {
    let value = object.value();
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    HookWorkload {
        kind: if value["kind"] == "Job" { HookKind::Job } else { HookKind::Pod },
        namespace: text(&value["metadata"]["namespace"]),
        name: text(&value["metadata"]["name"]),
        object: object.clone(),
        fenced: true,
    }
}
