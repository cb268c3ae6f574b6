//! One guest in memory: an instance of a module, its bounds and its host, from the entry to its finish.

use std::sync::Arc;

use pintle_lifecycle::call::{Answer, Call, CallError};
use pintle_lifecycle::ending::Ending;
use pintle_lifecycle::record::Level;
use wasmtime::{Engine, Result, Store, StoreContextMut, UpdateDeadline};

use crate::bindings::{ActionInfo, ActionModule, ActionModulePre};
use crate::call_size::Carried;
use crate::heard::Heard;
use crate::host::{Facts, Host, Stop};
use crate::limits::{Budget, Memory, Meter, Room};
use crate::trapped::{self, Halted};
use crate::wasi::Wasi;

/// A longer message of a log line is cut.
const LINE_BYTES: usize = 16 << 10;
/// What a log line counts for at least, and a field beside its text: an empty line is a record as well.
const LEAST_LINE_BYTES: usize = 64;
const FIELD_BYTES: usize = 16;
/// What one call may carry above its arguments' bound before the guest is ended: room for the layout of lists.
const LIFT_SLACK: u64 = 64 << 10;

/// Where to enter a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// Runs the action of this name.
    Run(String),
    /// Takes back what the action did; the effects are those of the WIT.
    Undo { action: String, effects_json: String },
}

/// How a guest finished.
#[derive(Debug)]
pub enum Finish {
    /// The attempt has ended. This includes [`Stop::Ending`].
    Ending(Ending),
    /// The host stopped the guest, and not with an ending: the attempt goes on another time.
    Stopped(Stop),
    /// This machine had no room for the guest, which did not begin. Try again later.
    NoRoom(String),
}

/// What a guest starts with.
pub(crate) struct Start<'a> {
    pub engine: &'a Engine,
    pub code: &'a ActionModulePre<Running>,
    pub host: Arc<dyn Host>,
    pub budget: Arc<Budget>,
    /// The most that this sandbox gives, whatever the budget allows.
    pub memory_bytes: u64,
    pub seed: [u8; 32],
    /// Whether there is a change whose constants the guest may read.
    pub in_change: bool,
}

/// A guest in memory. Dropping it, or a future that holds it, frees what it had.
pub(crate) struct Guest {
    store: Store<Running>,
    instance: ActionModule,
}

/// The state of a guest in memory.
pub(crate) struct Running {
    host: Arc<dyn Host>,
    budget: Arc<Budget>,
    meter: Arc<Meter>,
    memory: Memory,
    pub(crate) wasi: Wasi,
    pub(crate) heard: Heard,
    carried: Carried,
    stop: Option<Stop>,
    cpu_spent: bool,
    warned: bool,
    in_change: bool,
}

impl Running {
    fn new(start: Start<'_>) -> Self {
        let Start { host, budget, memory_bytes, seed, in_change, .. } = start;
        Self {
            meter: Arc::new(Meter::new(Arc::clone(&budget))),
            memory: Memory::new(memory_bytes.min(budget.limits().memory_bytes)),
            wasi: Wasi::new(seed),
            heard: Heard::default(),
            carried: Carried::default(),
            stop: None,
            cpu_spent: false,
            warned: false,
            host,
            budget,
            in_change,
        }
    }

    /// The constants of the change; none where a module only describes itself.
    pub(crate) fn facts(&self) -> Option<&Facts> {
        self.in_change.then(|| self.host.facts())
    }

    /// Asks the host. The error ends the guest.
    pub(crate) async fn call(&mut self, call: Call) -> Result<std::result::Result<Answer, CallError>> {
        self.charge()?;
        self.print()?;
        let answered = match self.carried.refuse(&call, self.budget.limits().call_bytes) {
            Some(error) => Ok(Err(error)),
            None => self.host.call(call).await,
        };
        self.meter.resume();
        match answered {
            Ok(Ok(answer)) => Ok(Ok(answer)),
            Ok(Err(error)) => {
                self.heard.refusal(&error);
                Ok(Err(error))
            }
            Err(stop) => Err(self.halt(stop)),
        }
    }

    /// A line that the guest logged. Unknown levels are read as `info`: more may come.
    pub(crate) fn log_line(&mut self, level: &str, message: String, fields: Vec<(String, String)>) -> Result<()> {
        self.print()?;
        self.say(Level::parse(level).unwrap_or(Level::Info), message, fields)
    }

    fn say(&mut self, level: Level, mut message: String, fields: Vec<(String, String)>) -> Result<()> {
        if message.len() > LINE_BYTES {
            message.truncate(message.floor_char_boundary(LINE_BYTES));
            message.push('…');
        }
        self.heard.line(level, &message);
        let fields_bytes = fields.iter().map(|(key, value)| key.len() + value.len() + FIELD_BYTES).sum::<usize>();
        let bytes = (message.len() + fields_bytes).max(LEAST_LINE_BYTES);
        let room = if self.host.replaying() { Room::Enough } else { self.budget.take_log(bytes) };
        let logged = match room {
            Room::Enough => self.host.log(level, message, fields),
            Room::JustFull => {
                let limit = self.budget.limits().log_bytes;
                let full = format!("The log of this attempt is full ({limit} bytes): later lines are not kept.");
                self.host.log(Level::Warn, full, Vec::new())
            }
            Room::Full => Ok(()),
        };
        logged.map_err(|stop| self.halt(stop))
    }

