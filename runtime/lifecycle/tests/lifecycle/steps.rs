//! The tree of steps that people see, as text.

use pintle_lifecycle::call::{Answer, Call, CallError, Code, JobResult, JobSpec, Output};
use pintle_lifecycle::ending::Ending;
use pintle_lifecycle::ids::StepId;
use pintle_lifecycle::record::{Event, Verb};
use pintle_lifecycle::tree::{ChangeTree, Style};

use crate::decide::{setup_plan, upgrade_plan};
use crate::story::Story;

const UPGRADE: &str = "upgrade-core/upgrade";

fn job() -> Call {
    let command = ["shop", "db", "migrate"].map(str::to_owned).to_vec();
    Call::JobRun { spec: JobSpec { image: "localhost:5000/demo/shop:1.1.0".into(), command, ..JobSpec::default() } }
}

fn set_version() -> Call {
    Call::SetVersion { target: "1.1.0".into() }
}

fn text(story: &Story, style: Style, output: bool) -> String {
    ChangeTree::of(&story.history).text(style, output)
}

/// Stops the worker.
fn stop(story: &mut Story) {
    story.go();
    story.intent(UPGRADE, Call::Stop { components: vec!["task-worker".into()] });
    story.wait(340);
    story.outcome(UPGRADE, Ok(Answer::Stopped { former: [("task-worker".to_owned(), 1)].into() }), None);
}

/// Looks at the images and starts the migration.
fn migrate(story: &mut Story) {
    story.look(UPGRADE, Call::Images { component: "server".into() }, Answer::Images { images: Vec::new() });
    story.intent(UPGRADE, job());
    story.wait(2_000);
}

#[test]
fn an_upgrade_with_a_failed_attempt_reads_as_it_went() {
    let mut story = Story::of(&upgrade_plan());
    stop(&mut story);
    story.intent(UPGRADE, set_version());
    story.go();
    story.wait(1_250);
    story.apply("upgrade-core/upgrade/1.1/apply");
    story.outcome(UPGRADE, Ok(Answer::Synced { changed: true }), None);
    migrate(&mut story);
    let output = Output { text: "migrating to 1.1.0\na worker is connected\n".into(), cut: true };
    let result = JobResult {
        id: "job-1".into(),
        succeeded: false,
        exit_code: Some(3),
        output,
        reason: "it ended with exit code 3".into(),
    };
    story.outcome(UPGRADE, Ok(Answer::Job { result }), Some("deleted the Job job-0, which an earlier action had left"));
    story.end(UPGRADE, Ending::failed("the Job failed\nit ended with exit code 3"));
    insta::assert_snapshot!("steps_between_attempts", text(&story, Style::Tree, true));

    stop(&mut story);
    story.look(UPGRADE, set_version(), Answer::Synced { changed: false });
    migrate(&mut story);
    story.outcome(UPGRADE, Ok(Answer::Job { result: JobResult { succeeded: true, ..JobResult::default() } }), None);
    story.intent(UPGRADE, Call::Start { components: vec!["task-worker".into()] });
    insta::assert_snapshot!("steps_while_running", text(&story, Style::Tree, false));

    story.outcome(UPGRADE, Ok(Answer::Started { replicas: [("task-worker".to_owned(), 1)].into() }), None);
    story.succeed(UPGRADE);
    story.go();
    story.wait(61_000);
    story.end(
        "upgrade-post/check",
        Ending::Trapped {
            kind: "panic".into(),
            message: "no health page".into(),
            backtrace: vec!["shop_actions::check".into(), "run".into()],
        },
    );
    story.go();
    insta::assert_snapshot!("steps_at_the_end", text(&story, Style::Tree, false));
    insta::assert_snapshot!("steps_in_a_pipe", text(&story, Style::Plain, true));
    let tree = ChangeTree::of(&story.history);
    insta::assert_snapshot!("steps_as_json", serde_json::to_string_pretty(&tree).unwrap());
}

#[test]
fn a_failed_setup_says_why_once() {
    let mut story = Story::of(&setup_plan());
    story.go();
    story.succeed("setup-pre/pre-setup");
    story.go();
    story.end("sync/apply", Ending::failed("shop-server is not ready after 60 s"));
    story.go();
    insta::assert_snapshot!("steps_of_a_failed_setup", text(&story, Style::Tree, false));
}

#[test]
fn a_cancelled_call_and_a_denied_one_say_so() {
    let mut story = Story::of(&upgrade_plan());
    story.go();
    story.intent(UPGRADE, Call::Stop { components: vec!["server".into()] });
    story.outcome(UPGRADE, Err(CallError::new(Code::Denied, "components.stop is not granted")), None);
    story.intent(UPGRADE, Call::Sleep { ms: 60_000 });
    story.ask(Verb::Cancel);
    story.go();
    insta::assert_snapshot!("steps_of_a_cancelled_change", text(&story, Style::Tree, false));
}

#[test]
fn the_rest_of_a_sync_nests_in_its_mode_and_a_stuck_step_says_so() {
    let mut story = Story::of(&upgrade_plan());
    story.go();
    story.succeed(UPGRADE);
    story.go();
    let step = StepId::root("upgrade-core/sync/apply");
    story.record(Event::ChangeStuck { step, question: "is 1.1.0 applied? Look, then retry or cancel".into() });
    insta::assert_snapshot!("steps_of_a_stuck_change", text(&story, Style::Tree, false));
}
