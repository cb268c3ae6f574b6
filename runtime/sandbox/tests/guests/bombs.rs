//! Modules of some kilobytes that would keep the reader or the compiler busy for minutes, fill the machine's memory, or overflow
//! its stack. They are refused before anything is compiled; what is just allowed stays within bounds; and while one compiles,
//! guests and small modules go on.

use std::fmt::Write as _;

use pintle_lifecycle::ending::Ending;
use pintle_sandbox::{AdmissionError, Sandbox, SandboxConfig};

use crate::alone::{alone, status_kib};
use crate::components::{by_hand, with_inside, with_section};
use crate::rig::{Rig, ended};
use crate::script::Script;

const SLOW: &str = "would take too long to compile";

/// A check compiles nothing: what is refused here was refused before.
async fn refusal(bytes: &[u8]) -> String {
    let refusal = Rig::shared().await.sandbox.check(bytes).await;
    refusal.expect_err("the bomb was let in").to_string()
}

/// One function; `values` are its parameters or local variables.
fn function(kind: &str, values: usize, body: &str) -> Vec<u8> {
    by_hand(&format!("(func $f ({kind}{}) {body})", " i32".repeat(values)), "", "")
}

/// A function with a type of `width` parameters and as many results, which it hands through.
fn wide(width: usize, body: &str) -> Vec<u8> {
    let values = " i32".repeat(width);
    let handed = (0..width).fold(String::new(), |text, n| text + &format!("local.get {n} "));
    by_hand(&format!("(type $t (func (param{values}) (result{values}))) (func $f (type $t) {handed} {body})"), "", "")
}

/// `depth` loops in one another, each with a local variable of its own and, at its end, `jumps`.
fn loops_in_loops(depth: usize, variables: usize, jumps: impl Fn(usize) -> String) -> Vec<u8> {
    let mut body = "loop ".repeat(depth);
    for n in 0..depth {
        let (from, to) = (n * 7 % variables, n % variables);
        write!(body, "local.get {from} i32.const 1 i32.add local.set {to} {} ", jumps(n)).unwrap();
    }
    body += &"end ".repeat(depth);
    function("local", variables, &body)
}

#[tokio::test]
async fn a_function_that_would_take_minutes_to_compile_is_refused_unseen() {
    let targets = (0..150).fold(String::new(), |text, n| text + &format!("{n} "));
    for (name, bomb) in [
        ("loops in a row", function("param", 1, &"loop local.get 0 br_if 0 end ".repeat(10_000))),
        ("branches in a row", function("param", 1, &"local.get 0 if else end ".repeat(60_000))),
        ("blocks in one another", function("param", 0, &("block ".repeat(100_000) + &"end ".repeat(100_000)))),
        ("loops in one another", loops_in_loops(500, 100, |n| format!("local.get 0 br_if {}", n * 31 % 500))),
        ("tables of jumps", loops_in_loops(150, 50, |_| format!("block local.get 0 br_table {targets} end"))),
        ("calls that carry much", wide(1000, &"call $f ".repeat(1000))),
        ("loops that carry much", wide(100, &"loop (type $t) end ".repeat(1000))),
        ("branches that carry much", wide(100, &"local.get 0 if (type $t) else end ".repeat(1000))),
        (
            "floating point",
            by_hand(&format!("(func (param f64) (result f64) local.get 0 {})", "f64.sqrt ".repeat(150_000)), "", ""),
        ),
    ] {
        let refusal = refusal(&bomb).await;
        assert!(refusal.contains(SLOW) && refusal.contains("its function"), "{name}: {refusal}");
        assert!(refusal.contains("build it with optimization"), "{name} has no cure: {refusal}");
    }
}

#[tokio::test]
async fn many_functions_count_together() {
    let calls = format!("(func {})", "i32.const 0 call_indirect ".repeat(1000));
    assert!(refusal(&by_hand(&format!("(table 1 funcref) {}", calls.repeat(1000)), "", "")).await.contains(SLOW));
    let refusal = refusal(&by_hand(&"(func)".repeat(110_000), "", "")).await;
    assert!(refusal.contains("functions; it may have 100000"), "{refusal}");
}

