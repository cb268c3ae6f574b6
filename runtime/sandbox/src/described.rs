//! What a module says about its actions. It says so in a guest that can do nothing.

use std::collections::HashSet;

use async_trait::async_trait;
use pintle_lifecycle::call::{Answer, Call, CallError};
use pintle_lifecycle::ending::Ending;
use pintle_lifecycle::plan::Limits;
use pintle_lifecycle::record::Level;

use crate::admission::AdmissionError;
use crate::bindings;
use crate::guest::Finish;
use crate::host::{Facts, Host, Stop};
use crate::module::ActionInfo;

const ACTIONS: usize = 256;
const NAME_BYTES: usize = 128;
const DESCRIPTION_BYTES: usize = 4096;

/// Refuses every call: a module describes itself from what it holds.
#[derive(Debug, Default)]
pub(crate) struct Nothing(Facts);

#[async_trait]
impl Host for Nothing {
    fn facts(&self) -> &Facts {
        &self.0
    }

    async fn call(&self, call: Call) -> Result<Result<Answer, CallError>, Stop> {
        let message = format!("describe called {}; it may only say which actions there are", call.name());
        Err(Stop::Ending(Box::new(Ending::Trapped { kind: "refused".to_owned(), message, backtrace: Vec::new() })))
    }

    fn log(&self, level: Level, message: String, _fields: Vec<(String, String)>) -> Result<(), Stop> {
        tracing::debug!(level = level.as_str(), message, "a module logged in its describe");
        Ok(())
    }

    fn replaying(&self) -> bool {
        false
    }
}

pub(crate) fn limits() -> Limits {
    Limits { cpu_ms: 2000, calls: 0, log_bytes: 16 << 10, ..Limits::default() }
}

/// The list as we keep it, if its names can stand in a driver.yml.
pub(crate) fn check(actions: Vec<bindings::ActionInfo>) -> Result<Vec<ActionInfo>, AdmissionError> {
    let bad = |reason: String| Err(AdmissionError::Describe { reason });
    if actions.is_empty() {
        return bad("its list is empty".to_owned());
    }
    if actions.len() > ACTIONS {
        return bad(format!("it lists {} actions; a module may have {ACTIONS}", actions.len()));
    }
    let mut names = HashSet::new();
    for action in &actions {
        let name = &action.name;
        let plain = name.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'));
        if name.is_empty() || name.len() > NAME_BYTES || !plain {
            let name: String = name.chars().take(NAME_BYTES).collect();
            return bad(format!(
                "{name:?} is no action name: letters, digits, `-`, `_` and `.`, at most {NAME_BYTES} bytes"
            ));
        }
        if !names.insert(name) {
            return bad(format!("it lists `{name}` twice"));
        }
        if action.description.len() > DESCRIPTION_BYTES {
            return bad(format!("the description of `{name}` is longer than {DESCRIPTION_BYTES} bytes"));
        }
    }
    let kept = |action: bindings::ActionInfo| ActionInfo {
        name: action.name,
        description: action.description,
        has_undo: action.has_undo,
    };
    Ok(actions.into_iter().map(kept).collect())
}

pub(crate) fn failed(finish: Finish) -> AdmissionError {
    match finish {
        Finish::Ending(ending) => AdmissionError::Describe { reason: ending.to_string() },
        Finish::Stopped(_) => AdmissionError::Describe { reason: "it was stopped".to_owned() },
        // At admission this is the module's fault as a rule: it wants more of something than a guest may have.
        Finish::NoRoom(reason) => AdmissionError::Unfit { reason },
    }
}
