//! One attempt of an action, from its first call to its end: stays of the guest in memory, the effect that a call waits for
//! while the guest is out, and the bounds of the whole.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use pintle_journal::change_log::ChangeLog;
use pintle_journal::journal::{JournalError, Receipt};
use pintle_lifecycle::call::{Answer, Call, CallError};
use pintle_lifecycle::history;
use pintle_lifecycle::ids::StepId;
use pintle_lifecycle::json::Json;
use pintle_lifecycle::plan::{ActionPlan, Plan, Target};
use pintle_lifecycle::record::{Event, Level};
use pintle_lifecycle::stamp::Stamp;
use pintle_lifecycle::undo::is_of_undo;
use pintle_platform::{Platform, PlatformError};
use tokio::sync::watch;

use crate::action::Intents;
use crate::effect::Effect;
use crate::gate::answer_of;
use crate::host::{Facts, Stop};
use crate::patience::{Impatience, patiently};
use crate::rest::{Until, Wait, first_of};

/// How long a guest that the machine has no room for waits before it is tried again.
const NO_ROOM_PAUSE: Duration = Duration::from_secs(1);

/// What an attempt is made of: shared by its stays and its effect.
pub(crate) struct Attempt {
    log: Arc<ChangeLog>,
    platform: Arc<dyn Platform>,
    plan: Arc<Plan>,
    step: StepId,
    number: u32,
    intents: Intents,
    started: Stamp,
    /// The effect that a call waits for, with the ordinal of the call. A guest waits for one at a time.
    wanted: watch::Sender<Option<(u32, Arc<Effect>)>>,
    /// Whether the guest waits for an effect.
    waiting: watch::Sender<bool>,
    /// What the effect waits for at this moment, where it has nothing else to do.
    waits: watch::Sender<Vec<Wait>>,
}

impl Attempt {
    /// The running attempt of a step; none where the step has no such attempt.
    pub(crate) fn of(
        log: Arc<ChangeLog>,
        platform: Arc<dyn Platform>,
        step: &StepId,
        number: u32,
        intents: Intents,
    ) -> Option<Self> {
        let (plan, started) =
            log.look(|history| Some((Arc::clone(&history.plan), history.attempt(step, number)?.started)))?;
        Some(Self {
            log,
            platform,
            step: step.clone(),
            number,
            intents,
            started,
            plan,
            wanted: watch::Sender::new(None),
            waiting: watch::Sender::new(false),
            waits: watch::Sender::default(),
        })
    }

    pub(crate) fn log(&self) -> &ChangeLog {
        &self.log
    }

    pub(crate) fn platform(&self) -> &dyn Platform {
        &*self.platform
    }

    pub(crate) fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The action of the plan; none for the undo of what is no action.
    pub(crate) fn action(&self) -> Option<&ActionPlan> {
        self.plan.action(&self.step)
    }

    /// The bound of its wall time, in ms. What an action sets for itself is for the way forward: a way back may wait for a person.
    pub(crate) fn limit_ms(&self) -> u64 {
        let action = self.action().filter(|_| !is_of_undo(&self.step));
        action.and_then(|action| action.timeout_ms).unwrap_or(self.plan.limits.wall_ms)
    }

    pub(crate) fn target(&self) -> &Target {
        &self.plan.target
    }

    pub(crate) fn step(&self) -> &StepId {
        &self.step
    }

    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    pub(crate) fn intents(&self) -> Intents {
        self.intents
    }

    /// What a guest may know of the change.
    pub(crate) fn facts(&self) -> Facts {
        let change = self.log.look(|history| history.key.to_string());
        let args = self.action().map(|action| action.args.clone()).unwrap_or_default();
        facts(&change, &self.plan, &self.step, &args, self.number)
    }