#[tokio::test]
async fn what_the_pool_has_no_room_for_is_refused_with_the_count() {
    let memory = |n: usize| format!("(memory {n}) (data (memory {n}) (i32.const 0) \"a\")");
    let memories = (1..10).fold(String::new(), |text, n| text + &memory(n));
    let exported = "(memory (export \"memory\") 1)";
    let type_of_900 = format!("(type (func (param{})))", " i32".repeat(900));
    for (bomb, words) in [
        (by_hand(&format!("{exported} {memories}"), "", ""), "10 memories; it may have 4"),
        (by_hand(&"(table 1 funcref)".repeat(9), "", ""), "9 tables; it may have 8"),
        (
            by_hand(&format!("(table 9 funcref) (elem (i32.const 0) {})", "0 ".repeat(300_000)), "", ""),
            "elements of tables; it may have 200000",
        ),
        (by_hand(&type_of_900.repeat(300), "", ""), "types of functions, their parameters and results; it may have"),
    ] {
        let refusal = refusal(&bomb).await;
        assert!(refusal.contains(words), "{refusal}");
    }
}

#[tokio::test]
async fn types_in_types_do_not_overflow_the_stack_of_who_reads_them() {
    // `(instance (type (instance (type …))))`: read by recursion, this ends the process.
    for (depth, words) in
        [(15, "exports no"), (16, "17 levels of types inside types"), (1_000_000, "17 levels of types")]
    {
        let mut types = vec![1];
        types.extend([0x42, 1, 1].repeat(depth));
        types.extend([0x42, 0]);
        let refusal = refusal(&with_section(7, &types)).await;
        assert!(refusal.contains(words), "{depth}: {refusal}");
    }
}

#[tokio::test]
async fn components_in_components_are_bounded_in_depth_and_as_written_out() {
    let nested = |depth: usize| "(component ".repeat(depth) + &")".repeat(depth);
    let refused = refusal(&wat::parse_str(nested(30)).unwrap()).await;
    assert!(refused.contains("17 levels of components inside components"), "{refused}");

    // Each makes two instances of the one before: thirty of them would be a thousand million instances.
    let doubling = |count: usize| {
        let begin = "(component (component $c0 (core module $m) (core instance (instantiate $m)))".to_owned();
        let all = (1..=count).fold(begin, |text, n| {
            let before = n - 1;
            text + &format!("(component $c{n} (alias outer 1 $c{before} (component $p)) (instance (instantiate $p)) (instance (instantiate $p)))")
        });
        with_inside(&format!("{all} (instance (instantiate $c{count})))"))
    };
    let refused = refusal(&doubling(30)).await;
    assert!(refused.contains("definitions, those of each instance of a component inside it counted"), "{refused}");
    // A few are no bomb.
    Rig::shared().await.sandbox.admit(&doubling(3)).await.unwrap();

    // What an instance brings along counts as well: a thousand types, nine hundred times.
    let types = (0..1000)
        .fold(String::new(), |text, n| text + &format!("(type $t{n} (list u8)) (export \"t{n}\" (type $t{n}))"));
    let refused = refusal(&with_inside(&format!(
        "(component (component $c {types}) {})",
        "(instance (instantiate $c))".repeat(900)
    )))
    .await;
    assert!(refused.contains("definitions"), "{refused}");
}

#[tokio::test]
async fn components_that_go_by_a_name_are_refused_since_nobody_knows_what_they_come_to() {
    for text in [
        "(component (component $c) (export \"c\" (component $c)))",
        "(component (import \"c\" (component $c)) (instance (instantiate $c)))",
        "(component (component $c (core module $m) (export \"m\" (core module $m))))",
    ] {
        let refusal = refusal(&wat::parse_str(text).unwrap()).await;
        assert!(refusal.contains("goes by a name in it"), "{text}: {refusal}");
    }
}

