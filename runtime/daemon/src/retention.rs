//! Deleting what hooks left, as `spec.hooks.retention` of a release says: after each change, and for as long as there is anything of a
//! release, also when it is deleted. No effect of a change: what is deleted has ended, and its verdict is in the journal.

use pintle_lifecycle::ids::ReleaseKey;
use pintle_lifecycle::retention::{Stayed, doomed};
use pintle_platform::{FoundHook, PlatformError};

use crate::embedded::Pintle;
use crate::error::Error;
use crate::request::last_plan;

impl Pintle {
    /// Deletes the workloads of hooks of a release that are not to be kept; says which.
    ///
    /// # Errors
    /// Where the journal cannot be read. What the platform refuses is left to the next time.
    pub async fn clear_hooks(&self, release: &ReleaseKey) -> Result<Vec<String>, Error> {
        let Some(view) = self.journal().release(release).await? else { return Ok(Vec::new()) };
        let plan = last_plan(self.journal(), &view).await?;
        let Some(retention) = plan.retention else { return Ok(Vec::new()) };
        let platform = self.platform()?;
        let found = match platform.hooks(&plan.target).await {
            Ok(found) => found,
            Err(error) => return Ok(left(&error)),
        };
        let stayed: Vec<Stayed> = found.iter().map(of).collect();
        let open = view.open.as_ref().map(ToString::to_string);
        let mut deleted = Vec::new();
        for place in doomed(&stayed, retention, open.as_deref(), self.clock().now().wall) {
            let hook = &found[place].hook;
            let key = format!("{}/retention/{}", view.uid, hook.uid);
            match platform.delete_hook(&key, &plan.target, hook, false).await {
                Ok(()) => deleted.push(hook.to_string()),
                Err(error) => drop(left(&error)),
            }
        }
        Ok(deleted)
    }
}

fn of(found: &FoundHook) -> Stayed {
    Stayed {
        phase: found.phase.clone(),
        hook: found.name.clone(),
        change: found.change.clone(),
        created_ms: found.created_ms,
        ended: found.ended,
    }
}

fn left(error: &PlatformError) -> Vec<String> {
    tracing::warn!(%error, "what hooks left is not deleted this time");
    Vec::new()
}
