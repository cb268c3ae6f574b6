//! What the journal knows of a release before its next change.

use std::sync::Arc;

use pintle_journal::change_log::OpenError;
use pintle_journal::journal::Journal;
use pintle_lifecycle::ids::{ChangeKey, ReleaseKey};
use pintle_lifecycle::plan::{Plan, Render};
use pintle_lifecycle::record::Event;
use pintle_lifecycle::view::ReleaseView;

use crate::error::Error;

/// A release as its changes left it. All empty for one that is new.
#[derive(Debug, Default)]
pub(super) struct Known {
    pub view: Option<ReleaseView>,
    pub last_plan: Option<Plan>,
    /// What is applied, whole.
    pub former: Option<Render>,
}

impl Known {
    /// What it will be once the open change has succeeded.
    pub async fn after_the_open_change(mut self, journal: &dyn Journal) -> Result<Self, Error> {
        let Some(open) = self.view.as_ref().and_then(|view| view.open.clone()) else { return Ok(self) };
        let plan = plan_of(journal, &open).await?;
        if let Some(view) = &mut self.view {
            view.assume_success(&plan);
        }
        self.former = Some(plan.render.clone());
        self.last_plan = Some(plan);
        Ok(self)
    }

    pub async fn of(journal: &dyn Journal, release: &ReleaseKey) -> Result<Self, Error> {
        let Some(view) = journal.release(release).await? else { return Ok(Self::default()) };
        let last_plan = last_plan(journal, &view).await?;
        let former = applied(journal, &view).await?.map(|(_, render)| render);
        Ok(Self { view: Some(view), last_plan: Some(last_plan), former })
    }
}

/// What is applied of a release, whole, and the plan that brought it; none where nothing is.
///
/// # Errors
/// Where the journal cannot be read.
pub(crate) async fn applied(journal: &dyn Journal, view: &ReleaseView) -> Result<Option<(Plan, Render)>, Error> {
    let (Some(applied), Some(by)) = (&view.applied, &view.applied_by) else { return Ok(None) };
    let plan = plan_of(journal, by).await?;
    let render = [Some(&plan.render), plan.former.as_ref()].into_iter().flatten();
    let render = render.into_iter().find(|render| render.reference == *applied).cloned();
    Ok(render.map(|render| (plan, render)))
}

/// The plan of the newest change of a release that is no test.
///
/// # Errors
/// Where the journal cannot be read.
pub(crate) async fn last_plan(journal: &dyn Journal, view: &ReleaseView) -> Result<Plan, Error> {
    plan_of(journal, &view.last()).await
}

/// The plan of a change.
///
/// # Errors
/// Where the journal cannot be read, or has no such change.
pub(crate) async fn plan_of(journal: &dyn Journal, change: &ChangeKey) -> Result<Plan, Error> {
    // One that waited for its turn was queued before it was opened.
    let plans = journal.records(change).await?.into_iter().filter_map(|record| match record.event {
        Event::ChangeOpened { plan, .. } => Some(plan),
        _ => None,
    });
    match plans.last() {
        Some(plan) => Ok(Arc::unwrap_or_clone(plan)),
        None => Err(Error::Change { change: change.clone(), source: Box::new(OpenError::Unknown(change.clone())) }),
    }
}
