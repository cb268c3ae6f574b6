//! docs/cli.md is a promise to scripts: it says what the program says. So do the READMEs of examples.

use std::path::Path;

use pintle::cli::exit::Exit;

use crate::normal::normal;
use crate::place::Place;

fn page() -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cli.md")).unwrap()
}

#[test]
fn the_page_has_each_exit_code_and_no_other() {
    let expected: Vec<String> =
        Exit::ALL.iter().map(|exit| format!("| {} | {} |", exit.code(), exit.meaning())).collect();
    let page = page();
    let is_code = |line: &&str| line.split('|').nth(1).is_some_and(|cell| cell.trim().parse::<u8>().is_ok());
    assert_eq!(page.lines().filter(is_code).collect::<Vec<_>>(), expected);
}

#[test]
fn the_page_has_each_verb_that_help_lists() {
    let help = Place::new().shell("pintle -h");
    let help = String::from_utf8(help.stdout).unwrap();
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    // What a long line goes on with is moved in further.
    let is_verb = |line: &&str| line.starts_with("  ") && !line.starts_with("   ");
    let verbs: Vec<&str> = commands
        .filter(is_verb)
        .filter_map(|line| line.split_whitespace().next())
        .filter(|verb| *verb != "help")
        .collect();
    assert!(verbs.len() > 10, "{help}");
    let page = page();
    for verb in verbs {
        assert!(page.lines().any(|line| line.starts_with(&format!("| `{verb}"))), "docs/cli.md has no `{verb}`");
    }
}

/// The text in a README between a line with this fence and the end of the fence.
fn fenced<'t>(text: &'t str, language: &str) -> &'t str {
    let (_, rest) = text.split_once(&format!("```{language}\n")).unwrap_or_else(|| panic!("no ```{language}"));
    rest.split_once("```").unwrap().0
}

#[test]
fn the_command_of_the_plain_example_does_what_its_readme_says() {
    let place = Place::new();
    place.add_example("podinfo-like");
    let readme = std::fs::read_to_string(place.path().join("examples-actions/podinfo-like/README.md")).unwrap();
    let command = fenced(&readme, "sh").trim();
    let program = "\"${CARGO_TARGET_DIR:-target}/debug/pintle\"";
    let arguments = command.strip_prefix("cargo xtask build && ").and_then(|rest| rest.strip_prefix(program));
    let arguments = arguments.unwrap_or_else(|| panic!("{command}"));
    let output = place.shell(&format!("pintle{arguments}"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let printed = normal(&String::from_utf8_lossy(&output.stdout), &place);
    assert_eq!(printed, normal(fenced(&readme, "text"), &place));
    let hooks = String::from_utf8(place.shell("pintle get hooks").stdout).unwrap();
    assert_eq!(hooks.matches("Succeeded").count(), 2, "{hooks}");
    let left = String::from_utf8(place.shell("pintle describe release podinfo").stdout).unwrap();
    assert!(left.contains("Job postsync-post-sleep-") && !left.contains("Job presync-pre-sleep-"), "{left}");
    let deleted = place.shell("pintle delete podinfo");
    assert!(deleted.status.success(), "{}", String::from_utf8_lossy(&deleted.stderr));
}

#[test]
fn the_page_has_each_field_of_a_release_and_of_a_hook() {
    let (place, page) = (Place::new(), page());
    let run = place.shell("pintle --config hooks/config.yml up hooks/release.yml; pintle get releases -o json");
    let text = String::from_utf8(run.stdout).unwrap();
    let shapes: serde_json::Value = serde_json::from_str(&text[text.find("\n[").unwrap()..]).unwrap();
    let (release, hook) = (&shapes[0], &shapes[0]["status"]["lifecycle"]["preSync"][0]);
    assert_eq!(hook["name"], "settings", "{shapes:#}");
    for field in [release, hook].into_iter().flat_map(|shape| shape.as_object().unwrap().keys()) {
        let has = |line: &str| line.split(|c: char| !c.is_alphanumeric()).any(|word| word == field);
        assert!(page.lines().any(has), "docs/cli.md has no `{field}`");
    }
}
