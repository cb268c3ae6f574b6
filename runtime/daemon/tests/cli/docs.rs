//! docs/cli.md is a promise to scripts: it says what the program says.

use std::path::Path;

use pintle::cli::exit::Exit;

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
    let verbs: Vec<&str> =
        commands.filter_map(|line| line.split_whitespace().next()).filter(|verb| *verb != "help").collect();
    assert!(verbs.len() > 10, "{help}");
    let page = page();
    for verb in verbs {
        assert!(page.lines().any(|line| line.starts_with(&format!("| `{verb}"))), "docs/cli.md has no `{verb}`");
    }
}
