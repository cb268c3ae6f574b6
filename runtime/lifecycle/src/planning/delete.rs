//! The plan of a delete, made from the plan of the newest change alone: it needs none of the driver's files.

use crate::ids::ChangeKey;
use crate::plan::{ChangeKind, Plan, Render};
use crate::view::ReleaseView;

/// Why a release is not deleted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DeleteRefused {
    #[error("the release {0} is deleted already")]
    Gone(String),
    #[error("the change {0} is open; wait for its end, or cancel it first")]
    Open(ChangeKey),
}

/// Plans the removal of a release. `last` is the plan of its newest change.
///
/// # Errors
/// Where the release is gone, or a change of it is open.
pub fn plan_delete(view: &ReleaseView, last: &Plan) -> Result<Plan, DeleteRefused> {
    if view.deleted {
        return Err(DeleteRefused::Gone(view.key.name.clone()));
    }
    if let Some(open) = &view.open {
        return Err(DeleteRefused::Open(open.clone()));
    }
    // Whatever is applied, the newest change brought it or found it.
    let renders = [Some(&last.render), last.former.as_ref()];
    let is_applied = |render: &&Render| Some(&render.reference) == view.applied.as_ref();
    let applied = renders.into_iter().flatten().find(is_applied).cloned();
    let version = view.applied.as_ref().map(|applied| applied.version.clone());
    Ok(Plan {
        kind: ChangeKind::Delete,
        generation: view.generation,
        to_version: version.clone().unwrap_or_else(|| last.to_version.clone()),
        from_version: version,
        render: applied.clone().unwrap_or_else(|| last.render.clone()),
        former: applied,
        stopped: view.stopped.clone(),
        left_job: view.left_job.clone(),
        phases: last.on_delete.clone(),
        reason: "the release shall go".into(),
        ..last.clone()
    })
}
