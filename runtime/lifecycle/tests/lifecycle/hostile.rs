//! Text that wants to break the reader: it ends in problems or in a document, never in a panic, and after bounded work.

use proptest::prelude::*;

use pintle_lifecycle::document::{DriverDocument, LifecycleDocument, Manifest, Problems, ReleaseDocument};

use crate::driver::DRIVER;
use crate::hooks::HOOKS;
use crate::manifest::MANIFESTS;
use crate::release::RELEASE;

fn read_all(text: &str) -> Problems {
    let mut problems = Problems::default();
    DriverDocument::read("driver.yml", text, &mut problems);
    ReleaseDocument::read("release.yml", text, &mut problems);
    Manifest::read("manifests.yml", text, &mut problems);
    LifecycleDocument::read("hooks.yml", text, &mut problems);
    // What a person would see has to be made without a panic too.
    assert!(problems.is_empty() || !problems.to_string().is_empty());
    problems
}

fn refused(text: &str, message: &str) {
    let problems = read_all(text).to_string();
    let start: String = text.chars().take(60).collect();
    assert!(problems.contains(message), "{start:?}: {problems:.1000}");
}

#[test]
fn depth_ends_in_a_problem() {
    for open in ["[", "{a: ", "- ", "? ", "[{a: ", "a: [", "!!seq [", "- - - "] {
        let problems = read_all(&open.repeat(200_000));
        assert!(!problems.is_empty(), "{open}");
    }
    let indented: Vec<String> = (0..2_000).map(|depth| format!("{}a:", " ".repeat(depth))).collect();
    refused(&indented.join("\n"), "nested more than 64 deep");
}

#[test]
fn aliases_are_refused_before_they_are_followed() {
    let level = |n: u32| format!("a{}: &a{0} [{}]", n + 1, vec![format!("*a{n}"); 10].join(", "));
    let bomb = format!("a0: &a0 [x, x, x, x]\n{}\n", (0..40).map(level).collect::<Vec<_>>().join("\n"));
    refused(&bomb, "aliases");
    refused("a: &a {b: *a}\n", "aliases");
    refused("<<: *nowhere\n", "driver.yml:1:");
}

#[test]
fn size_is_bounded_and_large_scalars_below_it_are_read() {
    refused(&"x".repeat((4 << 20) + 1), "more than the 4194304 that are read");
    let large = format!("{DRIVER}  \"{}\": 1\n", "k".repeat(1_000));
    refused(&large, "unknown field `kkkk");
    for quote in ["", "'", "\""] {
        let scalar = format!("{quote}{}{quote}", "x".repeat(1 << 20));
        let text = DRIVER.replace("\"Stop workers, run migration, restart, verify\"", &scalar);
        assert_eq!(problems_of_driver(&text), Problems::default(), "{quote}");
    }
    let block = DRIVER
        .replace("\"Stop workers, run migration, restart, verify\"", &format!("|\n{}", "        y\n".repeat(100_000)));
    assert_eq!(problems_of_driver(&block), Problems::default());
}

fn problems_of_driver(text: &str) -> Problems {
    let mut problems = Problems::default();
    DriverDocument::read("driver.yml", text, &mut problems);
    problems
}

#[test]
fn many_mistakes_are_counted_and_not_listed() {
    let fields: Vec<String> = (0..10_000).map(|n| format!("field{n}: 1\nfield{n}: 2")).collect();
    refused(&fields.join("\n"), "more problems");
}

#[test]
fn conditions_without_number_are_read_to_the_end() {
    let hook = "    - {name: a, type: Action, action: {location: 'a.wasm::b'}, if: 'cluster.a b'}\n";
    let head = "apiVersion: pintle.dev/v1alpha1\nkind: Lifecycle\nlifecycle:\n  preSync:\n";
    let text = format!("#{}\n{head}{}", "\n#".repeat(1 << 20), hook.repeat(5_000));
    refused(&text, "more problems");
}

#[test]
fn the_number_of_values_is_bounded() {
    for part in ["a: b\n", "- a\n", "?\n", "--- a\n", "a:\n "] {
        refused(&part.repeat((4 << 20) / part.len()), "more than 100000 values");
    }
}

#[test]
fn control_characters_and_broken_endings_are_no_trouble() {
    for text in [
        "\0",
        "a: \0",
        "\u{feff}",
        "\u{feff}\u{feff}a: b",
        "%YAML 9.9\n---\n",
        "%TAG ! x\n---\na: !y z\n",
        "---\n...\n---\n",
    ] {
        read_all(text);
    }
    refused("a: b\0c", "NUL");
    refused("\u{1}: {{ x }}", "driver.yml:1:");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_do_no_harm(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        read_all(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn random_yaml_does_no_harm(text in "[ \n\t:{}\\[\\],\\-?#&*!|>'\"%@`~ab0.\\\\]{0,200}") {
        read_all(&text);
    }

    #[test]
    fn a_document_cut_or_bent_anywhere_does_no_harm(
        which in 0..4_usize, start in any::<prop::sample::Index>(), len in 0..20_usize, put in "[ \n:{}\\[\\],\\-?#&*!|>'\"]{0,6}",
    ) {
        let mut text = [DRIVER, RELEASE, MANIFESTS, HOOKS][which].to_owned();
        let start = start.index(text.len());
        let end = (start + len).min(text.len());
        text.replace_range(start..end, &put);
        read_all(&text);
    }

    #[test]
    fn json_of_any_shape_reads_as_itself(value in json()) {
        let mut problems = Problems::default();
        let text = format!("{{\"values\": {value}}}");
        let release = RELEASE.replace("{colour: red, deep: [{a: 1}]}", &format!("{{\"v\": {value}}}"));
        let read = ReleaseDocument::read("release.yml", &release, &mut problems);
        prop_assert_eq!(problems, Problems::default(), "{}", text);
        prop_assert_eq!(&read.unwrap().spec.values["v"], &value);
    }
}

fn json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        (-1e9..1e9_f64).prop_map(Into::into),
        "[^{\0]{0,20}".prop_map(Into::into),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Into::into),
            proptest::collection::btree_map("[^{\0]{0,12}", inner, 0..4)
                .prop_map(|map| map.into_iter().collect::<serde_json::Map<_, _>>().into()),
        ]
    })
}
