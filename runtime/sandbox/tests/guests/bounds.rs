//! What a guest can use up, and what it cannot: each bound holds, is charged for the right thing only, and all is given back.

use std::sync::Arc;
use std::time::Duration;

use pintle_lifecycle::call::Code;
use pintle_lifecycle::ending::Ending;
use pintle_lifecycle::plan::Limits;
use pintle_sandbox::{Budget, Entry, Finish, Module};

use crate::alone::{alone, status_kib, threads};
use crate::components::{by_hand, by_hand_with};
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
    // Many times what one stay takes on a machine with other things to do.
    let budget = Arc::new(Budget::new(&cpu(4_000)));
    let mut stays = 0;
    let ending = loop {
        match ended(rig.run_within("spin", &Script::new().number(200).shared(), &budget).await) {
            Ending::Succeeded { .. } => stays += 1,
            other => break other,
        }
        assert!(stays < 1000, "the budget is never used up; {} ms are", budget.cpu_used_ms());
    };
    assert_eq!(ending, Ending::CpuBudget { limit_ms: 4_000 });
    assert!(stays > 0, "one stay used more than it can");
}

/// Endless loops in each place where a guest computes.
async fn endless() -> Vec<(&'static str, Arc<Module>, &'static str)> {
    const LOOP: &str = "(loop (br 0))";
    let rig = Rig::shared().await;
    let mut guests = Vec::new();
    for action in ["loop", "spin-and-call", "log-forever", "print-forever", "fill-forever"] {
        guests.push((action, Arc::clone(&rig.module), action));
    }
    let after = format!(r#"(func (export "cabi_post_pintle:hooks/actions@0.1.0#run") (param i32) {LOOP})"#);
    for (name, bytes) in [
        (
            "in the allocator",
            by_hand_with("(if (i32.eq (local.get 3) (i32.const 3)) (then (loop (br 0))))", "", "", ""),
        ),
        ("after the return", by_hand(&after, "", "")),
    ] {
        guests.push((name, rig.sandbox.admit(&bytes).await.unwrap(), "act"));
    }
    guests
}

#[tokio::test(flavor = "current_thread")]
async fn a_guest_that_computes_leaves_the_thread_to_others() {
    let rig = Rig::shared().await;
    for (name, module, action) in endless().await {
        let budget = Arc::new(Budget::new(&cpu(600_000)));
        let entry = Entry::Run(action.to_owned());
        let spinning = rig.sandbox.run(&module, entry, Script::new().shared(), budget, [0; 32]);
        // One that calls all the time, and one that waits for answers all the time.
        let (calls, waits) = (Script::new().number(1000), Script::new().number(5));
        let (calls, waits) = (calls.shared(), waits.sleeping(Some(Duration::from_millis(1))).shared());
        let others = async { tokio::join!(rig.run("many-calls", &calls), rig.run("wait", &waits)) };
        tokio::select! {
            biased;
            finish = spinning => panic!("{name}: an endless loop ended before others did: {finish:?}"),
            (called, waited) = others => {
                assert_eq!(ended(called), Ending::succeeded(), "{name}");
                assert_eq!(ended(waited), Ending::succeeded(), "{name}");
            }
        }
    }
}

#[tokio::test]
async fn a_guest_that_computes_for_ever_ends_wherever_it_does() {
    let rig = Rig::shared().await;
    for (name, module, action) in endless().await {
        let budget = Arc::new(Budget::new(&cpu(50)));
        let entry = Entry::Run(action.to_owned());
        let finish = rig.sandbox.run(&module, entry, Script::new().shared(), budget, [0; 32]).await;
        assert_eq!(ended(finish), Ending::CpuBudget { limit_ms: 50 }, "{name}");
    }
}

#[tokio::test]
async fn two_memories_are_bounded_together() {
    let rig = Rig::shared().await;
    // Of 64 KiB each: 200 pages in the one, and then 200 in the other.
    let fields = r#"(memory (export "memory") 1) (memory $other 1)"#;
    let grow = "(drop (memory.grow (i32.const 199))) (drop (memory.grow $other (i32.const 199)))";
    let module = rig.sandbox.admit(&by_hand(fields, "", grow)).await.unwrap();
    for (pages, expected) in [(400, Ending::succeeded()), (399, Ending::OutOfMemory { limit_bytes: 399 << 16 })] {
        let budget = Budget::new(&Limits { memory_bytes: pages << 16, ..Limits::default() });
        let entry = Entry::Run("act".to_owned());
        let finish = rig.sandbox.run(&module, entry, Script::new().shared(), budget.into(), [0; 32]).await;
        assert_eq!(ended(finish), expected, "{pages} pages");
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
async fn lines_of_nothing_count_as_well() {
    let limits = Limits { log_bytes: 6400, ..Limits::default() };
    let host = Script::new().number(1000).shared();
    assert_eq!(ending_within("log-nothing", &host, limits).await, Ending::succeeded());
    let messages = host.messages();
    assert_eq!(messages.len(), 101, "a hundred lines, and the word that the log is full");
    assert!(messages[100].contains("is full"), "{}", messages[100]);
}

#[tokio::test]
async fn all_calls_of_an_attempt_together_carry_no_more_than_64_mib() {
    // 128 KiB in each.
    let run = async |host: Script| {
        let host = host.number(128).shared();
        (ending("put-often", &host).await, host.calls().len())
    };
    let (first, calls) = run(Script::new()).await;
    let Ending::Failed { message, .. } = &first else { panic!("{first}") };
    assert!(message.contains("they may have 67108864 together"), "{message}");
    assert_eq!(calls, 511);
    // A replay is refused at the same call.
    assert_eq!(run(Script::new().replaying()).await, (first, calls));
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
async fn memory_and_threads_are_given_back() {
    if !alone("bounds::memory_and_threads_are_given_back") {
        return;
    }
    let rig = Rig::new(2).await;
    let limits = Limits { memory_bytes: 40 << 20, cpu_ms: 20, log_bytes: 10_000, ..Limits::default() };
    let round = async || {
        for action in &rig.module.actions {
            let host = Script::refusing(Code::Unavailable, "not now").number(30).shared();
            let finish = rig.run_within(&action.name, &host, &Arc::new(Budget::new(&limits))).await;
            assert!(matches!(finish, Finish::Ending(_)), "{}: {finish:?}", action.name);
        }
    };
    for _ in 0..5 {
        round().await;
    }
    let before = (status_kib("RssAnon"), threads());
    for _ in 0..20 {
        round().await;
    }
    let after = (status_kib("RssAnon"), threads());
    // 800 guests, of which many used up to 40 MiB.
    assert!(after.0 < before.0 + (50 << 10), "{} KiB before, {} KiB after", before.0, after.0);
    assert!(after.1 <= before.1, "{} threads before, {} after", before.1, after.1);
}

async fn until(done: impl Fn() -> bool) {
    while !done() {
        tokio::task::yield_now().await;
    }
}
