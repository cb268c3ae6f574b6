//! Every way a guest can end has its own ending, in words for people; and the next guest is not harmed.

use std::sync::Arc;

use pintle_lifecycle::call::{Answer, CallError, Code, JobResult, Output};
use pintle_lifecycle::ending::Ending;
use pintle_lifecycle::plan::Limits;
use pintle_lifecycle::record::Level;
use pintle_sandbox::{Budget, Entry, Finish, Stop};

use crate::rig::{Rig, ended, ending, ending_within};
use crate::script::Script;

/// The parts of a crash.
fn trapped(ending: Ending) -> (String, String, Vec<String>) {
    match ending {
        Ending::Trapped { kind, message, backtrace } => (kind, message, backtrace),
        other => panic!("not trapped: {other}"),
    }
}

#[tokio::test]
async fn an_action_that_returns_has_succeeded() {
    assert_eq!(ending("succeed", &Script::new().shared()).await, Ending::succeeded());
}

#[tokio::test]
async fn an_error_is_a_failure_with_its_message() {
    assert_eq!(ending("fail", &Script::new().shared()).await, Ending::failed("no luck"));
}

#[tokio::test]
async fn a_denial_counts_only_if_the_host_denied() {
    let host = Script::refusing(Code::Denied, "components.stop needs spec.permissions.components.stop: [task-worker]");
    let denied = "components.stop needs spec.permissions.components.stop: [task-worker]".to_owned();
    assert_eq!(ending("stop-worker", &host.shared()).await, Ending::Denied { message: denied.clone() });

    let host = Script::refusing(Code::Denied, "components.stop needs spec.permissions.components.stop: [task-worker]");
    let message = format!("the worker goes on: {denied}");
    assert_eq!(ending("stop-worker-in-own-words", &host.shared()).await, Ending::Denied { message });

    assert_eq!(ending("invent-denied", &Script::new().shared()).await, Ending::failed("I say so"));
}

#[tokio::test]
async fn codes_of_the_host_become_endings_where_there_is_one() {
    for (code, expected) in [
        (Code::Superseded, Ending::Superseded),
        (Code::Cancelled, Ending::Cancelled),
        (Code::TimedOut, Ending::failed("said the host")),
        (Code::Conflict, Ending::failed("said the host")),
        (Code::Unavailable, Ending::failed("said the host")),
    ] {
        let host = Script::refusing(code, "said the host").shared();
        assert_eq!(ending("stop-worker", &host).await, expected, "{code:?}");
    }
}

#[tokio::test]
async fn the_output_of_a_failed_job_stands_beside_the_message() {
    let text = (1..=30).map(|line| format!("line {line}\n")).collect::<Vec<_>>().concat();
    let output = Output { text, cut: true };
    let result = JobResult {
        id: "job".to_owned(),
        exit_code: Some(3),
        reason: "it ended with code 3".to_owned(),
        output: output.clone(),
        ..JobResult::default()
    };
    let host = Script::replying(move |_| Ok(Ok(Answer::Job { result: result.clone() }))).shared();
    let message = "migration: the Job `shop db migrate` failed: it ended with code 3".to_owned();
    assert_eq!(ending("run-job", &host).await, Ending::Failed { message, output, exit_code: None });
}

#[tokio::test]
async fn a_panic_is_told_by_its_text_and_the_function_names() {
    let (kind, message, backtrace) = trapped(ending("panic", &Script::new().shared()).await);
    assert_eq!(kind, "panic");
    assert!(message.contains("no schema has version 7"), "{message}");
    assert!(message.contains("crashes.rs"), "{message}");
    assert!(!message.contains("RUST_BACKTRACE"), "{message}");
    assert_eq!(backtrace[0], "guest_hostile::crashes::migrate_schema", "{backtrace:?}");
    assert!(backtrace.contains(&"guest_hostile::crashes::panic".to_owned()), "{backtrace:?}");
}

#[tokio::test]
async fn the_first_error_line_explains_a_crash_and_its_own_text_goes_into_the_log() {
    let host = Script::new().shared();
    let (_, message, _) = trapped(ending("log-and-panic", &host).await);
    assert_eq!(message, "the disk is full");
    let last = host.lines().pop().unwrap();
    assert_eq!(last.level, Level::Error);
    assert!(last.message.contains("no schema has version 7"), "{last:?}");
}

