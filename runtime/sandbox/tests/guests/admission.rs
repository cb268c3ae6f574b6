//! Which modules do not come in, and what their author is told.

use pintle_lifecycle::ending::Ending;
use pintle_lifecycle::plan::Limits;
use pintle_sandbox::{AdmissionError, Budget, Entry, Sandbox, SandboxConfig};

use crate::components::{actions_wit, by_hand, of_wit};
use crate::rig::{Rig, ended};
use crate::script::Script;

async fn refusal(bytes: &[u8]) -> String {
    match Rig::shared().await.sandbox.admit(bytes).await {
        Ok(module) => panic!("admitted: {module:?}"),
        Err(error) => error.to_string(),
    }
}

async fn assert_refused(bytes: &[u8], words: &str) {
    let refusal = refusal(bytes).await;
    assert!(refusal.contains(words), "{refusal}");
}

#[tokio::test]
async fn bytes_that_are_no_component_are_told_apart() {
    assert_refused(b"", "cut off: it ends after 0 bytes").await;
    assert_refused(b"\x7fELF\x02\x01\x01", "this is no WebAssembly").await;
    assert_refused(b"(component)", "this is no WebAssembly").await;
    assert_refused(b"\0asm\x01\0\0\0", "this is a core module, not a component: build it for the target wasm32-wasip2")
        .await;
    assert_refused(b"\0asm\x0e\0\x01\0", "unknown binary version 0e 00 01 00").await;
    assert_refused(b"\0asm\x0d\0\x01\0", "exports no `pintle:hooks/actions`").await;
}

#[tokio::test]
async fn a_module_that_is_cut_off_anywhere_is_refused() {
    let whole = guest_artifacts::bytes("guest-hostile");
    for size in (1..whole.len()).step_by(whole.len() / 50) {
        let refusal = refusal(&whole[..size]).await;
        // A cut between two sections leaves a component that lacks something.
        let told = ["cut off", "exports no", "cannot be read"].iter().any(|words| refusal.contains(words));
        assert!(told, "{size} bytes: {refusal}");
    }
    let small = by_hand("", "", "");
    for size in 1..small.len() {
        match Rig::shared().await.sandbox.check(&small[..size]).await {
            // Only custom sections, which begin with a zero, may be missing.
            Ok(()) => assert_eq!(small[size], 0, "{size} bytes of the small one were let in"),
            Err(error) => {
                let refusal = error.to_string();
                let told = ["cut off", "exports no", "cannot be read"].iter().any(|words| refusal.contains(words));
                assert!(told, "{size} bytes of the small one: {refusal}");
            }
        }
    }
    assert_refused(&whole[..whole.len() / 2], &format!("it ends after {} bytes", whole.len() / 2)).await;
}

#[tokio::test]
async fn a_large_module_is_refused_unread() {
    let dir = tempfile::tempdir().unwrap();
    let config = SandboxConfig { instances: 1, module_bytes: 1000, ..SandboxConfig::new(dir.path()) };
    let error = Sandbox::new(config).unwrap().admit(&[0; 1001]).await.unwrap_err();
    assert!(matches!(error, AdmissionError::TooLarge { size: 1001, limit: 1000 }), "{error}");
}

#[tokio::test]
async fn another_world_is_named() {
    let wit = "package a:b; world command { export run: func(); export tools: interface { hammer: func(); } }";
    assert_refused(&of_wit(wit, "command"), "it exports run, tools").await;
}

#[tokio::test]
async fn another_version_is_named_with_the_offered_one() {
    for version in ["0.2.0", "1.0.0", "0.1.1-rc.1"] {
        let module = of_wit(&actions_wit("hooks@0.1.0", &format!("hooks@{version}")), "action-module");
        let words = format!("the module wants pintle:hooks {version}, this Pintle offers 0.1.0");
        assert_refused(&module, &words).await;
    }
}

#[tokio::test]
async fn a_later_minor_version_comes_in_as_long_as_it_calls_nothing_new() {
    let later = actions_wit("hooks@0.1.0", "hooks@0.1.7");
    // Its describe traps, which is past every check of names and types.
    assert_refused(&of_wit(&later, "action-module"), "does not say which actions it has: Trapped").await;
    let more = later.replace("interface releases {", "interface releases { pause: func();");
    let words = "the module calls `pause` of `releases`, which this Pintle does not have (it offers 0.1.0)";
    assert_refused(&of_wit(&more, "action-module"), words).await;
}

#[tokio::test]
async fn other_types_under_our_names_are_refused() {
    let other = actions_wit("sleep: func(ms: u64)", "sleep: func(ms: string)");
    assert_refused(&of_wit(&other, "action-module"), "the module does not fit").await;
    let other = actions_wit("run: func(name: string) -> result<_, error>;", "run: func(name: string) -> bool;");
    assert_refused(&of_wit(&other, "action-module"), "the module does not fit").await;
}

#[tokio::test]
async fn imports_that_an_action_does_not_have_are_named() {
    let with = |import: &str| actions_wit("import logging;", &format!("import logging; {import}"));
    let own = of_wit(&with("import secrets: interface { read: func() -> string; }"), "action-module");
    assert_refused(&own, "the module imports `secrets`, which an action does not have").await;
    let bare = of_wit(&with("import reboot: func();"), "action-module");
    assert_refused(&bare, "the module imports `reboot`").await;

    let http = "package wasi:http@0.2.3 { interface outgoing-handler { handle: func(); } }";
    let wit = format!("{}\n{http}", with("import wasi:http/outgoing-handler@0.2.3;"));
    let words = "`wasi:http/outgoing-handler@0.2.3`, which an action does not have: it has no network";
    assert_refused(&of_wit(&wit, "action-module"), words).await;

    let future = "package wasi:cli@0.3.0 { interface environment { get: func(); } }";
    let wit = format!("{}\n{future}", with("import wasi:cli/environment@0.3.0;"));
    assert_refused(&of_wit(&wit, "action-module"), "the module wants wasi:cli 0.3.0, this Pintle offers 0.2").await;
}

