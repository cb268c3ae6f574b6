//! A change told record by record: what the drive would do with decisions, without doing anything.

use std::sync::Arc;

use pintle_lifecycle::call::{Answer, Call, CallError};
use pintle_lifecycle::decide::{Decision, Work, decide};
use pintle_lifecycle::ending::Ending;
use pintle_lifecycle::history::{BrokenHistory, History};
use pintle_lifecycle::ids::StepId;
use pintle_lifecycle::plan::Plan;
use pintle_lifecycle::record::{Event, FORMAT, PreImage, Record, Verb};
use pintle_lifecycle::stamp::Stamp;
use pintle_lifecycle::view::{ChangeView, ReleaseView};

pub struct Story {
    pub history: History,
    pub records: Vec<Record>,
    pub change: ChangeView,
    pub release: Option<ReleaseView>,
    now: u64,
}

impl Story {
    /// The first change of a release, by that plan.
    pub fn of(plan: &Plan) -> Self {
        Self::after(None, plan)
    }

    /// The next change of a release.
    pub fn after(release: Option<ReleaseView>, plan: &Plan) -> Self {
        let number = release.as_ref().map_or(1, |view| view.changes + 1);
        let record = Record {
            v: FORMAT,
            change: plan.target.release.change(number),
            seq: 0,
            at: Stamp { wall: 1_796_000_000_000, up: 0, boot: 1 },
            event: Event::ChangeOpened { plan: Arc::new(plan.clone()), by: "ana".into() },
        };
        Self {
            history: History::open(&record).unwrap(),
            change: ChangeView::open(&record).unwrap(),
            release: ReleaseView::after(release, &record),
            records: vec![record],
            now: 0,
        }
    }

    pub fn wait(&mut self, ms: u64) {
        self.now += ms;
    }

    pub fn try_record(&mut self, event: Event) -> Result<(), BrokenHistory> {
        let record = Record {
            v: FORMAT,
            change: self.history.key.clone(),
            seq: self.history.next,
            at: Stamp { wall: 1_796_000_000_000 + self.now, up: self.now, boot: 1 },
            event,
        };
        self.history.apply(&record)?;
        self.change.apply(&record);
        self.release = ReleaseView::after(self.release.take(), &record);
        self.records.push(record);
        Ok(())
    }

    pub fn record(&mut self, event: Event) {
        self.try_record(event).unwrap();
    }

    /// Records what is decided until only work is left. Tells all of it, the work last.
    pub fn go(&mut self) -> Vec<String> {
        let mut told = Vec::new();
        loop {
            let decisions = decide(&self.history);
            let events: Vec<Event> = decisions.iter().filter_map(event).collect();
            let is_work = |decision: &&Decision| matches!(decision, Decision::Run { .. });
            if events.is_empty() {
                told.extend(decisions.iter().map(shown));
                return told;
            }
            told.extend(decisions.iter().filter(|decision| !is_work(decision)).map(shown));
            for event in events {
                self.record(event);
            }
        }
    }

    pub fn end(&mut self, step: &str, ending: Ending) {
        let (step, attempt) = self.last(step);
        self.record(Event::StepFinished { step, attempt, ending });
    }

    pub fn succeed(&mut self, step: &str) {
        self.end(step, Ending::succeeded());
    }

    pub fn fail(&mut self, step: &str) {
        self.end(step, Ending::failed("no luck"));
    }

    /// Ends an apply of the plan's render.
    pub fn apply(&mut self, step: &str) {
        let applied = self.history.plan.render.reference.clone();
        self.end(step, Ending::Succeeded { applied: Some(applied) });
    }

    /// The action asks for an effect.
    pub fn intent(&mut self, step: &str, call: Call) {
        let (step, attempt) = self.last(step);
        let ordinal = self.calls(&step, attempt);
        let key = pintle_lifecycle::call::effect_key("acme/shop-1", &step, attempt, ordinal, &call);
        self.record(Event::CallIntent { step, attempt, ordinal, call, key, pre: PreImage::default() });
    }

    /// The newest call of the action has its answer.
    pub fn outcome(&mut self, step: &str, outcome: Result<Answer, CallError>, note: Option<&str>) {
        let (step, attempt) = self.last(step);
        let ordinal = self.calls(&step, attempt) - 1;
        let note = note.map(str::to_owned);
        self.record(Event::CallOutcome { step, attempt, ordinal, call: None, outcome, note });
    }

    /// A call that needs no intent.
    pub fn look(&mut self, step: &str, call: Call, answer: Answer) {
        let (step, attempt) = self.last(step);
        let ordinal = self.calls(&step, attempt);
        let call = Some(call);
        self.record(Event::CallOutcome { step, attempt, ordinal, call, outcome: Ok(answer), note: None });
    }

    pub fn ask(&mut self, verb: Verb) {
        self.record(Event::Asked { verb, by: "ana".into() });
    }

    fn last(&self, step: &str) -> (StepId, u32) {
        let step = StepId::root(step);
        let attempt = self.history.step(&step).unwrap_or_else(|| panic!("{step} was not started")).attempt_number();
        (step, attempt)
    }

    fn calls(&self, step: &StepId, attempt: u32) -> u32 {
        u32::try_from(self.history.attempt(step, attempt).unwrap().calls.len()).unwrap()
    }
}

/// What the drive records for a decision; none for work.
pub fn event(decision: &Decision) -> Option<Event> {
    Some(match decision.clone() {
        Decision::Start { step, attempt, parent, kind, title, hook, delay: _ } => {
            Event::StepStarted { step, attempt, parent, kind, title, hook }
        }
        Decision::Stop { step, attempt } => Event::StepFinished { step, attempt, ending: Ending::Cancelled },
        Decision::Finish { step, attempt, ending } => Event::StepFinished { step, attempt, ending },
        Decision::Close { state, message } => Event::ChangeFinished { state, message },
        Decision::EndHooks => Event::HooksEnded,
        Decision::Undo { reason } => Event::UndoBegan { reason },
        Decision::Stuck { step, question } => Event::ChangeStuck { step, question },
        Decision::Run { .. } => return None,
    })
}

fn shown(decision: &Decision) -> String {
    match decision {
        Decision::Start { step, attempt, delay: None, .. } => format!("start {step} {attempt}"),
        Decision::Start { step, attempt, delay: Some(delay), .. } => {
            format!("start {step} {attempt} {} ms after {}", delay.ms, delay.after.up)
        }
        Decision::Run { step, attempt, work } => {
            let work = match work {
                Work::Action => "act".to_owned(),
                Work::Apply(render) => format!("apply {}", render.version),
                Work::Remove => "remove".to_owned(),
                Work::Hook => "hook".to_owned(),
                Work::Cleanup => "clean up".to_owned(),
                Work::Health => "health".to_owned(),
                Work::Undo => "undo".to_owned(),
            };
            format!("run {step} {attempt}: {work}")
        }
        Decision::Stop { step, attempt } => format!("stop {step} {attempt}"),
        Decision::Finish { step, attempt, ending } => format!("finish {step} {attempt} {ending}"),
        Decision::EndHooks => "end hooks".to_owned(),
        Decision::Undo { reason } => format!("undo: {reason}"),
        Decision::Stuck { step, question } => format!("stuck {step}: {question}"),
        Decision::Close { state, message } => format!("close {state} {message}").trim_end().to_owned(),
    }
}