#[tokio::test]
async fn other_crashes_have_their_kind() {
    let host = Script::new().shared();
    let (kind, message, backtrace) = trapped(ending("unreachable", &host).await);
    assert_eq!((kind.as_str(), message.as_str()), ("unreachable code", ""));
    assert_eq!(backtrace[0], "guest_hostile::crashes::unreachable");

    let (kind, _, _) = trapped(ending("exit", &host).await);
    assert_eq!(kind, "exit with code 1", "WASI 0.2.0 knows only success and failure");

    let (kind, _, backtrace) = trapped(ending("recurse", &host).await);
    assert!(["stack overflow", "memory access out of bounds"].contains(&kind.as_str()), "{kind}");
    assert!(backtrace.len() <= 32 && backtrace[0].contains("recurse"), "{backtrace:?}");
}

#[tokio::test]
async fn bounds_are_endings_with_their_limit() {
    let limits = Limits { memory_bytes: 16 << 20, cpu_ms: 50, ..Limits::default() };
    let host = Script::new().shared();
    let expected = Ending::OutOfMemory { limit_bytes: 16 << 20 };
    assert_eq!(ending_within("take-memory", &host, limits).await, expected);
    let expected = Ending::CpuBudget { limit_ms: 50 };
    assert_eq!(ending_within("loop", &host, limits).await, expected);
    assert_eq!(ending_within("spin-and-call", &host, limits).await, expected);
}

#[tokio::test]
async fn what_has_no_answer_is_refused_in_words() {
    for (action, words) in [
        ("much-randomness", "durable.random gives at most 4096 bytes at once, the module asked for 4097"),
        ("huge-argument", "one call carried more bytes than a call may carry"),
        ("repeated-argument", "one call carried more bytes than a call may carry"),
        ("write-zeroes", "cannot write more zeroes"),
        ("hoard-streams", "resource table has no free keys"),
    ] {
        let host = Script::new().shared();
        let limits = Limits { memory_bytes: 256 << 20, ..Limits::default() };
        let (kind, message, _) = trapped(ending_within(action, &host, limits).await);
        assert_eq!(kind, "refused", "{action}: {message}");
        assert!(message.contains(words), "{action}: {message}");
        assert!(host.calls().is_empty(), "{action}: the call went on to the host");
    }
}

#[tokio::test]
async fn an_answer_of_another_kind_is_a_fault_that_ends_the_guest() {
    let host = Script::replying(|_| Ok(Ok(Answer::Time { ms: 1 }))).shared();
    let (kind, message, _) = trapped(ending("stop-worker", &host).await);
    assert_eq!(kind, "refused");
    assert_eq!(message, "components.stop was answered with something else: Time { ms: 1 }");
}

#[tokio::test]
async fn a_stop_of_the_host_ends_the_guest() {
    let limit = || Stop::Ending(Box::new(Ending::CallLimit { limit: 3 }));
    let host = Script::replying(move |_| Err(limit())).shared();
    assert_eq!(ending("stop-worker", &host).await, Ending::CallLimit { limit: 3 });

    let host = Script::replying(|_| Err(Stop::Gone)).shared();
    let finish = Rig::shared().await.run("stop-worker", &host).await;
    assert!(matches!(finish, Finish::Stopped(Stop::Gone)), "{finish:?}");
    assert_eq!(host.calls().len(), 1);
}

#[tokio::test]
async fn an_undo_gets_its_effects() {
    let rig = Rig::shared().await;
    let host = Script::new().shared();
    let entry = Entry::Undo { action: "stop-worker".to_owned(), effects_json: "[1]".to_owned() };
    let budget = Arc::new(Budget::new(&Limits::default()));
    let finish = rig.sandbox.run(&rig.module, entry, host.clone(), budget, [0; 32]).await;
    assert_eq!(ended(finish), Ending::succeeded());
    assert_eq!(host.seen(), "undo stop-worker [1]");
}

#[tokio::test]
async fn the_next_guest_runs_well_after_each_hostile_one() {
    let rig = Rig::new(1).await;
    let limits = Limits { cpu_ms: 50, memory_bytes: 16 << 20, ..Limits::default() };
    for action in &rig.module.actions {
        let refused = CallError::new(Code::Unavailable, "not now");
        let host = Script::replying(move |_| Ok(Err(refused.clone()))).number(1).shared();
        let finish = rig.run_within(&action.name, &host, &Arc::new(Budget::new(&limits))).await;
        assert!(matches!(finish, Finish::Ending(_)), "{}: {finish:?}", action.name);
        let finish = rig.run("every-call", &Script::new().shared()).await;
        assert_eq!(ended(finish), Ending::succeeded(), "after {}", action.name);
    }
}
