//! One instance: it works through templates and gives each answer when it has it, until it is through or something ends it.

use std::sync::Arc;

use pintle_lifecycle::plan::Limits;
use pintle_lifecycle::template::{RenderError, TemplateError};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use wasmtime::{Caller, Result, Store, StoreContextMut, Trap, UpdateDeadline};

use crate::limits::{Budget, Memory, Meter};
use crate::sandbox::Room;
use crate::template::code::Code;
use crate::template::{TemplateBounds, wasi};
use crate::trapped::{self, Halted};

/// What is asked of templates.
#[derive(Debug, Clone, Copy)]
pub(super) enum Work {
    Check,
    Render,
}

/// As the module reads it.
#[derive(Debug, Serialize)]
pub(super) struct Request<'a> {
    pub templates: &'a [&'a str],
    pub values: &'a RawValue,
    /// Bytes of one text.
    pub output: usize,
}

/// What an instance is made of, and what is left for all templates.
pub(super) struct Instance<'a> {
    pub room: &'a Room,
    pub code: &'a Code,
    pub bounds: &'a TemplateBounds,
    pub cpu_ms: u64,
    pub bytes: usize,
}

/// How far an instance came.
pub(super) struct Finish {
    pub answers: Vec<Result<String, TemplateError>>,
    /// Why it has no answer for the next template.
    pub ended: Option<TemplateError>,
    pub cpu_used_ms: u64,
    pub bytes_left: usize,
}

/// The state of an instance.
pub(super) struct Running {
    answers: Vec<Result<String, TemplateError>>,
    /// Of the templates together.
    cpu_left_ns: u64,
    cpu_used_ns: u64,
    cpu_ms: u64,
    bytes_left: usize,
    /// Of the template that is being rendered.
    budget: Arc<Budget>,
    meter: Arc<Meter>,
    memory: Memory,
    cpu_spent: bool,
    pub(super) printed: Vec<u8>,
    pub(super) clock: u64,
}

/// As the module writes it.
#[derive(Debug, Deserialize)]
struct Failure {
    line: Option<u32>,
    column: Option<u32>,
    message: String,
}

impl Running {
    fn new(instance: &Instance<'_>) -> Self {
        let cpu_left_ns = instance.cpu_ms.saturating_mul(1_000_000);
        let budget = budget(instance.bounds.cpu_ms, cpu_left_ns);
        Self {
            answers: Vec::new(),
            cpu_left_ns,
            cpu_used_ns: 0,
            cpu_ms: instance.bounds.cpu_ms,
            bytes_left: instance.bytes,
            meter: Arc::new(Meter::new(Arc::clone(&budget))),
            budget,
            memory: Memory::new(instance.bounds.memory_bytes),
            cpu_spent: false,
            printed: Vec::new(),
            clock: 0,
        }
    }

    /// Keeps an answer, and gives the next template a budget of its own.
    fn answered(&mut self, answer: Result<String, TemplateError>) {
        self.pause();
        self.answers.push(answer);
        self.budget = budget(self.cpu_ms, self.cpu_left_ns);
        self.meter = Arc::new(Meter::new(Arc::clone(&self.budget)));
        self.meter.resume();
    }

    /// Charges what the template used. Says whether it has CPU time left.
    fn pause(&mut self) -> bool {
        let before = self.budget.cpu_used_ns();
        let enough = self.meter.pause(false);
        let used = self.budget.cpu_used_ns() - before;
        self.cpu_used_ns += used;
        self.cpu_left_ns = self.cpu_left_ns.saturating_sub(used);
        enough
    }

    fn taken(&mut self, text: String) -> Result<String, TemplateError> {
        match self.bytes_left.checked_sub(text.len()) {
            Some(left) => {
                self.bytes_left = left;
                Ok(text)
            }
            None => Err(TemplateError::of_all("the texts of all templates together are too long")),
        }
    }
}

fn budget(cpu_ms: u64, left_ns: u64) -> Arc<Budget> {
    Arc::new(Budget::new(&Limits { cpu_ms: cpu_ms.min(left_ns / 1_000_000), ..Limits::default() }))
}

