//! What calls of actions did to the release, as far as later calls and changes need it.

use super::{CallHistory, History, Outcome, push_exact};
use crate::call::{Answer, Call};
use crate::ending::Ending;
use crate::ids::StepId;
use crate::plan::{LeftJob, Stopped};
use crate::record::StepKind;

impl History {
    pub(super) fn take_outcome(
        &mut self,
        step: &StepId,
        attempt: u32,
        ordinal: u32,
        call: Option<&Call>,
        outcome: &Outcome,
    ) -> Result<(), String> {
        let calls = &mut self.attempt_mut(step, attempt)?.calls;
        let place = ordinal as usize;
        let known = calls.len();
        match (call, calls.get_mut(place)) {
            (None, Some(made)) if made.outcome.is_none() => made.outcome = Some(outcome.clone()),
            (Some(call), None) if known == place => {
                push_exact(calls, CallHistory { call: call.clone(), intent: None, outcome: Some(outcome.clone()) });
            }
            _ => return Err(format!("an outcome of call {ordinal} of {step}, which is not waiting for one")),
        }
        let call = calls[place].call.clone();
        if let Ok(answer) = &outcome.result {
            self.effect(&call, answer);
        }
        Ok(())
    }

    /// What the end of a step changed of the release.
    pub(super) fn step_ended(&mut self, step: &StepId, ending: &Ending) {
        let Ending::Succeeded { applied } = ending else { return };
        if let Some(applied) = applied {
            self.applied = Some(applied.clone());
            // A sync lifts what an earlier change left stopped.
            let me = self.key.to_string();
            self.stopped.retain(|_, stopped| stopped.since == me);
        } else if self.step(step).is_some_and(|step| step.kind == StepKind::Remove) {
            self.applied = None;
            self.stopped.clear();
        }
    }

    /// What an answered call changed of the release.
    fn effect(&mut self, call: &Call, answer: &Answer) {
        match (call, answer) {
            (_, Answer::Stopped { former }) => {
                for (component, replicas) in former {
                    self.stopped
                        .entry(component.clone())
                        .or_insert_with(|| Stopped { former: *replicas, since: self.key.to_string() });
                }
            }
            (_, Answer::Started { replicas }) => self.stopped.retain(|component, _| !replicas.contains_key(component)),
            (Call::JobRun { .. }, Answer::Job { result }) => self.leave_job(&result.id),
            (_, Answer::JobStarted { id }) => self.leave_job(id),
            _ => {}
        }
    }

    /// What an earlier change left stopped and this one stops too is held through this one's syncs.
    pub(super) fn take_over(&mut self, call: &Call) {
        let Call::Stop { components } = call else { return };
        let me = self.key.to_string();
        for component in components {
            if let Some(stopped) = self.stopped.get_mut(component) {
                stopped.since.clone_from(&me);
            }
        }
    }

    fn leave_job(&mut self, id: &str) {
        self.left_job = Some(LeftJob { id: id.to_owned(), change: self.key.to_string() });
    }
}
