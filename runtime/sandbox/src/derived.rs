//! Calls that the host derives to take an action back: they go through the same gate as those of a guest, so that a crash amid them
//! changes nothing, but need no grant: they take back what was granted.

use pintle_lifecycle::ending::Ending;
use pintle_lifecycle::record::Event;
use pintle_lifecycle::undo::DerivedCall;

use crate::attempt::Attempt;
use crate::gate::Gate;
use crate::host::{Host as _, Stop};

/// Makes the calls, one after another.
pub(crate) async fn run(gate: &Gate, attempt: &Attempt, calls: &[DerivedCall]) -> Result<Ending, Stop> {
    for derived in calls {
        if !gate.replaying() {
            unchanged(attempt, derived).await?;
        }
        if let Err(error) = gate.derived(derived.call.clone()).await? {
            return Ok(Ending::failed(error.to_string()));
        }
    }
    Ok(Ending::succeeded())
}

/// Whether what the effect left is still so. Where somebody changed it since, a person decides.
async fn unchanged(attempt: &Attempt, derived: &DerivedCall) -> Result<(), Stop> {
    for (name, (left, found)) in &derived.left {
        let Some(component) = attempt.component(name) else { continue };
        let status = attempt.patiently(|| attempt.platform().status(attempt.target(), &component.workload)).await?;
        let Ok(status) = status else { continue };
        // It may be as it was already.
        if [*left, *found].contains(&status.desired) {
            continue;
        }
        let question = format!(
            "{} has {} replicas, and not the {left} that this change left: somebody changed it since. `retry` looks again, `skip` leaves \
             the rest of this step as it is",
            component.workload, status.desired
        );
        let stuck = Event::ChangeStuck { step: attempt.step().clone(), question };
        attempt.record(stuck)?.await.map_err(Stop::Journal)?;
        return Err(Stop::Gone);
    }
    Ok(())
}
