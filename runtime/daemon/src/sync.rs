//! The effects of a sync's own steps: applying a frozen render, and removing a release.

use std::collections::BTreeSet;

use pintle_journal::change_log::ChangeLog;
use pintle_lifecycle::ending::Ending;
use pintle_lifecycle::ids::StepId;
use pintle_lifecycle::plan::{ChangeKind, RenderRef};
use pintle_platform::{Platform, PlatformError};
use pintle_sandbox::{Impatience, patiently};

use crate::drive::WorkEnd;

/// Applies the plan's render of that reference.
pub(crate) async fn apply(
    log: &ChangeLog,
    platform: &dyn Platform,
    step: &StepId,
    attempt: u32,
    reference: &RenderRef,
) -> WorkEnd {
    let (key, target, render, held) = log.look(|history| {
        let render = [Some(&history.plan.render), history.plan.former.as_ref()]
            .into_iter()
            .flatten()
            .find(|render| render.reference == *reference);
        let held: BTreeSet<_> = history.held().map(|component| component.workload.clone()).collect();
        (key(&history.key.stored(), step, attempt), history.plan.target.clone(), render.cloned(), held)
    });
    let Some(render) = render else {
        return WorkEnd::Ended(Ending::failed("the plan does not hold the render that the step names"));
    };
    let done = patiently(log, step, attempt, || platform.apply(&key, &target, &render, &held)).await;
    end(done, Some(reference.clone()))
}

/// Removes everything of the release.
pub(crate) async fn remove(log: &ChangeLog, platform: &dyn Platform, step: &StepId, attempt: u32) -> WorkEnd {
    let (key, target, waits) = log.look(|history| {
        // Only a deletion may leave a cluster alone that cannot be reached; what is taken back waits for it.
        let waits = history.plan.kind != ChangeKind::Delete || history.plan.deletion.block_on_cluster_unreachable;
        (key(&history.key.stored(), step, attempt), history.plan.target.clone(), waits)
    });
    if !waits {
        return match platform.remove(&key, &target).await {
            Err(PlatformError::Unavailable(why)) => {
                WorkEnd::Ended(Ending::Skipped { reason: format!("the cluster is unreachable: {why}") })
            }
            done => end(Ok(done), None),
        };
    }
    let done = patiently(log, step, attempt, || platform.remove(&key, &target)).await;
    end(done, None)
}

fn key(change: &str, step: &StepId, attempt: u32) -> String {
    format!("{change}/{step}/{attempt}")
}

fn end(done: Result<Result<(), PlatformError>, Impatience>, applied: Option<RenderRef>) -> WorkEnd {
    match done {
        Ok(Ok(())) => WorkEnd::Ended(Ending::Succeeded { applied }),
        Ok(Err(error)) => WorkEnd::Ended(Ending::failed(error.to_string())),
        Err(Impatience::Stuck) => WorkEnd::Stuck,
        Err(Impatience::Journal(error)) => WorkEnd::Journal(error),
    }
}
