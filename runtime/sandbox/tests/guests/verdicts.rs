//! `pintle replay`: what is said of a module that runs again on the journal of an old run.

use pintle_lifecycle::call::{Answer, Call, CallError, Code};
use pintle_lifecycle::ending::Ending;
use pintle_lifecycle::record::{Event, Level, PreImage, StepKind};
use pintle_sandbox::{Behaviour, Difference, Replay, Verdict};
use serde_json::{Value, json};

use crate::life::Life;
use crate::rig::Rig;

/// The verdict on each attempt of a life, with the module that lived it.
async fn verdicts(life: &Life) -> Vec<Verdict> {
    let rig = Rig::shared().await;
    let mut verdicts = Vec::new();
    for replay in Replay::all(&life.records()).unwrap() {
        assert_eq!(replay.module, rig.module.digest);
        verdicts.push(replay.run(&rig.sandbox, &rig.module).await.unwrap());
    }
    verdicts
}

async fn verdict(life: &Life) -> Verdict {
    let mut verdicts = verdicts(life).await;
    assert_eq!(verdicts.len(), 1, "{verdicts:?}");
    verdicts.remove(0)
}

fn difference(verdict: Verdict) -> Difference {
    match verdict.behaviour {
        Behaviour::Differs(difference) => difference,
        other => panic!("it does not differ: {other:?}"),
    }
}

/// A life to its recorded end.
async fn lived(action: &str, args: Value) -> Life {
    let life = Life::of(action, args).await;
    let ending = life.run().await;
    life.ended(ending).await
}

#[tokio::test]
async fn whatever_an_action_does_its_own_module_does_the_same() {
    for (action, args, calls) in [
        ("succeed", Value::Null, 0),
        ("draw", Value::Null, 6),
        ("as-told", json!(["a", "now", "random"]), 3),
        ("stop-worker", Value::Null, 1),
        ("stop-worker-in-own-words", Value::Null, 1),
        ("fail", Value::Null, 0),
        ("invent-denied", Value::Null, 0),
        ("panic", Value::Null, 0),
        ("log-and-panic", Value::Null, 0),
        ("exit", Value::Null, 0),
        ("recurse", Value::Null, 0),
        ("ask-the-time", json!(1_000), 500),
        ("take-memory", json!(1_000), 0),
        // More than the log takes: which lines are dropped is the same as well.
        ("log", json!(2_000), 0),
        ("print", Value::Null, 1),
    ] {
        let life = lived(action, args).await;
        let verdict = verdict(&life).await;
        assert_eq!(verdict.behaviour, Behaviour::Same, "{action}: {verdict:?}");
        assert_eq!((verdict.calls, &verdict.other_line), (calls, &None), "{action}");
    }
}