#[tokio::test]
async fn a_module_without_end_is_refused() {
    let functions = (0..5000).map(|n| format!("function-{n}: func();")).collect::<Vec<_>>().concat();
    let wit = actions_wit("import logging;", &format!("import logging; export more: interface {{ {functions} }}"));
    assert_refused(&of_wit(&wit, "action-module"), "imports and exports; it may have 10000").await;

    let body = "(drop (i32.const 1))".repeat(400_000);
    assert_refused(&by_hand(&format!("(func $long {body})"), "", ""), "bytes in one function; it may have 1048576")
        .await;
}

#[tokio::test]
async fn resources_of_its_own_are_refused() {
    let wit = actions_wit(
        "import logging;",
        "import logging; export things: interface { resource thing { constructor(); } }",
    );
    assert_refused(&of_wit(&wit, "action-module"), "defines resources of its own").await;
}

#[tokio::test]
async fn asynchronous_functions_are_refused() {
    let cancel = wat::parse_str("(component (core func $cancel (canon task.cancel)))").unwrap();
    assert_refused(&cancel, "uses `TaskCancel`, a part of asynchronous components").await;
    // A guest that goes on while a call of it waits would be one of these.
    let lower = "(component (import \"f\" (func $f async)) (core func (canon lower (func $f) async)))";
    assert_refused(&wat::parse_str(lower).unwrap(), "uses `Async`, a part of asynchronous components").await;
}

#[tokio::test]
async fn a_module_can_do_nothing_while_it_describes_itself() {
    assert_refused(&by_hand("", "(drop (call $now))", ""), "describe called durable.now").await;
    assert_refused(&by_hand("", "(loop (br 0))", ""), "CpuBudget: the module used its 2000 ms").await;
    let at_start = by_hand("(func $forever (loop (br 0))) (start $forever)", "", "");
    assert_refused(&at_start, "CpuBudget: the module used its 2000 ms").await;
    let grow = "(drop (memory.grow (i32.const 5000)))";
    assert_refused(&by_hand("", grow, ""), "OutOfMemory").await;
    assert_refused(&by_hand("(memory (export \"memory\") 2000)", "", ""), "OutOfMemory").await;
    let bad_name = "(i32.store8 (i32.const 100) (i32.const 10))";
    assert_refused(&by_hand("", bad_name, ""), r#""\nct" is no action name"#).await;
    let none = "(i32.store (i32.const 20) (i32.const 0))";
    assert_refused(&by_hand("", none, ""), "its list is empty").await;
}

#[tokio::test]
async fn tables_count_as_memory() {
    let sandbox = &Rig::shared().await.sandbox;
    let table = "(table $t 1 funcref)";
    let grow = |by: u32| format!("(drop (table.grow $t (ref.null func) (i32.const {by})))");
    for (by, expected) in [
        (10_000, Ending::succeeded()),
        // More than a table may ever have: it does not grow, and the module may go on.
        (70_000, Ending::succeeded()),
        (60_000, Ending::OutOfMemory { limit_bytes: 256 << 10 }),
        (u32::MAX, Ending::OutOfMemory { limit_bytes: 256 << 10 }),
    ] {
        let module = sandbox.admit(&by_hand(table, "", &grow(by))).await.unwrap();
        let bytes = if by == 70_000 { 1 << 20 } else { 256 << 10 };
        let budget = Budget::new(&Limits { memory_bytes: bytes, ..Limits::default() });
        let entry = Entry::Run("act".to_owned());
        let finish = sandbox.run(&module, entry, Script::new().shared(), budget.into(), [0; 32]).await;
        assert_eq!(ended(finish), expected, "table.grow by {by}");
    }
}

#[tokio::test]
async fn an_inspection_says_what_a_module_wants_and_has() {
    let bytes = guest_artifacts::bytes("guest-hostile");
    let inspection = Rig::shared().await.sandbox.inspect(&bytes).await.unwrap();
    assert_eq!(inspection.size, bytes.len());
    assert_eq!(inspection.wit, "0.1.0");
    let stop = inspection.actions.iter().find(|action| action.name == "stop-worker").unwrap();
    assert!(stop.has_undo && stop.description == "Test action stop-worker", "{stop:?}");
    let interface = |name: &str| inspection.imports.iter().find(|interface| interface.name == name);
    assert_eq!(interface("pintle:hooks/releases@0.1.0").unwrap().functions, ["set-version", "sync"]);
    assert!(inspection.imports.iter().any(|interface| interface.name.starts_with("wasi:cli/stderr@0.2.")));
    assert_eq!(inspection.exports[0].functions, ["describe", "run", "undo"]);
}

#[tokio::test]
async fn a_module_knows_the_calls_that_it_can_make() {
    let module = Rig::shared().await.sandbox.admit(&by_hand("", "", "")).await.unwrap();
    assert_eq!(module.calls, ["durable.now"]);
    assert_eq!(module.actions[0].name, "act");
}

#[tokio::test]
async fn a_type_without_bottom_is_refused() {
    let types: Vec<String> = (1..40_000).map(|n| format!("(type $t{n} (list $t{}))", n - 1)).collect();
    let types = types.concat();
    let text = format!(r#"(component (type $t0 (list u8)) {types} (import "f" (func (param "x" $t39999))))"#);
    assert_refused(&wat::parse_str(text).unwrap(), "type nesting is too deep").await;
}
