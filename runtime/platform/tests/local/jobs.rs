//! Jobs: how they end, what is kept of them, and that each runs once.

use std::fs;
use std::time::Duration;

use pintle_platform::{Job, Platform, PlatformError};
use serde_json::json;

use crate::harness::{Home, kin, process, render, sh, until, within, workload};

#[tokio::test]
async fn a_failed_job_tells_its_exit_code_and_what_it_printed() {
    let home = Home::new();
    let result = home.run_job("job-1", &sh(r"printf 'a\377b\n'; echo to stderr >&2; exit 4")).await;
    assert!(!result.succeeded);
    assert_eq!((result.exit_code, result.reason.as_str()), (Some(4), "exit code 4"));
    assert_eq!(result.output.text, "a\u{fffd}b\nto stderr");
    assert!(!result.output.cut);
    assert_eq!(home.local.wait_job(&home.target, "job-1").await.unwrap(), result);
}

#[tokio::test]
async fn a_signal_is_told_and_a_missing_program_is_named() {
    let home = Home::new();
    let result = home.run_job("job-1", &sh("kill -9 $$")).await;
    assert_eq!((result.exit_code, result.reason.as_str()), (None, "killed by signal 9"));
    let mut job = sh("");
    job.spec.command = vec!["no-such-program".into()];
    let result = home.run_job("job-2", &job).await;
    assert_eq!(result.exit_code, Some(127));
    assert!(result.output.text.starts_with("cannot run `no-such-program`"), "{}", result.output.text);
}

#[tokio::test]
async fn only_the_end_of_a_long_output_is_kept_with_the_result_and_more_in_the_log() {
    let home = Home::new();
    let script = "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); echo line $i; done; printf 'no line break'";
    let result = home.run_job("job-1", &sh(script)).await;
    assert!(result.succeeded && result.output.cut);
    assert_eq!(result.output.text.lines().count(), 200);
    assert!(result.output.text.ends_with("line 3000\nno line break"));
    let logs = home.local.job_logs(&home.target, "job-1").unwrap();
    assert!(fs::read_to_string(&logs[0]).unwrap().starts_with("line 1\n"));
}

#[tokio::test]
async fn a_job_gets_a_clean_environment_in_the_promised_order() {
    let home = Home::new();
    let env = json!({"env": {"A": "server", "B": "server", "GONE": "server"}, "ready": {"file": "ready"}});
    let server = process("server", "touch ready; exec sleep 1000", env);
    home.apply(&render("1.0.0", vec![server])).await.unwrap();
    let mut job = Job {
        env_from: Some(workload("server")),
        env: [("B".into(), "release".into()), ("C".into(), "release".into())].into(),
        unset: ["GONE".to_owned()].into(),
        ..sh("env; pwd")
    };
    job.spec.env = vec![("C".into(), "own".into())];
    let text = home.run_job("job-1", &job).await.output.text;
    let lines: Vec<&str> = text.lines().collect();
    for line in ["A=server", "B=release", "C=own", "PINTLE_RELEASE=shop", "PINTLE_JOB=job-1"] {
        assert!(lines.contains(&line), "{line} in {text}");
    }
    let data = home.data().display().to_string();
    assert!(lines.contains(&format!("PINTLE_RELEASE_DIR={data}").as_str()));
    assert_eq!(lines.last(), Some(&data.as_str()));
    let known = "A B C PATH HOME USER LOGNAME LANG LC_ALL TZ TMPDIR PWD OLDPWD SHLVL _";
    for line in &lines[..lines.len() - 1] {
        let name = line.split('=').next().unwrap();
        assert!(name.starts_with("PINTLE_") || known.split(' ').any(|known| known == name), "{line} in {text}");
    }
    let error =
        home.local.start_job("k", &home.target, "job-2", &Job { env_from: Some(workload("none")), ..job }).await;
    assert!(matches!(error, Err(PlatformError::NotFound(text)) if text.contains("Process none")));
}

#[tokio::test]
async fn a_job_inherits_nothing_that_is_open() {
    let home = Home::new();
    // The fourth is the folder that is listed.
    assert_eq!(home.run_job("job-1", &sh("exec ls /proc/self/fd")).await.output.text, "0\n1\n2\n3");
}

#[tokio::test]
async fn the_programs_of_an_image_come_before_those_of_the_machine() {
    let home = Home::new();
    let mut job = sh("");
    job.spec.image = "registry.example.com:5000/team/tool:1.2.0".into();
    job.spec.command = vec!["sh".into()];
    let error = home.local.start_job("key", &home.target, "job-1", &job).await.unwrap_err();
    let folder = format!("{}/tool/1.2.0", home.target.images);
    assert!(
        matches!(error, PlatformError::NotFound(text) if text.starts_with("ImageNotFound: ") && text.contains(&folder))
    );
    assert_eq!(home.local.job_ended(&home.target, "job-1").await.unwrap(), None);
    fs::create_dir_all(&folder).unwrap();
    std::os::unix::fs::symlink("/bin/echo", format!("{folder}/sh")).unwrap();
    job.spec.args = vec!["an echo".into()];
    assert_eq!(home.run_job("job-1", &job).await.output.text, "an echo");
}

