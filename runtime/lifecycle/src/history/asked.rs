//! What a person asked for: it opens a change again, and says what becomes of the steps that failed.

use super::{History, StepHistory};
use crate::hook::HookPhase;
use crate::ids::StepId;
use crate::plan::{OnFailure, Plan};
use crate::record::{StepKind, Verb};
use crate::undo::is_of_undo;

impl History {
    pub(super) fn ask(&mut self, verb: Verb) {
        let stuck = self.stuck.take();
        match verb {
            Verb::Cancel => self.cancel = true,
            Verb::Undo => {
                self.finished = None;
                self.cancel = false;
                self.undo = Some("a person asked for it".to_owned());
            }
            Verb::Skip => {
                self.skipped.extend(stuck.map(|(step, _)| step));
                // One that shall be tried again and was not come to is none that failed.
                let failed = self.reopen(|step| {
                    let is_to_come = step.allowed as usize > step.attempts.len();
                    if !is_to_come {
                        step.allowed = 0;
                    }
                    !is_to_come
                });
                self.skipped.extend(failed);
            }
            Verb::Retry => {
                self.reopen(|step| {
                    step.allowed = u32::try_from(step.attempts.len()).unwrap_or(u32::MAX).saturating_add(1);
                    true
                });
            }
        }
    }

    /// Opens the change again. Each step that failed and held it up is given to `mend`; tells those that it took.
    fn reopen(&mut self, mend: impl Fn(&mut StepHistory) -> bool) -> Vec<StepId> {
        self.finished = None;
        self.cancel = false;
        let mut failed = Vec::new();
        for (id, step) in &mut self.steps {
            // A failure that the plan goes on after is not what a person wants another try of. On the way back it is the way back.
            let counts = match self.undo {
                Some(_) => is_of_undo(id),
                None => !is_of_undo(id) && !goes_on_after(&self.plan, id) && step.kind != StepKind::Cleanup,
            };
            let Some(last) = step.attempts.last_mut().filter(|_| counts) else { continue };
            if last.finished.as_ref().is_none_or(|(_, ending)| ending.is_good()) {
                continue;
            }
            if matches!(step.kind, StepKind::Mode | StepKind::Sync) {
                last.finished = None;
            } else if mend(step) {
                failed.push(id.clone());
            }
        }
        failed
    }
}

/// Whether the plan goes on after a failure of that step.
fn goes_on_after(plan: &Plan, step: &StepId) -> bool {
    match plan.hook(step) {
        Some(hook) => hook.phase == HookPhase::SyncFailed || hook.on_failure == OnFailure::Continue,
        None => plan.action(step).is_some_and(|action| action.on_failure == OnFailure::Continue),
    }
}
