//! Starting again what should run and does not: after a reboot the processes of this machine are gone. This is no change: what is
//! applied is applied again, and no hook runs.

use std::collections::BTreeSet;

use pintle_lifecycle::history::StepHistory;
use pintle_lifecycle::record::StepKind;
use pintle_lifecycle::view::ReleaseView;
use pintle_platform::PlatformError;

use crate::embedded::Pintle;
use crate::error::Error;
use crate::request::applied;
use crate::story::Story;

/// Brings a release back to what is applied. Says which components were not all there; empty where nothing was missing, where a
/// change is open, which will see to it, and where the last apply failed.
///
/// # Errors
/// Where the journal cannot be read, or the platform cannot start them.
pub async fn restore(pintle: &Pintle, view: &ReleaseView) -> Result<Vec<String>, Error> {
    if view.open.is_some() || view.deleted || is_between(pintle, view).await? {
        return Ok(Vec::new());
    }
    let Some((plan, render)) = applied(pintle.journal(), view).await? else { return Ok(Vec::new()) };
    let failed = |source| Error::Restore { release: view.key.name.clone(), source };
    let platform = pintle.platform()?;
    let mut missing = Vec::new();
    for component in plan.components.iter().filter(|component| !view.stopped.contains_key(&component.name)) {
        let status = patiently(pintle, || platform.status(&plan.target, &component.workload)).await;
        let is_there = match status {
            Ok(status) => status.running >= status.desired,
            // The platform has lost even that it was applied: somebody removed its folder.
            Err(PlatformError::NotFound(_)) => false,
            Err(error) => return Err(failed(error)),
        };
        if !is_there {
            missing.push(component.name.clone());
        }
    }
    if !missing.is_empty() {
        let stopped = plan.components.iter().filter(|component| view.stopped.contains_key(&component.name));
        let held: BTreeSet<_> = stopped.map(|component| component.workload.clone()).collect();
        let key = format!("{}/restore/{}", view.key, render.reference.generation);
        patiently(pintle, || platform.apply(&key, &plan.target, &render, &held)).await.map_err(failed)?;
    }
    Ok(missing)
}

/// Asks the platform again where it may work later, as on a full disk, and says so each time: as the steps of a change do.
async fn patiently<T, F>(pintle: &Pintle, mut ask: impl FnMut() -> F) -> Result<T, PlatformError>
where
    F: Future<Output = Result<T, PlatformError>>,
{
    let mut pauses = pintle_sandbox::pauses();
    loop {
        match ask().await {
            Err(PlatformError::Unavailable(message)) => {
                let Some(pause) = pauses.next() else { return Err(PlatformError::Unavailable(message)) };
                tracing::warn!("{message}; trying again in {} ms", pause.as_millis());
                pintle.clock().sleep(pause).await;
            }
            answer => return answer,
        }
    }
}

/// Whether what runs is somewhere between two renders, since the last apply or removal failed. Only a change may decide where it goes.
async fn is_between(pintle: &Pintle, view: &ReleaseView) -> Result<bool, Error> {
    let newest = Story::read(pintle.journal(), &view.newest()).await?;
    let moves = |step: &&StepHistory| matches!(step.kind, StepKind::Apply | StepKind::Remove);
    // One that failed in an attempt of an action is over when the next attempt made another.
    let last = newest.history.steps().map(|(_, step)| step).filter(moves).last();
    Ok(last.is_some_and(|step| step.ending().is_none_or(|ending| !ending.is_good())))
}
