//! Whether a process is ready: one look at what its manifest says, and the wait for it.

use std::io;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use http_body_util::Empty;
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::{Request, header};
use hyper_util::rt::TokioIo;
use pintle_lifecycle::document::manifest::{Probe, Ready};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use super::instance::{Instance, State};
use super::kin::MARK;
use super::launch::{Ended, Launch};
use super::process::uptime_ms;

/// A process without a probe is ready when it has lived so long.
const ALIVE: Duration = Duration::from_millis(500);
/// A process that does not answer a look within this time is not ready.
const LOOK: Duration = Duration::from_secs(1);
const LOOK_BY_COMMAND: Duration = Duration::from_secs(10);
/// Between looks: from the first to the second, doubled up to the longest.
const PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(250);

/// Why a process is not ready.
#[derive(Debug)]
pub(super) enum NotReady {
    /// It does not run; how it ended, where it ever ran.
    Gone(Option<Ended>),
    /// It runs, and this is what the last look found.
    Late(String),
}

/// Waits until the instance is ready, at most `within`.
pub(super) async fn wait(
    instance: &Instance,
    launch: &Launch,
    ready: Option<&Ready>,
    within: Option<Duration>,
) -> io::Result<Result<(), NotReady>> {
    let until = within.map(|within| Instant::now() + within);
    let mut pause = PAUSE;
    loop {
        let shim = match instance.judge().await? {
            State::Held(shim) => shim,
            State::Ended(ended) => return Ok(Err(NotReady::Gone(Some(ended)))),
            State::Missing | State::Waiting | State::Orphaned => return Ok(Err(NotReady::Gone(None))),
        };
        let look = async {
            let found = look(instance, launch, ready).await;
            if found.is_err() {
                sleep(pause).await;
            }
            found
        };
        let found = tokio::select! {
            found = look => found,
            ended = shim.ended() => { ended?; continue }
        };
        match found {
            Ok(()) if matches!(instance.look()?, State::Held(_)) => return Ok(Ok(())),
            Ok(()) => {}
            Err(why) if until.is_some_and(|until| Instant::now() >= until) => return Ok(Err(NotReady::Late(why))),
            Err(_) => pause = (pause * 2).min(LONGEST_PAUSE),
        }
    }
}

/// Looks once; the error says what was found instead.
pub(super) async fn look(instance: &Instance, launch: &Launch, ready: Option<&Ready>) -> Result<(), String> {
    let Some(ready) = ready else { return lived(instance) };
    let bound = if matches!(ready.probe, Probe::Exec { .. }) { LOOK_BY_COMMAND } else { LOOK };
    let look = async {
        match &ready.probe {
            Probe::Http { port, path, host } => get(host, *port, path).await,
            Probe::Tcp { port, host } => connect(host, *port).await.map(drop),
            Probe::Exec { command } => run(instance, launch, command).await,
            Probe::File(file) => exists(&launch.working_dir.join(file)),
        }
    };
    timeout(bound, look).await.unwrap_or_else(|_| Err(format!("no answer within {} s", bound.as_secs())))
}

fn lived(instance: &Instance) -> Result<(), String> {
    let started = instance.started().map_err(|error| error.to_string())?;
    let since = started.map_or(u64::MAX, |started| started.up_ms);
    let lived = uptime_ms().saturating_sub(since);
    if u128::from(lived) >= ALIVE.as_millis() { Ok(()) } else { Err(format!("it lives for {lived} ms only")) }
}

async fn connect(host: &str, port: u16) -> Result<TcpStream, String> {
    TcpStream::connect((host, port)).await.map_err(|error| format!("{host}:{port}: {error}"))
}

async fn get(host: &str, port: u16, path: &str) -> Result<(), String> {
    let fault = |error: &dyn std::error::Error| format!("GET http://{host}:{port}{path}: {error}");
    let stream = connect(host, port).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(|error| fault(&error))?;
    // Ends with this look.
    let mut connections = JoinSet::new();
    connections.spawn(connection);
    let request = Request::get(path)
        .header(header::HOST, format!("{host}:{port}"))
        .header(header::USER_AGENT, "pintle")
        .body(Empty::<Bytes>::new())
        .map_err(|error| fault(&error))?;
    let status = sender.send_request(request).await.map_err(|error| fault(&error))?.status();
    if (200..400).contains(&status.as_u16()) {
        Ok(())
    } else {
        Err(format!("GET http://{host}:{port}{path} gave {status}"))
    }
}

/// The command runs as the process does, and counts as a part of it: a stop ends it, too.
async fn run(instance: &Instance, launch: &Launch, command: &[String]) -> Result<(), String> {
    let Some((program, args)) = command.split_first() else { return Err("the command is empty".to_owned()) };
    let status = tokio::process::Command::new(program)
        .args(args)
        .env_clear()
        .envs(&launch.env)
        .env(MARK, instance.dir())
        .current_dir(&launch.working_dir)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .status()
        .await
        .map_err(|error| format!("`{program}`: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("`{program}` ended with {status}")) }
}

fn exists(file: &Path) -> Result<(), String> {
    if file.exists() { Ok(()) } else { Err(format!("{} is not there", file.display())) }
}
