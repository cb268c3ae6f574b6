//! The imports of the WIT world as calls: arguments are lifted into a [`Call`], the [`Answer`] is lowered back.

use pintle_lifecycle::call::{Answer, Bytes, Call, CallError, Code, JobResult, JobSpec};
use wasmtime::Result;

use crate::guest::Running;
use crate::host::Facts;
use crate::trapped::Refused;

pub(crate) mod wit {
    wasmtime::component::bindgen!({
        path: "../../wit",
        world: "action-module",
        imports: {
            "pintle:hooks/context": trappable,
            "pintle:hooks/logging": trappable,
            default: async | trappable,
        },
        exports: { default: async },
    });
}

use wit::pintle::hooks::{components, context, durable, jobs, logging, releases, state, types};

pub(crate) use wit::exports::pintle::hooks::actions::ActionInfo;
pub(crate) use wit::pintle::hooks::types::Error;
pub(crate) use wit::{ActionModule, ActionModulePre};

/// The most that `durable.random` gives at once.
const RANDOM_BYTES: u32 = 4096;
/// How much of a failed Job's output goes into the error that the guest gets.
const TAIL_LINES: usize = 20;
const TAIL_BYTES: usize = 4096;

type Answered<T> = Result<std::result::Result<T, Error>>;

/// Lowers an answer of the right kind; another kind is a fault of the host, which ends the guest.
macro_rules! answer {
    ($self:ident, $call:expr, $($pattern:pat => $value:expr),+ $(,)?) => {{
        let call = $call;
        let name = call.name();
        match $self.call(call).await? {
            $(Ok($pattern) => Ok(Ok($value)),)+
            Ok(other) => Err(wrong(name, &other)),
            Err(error) => Ok(Err(error.into())),
        }
    }};
}

fn wrong(name: &str, answer: &Answer) -> wasmtime::Error {
    Refused::new(format!("{name} was answered with something else: {answer:?}")).into()
}

/// An import without an error in its signature has nothing to give a guest whose call failed.
fn no_answer(name: &str, error: &CallError) -> wasmtime::Error {
    Refused::new(format!("{name} failed: {}", error.message)).into()
}

impl types::Host for Running {}

impl context::Host for Running {
    fn release(&mut self) -> Result<String> {
        self.fact(|facts| facts.release.clone())
    }

    fn namespace(&mut self) -> Result<String> {
        self.fact(|facts| facts.namespace.clone())
    }

    fn release_uid(&mut self) -> Result<String> {
        self.fact(|facts| facts.release_uid.clone())
    }

    fn tenant(&mut self) -> Result<String> {
        self.fact(|facts| facts.tenant.clone())
    }

    fn change(&mut self) -> Result<String> {
        self.fact(|facts| facts.change.clone())
    }

    fn phase(&mut self) -> Result<String> {
        self.fact(|facts| facts.phase.clone())
    }

    fn cluster(&mut self) -> Result<String> {
        self.fact(|facts| facts.cluster.clone())
    }

    fn cluster_label(&mut self, key: String) -> Result<Option<String>> {
        self.fact(|facts| facts.cluster_labels.get(&key).cloned())
    }

    fn generation(&mut self) -> Result<u64> {
        self.fact(|facts| facts.generation)
    }

    fn attempt(&mut self) -> Result<u32> {
        self.fact(|facts| facts.attempt)
    }

    fn from_version(&mut self) -> Result<Option<String>> {
        self.fact(|facts| facts.from_version.clone())
    }

    fn target_version(&mut self) -> Result<String> {
        self.fact(|facts| facts.target_version.clone())
    }

    fn values_json(&mut self) -> Result<String> {
        self.fact(|facts| facts.values_json.clone())
    }

    fn args_json(&mut self) -> Result<String> {
        self.fact(|facts| facts.args_json.clone())
    }
}

impl Running {
    fn fact<T>(&self, read: impl FnOnce(&Facts) -> T) -> Result<T> {
        match self.facts() {
            Some(facts) => Ok(read(facts)),
            None => Err(Refused::new("describe asked for the context of a change; there is none yet").into()),
        }
    }
}

impl components::Host for Running {
    async fn stop(&mut self, names: Vec<String>) -> Answered<()> {
        answer!(self, Call::Stop { components: names }, Answer::Stopped { .. } | Answer::Nothing => ())
    }

    async fn start(&mut self, names: Vec<String>) -> Answered<()> {
        answer!(self, Call::Start { components: names }, Answer::Started { .. } | Answer::Nothing => ())
    }

    async fn images(&mut self, name: String) -> Answered<Vec<String>> {
        answer!(self, Call::Images { component: name }, Answer::Images { images } => images)
    }

    async fn status(&mut self, name: String) -> Answered<components::ComponentStatus> {
        answer!(self, Call::Status { component: name },
            Answer::Status { desired, running, ready } => components::ComponentStatus { desired, running, ready })
    }

    async fn wait_ready(&mut self, names: Vec<String>, timeout_ms: u64) -> Answered<()> {
        answer!(self, Call::WaitReady { components: names, timeout_ms }, Answer::Nothing => ())
    }
}

