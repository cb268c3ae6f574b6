//! When a process counts as ready.

use std::fs;

use pintle_platform::{Platform, PlatformError, Status};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::harness::{Home, kin, process, render, until, within, workload};

async fn apply(home: &Home, script: &str, ready: Value) -> Result<(), PlatformError> {
    home.apply(&render("1.0.0", vec![process("server", script, json!({"ready": ready}))])).await
}

#[tokio::test]
async fn a_file_tells_readiness_and_one_that_was_left_does_not() {
    let home = Home::new();
    fs::create_dir_all(home.data()).unwrap();
    fs::write(home.data().join("ready"), "stale").unwrap();
    let script = "[ -e ready ] && exit 7; until [ -e go ]; do sleep 0.01; done; touch ready; exec sleep 1000";
    let applying = apply(&home, script, json!({"file": "ready"}));
    tokio::pin!(applying);
    tokio::select! {
        result = &mut applying => panic!("not before the file is there: {result:?}"),
        () = until("the process", || (kin(&home.replica_dir("server", 0)).len() == 2).then_some(())) => {}
    }
    fs::write(home.data().join("go"), "").unwrap();
    applying.await.unwrap();
    let status = home.local.status(&home.target, &workload("server")).await.unwrap();
    assert_eq!(status, Status { desired: 1, running: 1, ready: 1 });
    fs::remove_file(home.data().join("ready")).unwrap();
    let status = home.local.status(&home.target, &workload("server")).await.unwrap();
    assert_eq!(status, Status { desired: 1, running: 1, ready: 0 });
    let server = workload("server");
    let waiting = home.local.wait_ready(&home.target, &server);
    tokio::pin!(waiting);
    tokio::select! {
        result = &mut waiting => panic!("it is not ready: {result:?}"),
        () = tokio::task::yield_now() => {}
    }
    fs::write(home.data().join("ready"), "").unwrap();
    within(waiting).await.unwrap();
}

#[tokio::test]
async fn a_command_tells_readiness_in_the_environment_of_the_process() {
    let home = Home::new();
    let script = "sleep 0.05; echo $PINTLE_REPLICA > up; exec sleep 1000";
    apply(&home, script, json!({"exec": {"command": ["sh", "-c", "[ $(cat up) = $PINTLE_REPLICA ]"]}})).await.unwrap();
    assert_eq!(home.written("up"), "0\n");
}

/// Answers each connection with the next of `answers`, and the last one again and again.
async fn serve(listener: TcpListener, answers: &[&str]) {
    let mut count = 0;
    loop {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = [0; 1024];
        let len = stream.read(&mut request).await.unwrap();
        assert!(request[..len].starts_with(b"GET /healthz HTTP/1.1\r\n"));
        let status = answers[count.min(answers.len() - 1)];
        count += 1;
        let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        stream.write_all(answer.as_bytes()).await.unwrap();
    }
}

#[tokio::test]
async fn a_page_tells_readiness_by_its_status() {
    let home = Home::new();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let ready = json!({"http": {"port": port, "path": "/healthz"}, "timeoutSeconds": 30});
    tokio::select! {
        result = apply(&home, "exec sleep 1000", ready) => result.unwrap(),
        () = serve(listener, &["503 Not Yet", "404 Not Found", "204 No Content"]) => {}
    }
}

#[tokio::test]
async fn a_page_that_stays_bad_is_named_when_the_time_is_over() {
    let home = Home::new();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let ready = json!({"http": {"port": port, "path": "/healthz"}, "timeoutSeconds": 1});
    let error = tokio::select! {
        result = apply(&home, "exec sleep 1000", ready) => result.unwrap_err(),
        () = serve(listener, &["503 Service Unavailable"]) => unreachable!("it serves for ever"),
    };
    let said = format!(
        "Process server is not ready after 1 s: GET http://127.0.0.1:{port}/healthz gave 503 Service Unavailable"
    );
    assert_eq!(error, PlatformError::Failed(said));
}

#[tokio::test]
async fn a_port_that_takes_connections_tells_readiness() {
    let home = Home::new();
    let port = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let applying = apply(&home, "exec sleep 1000", json!({"tcp": {"port": port}}));
    tokio::pin!(applying);
    tokio::select! {
        result = &mut applying => panic!("nobody listens yet: {result:?}"),
        () = until("the process", || (!kin(&home.replica_dir("server", 0)).is_empty()).then_some(())) => {}
    }
    let _listener = TcpListener::bind(("127.0.0.1", port)).await.unwrap();
    applying.await.unwrap();
}

#[tokio::test]
async fn a_process_that_ends_before_it_is_ready_fails_with_what_it_said() {
    let home = Home::new();
    let error = apply(&home, "echo no database >&2; exit 3", json!({"file": "ready"})).await.unwrap_err();
    let said = "Process server ended before it was ready: exit code 3; it printed:\nno database";
    assert_eq!(error, PlatformError::Failed(said.into()));
    // Without a probe a process has to live for a while.
    let error = home.apply(&render("1.0.1", vec![process("server", "exit 0", json!({}))])).await.unwrap_err();
    let said = "Process server ended before it was ready: exit code 0; it printed nothing";
    assert_eq!(error, PlatformError::Failed(said.into()));
    assert_eq!(
        home.local.wait_ready(&home.target, &workload("server")).await.unwrap_err(),
        PlatformError::Failed(said.into())
    );
}
