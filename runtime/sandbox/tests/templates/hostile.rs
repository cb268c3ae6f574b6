//! Templates that use up what they can end in an error of their own, and leave the others alone.

use pintle_lifecycle::template::RenderError;
use pintle_sandbox::{TemplateBounds, Templates};
use serde_json::{Value, json};

use crate::rig::{render, sandbox, templates};

fn little() -> TemplateBounds {
    TemplateBounds {
        cpu_ms: 300,
        all_cpu_ms: 3_000,
        memory_bytes: 48 << 20,
        text_bytes: 64 << 10,
        ..TemplateBounds::default()
    }
}

fn nested(open: &str, inner: &str, close: &str, times: usize) -> String {
    format!("{{{{ {}{inner}{} }}}}", open.repeat(times), close.repeat(times))
}

type Bomb = (&'static str, &'static str, &'static [&'static str]);

const CPU: &str = "too expensive";
const MEMORY: &str = "too much memory";
const DEEP: &str = "too deep";
const LONG: &str = "longer than 65536 bytes";

/// Each with parts of messages, one of which it ends with.
const BOMBS: [Bomb; 22] = [
    ("endless range", "{{ range 9000000000000000000 }}{{ end }}", &[CPU]),
    ("nested ranges", "{{ range 99999 }}{{ range 99999 }}{{ range 99999 }}{{ end }}{{ end }}{{ end }}", &[CPU]),
    ("recursion", r#"{{ define "t" }}{{ template "t" . }}{{ end }}{{ template "t" . }}"#, &[DEEP, "exceeded maximum"]),
    (
        "wide recursion",
        r#"{{ define "t" }}{{ if lt . 40 }}{{ template "t" add1 . }}{{ template "t" add1 . }}{{ end }}{{ end }}{{ template "t" 0 }}"#,
        &[CPU],
    ),
    ("inclusion", r#"{{ define "t" }}{{ include "t" . }}{{ end }}{{ include "t" . }}"#, &["nests deeper", DEEP]),
    ("repeat", r#"{{ repeat 2000000000 "x" | len }}"#, &[MEMORY]),
    ("repeat of repeats", r#"{{ $x := repeat 100000 "x" }}{{ range 100000 }}{{ $x = cat $x $x }}{{ end }}"#, &[MEMORY]),
    ("list", "{{ until 200000000 | len }}", &[MEMORY]),
    (
        "dictionary",
        r#"{{ $d := dict }}{{ range 10000000 }}{{ $_ := set $d (toString .) (repeat 100 "x") }}{{ end }}"#,
        &[MEMORY, CPU],
    ),
    ("output", "{{ range 1000000 }}0123456789{{ end }}", &[LONG]),
    ("one output", r#"{{ repeat 1000000 "x" }}"#, &[LONG]),
    ("widths", r#"{{ range 1000000 }}{{ $_ := printf "%999999d%999999d" 1 1 }}{{ end }}"#, &[CPU, MEMORY]),
    ("a given width", r#"{{ printf "%*d" 900000 1 }}"#, &[LONG]),
    ("precision", r#"{{ printf "%.999999f" 1.0 }}"#, &[LONG]),
    (
        "an expression that explodes",
        r#"{{ mustRegexMatch "((a{0,100}){0,100}){0,100}" "a" }}"#,
        &["invalid repeat count"],
    ),
    ("passwords", r#"{{ range 100 }}{{ derivePassword 1 "long" "p" "u" "s" }}{{ end }}"#, &[CPU, MEMORY]),
    ("a value in itself", r#"{{ $d := dict }}{{ $_ := set $d "d" $d }}{{ toJson $d }}{{ $d }}"#, &[DEEP, MEMORY, CPU]),
    ("no text", r#"{{ "\xff" }}"#, &["not UTF-8"]),
    ("cut text", r#"{{ trunc 1 "é" }}"#, &["not UTF-8"]),
    ("decimals", "{{ divf 1 (mulf 1e300 1e300 1e300) }}", &["Cannot create a Decimal"]),
    ("a negative count", r#"{{ repeat -5 "x" }}"#, &["negative"]),
    ("a division by zero", "{{ div 1 0 }}", &["divide by zero"]),
];

/// Those that are too long to be written down.
fn long_bombs() -> Vec<(&'static str, String, &'static [&'static str])> {
    let laughs = |at: usize| format!("a{at}: &a{at} [{}]", vec![format!("*a{}", at - 1); 10].join(","));
    let laughs = format!("a0: &a0 [x]\\n{}", (1..12).map(laughs).collect::<Vec<_>>().join("\\n"));
    vec![
        ("parentheses", nested("(", "1", ")", 100_000), &[DEEP, "max expression depth exceeded"]),
        ("pipelines", nested("(add1 ", "1", ")", 900), &[DEEP, "max expression depth exceeded"]),
        ("ifs", format!("{}{}", "{{ if 1 }}".repeat(12_000), "{{ end }}".repeat(12_000)), &[DEEP]),
        ("YAML that explodes", format!("{{{{ fromYaml \"{laughs}\" | toJson | len }}}}"), &["aliasing", MEMORY, CPU]),
    ]
}

#[tokio::test]
async fn each_ends_within_its_bounds_and_the_next_is_rendered() {
    let templates = Templates::open(sandbox().await, little());
    let values = json!({"name": "web"});
    let short = BOMBS.into_iter().map(|(name, text, expected)| (name, text.to_owned(), expected));
    for (name, text, expected) in short.chain(long_bombs()) {
        let error = render(&templates, &text, &values).await.expect_err(name);
        println!("{name}: {error}");
        assert!(expected.iter().any(|part| error.message.contains(part)), "{name}: {error:?}");
        assert_eq!(render(&templates, "{{ .name }}", &values).await, Ok("web".to_owned()), "after {name}");
    }
}

#[tokio::test]
async fn the_other_templates_of_a_call_are_rendered() {
    let templates = Templates::open(sandbox().await, little());
    let bombs = [
        "{{ range 9000000000000000000 }}{{ end }}",
        "{{ repeat 2000000000 \"x\" | len }}",
        "{{ define \"t\" }}{{ template \"t\" . }}{{ end }}{{ template \"t\" . }}",
    ];
    let mut texts = vec!["{{ .name }}"; 8];
    for (at, bomb) in [1, 4, 7].into_iter().zip(bombs) {
        texts[at] = bomb;
    }
    let answers = templates.render(&texts, &json!({"name": "web"})).await.unwrap();
    for (at, answer) in answers.iter().enumerate() {
        assert_eq!(answer.is_err(), [1, 4, 7].contains(&at), "{at}: {answer:?}");
        assert!(answer.is_err() || *answer == Ok("web".to_owned()), "{at}: {answer:?}");
    }
}

#[tokio::test]
async fn many_expensive_templates_do_not_take_forever() {
    let bounds = TemplateBounds { cpu_ms: 200, all_cpu_ms: 500, ..TemplateBounds::default() };
    let templates = Templates::open(sandbox().await, bounds);
    let texts = vec!["{{ range 9000000000000000000 }}{{ end }}"; 1000];
    let answers = templates.render(&texts, &Value::Null).await.unwrap();
    assert!(answers.iter().all(Result::is_err));
    let last = answers.last().unwrap().as_ref().unwrap_err();
    assert_eq!(last.message, "the templates before this one used up the 500 ms of CPU time that all have");
}

#[tokio::test]
async fn long_texts_do_not_add_up() {
    let bounds = TemplateBounds { text_bytes: 1000, texts_bytes: 2500, ..TemplateBounds::default() };
    let templates = Templates::open(sandbox().await, bounds);
    let answers = templates.render(&["{{ repeat 1000 \"x\" }}"; 4], &Value::Null).await.unwrap();
    let lengths: Vec<usize> = answers.iter().map(|answer| answer.as_ref().map_or(0, String::len)).collect();
    assert_eq!(lengths, [1000, 1000, 0, 0]);
}

#[tokio::test]
async fn a_guest_that_waits_for_nobody_leaves_the_thread_to_others() {
    let templates = templates().await;
    let endless = ["{{ range 9000000000000000000 }}{{ end }}"];
    let nothing = Value::Null;
    let slow = templates.render(&endless, &nothing);
    let quick = async { render(&templates, "{{ 1 }}", &Value::Null).await };
    tokio::select! {
        biased;
        _ = slow => panic!("the endless one was first"),
        text = quick => assert_eq!(text, Ok("1".to_owned())),
    }
}

#[tokio::test]
async fn deep_values_are_an_error_of_the_values() {
    let templates = templates().await;
    let mut deep = (0..20_000).fold(Value::Null, |inner, _| Value::Array(vec![inner]));
    let answers = templates.render(&["{{ len . }}"], &deep).await;
    assert_eq!(answers, Err(RenderError::Values));
    // Dropping it whole would recurse as deep.
    while let Value::Array(mut inner) = deep {
        deep = inner.pop().unwrap_or_default();
    }
    assert_eq!(render(&templates, "{{ 1 }}", &Value::Null).await, Ok("1".to_owned()));
}