impl releases::Host for Running {
    async fn set_version(&mut self, target: String) -> Answered<String> {
        answer!(self, Call::SetVersion { target }, Answer::Synced { changed } => synced(changed))
    }

    async fn sync(&mut self) -> Answered<String> {
        answer!(self, Call::Sync, Answer::Synced { changed } => synced(changed))
    }
}

fn synced(changed: bool) -> String {
    if changed { "changed" } else { "unchanged" }.to_owned()
}

impl jobs::Host for Running {
    async fn run(&mut self, spec: jobs::JobSpec) -> Answered<jobs::JobResult> {
        let spec = JobSpec::from(spec);
        let shown = spec.shown();
        let result: JobResult = match answer!(self, Call::JobRun { spec }, Answer::Job { result } => result)? {
            Ok(result) => result,
            Err(error) => return Ok(Err(error)),
        };
        if result.succeeded {
            return Ok(Ok(result.into()));
        }
        let error = failed_job(&shown, &result);
        self.heard.failed_job(&error, result.output);
        Ok(Err(error.into()))
    }

    async fn start(&mut self, spec: jobs::JobSpec) -> Answered<String> {
        answer!(self, Call::JobStart { spec: spec.into() }, Answer::JobStarted { id } => id)
    }

    async fn wait_any(&mut self, ids: Vec<String>) -> Answered<(String, jobs::JobResult)> {
        answer!(self, Call::JobWaitAny { ids }, Answer::Job { result } => (result.id.clone(), result.into()))
    }

    async fn cancel(&mut self, id: String) -> Answered<()> {
        answer!(self, Call::JobCancel { id }, Answer::Nothing => ())
    }
}

/// The error of a Job that failed: why, and under it the end of what it printed.
fn failed_job(shown: &str, result: &JobResult) -> CallError {
    let reason = if result.reason.is_empty() { "it gave no reason" } else { &result.reason };
    let mut message = format!("the Job `{shown}` failed: {reason}");
    let text = result.output.text.trim_end();
    let lines: Vec<&str> = text.lines().collect();
    let mut tail = lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n");
    if tail.len() > TAIL_BYTES {
        tail.replace_range(..tail.ceil_char_boundary(tail.len() - TAIL_BYTES), "…");
    }
    if !tail.is_empty() {
        message.push('\n');
        message.push_str(&tail);
    }
    CallError::new(Code::Failed, message)
}

impl durable::Host for Running {
    async fn now(&mut self) -> Result<u64> {
        match self.call(Call::Now).await? {
            Ok(Answer::Time { ms }) => Ok(ms),
            Ok(other) => Err(wrong("durable.now", &other)),
            Err(error) => Err(no_answer("durable.now", &error)),
        }
    }

    async fn random(&mut self, len: u32) -> Result<Vec<u8>> {
        if len > RANDOM_BYTES {
            let error =
                format!("durable.random gives at most {RANDOM_BYTES} bytes at once, the module asked for {len}");
            return Err(Refused::new(error).into());
        }
        match self.call(Call::Random { len }).await? {
            Ok(Answer::Random { bytes }) => Ok(bytes.0),
            Ok(other) => Err(wrong("durable.random", &other)),
            Err(error) => Err(no_answer("durable.random", &error)),
        }
    }

    async fn sleep(&mut self, ms: u64) -> Answered<()> {
        answer!(self, Call::Sleep { ms }, Answer::Nothing => ())
    }
}

impl state::Host for Running {
    async fn get(&mut self, key: String) -> Answered<Option<Vec<u8>>> {
        answer!(self, Call::StateGet { key }, Answer::Value { value } => value.map(|bytes| bytes.0))
    }

    async fn put(&mut self, key: String, value: Vec<u8>) -> Answered<()> {
        answer!(self, Call::StatePut { key, value: Bytes(value) }, Answer::Nothing => ())
    }

    async fn delete(&mut self, key: String) -> Answered<()> {
        answer!(self, Call::StateDelete { key }, Answer::Nothing => ())
    }
}

impl logging::Host for Running {
    fn log(&mut self, level: String, message: String, fields: Vec<(String, String)>) -> Result<()> {
        self.log_line(&level, message, fields)
    }
}

impl From<CallError> for Error {
    fn from(error: CallError) -> Self {
        Self { code: error.code.as_str().to_owned(), message: error.message }
    }
}

impl From<jobs::JobSpec> for JobSpec {
    fn from(spec: jobs::JobSpec) -> Self {
        Self {
            image: spec.image,
            command: spec.command,
            args: spec.args,
            env: spec.env,
            env_from_component: spec.env_from_component,
            timeout_ms: spec.timeout_ms,
            retries: spec.retries,
            pod_template_json: spec.pod_template_json,
            api_token: spec.api_token,
        }
    }
}

impl From<JobResult> for jobs::JobResult {
    fn from(result: JobResult) -> Self {
        Self {
            id: result.id,
            succeeded: result.succeeded,
            exit_code: result.exit_code,
            output: result.output.text,
            reason: result.reason,
        }
    }
}
