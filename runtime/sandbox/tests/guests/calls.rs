//! Arguments and answers cross the border unchanged.

use pintle_lifecycle::call::{Bytes, Call, JobSpec};
use pintle_lifecycle::ending::Ending;
use pintle_lifecycle::record::Level;
use pintle_sandbox::Facts;

use crate::rig::ending;
use crate::script::{Line, Script};

#[tokio::test]
async fn every_call_arrives_with_its_arguments_and_comes_back_with_its_answer() {
    let mut host = Script::new();
    host.facts = Facts {
        release: "shop".to_owned(),
        namespace: "shops".to_owned(),
        release_uid: "0011".to_owned(),
        tenant: "acme".to_owned(),
        change: "shop-12".to_owned(),
        phase: "upgrade".to_owned(),
        cluster: "edge".to_owned(),
        cluster_labels: [("zone".to_owned(), "a".to_owned())].into(),
        generation: u64::MAX,
        attempt: 2,
        from_version: Some("1.0.0".to_owned()),
        target_version: "1.1.0".to_owned(),
        values_json: "{}".to_owned(),
        args_json: "[]".to_owned(),
    };
    let host = host.shared();
    assert_eq!(ending("every-call", &host).await, Ending::succeeded());

    let names = || vec!["server".to_owned()];
    let spec = JobSpec {
        image: "shop:1".to_owned(),
        command: vec!["shop".to_owned(), "db".to_owned()],
        args: vec!["migrate".to_owned()],
        env: vec![("A".to_owned(), "b".to_owned())],
        env_from_component: Some("server".to_owned()),
        timeout_ms: Some(1000),
        retries: 2,
        pod_template_json: None,
        api_token: true,
    };
    let seen = "shop shops 0011 acme shop-12 upgrade edge Some(\"a\") None 18446744073709551615 2 Some(\"1.0.0\") 1.1.0 {} []\n\
                [\"shop:1\", \"proxy:2\"]\n3/2/1\nchanged\nunchanged\njob-run true Some(0) \"\" \"\"\njob-start\n\
                1700000000000 [7, 7, 7]\nSome([1, 2])";
    let expected = [
        Call::Stop { components: names() },
        Call::Start { components: names() },
        Call::Images { component: "server".to_owned() },
        Call::Status { component: "server".to_owned() },
        Call::WaitReady { components: names(), timeout_ms: u64::MAX },
        Call::SetVersion { target: "1.1.0".to_owned() },
        Call::Sync,
        Call::JobRun { spec: spec.clone() },
        Call::JobStart { spec },
        Call::JobWaitAny { ids: vec!["job-start".to_owned()] },
        Call::JobCancel { id: "job-start".to_owned() },
        Call::Now,
        Call::Random { len: 3 },
        Call::Sleep { ms: 5 },
        Call::StateGet { key: "key".to_owned() },
        Call::StateDelete { key: "key".to_owned() },
        Call::StatePut { key: "seen".to_owned(), value: Bytes(seen.as_bytes().to_vec()) },
    ];
    assert_eq!(host.seen(), seen);
    assert_eq!(host.calls(), expected);
    let line = Line {
        level: Level::Warn,
        message: "all done".to_owned(),
        fields: vec![("calls".to_owned(), "17".to_owned())],
    };
    assert_eq!(host.lines(), [line]);
}
