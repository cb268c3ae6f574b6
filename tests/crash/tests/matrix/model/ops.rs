//! What a case of the model test is made of, and how it is drawn: a list of operations on one release, each with what goes wrong.

use pintle_lifecycle::hook::{CleanupPolicy, HookPhase, OnTimeout};
use pintle_lifecycle::plan::OnFailure;
use pintle_lifecycle::record::Verb;
use pintle_platform::simulated::Method;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use crate::kills::Waiting;

#[derive(Debug, Clone)]
pub struct Case {
    pub waiting: Waiting,
    pub ops: Vec<Op>,
}

/// One thing that happens to the release.
#[derive(Debug, Clone)]
pub enum Op {
    Ask(Ask),
    /// Of the newest change whose turn has come; nothing where it makes no sense now.
    Verb(Verb, Trouble),
    /// The open change goes on, where a Pintle died and left it.
    GoOn(Trouble),
    CancelWaiting,
}

#[derive(Debug, Clone)]
pub struct Ask {
    pub wanted: Wanted,
    /// Hooks of this phase are left out.
    pub skip: Option<HookPhase>,
    pub trouble: Trouble,
    /// Pintle dies when the request waits and what waited before is not superseded yet.
    pub dies_between: bool,
}

#[derive(Debug, Clone)]
pub enum Wanted {
    Document(Spec),
    /// To a revision, counted round.
    Rollback(usize),
    Delete,
    Test,
}

#[derive(Debug, Clone)]
pub struct Spec {
    pub version: u8,
    pub hooks: Vec<HookSpec>,
    pub action: Option<ActionSpec>,
}

#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "switches of a document")]
pub struct HookSpec {
    pub name: String,
    pub phase: HookPhase,
    pub weight: i32,
    pub on_failure: OnFailure,
    pub objects: bool,
    /// Of the first attempt in a change, and of later ones.
    pub results: [Outcome; 2],
    pub on_timeout: OnTimeout,
    pub cleanup: CleanupPolicy,
    pub delete_before_creation: bool,
    pub pivot: bool,
    /// Its `if` is false.
    pub off: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Succeeds,
    Fails,
    Never,
}

#[derive(Debug, Clone)]
pub struct ActionSpec {
    pub guest: Guest,
    pub on_failure: OnFailure,
    /// Whether its Job fails: the first one of a change, and later ones.
    pub job_fails: [bool; 2],
}

/// Actions of the module `guest-changes`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guest {
    Look,
    Upgrade,
    Fails,
    Moves,
    Breaks,
}

/// What goes wrong while a change is driven.
#[derive(Debug, Clone)]
pub enum Trouble {
    None,
    /// Death after so many more records; the next one is lost, or the last one not acknowledged.
    DieAfter {
        records: usize,
        lost: bool,
    },
    DieAfterEach,
    /// Death at a call of the platform: before, amid or after its effect.
    DieAt {
        method: Method,
        nth: u32,
        place: u8,
    },
    /// As `DieAfter`, and nobody takes the change up.
    Pause {
        records: usize,
    },
    /// The next apply fails.
    ApplyFails,
    /// The platform cannot be reached at a call.
    Unavailable {
        method: Method,
        nth: u32,
    },
    /// A call fails: what comes of it the model does not say.
    Fails {
        method: Method,
        nth: u32,
    },
}

/// Methods that changes of this test call often.
const METHODS: [Method; 9] = [
    Method::Apply,
    Method::Remove,
    Method::Scale,
    Method::StartJob,
    Method::CreateHook,
    Method::LiftHook,
    Method::WaitHook,
    Method::DeleteHook,
    Method::PutObjects,
];

pub fn cases(ops: std::ops::RangeInclusive<usize>) -> impl Strategy<Value = Case> {
    let waiting = prop_oneof![Just(Waiting::Inside), Just(Waiting::Outside), Just(Waiting::AtRest)];
    (waiting, vec(op(), ops)).prop_map(|(waiting, ops)| Case { waiting, ops })
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => ask().prop_map(Op::Ask),
        3 => (verb(), trouble()).prop_map(|(verb, trouble)| Op::Verb(verb, trouble)),
        1 => trouble().prop_map(Op::GoOn),
        1 => Just(Op::CancelWaiting),
    ]
}

fn verb() -> impl Strategy<Value = Verb> {
    prop_oneof![3 => Just(Verb::Retry), 2 => Just(Verb::Skip), 2 => Just(Verb::Undo), 1 => Just(Verb::Cancel)]
}

