//! A guest sees the same machine in every run: one without files, network, environment, time and chance.

use std::sync::Arc;

use pintle_lifecycle::ending::Ending;
use pintle_lifecycle::plan::Limits;
use pintle_lifecycle::record::Level;
use pintle_sandbox::Budget;

use crate::rig::{Rig, ended, ending};
use crate::script::Script;

async fn seen(action: &str, seed: [u8; 32]) -> String {
    let host = Script::new().shared();
    let budget = Arc::new(Budget::new(&Limits::default()));
    let finish = Rig::shared().await.run_seeded(action, &host, &budget, seed).await;
    assert_eq!(ended(finish), Ending::succeeded());
    host.seen()
}

#[tokio::test]
async fn the_clocks_are_the_same_in_every_run() {
    let first = seen("look-at-clocks", [1; 32]).await;
    assert_eq!(first, seen("look-at-clocks", [2; 32]).await);
    assert!(first.starts_with("Ok(1577836800s) 1.500"), "{first}");
}

#[tokio::test]
async fn randomness_comes_from_the_seed_alone() {
    let first = seen("look-at-randomness", [1; 32]).await;
    assert_eq!(first, seen("look-at-randomness", [1; 32]).await);
    assert_ne!(first, seen("look-at-randomness", [2; 32]).await);
}

#[tokio::test]
async fn nothing_of_the_machine_is_in_reach() {
    let expected = "0 variables\n0 arguments\nread / false\nopen /etc/passwd false\ncreate false\nconnect false\n\
                    listen false\ndatagrams false\nstdin Ok(0)\nprocess false\nthread false";
    assert_eq!(seen("look-around", [1; 32]).await, expected);
}

#[tokio::test]
async fn waiting_by_the_own_clock_takes_no_time_and_is_warned_of() {
    let host = Script::new().shared();
    // A day: the test would not end.
    assert_eq!(ending("sleep", &host).await, Ending::succeeded());
    let lines = host.lines();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_eq!(lines[0].level, Level::Warn);
    assert!(lines[0].message.contains("durable.sleep"), "{lines:?}");
}

#[tokio::test]
async fn what_a_guest_prints_is_logged() {
    let host = Script::new().shared();
    assert_eq!(ending("print", &host).await, Ending::succeeded());
    let lines =
        host.lines().into_iter().map(|line| format!("{} {} {:?}", line.level.as_str(), line.message, line.fields));
    let expected = [
        "INFO to stdout [(\"stream\", \"stdout\")]",
        "INFO to stderr [(\"stream\", \"stderr\")]",
        "INFO at the end [(\"stream\", \"stdout\")]",
    ];
    assert_eq!(lines.collect::<Vec<_>>(), expected);
}