    /// Logs what the guest printed since its last call, and warns once of a clock that does not wait.
    fn print(&mut self) -> Result<()> {
        if self.wasi.waited && !self.warned {
            self.warned = true;
            let warning = "The module waited by its own clock, which does not wait here: use durable.sleep.";
            self.say(Level::Warn, warning.to_owned(), Vec::new())?;
        }
        for (printed, stream) in [(self.wasi.stdout.take(), "stdout"), (self.wasi.stderr.take(), "stderr")] {
            if !printed.is_empty() {
                self.say(Level::Info, printed, vec![("stream".to_owned(), stream.to_owned())])?;
            }
        }
        Ok(())
    }

    /// Charges the CPU time since the guest last began to compute.
    fn charge(&mut self) -> Result<()> {
        if self.meter.pause(self.host.replaying()) {
            return Ok(());
        }
        self.cpu_spent = true;
        Err(Halted.into())
    }

    fn halt(&mut self, stop: Stop) -> wasmtime::Error {
        self.stop = Some(stop);
        Halted.into()
    }
}

impl Guest {
    /// Brings a guest into memory.
    pub(crate) async fn start(start: Start<'_>) -> std::result::Result<Self, Finish> {
        let code = start.code;
        let lift = start.budget.limits().call_bytes.saturating_mul(2).saturating_add(LIFT_SLACK);
        let mut store = Store::new(start.engine, Running::new(start));
        store.limiter(|running| &mut running.memory);
        store.set_hostcall_fuel(usize::try_from(lift).unwrap_or(usize::MAX));
        store.set_epoch_deadline(1);
        store.epoch_deadline_callback(tick);
        store.data().meter.resume();
        match code.instantiate_async(&mut store).await {
            Ok(instance) => Ok(Self { store, instance }),
            Err(error) => Err(not_started(pause(store), &error)),
        }
    }

    /// Enters an action.
    pub(crate) async fn run(mut self, entry: Entry) -> Finish {
        let actions = self.instance.pintle_hooks_actions();
        let returned = match entry {
            Entry::Run(action) => actions.call_run(&mut self.store, &action).await,
            Entry::Undo { action, effects_json } => actions.call_undo(&mut self.store, &action, &effects_json).await,
        };
        match self.end(returned) {
            Ok((Ok(()), _)) => Finish::Ending(Ending::succeeded()),
            Ok((Err(error), heard)) => Finish::Ending(heard.ending(&error)),
            Err(finish) => finish,
        }
    }

    /// Asks the module for its actions.
    pub(crate) async fn describe(mut self) -> std::result::Result<Vec<ActionInfo>, Finish> {
        let described = self.instance.pintle_hooks_actions().call_describe(&mut self.store).await;
        self.end(described).map(|(actions, _)| actions)
    }

    fn end<T>(self, returned: Result<T>) -> std::result::Result<(T, Heard), Finish> {
        // What a guest finished in its last tick stands, whether or not that tick was over its budget.
        let mut running = pause(self.store);
        let value = match returned {
            Ok(value) => value,
            Err(error) => return Err(finish_of_error(running, &error)),
        };
        // What was printed last. A stop that this brings counts, since the ending is not recorded yet.
        if running.print().is_err()
            && let Some(stop) = running.stop.take()
        {
            return Err(finish_of_stop(stop));
        }
        Ok((value, running.heard))
    }
}

fn pause(store: Store<Running>) -> Running {
    let running = store.into_data();
    running.meter.pause(running.host.replaying());
    running
}

/// At each tick a guest that computes is charged and lets others have the thread.
fn tick(mut store: StoreContextMut<'_, Running>) -> Result<UpdateDeadline> {
    let running = store.data_mut();
    running.charge()?;
    let meter = Arc::clone(&running.meter);
    Ok(UpdateDeadline::YieldCustom(
        1,
        Box::pin(async move {
            tokio::task::yield_now().await;
            meter.resume();
        }),
    ))
}

fn not_started(running: Running, error: &wasmtime::Error) -> Finish {
    let ended = running.stop.is_some() || running.memory.exceeded() || running.cpu_spent;
    if ended || trapped::is_guests(error) {
        return finish_of_error(running, error);
    }
    Finish::NoRoom(format!("{error:#}"))
}

fn finish_of_error(mut running: Running, error: &wasmtime::Error) -> Finish {
    if let Some(stop) = running.stop.take() {
        return finish_of_stop(stop);
    }
    if running.memory.exceeded() {
        return Finish::Ending(Ending::OutOfMemory { limit_bytes: running.memory.limit() });
    }
    if running.cpu_spent {
        return Finish::Ending(Ending::CpuBudget { limit_ms: running.budget.limits().cpu_ms });
    }
    let panic = panic_text(&running.wasi.stderr.take());
    let first_error = running.heard.first_error().map(str::to_owned);
    if first_error.is_some() && !panic.is_empty() {
        // The ending has room for the first line only. What the log says to this does not matter any more.
        drop(running.say(Level::Error, panic.clone(), Vec::new()));
    }
    Finish::Ending(trapped::ending(error, first_error, panic))
}

/// Rust's words on a panic without its advice on how to get a backtrace, which is there already.
fn panic_text(stderr: &str) -> String {
    let lines = stderr.lines().filter(|line| !line.starts_with("note: run with `RUST_BACKTRACE="));
    lines.collect::<Vec<_>>().join("\n").trim().to_owned()
}

fn finish_of_stop(stop: Stop) -> Finish {
    match stop {
        Stop::Ending(ending) => Finish::Ending(*ending),
        stop => Finish::Stopped(stop),
    }
}
