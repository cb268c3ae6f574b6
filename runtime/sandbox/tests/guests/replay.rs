//! Actions with a journal behind them: what a replay must be like the run that it repeats, and the bounds that the gate keeps.

use pintle_lifecycle::ending::Ending;
use serde_json::{Value, json};

use crate::life::Life;

#[tokio::test]
async fn a_replay_that_makes_other_calls_is_told_wherever_they_differ() {
    let life = Life::of("as-told", json!(["a", "now", "b"])).await;
    assert_eq!(life.run().await, Ending::succeeded());
    assert_eq!(life.calls().len(), 3);
    for (name, args, expected, got) in [
        ("another call", json!(["a", "random", "b"]), "durable.now", "durable.random"),
        ("another argument", json!(["a", "now", "c"]), r#"state.put({"key":"b""#, r#"state.put({"key":"c""#),
        ("one more", json!(["a", "a", "now", "b"]), "durable.now", r#"state.put({"key":"a""#),
        ("one fewer", json!(["a", "b"]), "durable.now", r#"state.put({"key":"b""#),
        ("one fewer at the end", json!(["a", "now"]), r#"state.put({"key":"b""#, "the end of the action"),
        ("none", json!([]), r#"state.put({"key":"a""#, "the end of the action"),
    ] {
        let ending = life.after_death(3, Some(args)).run().await;
        let Ending::Nondeterministic { expected: wanted, got: made } = ending else { panic!("{name}: {ending}") };
        assert!(wanted.starts_with(expected) && made.starts_with(got), "{name}: wanted {wanted}, got {made}");
    }
    // More calls after all that were recorded are the action going on.
    let more = life.after_death(3, Some(json!(["a", "now", "b", "c"])));
    assert_eq!(more.run().await, Ending::succeeded());
    assert_eq!(more.calls().len(), 4);
}

#[tokio::test]
async fn time_and_chance_are_the_same_after_a_death_at_any_call() {
    let life = Life::of("draw", Value::Null).await;
    assert_eq!(life.run().await, Ending::succeeded());
    // What the guest drew is an argument of a call: the replay would be found out.
    let calls = life.calls();
    assert_eq!(calls.len(), 6, "{calls:?}");
    for survived in 0..=calls.len() {
        let again = life.after_death(survived, None);
        assert_eq!(again.run().await, Ending::succeeded(), "after {survived} calls");
        assert_eq!(again.calls()[..survived], calls[..survived], "after {survived} calls");
        let of_wasi = |calls: &[String]| calls[2].split("Ok").next().unwrap().to_owned();
        if survived >= 2 {
            assert_eq!(of_wasi(&again.calls()), of_wasi(&calls), "after {survived} calls");
        }
    }
}

#[tokio::test]
async fn a_million_calls_end_at_the_limit_and_no_more_are_kept() {
    let life = Life::of("ask-the-time", json!(1_000_000)).await;
    assert_eq!(life.run().await, Ending::CallLimit { limit: 500 });
    assert_eq!(life.calls().len(), 500);
    // And after a death in the middle.
    assert_eq!(life.after_death(250, None).run().await, Ending::CallLimit { limit: 500 });
}

#[tokio::test]
async fn a_call_without_a_grant_names_the_line_that_would_allow_it() {
    let life = Life::of("stop-worker", Value::Null).await;
    let ending = life.run().await;
    assert!(
        matches!(&ending, Ending::Denied { message } if message.contains("components: {stop: [task-worker]}")),
        "{ending}"
    );
    // The denial is recorded: a replay gets it again.
    assert_eq!(life.after_death(1, None).run().await, ending);
}
