//! A file system that is read-only: from the start, or suddenly, as the kernel makes it after an error of the disk.

use pintle_journal::check::check_store;
use pintle_journal::journal::{ChangeQuery, Journal};
use pintle_journal::{OpenError, Store};
use store_faults::load::Sent;
use store_faults::mounts::{Mounted, make_ext4};

use crate::place::{Place, assert_says, assert_warns, fill, options, words, work};
use crate::program;

const CURES: [&str; 2] = ["mount the file system for writing", "mounted read-only"];

pub fn when_it_opens() {
    let place = Place::new();
    let (image, folder) = (place.file("ext4"), place.folder("mounted"));
    make_ext4(&image, 32 << 20);
    for with_index in [false, true] {
        let mounted = Mounted::ext4(&image, &folder).unwrap();
        let (dir, options) = (folder.join(format!("journal-{with_index}")), options(with_index));
        let mut sent = Sent::default();
        place.runtime.block_on(fill(&dir, &options, &mut sent));
        mounted.remount("ro").unwrap();
        let error = Store::open(&dir, &options).unwrap_err();
        assert!(matches!(error, OpenError::NotWritable { .. }), "{error}");
        assert_says(&words(&error), &["Read-only file system"], &dir, &CURES, "a store that opens");
        assert_warns(&check_store(&dir).unwrap(), "mounted read-only", "mount it for writing");
        let reader = Store::open_for_reading(&dir).unwrap();
        let changes = place.runtime.block_on(reader.changes(ChangeQuery::default())).unwrap();
        assert_eq!(changes.len(), 2, "what is there can be read");

        let (_release, document) = program::release();
        let (code, said) = program::run(&dir, &["up", &document, "--detach"]);
        assert_eq!(code, 4, "{said}");
        assert!(said.contains("Read-only file system") && said.contains("mounted read-only"), "{said}");
        let (code, said) = program::run(&dir, &["check-store"]);
        assert!(code == 0 && said.contains("warning") && said.contains("cure: mount it for writing"), "{said}");

        mounted.remount("rw").unwrap();
        place.assert_well(&dir, &options, &mut sent, "it is writable again");
    }
}

pub fn while_it_is_open() {
    let place = Place::new();
    let (image, folder) = (place.file("ext4"), place.folder("mounted"));
    for with_index in [false, true] {
        make_ext4(&image, 32 << 20);
        let mounted = Mounted::ext4(&image, &folder).unwrap();
        let (dir, options) = (folder.join("journal"), options(with_index));
        let mut sent = Sent::default();
        place.runtime.block_on(fill(&dir, &options, &mut sent));
        let store = Store::open(&dir, &options).unwrap();
        // As after an error of the disk: what was not on it by now never comes there.
        mounted.remount("abort").unwrap();
        let said = place.runtime.block_on(work(&store, &mut sent, 48)).unwrap_err();
        let cures = ["mount the file system for writing", "the disk fails", "the next start makes a new one"];
        assert_says(&said, &["Read-only file system", "Input/output error"], &dir, &cures, "a store that is open");
        assert!(store.trouble().is_some());
        assert!(place.runtime.block_on(store.append(vec![])).is_err(), "nothing more is taken");
        drop(store);
        let error = Store::open(&dir, &options).unwrap_err();
        assert_says(&words(&error), &["Read-only file system"], &dir, &CURES, "it opens no more");
        assert_warns(&check_store(&dir).unwrap(), "mounted read-only", "mount it for writing");
        drop(mounted);
        let _mounted = Mounted::ext4(&image, &folder).unwrap();
        place.assert_well(&dir, &options, &mut sent, "it is mounted anew");
    }
}
