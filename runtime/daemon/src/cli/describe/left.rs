//! Workloads of hooks that are still there after their change.

use pintle_lifecycle::plan::Plan;
use pintle_lifecycle::stamp::Stamp;
use pintle_lifecycle::view::ReleaseView;
use pintle_platform::{FoundHook, Platform};
use serde::Serialize;

use crate::cli::table::table;
use crate::cli::time::age;

/// The workload of a hook that is still there.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LeftHook {
    kind: &'static str,
    namespace: String,
    name: String,
    phase: String,
    hook: String,
    change: String,
    ended: bool,
    #[serde(skip)]
    age: String,
}

/// What is still there of changes that are not open, or why that cannot be told.
pub(super) async fn left(
    platform: &dyn Platform,
    view: &ReleaseView,
    plan: &Plan,
    now: Stamp,
) -> Result<Vec<LeftHook>, String> {
    let found = platform.hooks(&plan.target).await.map_err(|error| error.to_string())?;
    let open = view.open.as_ref().map(ToString::to_string);
    let of_an_ended_change = |found: &FoundHook| Some(&found.change) != open.as_ref();
    Ok(found.into_iter().filter(of_an_ended_change).map(|found| LeftHook::of(found, now)).collect())
}

impl LeftHook {
    fn of(found: FoundHook, now: Stamp) -> Self {
        Self {
            kind: found.hook.kind.as_str(),
            namespace: found.hook.namespace,
            name: found.hook.name,
            phase: found.phase,
            hook: found.name,
            change: found.change,
            ended: found.ended,
            age: age(now.wall.saturating_sub(found.created_ms)),
        }
    }
}

/// For a person, with what removes them.
pub(super) fn text(left: &[LeftHook]) -> String {
    let rows = left.iter().map(|left| {
        let state = if left.ended { "ended" } else { "runs" };
        let workload = format!("{} {}", left.kind, left.name);
        vec![workload, left.phase.clone(), left.hook.clone(), state.to_owned(), left.change.clone(), left.age.clone()]
    });
    let table = table(&["WORKLOAD", "PHASE", "HOOK", "STATE", "CHANGE", "AGE"], rows);
    format!(
        "{table}No command deletes them: `deleteBeforeCreation` of a hook does so before its next run, `cleanup` after it.\n"
    )
}