/// Two components, of which one calls a function of the other, which takes a type of 2 · 3^8 values, so many times.
fn calls_across(count: usize) -> Vec<u8> {
    let types = (1..=8).fold("(type $t0 (tuple string u8))".to_owned(), |text, n| {
        let before = n - 1;
        text + &format!("(type $t{n} (tuple $t{before} $t{before} (list $t{before})))")
    });
    let each = |text: &dyn Fn(usize) -> String| (0..count).map(text).collect::<String>();
    let lowers = each(&|n| format!("(core func $l{n} (canon lower (func $f) (memory $m) (realloc (func $r))))"));
    let given = each(&|n| format!("(export \"{n}\" (func $l{n}))"));
    let taken = each(&|n| format!("(import \"a\" \"{n}\" (func (param i32)))"));
    let memory =
        "(memory (export \"memory\") 1) (func (export \"realloc\") (param i32 i32 i32 i32) (result i32) i32.const 0)";
    with_inside(&format!(
        r#"(component
          (component $a
            (core module $m {memory} (func (export "f") (param i32)))
            (core instance $i (instantiate $m))
            {types}
            (func (export "f") (param "x" $t8)
              (canon lift (core func $i "f") (memory $i "memory") (realloc (func $i "realloc")))))
          (component $b
            {types}
            (import "f" (func $f (param "x" $t8)))
            (core module $c {memory})
            (core instance $i (instantiate $c))
            (alias core export $i "memory" (core memory $m))
            (alias core export $i "realloc" (core func $r))
            {lowers}
            (core instance $given (export "none" (func $r)) {given})
            (core module $taker {taken})
            (core instance (instantiate $taker (with "a" (instance $given)))))
          (instance $ia (instantiate $a))
          (alias export $ia "f" (func $f))
          (instance (instantiate $b (with "f" (func $f)))))"#
    ))
}

#[tokio::test]
async fn calls_between_components_inside_a_module_count() {
    let refused = refusal(&calls_across(1000)).await;
    assert!(refused.contains(SLOW) && refused.contains("1000 of them called by one component inside it"), "{refused}");
    Rig::shared().await.sandbox.admit(&calls_across(2)).await.unwrap();
}

#[tokio::test]
async fn what_is_just_allowed_takes_no_more_memory_than_a_machine_can_spare() {
    if !alone("bombs::what_is_just_allowed_takes_no_more_memory_than_a_machine_can_spare") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let sandbox = Sandbox::new(SandboxConfig { instances: 1, ..SandboxConfig::new(dir.path()) }).unwrap();
    let before = status_kib("VmHWM");
    for (name, bomb) in [
        (
            "floating point",
            by_hand(&format!("(func (param f64) (result f64) local.get 0 {})", "f64.sqrt ".repeat(95_000)), "", ""),
        ),
        ("branches that carry much", wide(100, &"local.get 0 if (type $t) else end ".repeat(300))),
        ("loops in one another", loops_in_loops(140, 100, |n| format!("local.get 0 br_if {}", n * 31 % 140))),
    ] {
        if let Err(error) = sandbox.admit(&bomb).await {
            panic!("{name}: {error}");
        }
    }
    let peak = status_kib("VmHWM") - before;
    assert!(peak < 1 << 20, "{} MiB", peak >> 10);
}

#[tokio::test(flavor = "current_thread")]
async fn guests_and_small_modules_go_on_while_a_large_one_is_compiled() {
    let rig = Rig::new(2).await;
    let (large, small) = (by_hand(&"(func)".repeat(30_000), "", ""), by_hand("(func $other)", "", ""));
    let sandbox = rig.sandbox.clone();
    // It takes the compiler some seconds, a call some microseconds.
    let mut compiling = tokio::spawn(async move { sandbox.admit(&large).await.map(drop) });
    let host = Script::new().number(1000).shared();
    tokio::select! {
        biased;
        admitted = &mut compiling => panic!("it was compiled before a thousand calls were made: {admitted:?}"),
        finish = rig.run("many-calls", &host) => assert_eq!(ended(finish), Ending::succeeded()),
    }
    tokio::select! {
        biased;
        admitted = &mut compiling => panic!("it was compiled before a small module was: {admitted:?}"),
        admitted = rig.sandbox.admit(&small) => drop(admitted.unwrap()),
    }
    compiling.await.unwrap().unwrap();
    assert_eq!(host.calls().len(), 1000);
}

#[tokio::test]
async fn a_module_that_is_refused_leaves_nothing_behind() {
    let dir = tempfile::tempdir().unwrap();
    let config = SandboxConfig { instances: 1, ..SandboxConfig::new(dir.path()) };
    let sandbox = Sandbox::new(config).unwrap();
    for bytes in [
        by_hand("", "(loop (br 0))", ""),
        by_hand("", "(unreachable)", ""),
        by_hand("(memory (export \"memory\") 2000)", "", ""),
    ] {
        let error = sandbox.admit(&bytes).await.unwrap_err();
        assert!(
            matches!(error, AdmissionError::Describe { .. }),
            "it was to be refused after it was compiled: {error}"
        );
    }
    let left = crate::keeping::files(dir.path(), "cwasm");
    assert!(left.is_empty(), "{left:?}");
}
