//! Every other call through the fake host: what it answers, how it reads, and which errors an author gets to match.

use std::time::SystemTime;

use pintle_sdk::fake::Host;
use pintle_sdk::prelude::*;
use pintle_sdk::releases::Synced;

fn host() -> Host {
    Host::new().release("shop").component("server", ["shop/server:1"]).component("worker", ["shop/worker:1"])
}

#[test]
fn the_context_says_what_the_test_set() {
    let host = host()
        .upgrades("1.0.0", "1.1.0")
        .phase(Phase::PostUpgrade)
        .namespace("shops")
        .tenant("acme")
        .cluster("eu-1")
        .cluster_label("region", "eu")
        .attempt(2)
        .values_json(r#"{"replicas":2}"#)
        .args_json(r#"{"dry":true}"#)
        .install();
    let ctx = host.context();
    assert_eq!((ctx.release(), ctx.change()), ("shop".to_owned(), "shop-1".to_owned()));
    assert_eq!((ctx.from_version().as_deref(), ctx.target_version().as_str()), (Some("1.0.0"), "1.1.0"));
    assert_eq!(ctx.phase(), Phase::PostUpgrade);
    assert_eq!((ctx.namespace(), ctx.tenant()), ("shops".to_owned(), "acme".to_owned()));
    assert_eq!(
        (ctx.cluster(), ctx.cluster_label("region"), ctx.cluster_label("zone")),
        ("eu-1".to_owned(), Some("eu".to_owned()), None)
    );
    assert_eq!((ctx.attempt(), ctx.generation()), (2, 1));
    assert_eq!((ctx.values_json(), ctx.args_json()), (r#"{"replicas":2}"#.to_owned(), r#"{"dry":true}"#.to_owned()));
    assert!(host.calls().is_empty());
}

#[test]
fn every_phase_has_its_name_and_new_ones_survive() {
    let names = [
        "preSetup",
        "setup",
        "postSetup",
        "preUpgrade",
        "upgrade",
        "postUpgrade",
        "preRollback",
        "rollback",
        "postRollback",
        "preSync",
        "postSync",
        "syncFailed",
        "preDelete",
        "postDelete",
        "test",
    ];
    for name in names {
        let phase = Phase::from(name.to_owned());
        assert!(!matches!(phase, Phase::Other(_)), "{name}");
        assert_eq!(phase.as_str(), name);
    }
    assert_eq!(Phase::from("preSleep".to_owned()), Phase::Other("preSleep".to_owned()));
}

#[test]
fn every_code_has_its_case_and_comes_back() {
    let cases = [
        ("denied", Error::Denied("why".into())),
        ("invalid", Error::Invalid("why".into())),
        ("not-found", Error::NotFound("why".into())),
        ("conflict", Error::Conflict("why".into())),
        ("superseded", Error::Superseded("why".into())),
        ("timed-out", Error::TimedOut("why".into())),
        ("failed", Error::Failed("why".into())),
        ("unavailable", Error::Unavailable("why".into())),
        ("cancelled", Error::Cancelled("why".into())),
        ("quota-exceeded", Error::Other { code: "quota-exceeded".into(), message: "why".into() }),
    ];
    for (code, error) in cases {
        // On its way it is a record of the WIT: the code as text, and the message.
        let host = host().fails("releases.sync", error.clone()).install();
        assert_eq!(releases::sync(), Err(error.clone()));
        assert_eq!((error.code(), error.message()), (code, "why"));
        assert_eq!(host.calls(), ["releases.sync"]);
    }
}

#[test]
fn other_errors_fail_with_their_causes() {
    fn number(text: &str) -> Result<u32> {
        Ok(text.parse()?)
    }
    fn boxed(message: &str) -> Result<(), Box<dyn std::error::Error>> {
        Err(Error::failed(message))?
    }
    assert_eq!(number("x"), Err(Error::failed("invalid digit found in string")));
    assert_eq!(boxed("no").expect_err("it always fails").to_string(), "no");
}

#[test]
fn components_stop_start_and_answer() {
    let host = host().install();
    components::stop(vec!["server".to_owned(), "worker".to_owned()]).expect("both exist");
    assert_eq!(host.stopped(), ["server", "worker"]);
    assert_eq!(components::status("worker").expect("it exists").desired, 0);
    components::start(["worker"]).expect("it exists");
    assert_eq!(components::status("worker").expect("it exists").ready, 1);
    components::wait_ready(["server", "worker"], Duration::from_secs(30)).expect("the fake is always ready");
    let missing = "there is no component `cache`; the fake host has: server, worker";
    assert_eq!(components::stop(["worker", "cache"]), Err(Error::NotFound(missing.to_owned())));
    assert_eq!(host.stopped(), ["server"]);
    assert_eq!(
        host.calls(),
        [
            "components.stop server, worker",
            "components.status worker",
            "components.start worker",
            "components.status worker",
            "components.wait-ready server, worker within 30s",
            "components.stop worker, cache",
        ]
    );
}

#[test]
fn images_must_be_there_and_be_images() {
    let _host = host().component("odd", ["Not An Image"]).component("empty", Vec::<String>::new()).install();
    assert_eq!(components::images("server").expect("it has one")[0].name(), "server");
    assert!(matches!(components::images("odd"), Err(Error::Invalid(message)) if message.contains("Not An Image")));
    assert_eq!(components::images("empty"), Err(Error::NotFound("the component `empty` has no container".to_owned())));
}

#[test]
fn a_version_is_the_target_or_the_current_one() {
    let host = host().upgrades("1.0.0", "1.1.0").install();
    assert_eq!(releases::set_version("1.0.0"), Ok(Synced::Unchanged));
    assert!(matches!(releases::set_version("2.0.0"), Err(Error::Invalid(_))));
    assert_eq!(releases::set_version("1.1.0"), Ok(Synced::Changed));
    assert_eq!(releases::set_version("1.1.0"), Ok(Synced::Unchanged));
    assert_eq!(host.version().as_deref(), Some("1.1.0"));
}

#[test]
fn a_job_says_all_that_was_asked() {
    let host = host().job_succeeds("done").install();
    let result = Job::new("shop/tools:1")
        .command(["tool"])
        .args(["--all"])
        .env("MODE", "fast")
        .env_from("server")
        .timeout(Duration::from_millis(1_500))
        .retries(2)
        .api_token()
        .pod_template_json("{}")
        .run()
        .expect("it succeeds");
    assert_eq!((result.succeeded, result.exit_code, result.output.as_str()), (true, Some(0), "done"));
    assert_eq!(
        host.calls(),
        [
            "jobs.run shop/tools:1 [tool] args=[--all] MODE=fast env-from=server timeout=1.5s retries=2 api-token pod-template={}"
        ]
    );
}

#[test]
fn a_wrong_image_is_invalid_and_no_call() {
    let host = host().install();
    assert!(matches!(Job::new("Shop").run(), Err(Error::Invalid(_))));
    assert!(matches!(Job::new("Shop".to_owned()).start(), Err(Error::Invalid(_))));
    assert!(host.calls().is_empty());
}

#[test]
fn started_jobs_end_one_after_another() {
    let host = host().job_fails(1, "first").job_succeeds("second").install();
    let image: Image = "shop/tools:1".parse().expect("it is one");
    let mut open = vec![Job::new(&image).start().expect("starts"), Job::new(image).start().expect("starts")];
    let mut outputs = Vec::new();
    while !open.is_empty() {
        let ended = jobs::wait_any(&open).expect("both were started");
        open.retain(|id| *id != ended.id);
        outputs.push((ended.succeeded, ended.output));
    }
    assert_eq!(outputs, [(false, "first".to_owned()), (true, "second".to_owned())]);
    assert_eq!(jobs::cancel(&JobId::from("job-2".to_owned())), Ok(()));
    assert!(matches!(jobs::cancel(&JobId::from("job-9".to_owned())), Err(Error::NotFound(_))));
    assert!(matches!(jobs::wait_any(&[]), Err(Error::Invalid(_))));
    assert_eq!(host.calls()[2..4], ["jobs.wait-any job-1, job-2", "jobs.wait-any job-2"]);
}

#[test]
fn the_clock_moves_by_sleep_alone() {
    let host = host().install();
    let before = durable::now();
    durable::sleep(Duration::from_micros(1)).expect("sleeps");
    durable::sleep(Duration::from_hours(24)).expect("sleeps");
    assert_eq!(durable::now().duration_since(before).expect("it goes forward"), Duration::from_millis(86_400_001));
    assert!(before > SystemTime::UNIX_EPOCH);
    assert_eq!(host.calls()[1..3], ["durable.sleep 1ms", "durable.sleep 86400s"]);
}

#[test]
fn random_bytes_differ_and_repeat_in_the_next_test() {
    let draw = || {
        let _host = host().install();
        (durable::random(16), durable::random(16))
    };
    let (first, second) = draw();
    assert_eq!(first.len(), 16);
    assert_ne!(first, second);
    assert_eq!(draw(), (first, second));
}

#[test]
fn state_is_kept_and_read_as_text() {
    let host = host().state("seen", [0xFF]).install();
    assert_eq!(state::get_text("key"), Ok(None));
    state::put("key", "value").expect("puts");
    assert_eq!(state::get_text("key"), Ok(Some("value".to_owned())));
    assert_eq!(host.state("key"), Some(b"value".to_vec()));
    state::delete("key").expect("deletes");
    assert_eq!(state::get("key"), Ok(None));
    assert_eq!(state::get("seen"), Ok(Some(vec![0xFF])));
    assert!(matches!(state::get_text("seen"), Err(Error::Invalid(_))));
}

#[test]
fn log_lines_have_levels_formats_and_fields() {
    let host = host().install();
    let rows = 3;
    trace!("plain");
    debug!("{rows} rows, {}", 1 + 1);
    info!("{named}", named = "named");
    warn!(rows = rows, table = "orders", "skipped {} rows", rows);
    error!(code = 7, "failed");
    assert_eq!(
        host.logs(),
        [
            "trace plain",
            "debug 3 rows, 2",
            "info named",
            "warn skipped 3 rows rows=3 table=orders",
            "error failed code=7"
        ]
    );
    assert!(host.calls().is_empty());
}

#[test]
fn a_scripted_error_comes_once_and_for_that_call_alone() {
    let conflict = Error::Conflict("busy".to_owned());
    let _host = host().fails("components.stop worker", conflict.clone()).install();
    assert_eq!(components::stop(["server"]), Ok(()));
    assert_eq!(components::stop(["worker"]), Err(conflict));
    assert_eq!(components::stop(["worker"]), Ok(()));
}

#[test]
fn the_host_installed_last_answers_until_it_is_dropped() {
    let outer = host().install();
    let inner = Host::new().release("inner").install();
    assert_eq!(outer.context().release(), "inner");
    drop(inner);
    assert_eq!(outer.context().release(), "shop");
}

#[test]
#[should_panic(expected = "pintle_sdk::fake::Host")]
fn without_a_host_a_call_says_what_to_do() {
    let _ = durable::now();
}
