//! One test for each file in `transcripts/`.

use std::collections::BTreeSet;

use crate::transcript::{path, play};

macro_rules! transcripts {
    ($($name:ident,)*) => {
        $(
            #[test]
            fn $name() {
                play(stringify!($name));
            }
        )*
        const NAMES: &[&str] = &[$(stringify!($name)),*];
    };
}

transcripts! {
    cancel,
    changed_module,
    config,
    delete,
    describe,
    detach,
    died,
    export,
    failed,
    first_steps,
    get,
    help,
    hooks,
    in_use,
    inspect,
    interrupt,
    links,
    logs,
    plan,
    problems,
    queue,
    replay,
    replay_modules,
    restore,
    retention,
    retry,
    run_folder,
    schema,
    several,
    small_machine,
    unknown,
}

#[test]
fn each_transcript_is_played() {
    let folder = path("any");
    let files = std::fs::read_dir(folder.parent().unwrap()).unwrap();
    let names = files.map(|file| file.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned());
    assert_eq!(names.collect::<BTreeSet<_>>(), NAMES.iter().map(|name| (*name).to_owned()).collect());
}
