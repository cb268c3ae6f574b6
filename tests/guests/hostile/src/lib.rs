//! Actions that crash, hang, flood and look around. Bare bindings and the standard library: what an author can do who does not
//! use the SDK.
#![cfg(target_family = "wasm")]

mod bindings;
mod crashes;
mod floods;
mod looks;
mod raw_hooks;
mod raw_wasi;

use bindings::exports::pintle::hooks::actions::{ActionInfo, Guest};
use bindings::pintle::hooks::types::Error;
use bindings::pintle::hooks::{components, context, durable, jobs, logging, state};

struct Hostile;

type Action = fn() -> Result<(), Error>;

const ACTIONS: [(&str, Action); 40] = [
    ("succeed", || Ok(())),
    ("fail", || Err(error("failed", "no luck"))),
    ("invent-denied", || Err(error("denied", "I say so"))),
    ("stop-worker", stop_worker),
    ("stop-worker-in-own-words", stop_worker_in_own_words),
    ("run-job", run_job),
    ("every-call", every_call),
    ("panic", crashes::panic),
    ("log-and-panic", crashes::log_and_panic),
    ("unreachable", crashes::unreachable),
    ("exit", crashes::exit),
    ("recurse", crashes::recurse),
    ("loop", floods::spin_forever),
    ("spin", floods::spin),
    ("spin-and-call", floods::spin_and_call),
    ("wait", floods::wait),
    ("many-calls", floods::many_calls),
    ("take-memory", floods::take_memory),
    ("use-memory", floods::use_memory),
    ("ask-the-time", floods::ask_the_time),
    ("log", floods::log),
    ("log-nothing", floods::log_nothing),
    ("log-forever", floods::log_forever),
    ("print-forever", floods::print_forever),
    ("fill-forever", floods::fill_forever),
    ("long-line", floods::long_line),
    ("print", looks::print),
    ("large-argument", floods::large_argument),
    ("put-often", floods::put_often),
    ("huge-argument", floods::huge_argument),
    ("repeated-argument", raw_hooks::repeated_argument),
    ("much-randomness", floods::much_randomness),
    ("draw", looks::draw),
    ("as-told", as_told),
    ("look-at-clocks", looks::clocks),
    ("look-at-randomness", looks::randomness),
    ("look-around", looks::around),
    ("sleep", looks::sleep),
    ("write-zeroes", raw_wasi::write_zeroes),
    ("hoard-streams", raw_wasi::hoard_streams),
];

impl Guest for Hostile {
    fn describe() -> Vec<ActionInfo> {
        let info = |(name, _): &(&str, Action)| ActionInfo {
            name: (*name).to_owned(),
            description: format!("Test action {name}"),
            has_undo: *name == "stop-worker",
        };
        ACTIONS.iter().map(info).collect()
    }

    fn run(name: String) -> Result<(), Error> {
        match ACTIONS.iter().find(|(known, _)| *known == name) {
            Some((_, action)) => action(),
            None => Err(error("invalid", &format!("there is no action {name}"))),
        }
    }

    fn undo(name: String, effects_json: String) -> Result<(), Error> {
        report(&format!("undo {name} {effects_json}"))
    }
}

fn error(code: &str, message: &str) -> Error {
    Error { code: code.to_owned(), message: message.to_owned() }
}

/// Shows the test what the guest saw.
fn report(seen: &str) -> Result<(), Error> {
    state::put("seen", seen.as_bytes())
}

/// The number that the test passed as arguments of the action.
fn number() -> u64 {
    context::args_json().parse().unwrap_or(0)
}

/// Makes the calls that the arguments of the action list, so that a test can let a replay make others.
fn as_told() -> Result<(), Error> {
    // `["now","put"]`: every second piece between quotes is a word.
    for word in context::args_json().split('"').skip(1).step_by(2) {
        match word {
            "now" => {
                durable::now();
            }
            "random" => drop(durable::random(8)),
            key => state::put(key, b"x")?,
        }
    }
    Ok(())
}

fn stop_worker() -> Result<(), Error> {
    components::stop(&["task-worker".to_owned()])
}

fn stop_worker_in_own_words() -> Result<(), Error> {
    stop_worker().map_err(|refused| error(&refused.code, "the worker goes on"))
}

fn run_job() -> Result<(), Error> {
    jobs::run(&migrate()).map(drop).map_err(|failed| error(&failed.code, &format!("migration: {}", failed.message)))
}

fn migrate() -> jobs::JobSpec {
    jobs::JobSpec {
        image: "shop:1".to_owned(),
        command: vec!["shop".to_owned(), "db".to_owned()],
        args: vec!["migrate".to_owned()],
        env: vec![("A".to_owned(), "b".to_owned())],
        env_from_component: Some("server".to_owned()),
        timeout_ms: Some(1000),
        retries: 2,
        pod_template_json: None,
        api_token: true,
    }
}

/// Every import once, each answer in the report.
fn every_call() -> Result<(), Error> {
    use bindings::pintle::hooks::releases;

    let names = ["server".to_owned()];
    let mut seen = vec![format!(
        "{} {} {} {} {} {} {} {:?} {:?} {} {} {:?} {} {} {}",
        context::release(),
        context::namespace(),
        context::release_uid(),
        context::tenant(),
        context::change(),
        context::phase(),
        context::cluster(),
        context::cluster_label("zone"),
        context::cluster_label("none"),
        context::generation(),
        context::attempt(),
        context::from_version(),
        context::target_version(),
        context::values_json(),
        context::args_json(),
    )];
    components::stop(&names)?;
    components::start(&names)?;
    seen.push(format!("{:?}", components::images("server")?));
    let status = components::status("server")?;
    seen.push(format!("{}/{}/{}", status.desired, status.running, status.ready));
    components::wait_ready(&names, u64::MAX)?;
    seen.push(releases::set_version("1.1.0")?);
    seen.push(releases::sync()?);
    let result = jobs::run(&migrate())?;
    seen.push(format!(
        "{} {} {:?} {:?} {:?}",
        result.id, result.succeeded, result.exit_code, result.output, result.reason
    ));
    let id = jobs::start(&migrate())?;
    let (first, _) = jobs::wait_any(&[id])?;
    seen.push(first.clone());
    jobs::cancel(&first)?;
    seen.push(format!("{} {:?}", durable::now(), durable::random(3)));
    durable::sleep(5)?;
    seen.push(format!("{:?}", state::get("key")?));
    state::delete("key")?;
    logging::log("warn", "all done", &[("calls".to_owned(), "17".to_owned())]);
    report(&seen.join("\n"))
}
