//! A disk that answers with an error: at the n-th read, write, sync or change of a name, for each n there is, once or for ever.
//! An error that comes once must be believed as well: what was not written then is not written by trying again.

use pintle_journal::check::{Severity, check_store};
use pintle_journal::journal::Journal;
use pintle_journal::{Store, StoreOptions};
use store_faults::disk::FaultyDisk;
use store_faults::load::Sent;
use store_faults::sample::Change;

use crate::place::{Place, assert_says, fill, options, words, work};

/// So many appends, which close a segment.
const APPENDS: u64 = 20;
const NEVER: u64 = u64::MAX;

/// What became of one fault.
#[derive(Debug, PartialEq, Eq)]
enum Came {
    /// There are fewer such requests.
    NotAtAll,
    /// The store said that it cannot go on.
    Said,
    /// The store mended it, or did not need what failed.
    Mended,
}

pub fn an_error_at_each(request: &str) {
    let place = Place::new();
    let mut disk = FaultyDisk::mount(&place.folder("faulty"));
    for with_index in [false, true] {
        for is_there in [false, true] {
            let (mut n, mut said, mut mended) = (1, 0, 0);
            loop {
                let for_ever = n % 2 == 0;
                let what = format!("{request} {n}, for ever {for_ever}, index {with_index}, there {is_there}");
                match strike(&place, &mut disk, (request, n, for_ever), with_index, is_there, &what) {
                    Came::NotAtAll => break,
                    Came::Said => said += 1,
                    Came::Mended => mended += 1,
                }
                n += 1;
            }
            println!("{request}, index {with_index}, there {is_there}: {said} said, {mended} mended");
            assert!(said + mended > 0, "there is no {request}");
            // Only the file `acked`, which is a hint, and the index can be done without.
            assert!(mended == 0 || with_index || request == "write", "{mended} errors were not said");
        }
    }
}

fn strike(
    place: &Place,
    disk: &mut FaultyDisk,
    (request, n, for_ever): (&str, u64, bool),
    with_index: bool,
    is_there: bool,
    what: &str,
) -> Came {
    let (dir, options) = (disk.file("journal"), options(with_index));
    let mut sent = Sent::default();
    if is_there {
        place.runtime.block_on(fill(&dir, &options, &mut sent));
    }
    disk.fail(request, n, for_ever);
    let said = run(place, &dir, &options, &mut sent);
    let (_, struck) = disk.count(request);
    if let Err(said) = &said {
        let cures = ["the disk fails", "check-store", "the next start makes a new one", "see whether the disk"];
        assert_says(said, &["Input/output error", "sled panicked"], &dir, &cures, what);
    }
    if struck > 0 && for_ever && dir.join("log").exists() {
        // While the disk fails the check says so, or can do without what fails.
        match check_store(&dir) {
            Ok(report) => {
                let finds = report.findings.iter().any(|finding| finding.cure.contains("the disk fails"));
                assert!(finds && !report.is_sound() || request != "read", "{what}: {:#?}", report.findings);
            }
            Err(error) => assert_says(&words(&error), &["Input/output error"], &dir, &["the disk fails"], what),
        }
    }
    disk.fail(request, NEVER, false);
    if !dir.join("log").exists() || check_store(&dir).unwrap().groups == 0 {
        assert_eq!(sent.acknowledged(), 0, "{what}");
        drop(Store::open(&dir, &options).unwrap());
    }
    let report = check_store(&dir).unwrap();
    assert!(
        report.findings.iter().all(|finding| finding.severity != Severity::Damage),
        "{what}: {:#?}",
        report.findings
    );
    place.assert_well(&dir, &options, &mut sent, what);
    std::fs::remove_dir_all(&dir).unwrap();
    match (struck, said) {
        (0, Ok(())) => Came::NotAtAll,
        (0, Err(said)) => panic!("{what}: nothing failed, and yet `{said}`"),
        (_, Ok(())) => Came::Mended,
        (_, Err(_)) => Came::Said,
    }
}

/// Opens the store, and appends to it. Says what kept it from its end.
fn run(place: &Place, dir: &std::path::Path, options: &StoreOptions, sent: &mut Sent) -> Result<(), String> {
    let store = Store::open(dir, options).map_err(|error| words(&error))?;
    let worked = place.runtime.block_on(work(&store, sent, APPENDS));
    if worked.is_err() && store.trouble().is_some() {
        let late = place.runtime.block_on(store.append(vec![Change::new("late", 1).opened()]));
        assert!(late.is_err(), "an error is believed");
    }
    worked
}
