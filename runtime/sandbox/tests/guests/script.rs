//! A host that answers from a script and remembers what it was asked.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use pintle_lifecycle::call::{Answer, Bytes, Call, CallError, Code, JobResult};
use pintle_lifecycle::record::Level;
use pintle_sandbox::{Facts, Host, Stop};

type Reply = Result<Result<Answer, CallError>, Stop>;

/// A line as the host got it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    pub level: Level,
    pub message: String,
    pub fields: Vec<(String, String)>,
}

pub struct Script {
    pub facts: Facts,
    reply: Box<dyn Fn(&Call) -> Reply + Send + Sync>,
    /// How long a sleep takes; none: for ever.
    sleep: Option<Duration>,
    replaying: AtomicBool,
    calls: Mutex<Vec<Call>>,
    lines: Mutex<Vec<Line>>,
}

impl Script {
    /// Every call succeeds.
    pub fn new() -> Self {
        Self::replying(|call| Ok(Ok(answer(call))))
    }

    pub fn replying(reply: impl Fn(&Call) -> Reply + Send + Sync + 'static) -> Self {
        Self {
            facts: Facts { args_json: "0".to_owned(), ..Facts::default() },
            reply: Box::new(reply),
            sleep: Some(Duration::ZERO),
            replaying: AtomicBool::new(false),
            calls: Mutex::default(),
            lines: Mutex::default(),
        }
    }

    /// Every call is refused like this.
    pub fn refusing(code: Code, message: &'static str) -> Self {
        Self::replying(move |_| Ok(Err(CallError::new(code, message))))
    }

    /// What the action is told to do so often.
    pub fn number(mut self, number: u64) -> Self {
        self.facts.args_json = number.to_string();
        self
    }

    pub fn sleeping(mut self, sleep: Option<Duration>) -> Self {
        self.sleep = sleep;
        self
    }

    pub fn replaying(self) -> Self {
        self.replaying.store(true, Ordering::SeqCst);
        self
    }

    pub fn calls(&self) -> Vec<Call> {
        self.calls.lock().unwrap().clone()
    }

    pub fn lines(&self) -> Vec<Line> {
        self.lines.lock().unwrap().clone()
    }

    pub fn messages(&self) -> Vec<String> {
        self.lines().into_iter().map(|line| line.message).collect()
    }

    /// What the guest reported.
    pub fn seen(&self) -> String {
        let calls = self.calls();
        let mut reports = calls.iter().filter_map(|call| match call {
            Call::StatePut { key, value } if key == "seen" => Some(String::from_utf8(value.0.clone()).unwrap()),
            _ => None,
        });
        reports.next_back().unwrap_or_else(|| panic!("the guest reported nothing, it called {calls:?}"))
    }

    pub fn shared(self) -> Arc<Self> {
        Arc::new(self)
    }
}

#[async_trait]
impl Host for Script {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    async fn call(&self, call: Call) -> Reply {
        self.calls.lock().unwrap().push(call.clone());
        if matches!(call, Call::Sleep { .. }) {
            match self.sleep {
                Some(Duration::ZERO) => {}
                Some(sleep) => tokio::time::sleep(sleep).await,
                None => std::future::pending().await,
            }
        }
        (self.reply)(&call)
    }

    fn log(&self, level: Level, message: String, fields: Vec<(String, String)>) -> Result<(), Stop> {
        self.lines.lock().unwrap().push(Line { level, message, fields });
        Ok(())
    }

    fn replaying(&self) -> bool {
        self.replaying.load(Ordering::SeqCst)
    }
}

/// An answer of the right kind.
pub fn answer(call: &Call) -> Answer {
    match call {
        Call::Stop { .. } => Answer::Stopped { former: [("server".to_owned(), 2)].into() },
        Call::Start { .. } => Answer::Started { replicas: [("server".to_owned(), 2)].into() },
        Call::Images { .. } => Answer::Images { images: vec!["shop:1".to_owned(), "proxy:2".to_owned()] },
        Call::Status { .. } => Answer::Status { desired: 3, running: 2, ready: 1 },
        Call::SetVersion { .. } | Call::Restore => Answer::Synced { changed: true },
        Call::Sync => Answer::Synced { changed: false },
        Call::JobRun { .. } => Answer::Job { result: job("job-run") },
        Call::JobStart { .. } => Answer::JobStarted { id: "job-start".to_owned() },
        Call::JobWaitAny { ids } => Answer::Job { result: job(&ids[0]) },
        Call::Now => Answer::Time { ms: 1_700_000_000_000 },
        Call::Random { len } => Answer::Random { bytes: Bytes(vec![7; *len as usize]) },
        Call::StateGet { .. } => Answer::Value { value: Some(Bytes(vec![1, 2])) },
        Call::WaitReady { .. }
        | Call::JobCancel { .. }
        | Call::Sleep { .. }
        | Call::StatePut { .. }
        | Call::StateDelete { .. } => Answer::Nothing,
    }
}

pub fn job(id: &str) -> JobResult {
    JobResult { id: id.to_owned(), succeeded: true, exit_code: Some(0), ..JobResult::default() }
}