/// The module's answer for its next template: a text, or a failure as JSON.
pub(super) fn answer(mut guest: Caller<'_, Running>, good: u32, at: u32, size: u32) -> Result<()> {
    let bytes = wasi::bytes(&mut guest, at, size)?.to_vec();
    let answer = if good == 1 {
        let text = String::from_utf8(bytes)?;
        guest.data_mut().taken(text)
    } else {
        let Failure { line, column, message } = serde_json::from_slice(&bytes)?;
        Err(TemplateError { line, column, message })
    };
    guest.data_mut().answered(answer);
    Ok(())
}

impl Instance<'_> {
    /// Works through the templates. The instance is gone afterwards.
    pub(super) async fn run(self, work: Work, request: &Request<'_>) -> Result<Finish, RenderError> {
        let input = serde_json::to_vec(request).map_err(|_| RenderError::Values)?;
        let _place = self.room.place().await;
        let mut store = Store::new(&self.room.engine, Running::new(&self));
        store.limiter(|running| &mut running.memory);
        store.set_epoch_deadline(1);
        store.epoch_deadline_callback(tick);
        store.data().meter.resume();
        let ran = run(&mut store, self.code, work, &input).await;
        let mut running = store.into_data();
        running.pause();
        let ended = match ran {
            Ok(true) => None,
            Ok(false) => return Err(RenderError::Values),
            Err(error) => Some(ended(&running, self.bounds, &error)?),
        };
        Ok(Finish {
            ended,
            cpu_used_ms: running.cpu_used_ns / 1_000_000,
            bytes_left: running.bytes_left,
            answers: running.answers,
        })
    }
}

/// Whether the module could read its input.
async fn run(store: &mut Store<Running>, code: &Code, work: Work, input: &[u8]) -> Result<bool> {
    let instance = code.instantiate_async(&mut *store).await?;
    let start = instance.get_typed_func::<(), ()>(&mut *store, "_initialize")?;
    start.call_async(&mut *store, ()).await?;
    let alloc = instance.get_typed_func::<u32, u32>(&mut *store, "alloc")?;
    let at = alloc.call_async(&mut *store, u32::try_from(input.len())?).await?;
    let memory = instance.get_memory(&mut *store, "memory");
    let memory = memory.ok_or_else(|| trapped::Refused::new("the module has no memory"))?;
    memory.write(&mut *store, at as usize, input)?;
    let name = match work {
        Work::Check => "check",
        Work::Render => "render",
    };
    let entry = instance.get_typed_func::<(), u32>(&mut *store, name)?;
    Ok(entry.call_async(&mut *store, ()).await? == 0)
}

/// At each tick the template is charged and lets others have the thread.
fn tick(mut store: StoreContextMut<'_, Running>) -> Result<UpdateDeadline> {
    let running = store.data_mut();
    if !running.pause() {
        running.cpu_spent = true;
        return Err(Halted.into());
    }
    let meter = Arc::clone(&running.meter);
    Ok(UpdateDeadline::YieldCustom(
        1,
        Box::pin(async move {
            tokio::task::yield_now().await;
            meter.resume();
        }),
    ))
}

/// What ended the instance, as the error of its template; the machine's own errors are none.
fn ended(running: &Running, bounds: &TemplateBounds, error: &wasmtime::Error) -> Result<TemplateError, RenderError> {
    let printed = String::from_utf8_lossy(&running.printed);
    let words = if running.cpu_spent {
        format!("the template is too expensive: it used up {} ms of CPU time", running.budget.limits().cpu_ms)
    } else if running.memory.exceeded() || printed.contains("out of memory") {
        format!("the template needs too much memory: the limit is {} MiB", bounds.memory_bytes >> 20)
    } else if error.downcast_ref::<Trap>() == Some(&Trap::StackOverflow) || printed.contains("stack overflow") {
        "the template is nested too deep".to_owned()
    } else if trapped::is_guests(error) {
        let first = printed.lines().next().unwrap_or_default();
        format!("the template made its renderer fail: {first}")
    } else {
        return Err(RenderError::Unavailable(format!("{error:#}")));
    };
    Ok(TemplateError::of_all(words))
}
