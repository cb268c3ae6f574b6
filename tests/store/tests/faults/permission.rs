//! Permissions that are not there, or no longer. Root may everything, so the store belongs to somebody else here, and so does the
//! process that keeps it.

use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Write as _};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};

use pintle_journal::Store;
use pintle_journal::journal::{ChangeQuery, Journal};
use store_faults::load::Sent;
use store_faults::mounts::Mounted;

use crate::place::{Place, assert_says, fill, options, words, work};
use crate::program::{Copied, NOBODY};

const CURES: [&str; 2] = ["permissions", "owner of the store"];

/// The process of the other user. Opens the store that it is given, says so, and waits for a line; then appends as long as it can.
/// Says what it was told by the store.
pub fn keep(arguments: &[OsString]) -> ExitCode {
    let place = Place::new();
    let dir = PathBuf::from(&arguments[0]);
    let with_index = arguments.get(1).is_some_and(|word| word == "index");
    let store = match Store::open(&dir, &options(with_index)) {
        Ok(store) => store,
        Err(error) => {
            println!("said {}", words(&error));
            return ExitCode::SUCCESS;
        }
    };
    println!("open");
    drop(std::io::stdin().lock().read_line(&mut String::new()));
    let mut sent = Sent::default();
    match place.runtime.block_on(work(&store, &mut sent, 48)) {
        Ok(()) => println!("unharmed {}", sent.acknowledged()),
        Err(said) => println!("said {said}"),
    }
    println!("acknowledged {}", sent.acknowledged());
    ExitCode::SUCCESS
}

/// A store that belongs to nobody, on a file system where nobody can reach it.
struct Forbidden {
    place: Place,
    mounted: Mounted,
}

impl Forbidden {
    fn new() -> Self {
        let place = Place::new();
        let mounted = Mounted::tmpfs(&place.folder("mounted"), 256 << 20);
        // The process of nobody runs this program, which may lie where nobody comes.
        fs::copy(std::env::current_exe().unwrap(), mounted.folder().join("suite")).unwrap();
        for folder in [mounted.folder(), mounted.folder().parent().unwrap()] {
            fs::set_permissions(folder, Permissions::from_mode(0o755)).unwrap();
        }
        Self { place, mounted }
    }

    fn store(&self, with_index: bool, sent: &mut Sent) -> PathBuf {
        let dir = self.mounted.folder().join("state/journal");
        self.place.runtime.block_on(fill(&dir, &options(with_index), sent));
        for path in all(dir.parent().unwrap()) {
            chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        dir
    }

    fn keeper(&self, dir: &Path, with_index: bool) -> (Child, impl FnMut() -> String + use<>) {
        let mut command = Command::new(self.mounted.folder().join("suite"));
        command.arg("keep-a-store").arg(dir).args(with_index.then_some("index"));
        command.uid(NOBODY).gid(NOBODY).env("TMPDIR", "/tmp").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        (child, move || lines.next().map_or_else(String::new, Result::unwrap))
    }
}

/// A folder and all in it.
fn all(dir: &Path) -> Vec<PathBuf> {
    let mut found = vec![dir.to_owned()];
    if dir.is_dir() {
        let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
        found.extend(entries.collect::<Vec<_>>().iter().flat_map(|path| all(path)));
    }
    found
}

pub fn when_it_opens() {
    let forbidden = Forbidden::new();
    let program = Copied::new();
    let parts =
        [("", 0), ("log", 0o500), ("log", 0), ("log/00000001.seg", 0o200), ("log/LAST", 0o400), ("acked", 0o400)];
    for (part, mode) in parts.into_iter().chain([("acked", 0), ("lock", 0o400), ("lock", 0)]) {
        let what = format!("{part} with mode {mode:o}");
        let mut sent = Sent::default();
        let dir = forbidden.store(false, &mut sent);
        let last = all(&dir.join("log")).into_iter().filter(|path| path.is_file()).max().unwrap();
        let path = if part == "log/LAST" { last } else { dir.join(part) };
        let before = fs::metadata(&path).unwrap().permissions();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        let (mut child, mut line) = forbidden.keeper(&dir, false);
        let said = line();
        // Where nothing has to be made in a folder, its store opens, and cannot go on later.
        let said = if said == "open" {
            drop(child.stdin.take());
            line()
        } else {
            said
        };
        assert!(child.wait().unwrap().success(), "{what}");
        assert!(said.starts_with("said "), "{what}: {said}");
        assert_says(&said, &["Permission denied"], &dir, &CURES, &what);
        // The check by the same user finds it, or cannot even look.
        let (code, said) = program.run_as_nobody(&dir, &["check-store"]);
        assert!(
            said.contains("this user may not write it") || said.contains("Permission denied"),
            "{what}: {code}, {said}"
        );
        assert!(CURES.iter().any(|cure| said.contains(cure)), "{what}: {said}");
        fs::set_permissions(&path, before).unwrap();
        forbidden.place.assert_well(&dir, &options(false), &mut sent, &what);
        fs::remove_dir_all(&dir).unwrap();
    }
}

pub fn while_it_is_open() {
    let forbidden = Forbidden::new();
    for with_index in [false, true] {
        let mut sent = Sent::default();
        let dir = forbidden.store(with_index, &mut sent);
        let (mut child, mut line) = forbidden.keeper(&dir, with_index);
        assert_eq!(line(), "open");
        let log = dir.join("log");
        fs::set_permissions(&log, Permissions::from_mode(0o000)).unwrap();
        writeln!(child.stdin.take().unwrap(), "go on").unwrap();
        let said = line();
        assert!(said.starts_with("said "), "{said}");
        assert_says(&said, &["Permission denied"], &dir, &CURES, "a store that is open");
        let acknowledged: usize = line().strip_prefix("acknowledged ").unwrap().parse().unwrap();
        assert!(acknowledged > 0, "what is open goes on as far as it can");
        assert!(child.wait().unwrap().success());
        fs::set_permissions(&log, Permissions::from_mode(0o700)).unwrap();
        let store = Store::open(&dir, &options(with_index)).unwrap();
        let running = forbidden.place.runtime.block_on(store.changes(ChangeQuery::default())).unwrap();
        let running = running.iter().find(|view| view.key.release.name == "running").unwrap();
        assert!(running.records >= acknowledged as u64, "{} of {acknowledged} records", running.records);
        drop(store);
        forbidden.place.assert_well(&dir, &options(with_index), &mut sent, "the permissions are back");
        fs::remove_dir_all(&dir).unwrap();
    }
}
