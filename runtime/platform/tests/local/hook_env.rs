//! What the containers of hooks get: image, environment, folder; and the objects that hooks make for each other.

use std::collections::BTreeMap;
use std::fs;

use pintle_lifecycle::hook::{HookPhase, Labels};
use pintle_lifecycle::json::Json;
use pintle_platform::{HookWorkload, Platform, PlatformError};
use serde_json::{Value, json};

use crate::harness::{Home, container, hook_job, hook_pod, render};

fn printing(name: &str, more: Value) -> HookWorkload {
    // No shell: one keeps variables to itself whose names it does not like.
    let mut container = container("print", "", more);
    container["command"] = json!(["env"]);
    hook_pod(name, json!({"containers": [container]}))
}

fn config_map(name: &str, data: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})
}

/// An object as of that hook.
fn of_hook(hook: &str, change: &str, mut object: Value) -> Json {
    let labels = Labels { release_uid: "0123456789abcdef", phase: HookPhase::PreSync, hook, change };
    let name = object["metadata"]["name"].as_str().unwrap().to_owned();
    labels.set(&mut object, &name, "default");
    object.into()
}

async fn printed(home: &Home, hook: &HookWorkload) -> BTreeMap<String, String> {
    let result = home.run_hook(hook).await;
    assert!(result.succeeded, "{}", result.reason);
    let pair = |line: &str| line.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
    result.output.text.lines().filter_map(pair).collect()
}

#[tokio::test]
async fn variables_come_from_values_fields_and_objects_and_refer_to_earlier_ones() {
    let home = Home::new();
    let settings =
        config_map("settings", &json!({"HOST": "db", "PORT": "5432", "9": "no name of a variable", "a.b": "x"}));
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "access"},
        "data": {"USER": "c2hvcA=="}, "stringData": {"PASSWORD": "a$b"}
    });
    home.apply(&render("1.0.0", vec![settings, secret])).await.unwrap();
    let from = |kind: &str, name: &str, key: &str| json!({kind: {"name": name, "key": key}});
    let optional = |key: &str| json!({"configMapKeyRef": {"name": "settings", "key": key, "optional": true}});
    let hook = printing(
        "hook",
        json!({
            "envFrom": [
                {"configMapRef": {"name": "settings"}},
                {"prefix": "DB_", "secretRef": {"name": "access"}},
                {"configMapRef": {"name": "none", "optional": true}}
            ],
            "env": [
                {"name": "PORT", "value": "1"},
                {"name": "URL", "value": "$(HOST):$(PORT)/$(LATER)$$(HOST)"},
                {"name": "LATER", "value": "later"},
                {"name": "EMPTY"},
                {"name": "COPY", "valueFrom": from("configMapKeyRef", "settings", "PORT")},
                {"name": "SECRET", "valueFrom": from("secretKeyRef", "access", "PASSWORD")},
                {"name": "NONE", "valueFrom": optional("none")},
                {"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                {"name": "WHERE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}}
            ]
        }),
    );
    let env = printed(&home, &hook).await;
    for (name, value) in [
        ("HOST", "db"),
        ("PORT", "1"),
        ("a.b", "x"),
        ("DB_USER", "shop"),
        ("DB_PASSWORD", "a$b"),
        ("URL", "db:1/$(LATER)$(HOST)"),
        ("LATER", "later"),
        ("EMPTY", ""),
        ("COPY", "5432"),
        ("SECRET", "a$b"),
        ("NAME", "hook"),
        ("WHERE", "default"),
        ("PINTLE_HOOK", "hook"),
        ("PINTLE_CONTAINER", "print"),
        ("PINTLE_RELEASE", "shop"),
    ] {
        assert_eq!(env.get(name).map(String::as_str), Some(value), "{name}");
    }
    assert!(!env.contains_key("NONE") && !env.contains_key("9"));
}

#[tokio::test]
async fn commands_and_arguments_refer_to_variables_that_the_manifest_declares() {
    let home = Home::new();
    let spec = json!({
        "name": "print", "image": "host", "env": [{"name": "WORD", "value": "a b"}, {"name": "TOOL", "value": "printf"}],
        "command": ["$(TOOL)", "%s|"], "args": ["$(WORD)", "$$(WORD)", "$(PATH)"]
    });
    let result = home.run_hook(&hook_pod("hook", json!({"containers": [spec]}))).await;
    assert_eq!(result.output.text, "a b|$(WORD)|$(PATH)|");
}

