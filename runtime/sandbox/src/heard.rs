//! What was told to and by a guest that decides how its attempt ends: a returned error only counts as a denial if it is one that
//! the host gave, and a crash is explained by the first line at level ERROR.

use pintle_lifecycle::call::{CallError, Code, Output};
use pintle_lifecycle::ending::Ending;
use pintle_lifecycle::record::Level;

use crate::bindings::Error;

/// The most of a message that an ending keeps.
const MESSAGE_BYTES: usize = 16 << 10;

#[derive(Debug, Default)]
pub(crate) struct Heard {
    first_error: Option<String>,
    denied: Option<String>,
    superseded: bool,
    cancelled: bool,
    failed_job: Option<FailedJob>,
}

#[derive(Debug)]
struct FailedJob {
    /// What the guest was told, the end of the output under the first line.
    told: String,
    output: Output,
}

impl Heard {
    pub(crate) fn line(&mut self, level: Level, message: &str) {
        if level == Level::Error && self.first_error.is_none() {
            self.first_error = Some(cut(message));
        }
    }

    pub(crate) fn first_error(&self) -> Option<&str> {
        self.first_error.as_deref()
    }

    /// An error that the host gave.
    pub(crate) fn refusal(&mut self, error: &CallError) {
        match error.code {
            Code::Denied => self.denied = Some(error.message.clone()),
            Code::Superseded => self.superseded = true,
            Code::Cancelled => self.cancelled = true,
            _ => {}
        }
    }

    pub(crate) fn failed_job(&mut self, error: &CallError, output: Output) {
        self.failed_job = Some(FailedJob { told: error.message.clone(), output });
    }

    /// How a guest ended that returned this error.
    pub(crate) fn ending(self, error: &Error) -> Ending {
        match error.code.as_str() {
            "superseded" if self.superseded => Ending::Superseded,
            "cancelled" if self.cancelled => Ending::Cancelled,
            "denied" => match self.denied {
                // The host's words name the line that would allow the call; keep them where the guest has its own.
                Some(denied) if error.message.contains(&denied) => Ending::Denied { message: cut(&error.message) },
                Some(denied) if error.message.is_empty() => Ending::Denied { message: denied },
                Some(denied) => Ending::Denied { message: cut(&format!("{}: {denied}", error.message)) },
                None => Ending::failed(cut(&error.message)),
            },
            _ => self.failed(error),
        }
    }

    /// The output of a Job stands beside the message, not in it, if that Job is why the guest failed.
    fn failed(self, error: &Error) -> Ending {
        if let Some(FailedJob { told, output }) = self.failed_job
            && error.message.contains(&told)
        {
            let first_line = told.lines().next().unwrap_or_default();
            return Ending::Failed {
                message: cut(&error.message.replacen(&told, first_line, 1)),
                output,
                exit_code: None,
            };
        }
        let message = if error.message.is_empty() { &error.code } else { &error.message };
        Ending::failed(cut(message))
    }
}

fn cut(message: &str) -> String {
    if message.len() <= MESSAGE_BYTES {
        return message.to_owned();
    }
    format!("{}…", &message[..message.floor_char_boundary(MESSAGE_BYTES)])
}