#[tokio::test]
async fn a_second_start_with_the_same_key_adopts_and_another_key_is_a_conflict() {
    let home = Home::new();
    let job = sh("echo ran >> runs; until [ -e go ]; do sleep 0.01; done");
    for _ in 0..3 {
        home.local.start_job("key", &home.target, "job-1", &job).await.unwrap();
    }
    let error = home.local.start_job("another", &home.target, "job-1", &job).await.unwrap_err();
    assert_eq!(error, PlatformError::Conflict("another Job is named job-1".into()));
    assert_eq!(home.local.job_ended(&home.target, "job-1").await.unwrap(), Some(false));
    let error = home.local.delete_job("delete", &home.target, "job-1").await.unwrap_err();
    assert!(matches!(error, PlatformError::Conflict(_)), "{error}");

    fs::write(home.data().join("go"), "").unwrap();
    assert!(within(home.local.wait_job(&home.target, "job-1")).await.unwrap().succeeded);
    home.local.start_job("key", &home.target, "job-1", &job).await.unwrap();
    assert_eq!(home.local.job_ended(&home.target, "job-1").await.unwrap(), Some(true));
    assert_eq!(home.written("runs"), "ran\n");
    home.local.delete_job("delete", &home.target, "job-1").await.unwrap();
    home.local.delete_job("delete", &home.target, "job-1").await.unwrap();
    assert_eq!(home.local.job_ended(&home.target, "job-1").await.unwrap(), None);
    let error = home.local.wait_job(&home.target, "job-1").await.unwrap_err();
    assert_eq!(error, PlatformError::NotFound("there is no Job job-1".into()));
}

#[tokio::test]
async fn the_shim_ends_a_job_at_its_deadline() {
    let home = Home::new();
    let job = Job { deadline: Some(Duration::from_millis(100)), ..sh("sleep 1000 & sleep 1000") };
    let result = home.run_job("job-1", &job).await;
    assert_eq!((result.succeeded, result.reason.as_str()), (false, "deadline of 100 ms passed"));
    assert!(kin(&home.job_dir("job-1")).is_empty());
}

#[tokio::test]
async fn a_failed_job_is_tried_again_as_often_as_asked() {
    let home = Home::new();
    let mut job = sh("echo try >> tries; [ $(wc -l < tries) -ge 3 ] || exit 5");
    job.spec.retries = 2;
    assert!(home.run_job("job-1", &job).await.succeeded);
    assert_eq!(home.written("tries"), "try\n".repeat(3));
    fs::remove_file(home.data().join("tries")).unwrap();
    job.spec.retries = 1;
    let result = home.run_job("job-2", &job).await;
    assert_eq!((result.exit_code, result.reason.as_str()), (Some(5), "exit code 5, after 2 tries"));
}

#[tokio::test]
async fn a_job_that_is_stopped_leaves_nobody_and_its_result_stays_known() {
    let home = Home::new();
    home.local.stop_job("early", &home.target, "job-1").await.unwrap();
    let job = sh("sleep 1000 & (setsid sleep 1000 &) ; touch up; wait");
    home.local.start_job("key", &home.target, "job-1", &job).await.unwrap();
    until("the Job", || home.data().join("up").exists().then_some(())).await;
    within(home.local.stop_job("stop", &home.target, "job-1")).await.unwrap();
    assert!(kin(&home.job_dir("job-1")).is_empty());
    home.local.stop_job("stop", &home.target, "job-1").await.unwrap();
    let result = home.local.wait_job(&home.target, "job-1").await.unwrap();
    assert_eq!((result.succeeded, result.reason.as_str()), (false, "stopped (killed by signal 15)"));
}

#[tokio::test]
async fn what_a_job_leaves_in_the_background_ends_with_it() {
    let home = Home::new();
    let result = home.run_job("job-1", &sh("sleep 1000 & (setsid sleep 1000 &); echo done")).await;
    assert!(result.succeeded);
    assert_eq!(result.output.text, "done");
    assert!(kin(&home.job_dir("job-1")).is_empty());
}

#[tokio::test]
async fn what_cannot_be_done_on_this_machine_is_refused() {
    let home = Home::new();
    let mut template = sh("true");
    template.spec.pod_template_json = Some("{}".into());
    let mut empty = sh("true");
    empty.spec.command.clear();
    for (job, id, words) in
        [(template, "job-1", "a pod template"), (empty, "job-2", "what to run"), (sh("true"), "../job", "`../job`")]
    {
        let error = home.local.start_job("key", &home.target, id, &job).await.unwrap_err();
        assert!(matches!(&error, PlatformError::Invalid(text) if text.contains(words)), "{error}");
    }
}
