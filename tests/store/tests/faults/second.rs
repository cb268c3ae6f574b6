//! A second process: it is told who has the store, it may read, and of many that come at once one gets it.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use pintle_journal::{OpenError, Store};
use store_faults::load::Sent;

use crate::place::{Place, fill, options};
use crate::program;

pub fn the_program_says_who_has_the_store() {
    let place = Place::new();
    let (dir, options, mut sent) = (place.file("journal"), options(true), Sent::default());
    place.runtime.block_on(fill(&dir, &options, &mut sent));
    let store = Store::open(&dir, &options).unwrap();
    let me = std::process::id().to_string();
    let (_release, document) = program::release();
    let (code, said) = program::run(&dir, &["up", &document, "--detach"]);
    assert_eq!(code, 5, "{said}");
    for words in ["in use by pid", &me, "pintle of the faults", &dir.display().to_string(), &format!("kill {me}")] {
        assert!(said.contains(words), "`{words}` is missing: {said}");
    }
    let (code, said) = program::run(&dir, &["get", "changes", "--tenant", "acme"]);
    assert!(code == 0 && said.contains("before-2"), "reading goes on beside it: {said}");
    let (code, said) = program::run(&dir, &["check-store"]);
    assert!(code == 0 && said.contains(&format!("in use    by pid {me} (pintle of the faults)")), "{said}");
    drop(store);
    let (code, said) = program::run(&dir, &["check-store"]);
    assert!(code == 0 && !said.contains("in use"), "{said}");
    place.assert_well(&dir, &options, &mut sent, "it is given free");
}

/// A process that opens the store in the folder that it is given, says whether it got it, and keeps it until its input ends.
pub fn take(arguments: &[OsString]) -> ExitCode {
    let opened = Store::open(Path::new(&arguments[0]), &options(true));
    match &opened {
        Ok(_) => println!("got it"),
        Err(OpenError::InUse { .. }) => println!("in use"),
        Err(error) => println!("error: {error}"),
    }
    drop(std::io::stdin().lock().read_line(&mut String::new()));
    ExitCode::SUCCESS
}

pub fn one_of_many_gets_the_store() {
    let place = Place::new();
    let (dir, options, mut sent) = (place.file("journal"), options(true), Sent::default());
    place.runtime.block_on(fill(&dir, &options, &mut sent));
    for _ in 0..5 {
        let mut all: Vec<_> = (0..6)
            .map(|_| {
                let mut command = Command::new(std::env::current_exe().unwrap());
                command.arg("take-a-store").arg(&dir).stdin(Stdio::piped()).stdout(Stdio::piped());
                command.spawn().unwrap()
            })
            .collect();
        // Each keeps what it got until all have said what they got.
        let said: Vec<_> = all
            .iter_mut()
            .map(|child| {
                let mut line = String::new();
                BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
                line
            })
            .collect();
        assert_eq!(said.iter().filter(|line| *line == "got it\n").count(), 1, "{said:?}");
        assert_eq!(said.iter().filter(|line| *line == "in use\n").count(), 5, "{said:?}");
        for mut child in all {
            writeln!(child.stdin.take().unwrap()).unwrap();
            assert!(child.wait().unwrap().success());
        }
    }
    place.assert_well(&dir, &options, &mut sent, "all have gone");
}
