//! What is looked at before a call's effect: whether there is anything to do at all, and the state that was found, which the
//! intent keeps so that the effect can be repeated exactly and taken back.

use pintle_lifecycle::call::{Answer, Bytes, Call, CallError, Code};
use pintle_lifecycle::ending::Ending;
use pintle_lifecycle::history::History;
use pintle_lifecycle::plan::{Component, LeftJob};
use pintle_lifecycle::record::PreImage;

use crate::attempt::Attempt;
use crate::effect::{self, call_error};
use crate::gate::unknown_component;
use crate::host::Stop;

/// Largest number of bytes that one call of `durable.random` gives.
const RANDOM_BYTES: u32 = 4_096;
/// Largest value of the key-value state, in bytes.
const STATE_BYTES: usize = 32 << 10;
/// Longest key of the key-value state, in bytes.
const STATE_KEY_BYTES: usize = 256;

/// What to do with a call that has effects.
pub(crate) enum Prepared {
    /// There is nothing to do, or it is refused: this is its outcome.
    Answer(Result<Answer, CallError>),
    Intent(PreImage),
}

/// Looks at the world before the intent of `call`.
pub(crate) async fn prepare(attempt: &Attempt, call: &Call) -> Result<Prepared, Stop> {
    Ok(match call {
        Call::Stop { components } => match found_replicas(attempt, components).await? {
            Ok(replicas) => Prepared::Intent(PreImage { replicas, ..PreImage::default() }),
            Err(error) => Prepared::Answer(Err(error)),
        },
        Call::Start { components } => match wanted_replicas(attempt, components).await? {
            Ok(replicas) => Prepared::Intent(PreImage { replicas, ..PreImage::default() }),
            Err(error) => Prepared::Answer(Err(error)),
        },
        Call::SetVersion { .. } | Call::Sync
            if attempt.log().look(|history| history.plan.hook(attempt.step()).is_some()) =>
        {
            let message = "a hook runs inside of a sync, or beside it, and cannot start one";
            Prepared::Answer(Err(CallError::new(Code::Invalid, message)))
        }
        Call::Restore => Prepared::Intent(attempt.log().look(before_sync)),
        Call::SetVersion { target } => attempt.log().look(|history| set_version(history, target)),
        Call::Sync => attempt
            .log()
            .look(|history| if history.is_applied() { unchanged() } else { Prepared::Intent(before_sync(history)) }),
        Call::JobRun { spec } | Call::JobStart { spec } => {
            if let Err(error) = attempt.log().look(|history| effect::check_job(history, spec)) {
                return Ok(Prepared::Answer(Err(error)));
            }
            left_job(attempt, matches!(call, Call::JobRun { .. })).await?
        }
        Call::JobCancel { id } if !attempt.log().look(|history| effect::started_here(history, id)) => {
            Prepared::Answer(Err(CallError::new(Code::NotFound, format!("this change started no Job `{id}`"))))
        }
        _ => Prepared::Intent(PreImage::default()),
    })
}

/// The answer of a call that lives in the journal.
pub(crate) fn journal_answer(attempt: &Attempt, call: &Call) -> Result<Result<Answer, CallError>, Stop> {
    Ok(match call {
        Call::Now => Ok(Answer::Time { ms: attempt.log().now().wall }),
        Call::Random { len } if *len > RANDOM_BYTES => {
            Err(CallError::new(Code::Invalid, format!("durable.random gives at most {RANDOM_BYTES} bytes, not {len}")))
        }
        Call::Random { len } => {
            let mut bytes = vec![0; *len as usize];
            getrandom::fill(&mut bytes).map_err(|error| {
                Stop::Ending(Box::new(Ending::failed(format!("this machine gives no randomness: {error}"))))
            })?;
            Ok(Answer::Random { bytes: Bytes(bytes) })
        }
        Call::StatePut { key, value }
            if key.is_empty() || key.len() > STATE_KEY_BYTES || value.0.len() > STATE_BYTES =>
        {
            Err(CallError::new(
                Code::Invalid,
                format!("a state key has 1 to {STATE_KEY_BYTES} bytes, a value at most {STATE_BYTES}"),
            ))
        }
        _ => Ok(Answer::Nothing),
    })
}