    /// Looks at what the history has of this attempt.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&history::Attempt) -> T) -> T {
        self.log.look(|history| {
            look(history.attempt(self.step(), self.number).expect("an attempt is made only of one that has started"))
        })
    }

    pub(crate) fn record(&self, event: Event) -> Result<Receipt, Stop> {
        self.log.record(event).map_err(|broken| Stop::Journal(JournalError::Damaged { problem: broken.to_string() }))
    }

    /// What is left of the action's wall time.
    pub(crate) fn time_left(&self) -> Duration {
        Duration::from_millis(self.limit_ms().saturating_sub(self.log.now().since(&self.started)))
    }

    /// The answer of call `ordinal`, once [`Self::effects`] has carried out its effect. It goes on when nobody waits any more,
    /// and is not begun anew where it runs already.
    pub(crate) async fn effect(&self, ordinal: u32, effect: Effect) -> Result<Answer, CallError> {
        self.wanted.send_if_modified(|wanted| {
            let is_new = wanted.as_ref().is_none_or(|(running, _)| *running != ordinal);
            if is_new {
                *wanted = Some((ordinal, Arc::new(effect)));
            }
            is_new
        });
        let _waiting = Waiting::begin(&self.waiting);
        self.log.wait_for(|history| answer_of(history, self.step(), self.number, ordinal)).await
    }

    /// Carries out the effects that calls wait for, until it cannot go on. Runs beside the guest, so that the guest can leave memory
    /// meanwhile.
    pub(crate) async fn effects(&self) -> Stop {
        let mut wanted = self.wanted.subscribe();
        loop {
            let Ok(next) = wanted.wait_for(Option::is_some).await.map(|next| next.clone()) else {
                // The sender lives in `self`.
                return std::future::pending().await;
            };
            let Some((ordinal, effect)) = next else { continue };
            if let Err(stop) = self.carry_out(ordinal, &effect).await {
                return stop;
            }
            self.wanted.send_if_modified(|wanted| wanted.take_if(|(running, _)| *running == ordinal).is_some());
        }
    }

    /// Waits until no effect is wanted any more.
    pub(crate) async fn idle(&self) {
        if self.wanted.subscribe().wait_for(Option::is_none).await.is_err() {
            // The sender lives in `self`.
            std::future::pending::<()>().await;
        }
    }

    /// Waits inside an effect, visibly for [`Self::rest`].
    pub(crate) async fn wait<T>(&self, wait: Wait, done: impl Future<Output = T>) -> T {
        let _waits = Waits::begin(&self.waits, wait);
        done.await
    }

    /// Resolves when the effect has done nothing but wait for `after`, or there is a crowd, with what it waits for: until then nothing
    /// of this attempt need be in memory.
    pub(crate) async fn rest<F: Future<Output = ()>>(&self, after: Duration, crowd: impl Fn() -> F) -> Until {
        let Some(places) = self.wanted.borrow().as_ref().and_then(|(_, effect)| can_rest(effect.call())) else {
            return std::future::pending().await;
        };
        let mut waits = self.waits.subscribe();
        loop {
            let Ok(all) = waits.wait_for(|waits| waits.len() == places).await.map(|all| all.clone()) else {
                // The sender lives in `self`.
                return std::future::pending().await;
            };
            tokio::select! {
                _ = waits.changed() => continue,
                () = self.log.clock().sleep(after) => {}
                () = crowd() => {}
            }
            let time_left = self.time_left();
            return first_of(all, time_left, &self.platform, &self.log, self.target());
        }
    }

    async fn carry_out(&self, ordinal: u32, effect: &Effect) -> Result<(), Stop> {
        let (outcome, note) = effect.perform(self, ordinal).await?;
        let has_intent = self.look(|made| made.calls.get(ordinal as usize).is_some());
        let call = (!has_intent).then(|| effect.call().clone());
        let event =
            Event::CallOutcome { step: self.step().clone(), attempt: self.number, ordinal, call, outcome, note };
        // Durable with the next intent at the latest, which is behind it in the same log.
        drop(self.record(event)?);
        Ok(())
    }

    /// See [`patience`](crate::patience).
    pub(crate) async fn patiently<T, F>(&self, ask: impl FnMut() -> F) -> Result<Result<T, PlatformError>, Stop>
    where
        F: Future<Output = Result<T, PlatformError>>,
    {
        patiently(&self.log, self.step(), self.number, ask).await.map_err(|impatience| match impatience {
            Impatience::Stuck => Stop::Gone,
            Impatience::Journal(error) => Stop::Journal(error),
        })
    }

    /// Takes a line that the action logged.
    pub(crate) fn log_line(
        &self,
        line: u32,
        level: Level,
        message: String,
        fields: Vec<(String, String)>,
    ) -> Result<(), Stop> {
        let event = Event::StepLog {
            step: self.step().clone(),
            attempt: self.number,
            line: Some(line),
            level,
            message,
            fields,
        };
        // Durable with the next record that somebody waits for.
        drop(self.record(event)?);
        Ok(())
    }

    /// Waits a while, visibly, because the machine has no room for the guest.
    pub(crate) async fn wait_for_room(&self, problem: &str) -> Result<(), Stop> {
        let message = format!("{problem}; trying again in {} s", NO_ROOM_PAUSE.as_secs());
        let (step, attempt, level) = (self.step().clone(), self.number, Level::Warn);
        drop(self.record(Event::StepLog { step, attempt, line: None, level, message, fields: Vec::new() })?);
        self.log.clock().sleep(NO_ROOM_PAUSE).await;
        Ok(())
    }

    /// Resolves when the guest shall leave memory: it has waited for an effect for `residency` without a break, or it waits and
    /// there is a crowd.
    pub(crate) async fn waited<F: Future<Output = ()>>(&self, residency: Duration, crowd: impl Fn() -> F) {
        let mut waiting = self.waiting.subscribe();
        loop {
            if waiting.wait_for(|waiting| *waiting).await.is_err() {
                return std::future::pending().await;
            }
            tokio::select! {
                () = self.log.clock().sleep(residency) => return,
                () = crowd() => return,
                _ = waiting.wait_for(|waiting| !*waiting) => {}
            }
        }
    }
}

