//! What a guest can use up, and what it cannot: each bound holds, is charged for the right thing only, and all is given back.

use std::sync::Arc;
use std::time::Duration;

use pintle_lifecycle::call::Code;
use pintle_lifecycle::ending::Ending;
use pintle_lifecycle::plan::Limits;
use pintle_sandbox::{Budget, Finish};

use crate::rig::{INSTANCES, Rig, ended, ending, ending_within};
use crate::script::Script;

fn cpu(cpu_ms: u64) -> Limits {
    Limits { cpu_ms, ..Limits::default() }
}

#[tokio::test]
async fn waiting_uses_no_cpu_time() {
    // Ten ticks in each of five calls: charged by ticks it would be 500 ms, charged by the clock as well.
    let host = Script::new().number(5).sleeping(Some(Duration::from_millis(100))).shared();
    let budget = Arc::new(Budget::new(&cpu(200)));
    let finish = Rig::shared().await.run_within("wait", &host, &budget).await;
    assert_eq!(ended(finish), Ending::succeeded());
    assert_eq!(host.calls().len(), 5);
    assert!(budget.cpu_used_ms() < 100, "{} ms", budget.cpu_used_ms());
}

#[tokio::test]
async fn a_replay_uses_no_cpu_time_but_cannot_hang() {
    let budget = Arc::new(Budget::new(&cpu(10)));
    let rig = Rig::shared().await;
    let finish = rig.run_within("spin", &Script::new().number(200).replaying().shared(), &budget).await;
    assert_eq!(ended(finish), Ending::succeeded());
    assert_eq!(budget.cpu_used_ms(), 0);
    let finish = rig.run_within("loop", &Script::new().replaying().shared(), &budget).await;
    assert_eq!(ended(finish), Ending::CpuBudget { limit_ms: 10 });
}

#[tokio::test]
async fn the_budget_is_that_of_the_attempt_and_not_of_a_stay() {
    let rig = Rig::shared().await;
    let budget = Arc::new(Budget::new(&cpu(400)));
    let mut stays = 0;
    let ending = loop {
        match ended(rig.run_within("spin", &Script::new().number(200).shared(), &budget).await) {
            Ending::Succeeded { .. } => stays += 1,
            other => break other,
        }
        assert!(stays < 1000, "the budget is never used up; {} ms are", budget.cpu_used_ms());
    };
    assert_eq!(ending, Ending::CpuBudget { limit_ms: 400 });
    assert!(stays > 0, "one stay used more than it can");
}

#[tokio::test(flavor = "current_thread")]
async fn a_guest_that_computes_leaves_the_thread_to_others() {
    let rig = Rig::shared().await;
    let (host, budget) = (Script::new().shared(), Arc::new(Budget::new(&cpu(60_000))));
    let spinning = rig.run_within("loop", &host, &budget);
    let other = Script::new().number(1000).shared();
    tokio::select! {
        biased;
        finish = spinning => panic!("a guest in an endless loop ended: {finish:?}"),
        finish = rig.run("many-calls", &other) => assert_eq!(ended(finish), Ending::succeeded()),
    }
}

#[tokio::test]
async fn the_memory_bound_is_that_of_the_whole_instance() {
    let limits = Limits { memory_bytes: 32 << 20, ..Limits::default() };
    assert_eq!(ending_within("use-memory", &Script::new().number(24).shared(), limits).await, Ending::succeeded());
    let more = Script::new().number(40).shared();
    assert_eq!(ending_within("use-memory", &more, limits).await, Ending::OutOfMemory { limit_bytes: 32 << 20 });
}

#[tokio::test]
async fn a_log_is_cut_with_a_word() {
    let limits = Limits { log_bytes: 10_500, ..Limits::default() };
    let host = Script::new().number(50).shared();
    assert_eq!(ending_within("log", &host, limits).await, Ending::succeeded());
    let messages = host.messages();
    assert_eq!(messages.len(), 11);
    assert!(messages[..10].iter().all(|line| line.len() == 1000));
    assert_eq!(messages[10], "The log of this attempt is full (10500 bytes): later lines are not kept.");
}

#[tokio::test]
async fn the_log_bound_holds_over_the_stays_of_an_attempt_and_leaves_replays_alone() {
    let rig = Rig::shared().await;
    let budget = Arc::new(Budget::new(&Limits { log_bytes: 3000, ..Limits::default() }));
    let lines = async |host: Script| {
        let host = host.number(3).shared();
        assert_eq!(ended(rig.run_within("log", &host, &budget).await), Ending::succeeded());
        host.messages().len()
    };
    assert_eq!(lines(Script::new()).await, 3);
    assert_eq!(lines(Script::new().replaying()).await, 3);
    assert_eq!(lines(Script::new()).await, 1, "only the word that the log is full");
}

