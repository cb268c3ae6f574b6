//! A step that holds no others: started, run, tried again.

use super::{Decision, Delay, Progress, Work};
use crate::ending::Ending;
use crate::history::History;
use crate::hook::HookStarted;
use crate::ids::StepId;
use crate::plan::Retry;
use crate::record::StepKind;

pub(super) struct Leaf<'a> {
    pub step: &'a StepId,
    pub parent: Option<&'a StepId>,
    pub kind: StepKind,
    pub title: &'a str,
    pub retry: Retry,
    pub work: Work,
}

impl Leaf<'_> {
    pub(super) fn progress(self, history: &History) -> Progress {
        self.of_hook(history, |_| None)
    }

    /// The same for the step of a hook; `about` gets the attempt.
    pub(super) fn of_hook(self, history: &History, about: impl Fn(u32) -> Option<Box<HookStarted>>) -> Progress {
        let Some(started) = history.step(self.step) else { return self.start(1, about(1), None) };
        let attempt = started.attempt_number();
        let is_skipped = history.skipped.contains(self.step);
        let Some((at, ending)) = started.last().and_then(|last| last.finished.as_ref()) else {
            if is_skipped {
                let ending = Ending::Skipped { reason: "a person asked for it".to_owned() };
                return Progress::Going(vec![Decision::Finish { step: self.step.clone(), attempt, ending }]);
            }
            return Progress::Going(vec![Decision::Run { step: self.step.clone(), attempt, work: self.work }]);
        };
        if ending.is_good() || is_skipped {
            Progress::Done
        } else if attempt < started.allowed {
            self.start(attempt + 1, about(attempt + 1), None)
        } else if attempt < self.retry.attempts && ending.may_retry() {
            let delay = Delay { after: *at, ms: self.retry.backoff_ms };
            self.start(attempt + 1, about(attempt + 1), Some(delay))
        } else {
            Progress::Failed(ending.clone())
        }
    }

    fn start(self, attempt: u32, hook: Option<Box<HookStarted>>, delay: Option<Delay>) -> Progress {
        Progress::Going(vec![Decision::Start {
            step: self.step.clone(),
            attempt,
            parent: self.parent.cloned(),
            kind: self.kind,
            title: self.title.to_owned(),
            hook,
            delay,
        }])
    }
}