#[tokio::test]
async fn what_is_missing_fails_the_creation_with_its_name() {
    let home = Home::new();
    home.apply(&render("1.0.0", vec![config_map("settings", &json!({"A": "1"}))])).await.unwrap();
    let variable = |from: Value| json!({"env": [{"name": "A", "valueFrom": from}]});
    let key = |name: &str| json!({"configMapKeyRef": {"name": name, "key": "B"}});
    let folder = format!("{}/tool/2", home.target.images);
    for (more, words) in [
        (variable(key("settings")), "Pod hook: container print: ConfigMap settings has no key `B`"),
        (variable(key("none")), "there is no ConfigMap none in the namespace default"),
        (variable(json!({"secretKeyRef": {"name": "s", "key": "k"}})), "there is no Secret s"),
        (json!({"envFrom": [{"configMapRef": {"name": "none"}}]}), "there is no ConfigMap none"),
        (json!({"image": "tool:2"}), &format!("ImageNotFound: no image `tool:2`: looked for {folder}")),
    ] {
        let error = home.create_hook(&printing("hook", more)).await.unwrap_err();
        assert!(matches!(&error, PlatformError::Failed(text) if text.contains(words)), "{error:?} and not {words}");
    }
    let mut elsewhere = printing("hook", json!({"envFrom": [{"configMapRef": {"name": "settings"}}]}));
    elsewhere.namespace = "other".into();
    assert!(matches!(home.create_hook(&elsewhere).await, Err(PlatformError::Failed(_))), "as on a cluster");
    let label = variable(json!({"fieldRef": {"fieldPath": "status.podIP"}}));
    let error = home.create_hook(&printing("hook", label)).await.unwrap_err();
    assert!(matches!(&error, PlatformError::Invalid(text) if text.contains("fieldRef status.podIP")), "{error}");
    assert_eq!(home.local.hooks(&home.target).await.unwrap(), []);
}

#[tokio::test]
async fn each_container_has_its_own_image_and_folder_and_an_image_may_be_mapped_to_the_machine() {
    let mut home = Home::new();
    home.map_image("busybox", "host");
    let folder = format!("{}/tool/1.2.0", home.target.images);
    fs::create_dir_all(&folder).unwrap();
    std::os::unix::fs::symlink("/bin/echo", format!("{folder}/sh")).unwrap();
    let echo = container("echo", "x", json!({"image": "registry.example.com/team/tool:1.2.0"}));
    let mapped = container("there", "pwd", json!({"image": "docker.io/library/busybox:1.36", "workingDir": "sub"}));
    fs::create_dir_all(home.data().join("sub")).unwrap();
    let result =
        home.run_hook(&hook_job("hook", json!({"initContainers": [echo], "containers": [mapped]}), json!({}))).await;
    let sub = home.data().join("sub").display().to_string();
    assert_eq!(result.output.text, format!("==> echo <==\n-c x\n==> there <==\n{sub}"));
    let lost = hook_pod("lost", json!({"containers": [container("a", "pwd", json!({"workingDir": "/no/such"}))]}));
    let result = home.run_hook(&lost).await;
    assert_eq!(result.reason, "container a: exit code 126");
    assert!(result.output.text.contains("working directory /no/such is not there"), "{}", result.output.text);
}

#[tokio::test]
async fn objects_of_hooks_are_seen_by_hooks_changed_by_their_own_and_by_no_other() {
    let home = Home::new();
    home.apply(&render("1.0.0", vec![config_map("settings", &json!({"A": "release"}))])).await.unwrap();
    let from = json!({"envFrom": [{"configMapRef": {"name": "made"}}]});
    let put = async |key: &str, objects: &[Json]| home.local.put_objects(key, &home.target, objects).await;
    let delete =
        async |key: &str, objects: &[Json]| home.local.delete_objects(key, &home.target, objects).await.unwrap();
    let mine = of_hook("prepare", "shop-1", config_map("made", &json!({"A": "1"})));
    for _ in 0..2 {
        put("key 1", std::slice::from_ref(&mine)).await.unwrap();
    }
    assert_eq!(printed(&home, &printing("one", from.clone())).await["A"], "1");
    let changed = of_hook("prepare", "shop-2", config_map("made", &json!({"A": "2"})));
    put("key 2", std::slice::from_ref(&changed)).await.unwrap();
    assert_eq!(printed(&home, &printing("two", from.clone())).await["A"], "2");

    let foreign = of_hook("other", "shop-2", config_map("made", &json!({"A": "3"})));
    let theirs = of_hook("prepare", "shop-2", config_map("settings", &json!({"A": "3"})));
    let next = of_hook("prepare", "shop-2", config_map("next", &json!({})));
    for (object, words) in [
        (&foreign, "ConfigMap made is there already, and another hook made it"),
        (&theirs, "ConfigMap settings is there already: the release itself has it"),
    ] {
        let error = put("key 3", &[next.clone(), object.clone()]).await.unwrap_err();
        assert_eq!(error, PlatformError::Conflict(words.into()));
    }
    let wants_next = printing("three", json!({"envFrom": [{"configMapRef": {"name": "next"}}]}));
    assert!(home.create_hook(&wants_next).await.is_err(), "what is wrong is found before anything is written");
    let role = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "a"}});
    let error = put("key 3", &[of_hook("prepare", "shop-2", role)]).await.unwrap_err();
    assert!(matches!(&error, PlatformError::Invalid(text) if text.starts_with("ServiceAccount a: ")), "{error}");

    delete("key 4", std::slice::from_ref(&foreign)).await;
    home.local.remove("remove", &home.target).await.unwrap();
    assert_eq!(printed(&home, &printing("four", from.clone())).await["A"], "2", "postDelete hooks may need it");
    for _ in 0..2 {
        delete("key 5", &[changed.clone(), theirs.clone()]).await;
    }
    assert!(home.create_hook(&printing("five", from)).await.is_err());
}
