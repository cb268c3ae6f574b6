//! Stores that only the journal itself can bring about: a change that is stuck, a record of a newer Pintle, a full disk.

use std::sync::Arc;

use pintle_journal::change_log::ChangeLog;
use pintle_journal::clock::SystemClock;
use pintle_journal::journal::Journal;
use pintle_journal::{Store, StoreOptions};
use pintle_lifecycle::ids::{ReleaseKey, StepId};
use pintle_lifecycle::record::{Event, FORMAT, Record, StepKind};
use pintle_lifecycle::stamp::Stamp;

use crate::normal::normal;
use crate::place::Place;

fn store(place: &Place) -> Arc<Store> {
    Arc::new(Store::open(&place.state(), &StoreOptions::default()).unwrap())
}

/// What a command line prints and how it exits.
fn shell(place: &Place, line: &str) -> (i32, String) {
    let output = place.shell(line);
    let text = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap()).concat();
    (output.status.code().unwrap(), normal(&text, place))
}

/// Leaves the change `shop-1` open, with a question at its first step.
async fn get_stuck(place: &Place) {
    assert!(place.shell("pintle up shop/release.yml --detach").status.success());
    let journal: Arc<dyn Journal> = store(place);
    let change = ReleaseKey::new("default", "shop").unwrap().change(1);
    let log = ChangeLog::recover(journal, Arc::new(SystemClock::new()), &change).await.unwrap();
    let step = StepId::root("setup-pre");
    let title = "Run the setup pre-hook".to_owned();
    drop(log.record(Event::StepStarted {
        step: step.clone(),
        attempt: 1,
        parent: None,
        kind: StepKind::Mode,
        title,
        hook: None,
    }));
    log.record(Event::ChangeStuck { step, question: "is it on?".into() }).unwrap().await.unwrap();
}

#[tokio::test]
async fn a_stuck_change_says_its_question_and_holds_the_release() {
    let place = Place::new();
    get_stuck(&place).await;
    let told = "error: shop-1 is Stuck: is it on?\n  help: `pintle retry shop-1` looks or tries again, \
                `pintle skip shop-1` goes on without that step, `pintle undo shop-1` takes the change back, \
                `pintle cancel shop-1` stops it; it holds the release until then\n";
    assert_eq!(shell(&place, "pintle up"), (3, format!("shop-1  going on\n{told}")));
    let (code, text) = shell(&place, "pintle up shop/release-1.1.0.yml");
    assert_eq!((code, text), (3, format!("shop-1  is open: going on with it first\n{told}")));
    let (_, text) = shell(&place, "pintle describe change shop-1");
    assert!(text.contains("Message:   is it on?\n"), "{text}");
    assert!(
        text.ends_with("  pintle retry shop-1\n  pintle cancel shop-1\n  pintle steps shop-1 --output\n"),
        "{text}"
    );

    // A person decides, and it goes on to its end.
    let (code, text) = shell(&place, "pintle retry shop-1");
    assert_eq!(code, 0, "{text}");
    assert!(text.ends_with("shop-1  setup  Succeeded  <TOOK>\n"), "{text}");
}

#[tokio::test]
async fn a_stuck_change_can_be_cancelled() {
    let place = Place::new();
    get_stuck(&place).await;
    let (code, text) = shell(&place, "pintle cancel shop-1");
    assert_eq!(code, 0, "{text}");
    let (code, text) = shell(&place, "pintle up shop/release-1.1.0.yml");
    assert_eq!(code, 0, "{text}");
    assert!(text.starts_with("shop-2  setup 1.1.0\n"), "{text}");
}

#[tokio::test]
async fn a_store_of_a_newer_pintle_is_refused() {
    let place = Place::new();
    assert!(place.shell("pintle up shop/release.yml --detach").status.success());
    let change = ReleaseKey::new("default", "shop").unwrap().change(1);
    let event = Event::ChangeStuck { step: StepId::root("setup-pre"), question: String::new() };
    let record = Record { v: FORMAT + 1, change, seq: 1, at: Stamp::default(), event };
    store(&place).append(vec![record]).await.unwrap();
    for verb in ["up", "get releases", "steps shop-1", "cancel shop-1"] {
        let (code, text) = shell(&place, &format!("pintle {verb}"));
        assert_eq!(code, 4, "{verb}: {text}");
        assert!(text.contains("a newer Pintle wrote it"), "{verb}: {text}");
    }
    let (code, text) = shell(&place, "pintle export | tail -n 1");
    assert_eq!(code, 0);
    assert!(text.starts_with(&format!("{{\"v\":{},", FORMAT + 1)), "{text}");
}