fn ask() -> impl Strategy<Value = Ask> {
    let wanted = prop_oneof![
        6 => spec().prop_map(Wanted::Document),
        1 => (0_usize..4).prop_map(Wanted::Rollback),
        1 => Just(Wanted::Delete),
        1 => Just(Wanted::Test),
    ];
    let skip = option::weighted(0.1, phase());
    (wanted, skip, trouble(), prop::bool::weighted(0.2)).prop_map(|(wanted, skip, trouble, dies_between)| Ask {
        wanted,
        skip,
        trouble,
        dies_between,
    })
}

fn spec() -> impl Strategy<Value = Spec> {
    (0_u8..3, vec(hook(), 0..=4), option::weighted(0.6, action())).prop_map(|(version, mut hooks, action)| {
        for (place, hook) in hooks.iter_mut().enumerate() {
            hook.name = format!("h{place}");
        }
        Spec { version, hooks, action }
    })
}

fn phase() -> impl Strategy<Value = HookPhase> {
    use HookPhase::{PostDelete, PostSync, PreDelete, PreSync, SyncFailed, Test};
    prop_oneof![
        4 => Just(PreSync), 4 => Just(PostSync), 2 => Just(SyncFailed), 1 => Just(PreDelete), 1 => Just(PostDelete), 2 => Just(Test)
    ]
}

fn on_failure() -> impl Strategy<Value = OnFailure> {
    prop_oneof![Just(OnFailure::Continue), Just(OnFailure::Fail), Just(OnFailure::Undo)]
}

fn outcome() -> impl Strategy<Value = Outcome> {
    prop_oneof![4 => Just(Outcome::Succeeds), 2 => Just(Outcome::Fails), 1 => Just(Outcome::Never)]
}

fn hook() -> impl Strategy<Value = HookSpec> {
    let cleanup = prop_oneof![
        3 => Just(CleanupPolicy::Never),
        1 => Just(CleanupPolicy::OnSuccess),
        1 => Just(CleanupPolicy::OnFailure),
        1 => Just(CleanupPolicy::OnCompletion),
    ];
    let on_timeout = prop_oneof![Just(OnTimeout::Leave), Just(OnTimeout::Stop)];
    let rare = || prop::bool::weighted(0.15);
    let of_run = (phase(), 0..3, on_failure(), rare(), [outcome(), outcome()]);
    (of_run, on_timeout, cleanup, rare(), rare(), rare()).prop_map(
        |((phase, weight, on_failure, objects, results), on_timeout, cleanup, delete_before_creation, pivot, off)| {
            HookSpec {
                name: String::new(),
                phase,
                weight,
                on_failure,
                objects,
                results,
                on_timeout,
                cleanup,
                // Objects that are deleted before are deleted and put again by a Pintle that comes after a death.
                delete_before_creation: delete_before_creation && !objects,
                pivot,
                off,
            }
        },
    )
}

fn action() -> impl Strategy<Value = ActionSpec> {
    use Guest::{Breaks, Fails, Look, Moves, Upgrade};
    let guest = prop_oneof![Just(Look), Just(Upgrade), Just(Fails), Just(Moves), Just(Breaks)];
    (guest, on_failure(), [prop::bool::weighted(0.3), prop::bool::weighted(0.3)])
        .prop_map(|(guest, on_failure, job_fails)| ActionSpec { guest, on_failure, job_fails })
}

fn trouble() -> impl Strategy<Value = Trouble> {
    let method = || proptest::sample::select(METHODS.to_vec());
    prop_oneof![
        4 => Just(Trouble::None),
        2 => (0_usize..40, any::<bool>()).prop_map(|(records, lost)| Trouble::DieAfter { records, lost }),
        1 => Just(Trouble::DieAfterEach),
        3 => (method(), 1_u32..3, 0_u8..3).prop_map(|(method, nth, place)| Trouble::DieAt { method, nth, place }),
        3 => (0_usize..30).prop_map(|records| Trouble::Pause { records }),
        1 => Just(Trouble::ApplyFails),
        1 => (method(), 1_u32..3).prop_map(|(method, nth)| Trouble::Unavailable { method, nth }),
        1 => (method(), 1_u32..3).prop_map(|(method, nth)| Trouble::Fails { method, nth }),
    ]
}

impl HookSpec {
    pub fn result(&self, attempt: u32) -> Outcome {
        if self.objects { Outcome::Succeeds } else { self.results[usize::from(attempt > 1)] }
    }
}

impl Guest {
    pub fn name(self) -> &'static str {
        match self {
            Self::Look => "look",
            Self::Upgrade => "upgrade",
            Self::Fails => "fails",
            Self::Moves => "moves",
            Self::Breaks => "breaks",
        }
    }
}