#[tokio::test]
async fn a_long_line_is_cut_at_a_character() {
    let host = Script::new().shared();
    assert_eq!(ending("long-line", &host).await, Ending::succeeded());
    let message = host.messages().remove(0);
    assert_eq!(message.chars().filter(|c| *c == 'ä').count(), 8192);
    assert!(message.ends_with("ä…"));
}

#[tokio::test]
async fn arguments_over_the_bound_are_an_error_that_the_guest_sees() {
    let limits = Limits { call_bytes: 64 << 10, ..Limits::default() };
    let host = Script::new().number(63).shared();
    assert_eq!(ending_within("large-argument", &host, limits).await, Ending::succeeded());
    let host = Script::new().number(64).shared();
    let message = "the arguments of state.put have 65541 bytes; one call may have 65536 (limits.callBytes)";
    assert_eq!(ending_within("large-argument", &host, limits).await, Ending::failed(message));
    assert!(host.calls().is_empty(), "the call went on to the host");
}

#[tokio::test]
async fn a_guest_that_is_dropped_gives_its_place_back() {
    let rig = Rig::new(2).await;
    for round in 0..50 {
        let host = Script::new().number(1).sleeping(None).shared();
        tokio::select! {
            biased;
            finish = rig.run("wait", &host) => panic!("a sleep for ever ended: {finish:?}"),
            () = until(|| host.calls().len() == 1) => {}
        }
        assert_eq!(host.calls().len(), 1, "round {round}");
    }
    let host = Script::new().shared();
    assert_eq!(ended(rig.run("every-call", &host).await), Ending::succeeded());
}

#[tokio::test]
async fn more_guests_than_places_wait_for_each_other() {
    let rig = Rig::shared().await;
    let guests = (0..INSTANCES * 8).map(|_| async {
        let host = Script::new().number(2).sleeping(Some(Duration::from_millis(1))).shared();
        rig.run("wait", &host).await
    });
    let mut running = tokio::task::JoinSet::new();
    for guest in guests {
        running.spawn(guest);
    }
    while let Some(finish) = running.join_next().await {
        assert_eq!(ended(finish.unwrap()), Ending::succeeded());
    }
}

#[tokio::test]
async fn a_crowd_is_told_while_a_guest_waits_for_a_place() {
    let rig = Rig::new(1).await;
    let sleeper = Script::new().number(1).sleeping(None).shared();
    let other = Script::new().shared();
    let first = async {
        tokio::select! {
            finish = rig.run("wait", &sleeper) => panic!("a sleep for ever ended: {finish:?}"),
            () = rig.sandbox.crowded() => {}
        }
    };
    // The first leaves as the second comes, which then runs.
    let second = async {
        until(|| sleeper.calls().len() == 1).await;
        ended(rig.run("every-call", &other).await)
    };
    let ((), ending) = tokio::join!(first, second);
    assert_eq!(ending, Ending::succeeded());
    tokio::select! {
        biased;
        () = rig.sandbox.crowded() => panic!("nobody waits any more"),
        () = tokio::task::yield_now() => {}
    }
}

#[tokio::test]
async fn memory_is_given_back() {
    if !is_alone("bounds::memory_is_given_back") {
        return;
    }
    let rig = Rig::new(2).await;
    let limits = Limits { memory_bytes: 40 << 20, ..Limits::default() };
    let round = async || {
        for action in ["use-memory", "take-memory", "panic", "large-argument"] {
            let host = Script::refusing(Code::Unavailable, "not now").number(30).shared();
            let finish = rig.run_within(action, &host, &Arc::new(Budget::new(&limits))).await;
            assert!(matches!(finish, Finish::Ending(_)), "{finish:?}");
        }
    };
    for _ in 0..5 {
        round().await;
    }
    let before = anonymous_kib();
    for _ in 0..50 {
        round().await;
    }
    let after = anonymous_kib();
    // 200 guests used up to 40 MiB each.
    assert!(after < before + (50 << 10), "{before} KiB before, {after} KiB after");
}

/// Whether this process runs only the named test. Where it does not, runs one that does, and demands that it passes: what other
/// tests use must not count.
fn is_alone(test: &str) -> bool {
    const ALONE: &str = "PINTLE_TEST_ALONE";
    if std::env::var_os(ALONE).is_some() {
        return true;
    }
    let mut alone = std::process::Command::new(std::env::current_exe().unwrap());
    let output = alone.args(["--exact", test, "--nocapture"]).env(ALONE, "1").output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}{}", String::from_utf8_lossy(&output.stderr));
    false
}

fn anonymous_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

async fn until(done: impl Fn() -> bool) {
    while !done() {
        tokio::task::yield_now().await;
    }
}
