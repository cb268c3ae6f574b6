//! What records tell of the workload or the objects of a hook, in the attempt of its step.

use super::{Attempt, History};
use crate::record::{Event, Record};
use crate::stamp::Stamp;

impl Attempt {
    pub(super) fn begun(started: Stamp) -> Self {
        Self { started, finished: None, calls: Vec::new(), lines: 0, workload: None, judged: None, found: None }
    }
}

impl History {
    pub(super) fn take_hook(&mut self, record: &Record) -> Result<(), String> {
        match &record.event {
            Event::HookCreated { step, attempt, workload } => {
                let tried = self.attempt_mut(step, *attempt)?;
                if tried.workload.is_some() {
                    return Err(format!("attempt {attempt} of {step} has a workload already"));
                }
                tried.workload = Some(Box::new((record.at, workload.clone())));
            }
            Event::ObjectsFound { step, attempt, found } => {
                self.attempt_mut(step, *attempt)?.found = Some(Box::new(found.clone()));
            }
            Event::HookJudged { step, attempt, ending } => {
                self.attempt_mut(step, *attempt)?.judged = Some(Box::new(ending.clone()));
            }
            _ => {}
        }
        Ok(())
    }
}