#[tokio::test]
async fn the_first_call_that_differs_is_told() {
    let life = lived("as-told", json!(["a", "now", "b"])).await;
    let told = async |args: Value| {
        let other = life.planned(|plan| plan["phases"][0]["nodes"][0]["actions"][0]["args"] = args);
        let verdict = verdict(&other).await;
        (verdict.calls, difference(verdict))
    };
    let (calls, other) = told(json!(["a", "random", "b"])).await;
    let Difference::Call { ordinal: 1, journal, module } = other else { panic!("{other:?}") };
    assert_eq!((calls, *journal, *module), (1, Call::Now, Call::Random { len: 8 }));
    let (_, other) = told(json!(["a", "now", "c"])).await;
    let Difference::Call { ordinal: 2, journal, module } = other else { panic!("{other:?}") };
    assert!(journal.shown().contains(r#""key":"b""#) && module.shown().contains(r#""key":"c""#));
    let (calls, other) = told(json!(["a", "now", "b", "now"])).await;
    let Difference::OneMore { ordinal: 3, module } = other else { panic!("{other:?}") };
    assert_eq!((calls, *module), (3, Call::Now));
    let (_, other) = told(json!(["a"])).await;
    let Difference::Missing { ordinal: 1, journal, module } = other else { panic!("{other:?}") };
    assert_eq!((*journal, module), (Call::Now, Ending::succeeded()));
}

#[tokio::test]
async fn an_attempt_that_was_cut_is_compared_as_far_as_it_goes() {
    let life = Life::of("draw", Value::Null).await;
    assert_eq!(life.run().await, Ending::succeeded());
    let late = || Ending::TimedOut { message: "not done".into(), output: pintle_lifecycle::call::Output::default() };
    for survived in 0..=6 {
        let far = |verdict: Verdict| (verdict.behaviour, verdict.calls, verdict.other_line);
        let expected = (Behaviour::SameAsFar, u32::try_from(survived).unwrap(), None);
        assert_eq!(far(verdict(&life.after_death(survived, None)).await), expected);
        for cut in [Ending::Cancelled, late(), Ending::Skipped { reason: "a person".into() }] {
            let cut = life.after_death(survived, None).ended(cut).await;
            assert_eq!(far(verdict(&cut).await), expected);
        }
        // What ended by itself went no further.
        let ended = verdict(&life.after_death(survived, None).ended(Ending::succeeded()).await).await;
        if survived == 6 {
            assert_eq!(ended.behaviour, Behaviour::Same);
        } else {
            assert!(matches!(difference(ended), Difference::OneMore { ordinal, .. } if ordinal as usize == survived));
        }
    }
}

#[tokio::test]
async fn a_call_without_an_outcome_is_as_far_as_it_goes() {
    let open = async |call: Call| {
        let life = Life::of("stop-worker", Value::Null).await;
        let (step, pre) = (life.step.clone(), PreImage::default());
        life.and([Event::CallIntent { step, attempt: 1, ordinal: 0, call, key: "key".into(), pre }]).await;
        life
    };
    let stop = |component: &str| Call::Stop { components: vec![component.to_owned()] };
    let same = verdict(&open(stop("task-worker")).await.ended(Ending::Cancelled).await).await;
    assert_eq!((same.behaviour, same.calls), (Behaviour::SameAsFar, 1));
    let other = verdict(&open(stop("server")).await).await;
    assert!(matches!(difference(other), Difference::Call { ordinal: 0, .. }));
}

#[tokio::test]
async fn what_was_refused_then_is_refused_again_and_what_was_granted_is_answered() {
    // The plan grants nothing, the journal has an answer: a replay asks the journal alone.
    let granted = async |outcome: Result<Answer, CallError>| {
        let life = Life::of("stop-worker", Value::Null).await;
        let (step, call) = (life.step.clone(), Call::Stop { components: vec!["task-worker".to_owned()] });
        life.and([Event::CallOutcome { step, attempt: 1, ordinal: 0, call: Some(call), outcome, note: None }]).await;
        life
    };
    let done = granted(Ok(Answer::Nothing)).await.ended(Ending::succeeded()).await;
    assert_eq!(verdict(&done).await.behaviour, Behaviour::Same);
    let refused = granted(Err(CallError::new(Code::Conflict, "not now"))).await.ended(Ending::failed("not now")).await;
    assert_eq!(verdict(&refused).await.behaviour, Behaviour::Same);
}

#[tokio::test]
async fn another_ending_differs() {
    let life = Life::of("panic", Value::Null).await;
    let trapped = life.run().await;
    let succeeded = verdict(&life.planned(|_| ()).ended(Ending::succeeded()).await).await;
    assert_eq!(difference(succeeded), Difference::Ending { journal: Ending::succeeded(), module: trapped.clone() });
    let Ending::Trapped { kind, message, .. } = trapped else { panic!("{trapped}") };
    let moved = Ending::Trapped { kind: kind.clone(), message: message.clone(), backtrace: vec!["elsewhere".into()] };
    assert_eq!(verdict(&life.planned(|_| ()).ended(moved).await).await.behaviour, Behaviour::Same);
    let words = Ending::Trapped { kind, message: format!("{message}!"), backtrace: Vec::new() };
    assert!(matches!(difference(verdict(&life.ended(words).await).await), Difference::Ending { .. }));
}

#[tokio::test]
async fn a_hanging_module_ends_at_the_bound_of_the_plan() {
    let life = Life::of("loop", Value::Null).await.planned(|plan| plan["limits"]["cpuMs"] = json!(50));
    let out = verdict(&life.planned(|_| ()).ended(Ending::CpuBudget { limit_ms: 50 }).await).await;
    assert_eq!(out.behaviour, Behaviour::Same);
    let hangs = verdict(&life.ended(Ending::succeeded()).await).await;
    let module = Ending::CpuBudget { limit_ms: 50 };
    assert_eq!(difference(hangs), Difference::Ending { journal: Ending::succeeded(), module });
}

#[tokio::test]
async fn another_log_is_told_and_is_no_other_behaviour() {
    let life = lived("log", json!(3)).await;
    for (lines, number, journal, module) in [(2, 2, true, false), (4, 3, false, true)] {
        let other = life.planned(|plan| plan["phases"][0]["nodes"][0]["actions"][0]["args"] = json!(lines));
        let verdict = verdict(&other).await;
        assert_eq!(verdict.behaviour, Behaviour::Same);
        let told = verdict.other_line.unwrap();
        assert_eq!((told.number, told.journal.is_some(), told.module.is_some()), (number, journal, module));
        assert_eq!(verdict.lines.len(), lines);
    }
    // A line of Pintle's own is none of the module's.
    let log = |line, message: &str| Event::StepLog {
        step: life.step.clone(),
        attempt: 1,
        line,
        level: Level::Warn,
        message: message.to_owned(),
        fields: Vec::new(),
    };
    let short = Life::of("log", json!(1)).await;
    short.and([log(None, "the platform does not answer"), log(Some(0), "other words")]).await;
    let told = verdict(&short.ended(Ending::succeeded()).await).await.other_line.unwrap();
    assert_eq!((told.number, told.journal.unwrap().message.as_str()), (0, "other words"));
    assert_eq!(told.module.unwrap().level, Level::Info);
}

#[tokio::test]
async fn the_undo_of_an_action_is_an_attempt_of_its_own() {
    let life = Life::of("stop-worker", Value::Null).await;
    let life = life.planned(|plan| plan["phases"][0]["nodes"][0]["actions"][0]["hasUndo"] = json!(true));
    let (step, undo) = (life.step.clone(), life.step.child("undo"));
    let call = Call::Stop { components: vec!["task-worker".to_owned()] };
    let intent = Event::CallIntent {
        step: step.clone(),
        attempt: 1,
        ordinal: 0,
        call,
        key: "key".into(),
        pre: PreImage::default(),
    };
    let outcome = Ok(Answer::Stopped { former: [("task-worker".to_owned(), 2)].into() });
    let outcome = Event::CallOutcome { step: step.clone(), attempt: 1, ordinal: 0, call: None, outcome, note: None };
    life.and([intent, outcome]).await;
    let life = life.ended(Ending::succeeded()).await;
    let (kind, title) = (StepKind::Undo, "Undo".to_owned());
    let started = Event::StepStarted { step: undo.clone(), attempt: 1, parent: Some(step), kind, title, hook: None };
    life.and([Event::UndoBegan { reason: "test".into() }, started]).await;
    let ending = life.run_step(&undo).await;
    // The guest shows the effects that it was given, so a replay with others would be found out.
    assert_eq!(ending, Ending::succeeded());
    life.and([Event::StepFinished { step: undo, attempt: 1, ending }]).await;
    let verdicts = verdicts(&life).await;
    let seen: Vec<_> = verdicts.iter().map(|verdict| (&verdict.behaviour, verdict.calls)).collect();
    assert_eq!(seen, [(&Behaviour::Same, 1), (&Behaviour::Same, 1)]);
    // Without it the host derives the calls, and there is no module to run.
    let derived = life.planned(|plan| plan["phases"][0]["nodes"][0]["actions"][0]["hasUndo"] = json!(false));
    assert_eq!(Replay::all(&derived.records()).unwrap().len(), 1);
}

#[tokio::test]
async fn a_build_without_the_action_is_told_before_it_is_entered() {
    let rig = Rig::shared().await;
    let other = rig.sandbox.admit(&guest_artifacts::bytes("guest-changes")).await.unwrap();
    let life = lived("draw", Value::Null).await;
    let replay = Replay::all(&life.records()).unwrap().remove(0);
    let verdict = replay.run(&rig.sandbox, &other).await.unwrap();
    let Difference::NoEntry(problem) = difference(verdict) else { panic!("it was entered") };
    assert!(problem.starts_with("the module has no action `draw`; it has everything, upgrade,"), "{problem}");
}