fn set_version(history: &History, target: &str) -> Prepared {
    if history.render_of(target).is_none() {
        let from = history.plan.from_version.as_deref().map(|from| format!(" or `{from}`")).unwrap_or_default();
        let message = format!("this change can set the version `{}`{from}, not `{target}`", history.plan.to_version);
        return Prepared::Answer(Err(CallError::new(Code::Invalid, message)));
    }
    if history.applied.as_ref().is_some_and(|applied| applied.version == target) {
        unchanged()
    } else {
        Prepared::Intent(before_sync(history))
    }
}

fn unchanged() -> Prepared {
    Prepared::Answer(Ok(Answer::Synced { changed: false }))
}

fn before_sync(history: &History) -> PreImage {
    PreImage { version: history.applied.as_ref().map(|applied| applied.version.clone()), ..PreImage::default() }
}

type Replicas = std::collections::BTreeMap<String, u32>;

/// Replicas of the components that are not stopped yet: the count before the first stop is never overwritten.
async fn found_replicas(attempt: &Attempt, components: &[String]) -> Result<Result<Replicas, CallError>, Stop> {
    let mut found = Replicas::new();
    for name in components {
        let Some(component) = attempt.component(name) else {
            return Ok(Err(attempt.log().look(|h| unknown_component(name, h))));
        };
        if attempt.log().look(|history| history.stopped.contains_key(name)) {
            continue;
        }
        match desired(attempt, component).await? {
            Ok(desired) => found.insert(name.clone(), desired),
            Err(error) => return Ok(Err(error)),
        };
    }
    Ok(Ok(found))
}

/// Replicas to start: what the applied render sets, else the count before the stop, else what is there.
async fn wanted_replicas(attempt: &Attempt, components: &[String]) -> Result<Result<Replicas, CallError>, Stop> {
    let mut wanted = Replicas::new();
    for name in components {
        let Some(component) = attempt.component(name) else {
            return Ok(Err(attempt.log().look(|h| unknown_component(name, h))));
        };
        let known = attempt.log().look(|history| {
            rendered_replicas(history, component).or_else(|| history.stopped.get(name).map(|stopped| stopped.former))
        });
        let replicas = match known {
            Some(replicas) => replicas,
            None => match desired(attempt, component).await? {
                Ok(desired) => desired.max(1),
                Err(error) => return Ok(Err(error)),
            },
        };
        wanted.insert(name.clone(), replicas);
    }
    Ok(Ok(wanted))
}

async fn desired(attempt: &Attempt, component: &Component) -> Result<Result<u32, CallError>, Stop> {
    let target = attempt.target();
    let status = attempt.patiently(|| attempt.platform().status(target, &component.workload)).await?;
    Ok(status.map(|status| status.desired).map_err(|error| call_error(&error)))
}

/// The replicas that the applied render sets for the component.
fn rendered_replicas(history: &History, component: &Component) -> Option<u32> {
    let version = &history.applied.as_ref()?.version;
    let replicas = history.render_of(version)?.object(&component.workload)?["spec"]["replicas"].as_u64()?;
    u32::try_from(replicas).ok()
}

/// The Job that an earlier action left: to be deleted once it has ended, waited for inside one change, else in the way.
async fn left_job(attempt: &Attempt, run: bool) -> Result<Prepared, Stop> {
    let Some(LeftJob { id, change }) = attempt.log().look(|history| history.left_job.clone()) else {
        return Ok(Prepared::Intent(PreImage::default()));
    };
    let target = attempt.target();
    let ended = match attempt.patiently(|| attempt.platform().job_ended(target, &id)).await? {
        Ok(ended) => ended,
        Err(error) => return Ok(Prepared::Answer(Err(call_error(&error)))),
    };
    let same_change = attempt.log().look(|history| history.key.to_string()) == change;
    Ok(match ended {
        None => Prepared::Intent(PreImage::default()),
        Some(false) if !same_change => Prepared::Answer(Err(CallError::new(
            Code::Conflict,
            format!("the Job {id} of {change} still runs: wait for it to end, then ask for the change again"),
        ))),
        // `jobs.start` is for Jobs side by side; `jobs.run` waits for its turn.
        Some(_) if same_change && !run => Prepared::Intent(PreImage::default()),
        Some(_) => Prepared::Intent(PreImage { left_job: Some(id), ..PreImage::default() }),
    })
}