/// Tells that the guest waits, until dropped.
struct Waiting<'a>(&'a watch::Sender<bool>);

impl<'a> Waiting<'a> {
    fn begin(waiting: &'a watch::Sender<bool>) -> Self {
        waiting.send_replace(true);
        Self(waiting)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.send_replace(false);
    }
}

/// Tells what an effect waits for, until dropped.
struct Waits<'a> {
    all: &'a watch::Sender<Vec<Wait>>,
    this: Wait,
}

impl<'a> Waits<'a> {
    fn begin(all: &'a watch::Sender<Vec<Wait>>, this: Wait) -> Self {
        all.send_modify(|all| all.push(this.clone()));
        Self { all, this }
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.all.send_modify(|all| {
            if let Some(place) = all.iter().position(|wait| *wait == self.this) {
                all.swap_remove(place);
            }
        });
    }
}

/// How many things a call waits for once it only waits; none where it has a bound that begins anew with it, or more to do.
fn can_rest(call: &Call) -> Option<usize> {
    match call {
        Call::JobRun { .. } | Call::Sleep { .. } => Some(1),
        Call::JobWaitAny { ids } => Some(ids.len()),
        _ => None,
    }
}

/// What a guest may know of its change.
pub(crate) fn facts(change: &str, plan: &Plan, step: &StepId, args: &Json, attempt: u32) -> Facts {
    let json = |value: &Json| if value.is_null() { "{}".to_owned() } else { value.as_str().to_owned() };
    Facts {
        release: plan.target.release.name.clone(),
        namespace: plan.target.namespace.clone(),
        release_uid: plan.target.uid.clone(),
        tenant: plan.target.release.tenant.clone(),
        change: change.to_owned(),
        phase: plan.phase_of(step).unwrap_or_default().to_owned(),
        cluster: plan.target.cluster.clone(),
        cluster_labels: std::collections::BTreeMap::new(),
        generation: plan.generation,
        attempt,
        from_version: plan.from_version.clone(),
        target_version: plan.to_version.clone(),
        values_json: json(&plan.values),
        args_json: json(args),
    }
}
