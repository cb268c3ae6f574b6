//! What may be found on a disk: torn ends, flipped bytes, missing files, a newer format. Nothing acknowledged is lost without a
//! word.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use pintle_journal::check::{CheckReport, Severity, check_store};
use pintle_journal::journal::{ChangeQuery, Journal, JournalError};
use pintle_journal::{LogError, OpenError, Store, StoreOptions, export};
use pintle_lifecycle::record::{FORMAT, Record};
use tempfile::TempDir;

use crate::dice::{Dice, rounds};
use crate::sample::Change;
use crate::store::{history, options};

/// A store with some segments, closed, as bytes of its log; no index.
async fn filled(options: &StoreOptions) -> TempDir {
    let dir = TempDir::new().unwrap();
    let store = Store::open(dir.path(), options).unwrap();
    for append in history() {
        store.append(append).await.unwrap();
    }
    drop(store);
    dir
}

fn segment(dir: &Path, number: u32) -> PathBuf {
    dir.join(format!("log/{number:08}.seg"))
}

fn segments(dir: &Path) -> u32 {
    u32::try_from(fs::read_dir(dir.join("log")).unwrap().count()).unwrap()
}

fn last_segment(dir: &Path) -> PathBuf {
    segment(dir, segments(dir))
}

/// Length of a segment without the zeros that it holds ready.
fn used(path: &Path) -> usize {
    fs::read(path).unwrap().iter().rposition(|byte| *byte != 0).unwrap() + 1
}

/// All records that an export finds, and whether it came to the end.
fn exported(dir: &Path) -> (Vec<Record>, bool) {
    let mut lines = Vec::new();
    let whole = export(dir, &mut lines).is_ok();
    let records = lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    (records.map(|line| Record::from_json(line).unwrap()).collect(), whole)
}

fn assert_finds(report: &CheckReport, severity: Severity, words: &str) {
    let found = report
        .findings
        .iter()
        .any(|finding| finding.severity == severity && finding.what.contains(words) && !finding.cure.is_empty());
    assert!(found, "no finding says `{words}`: {:#?}", report.findings);
}

#[tokio::test]
async fn a_torn_end_is_cut_at_each_byte_of_the_last_group() {
    let options = StoreOptions { segment_bytes: 1 << 20, allocate_bytes: 64 << 10, ..options(false) };
    let dir = TempDir::new().unwrap();
    let store = Store::open(dir.path(), &options).unwrap();
    let mut change = Change::new("shop", 1);
    store.append(vec![change.opened(), change.started()]).await.unwrap();
    let path = segment(dir.path(), 1);
    let acked = fs::read(dir.path().join("acked")).unwrap();
    let before = used(&path);
    store.append(vec![change.log("this one is torn")]).await.unwrap();
    drop(store);
    let whole = fs::read(&path).unwrap();
    let end = used(&path);
    assert!(end - before > 200, "the last group has {} bytes", end - before);
    for keep in before..end {
        // The rest was never written: the file ends there, or it has the zeros that it held ready.
        for len in [keep, whole.len()] {
            let mut torn = whole.clone();
            torn[keep..].fill(0);
            torn.truncate(len);
            fs::write(&path, &torn).unwrap();
            fs::write(dir.path().join("acked"), &acked).unwrap();
            let report = check_store(dir.path()).unwrap();
            assert!(report.is_sound(), "cut at {keep}: {:#?}", report.findings);
            assert_eq!(report.findings.len(), usize::from(keep > before), "cut at {keep}");
            assert_eq!((exported(dir.path()).0.len(), exported(dir.path()).1), (2, true), "cut at {keep}");
        }
        let store = Store::open(dir.path(), &options).unwrap();
        assert_eq!(store.records(&change.key).await.unwrap().len(), 2);
        let torn = store.report().torn.as_ref();
        assert_eq!(torn.map(|torn| torn.offset as usize), (keep > before).then_some(before), "cut at {keep}");
        // What comes next takes the place of what was torn.
        let mut next = Change::resume(change.key.clone(), 2);
        store.append(vec![next.log("after")]).await.unwrap();
        drop(store);
        let report = check_store(dir.path()).unwrap();
        assert_eq!((report.records, report.findings.as_slice()), (3, [].as_slice()), "cut at {keep}");
    }
}

#[tokio::test]
async fn only_a_later_group_proves_that_one_was_synced() {
    let options = StoreOptions { segment_bytes: 1 << 20, ..options(false) };
    let dir = TempDir::new().unwrap();
    let store = Store::open(dir.path(), &options).unwrap();
    let mut change = Change::new("shop", 1);
    store.append(vec![change.opened()]).await.unwrap();
    let path = segment(dir.path(), 1);
    let (first, second) = (100, used(&path) as u64 + 60);
    store.append(vec![change.started(), change.log("one"), change.log("two")]).await.unwrap();
    drop(store);
    // After a power cut it may tell of less, or not be there.
    fs::remove_file(dir.path().join("acked")).unwrap();
    let file = fs::File::options().write(true).open(&path).unwrap();
    // A power cut keeps any part of what was not synced: sound records behind the torn one, of the same group, prove nothing.
    file.write_all_at(b"#", second).unwrap();
    assert!(check_store(dir.path()).unwrap().is_sound());
    let store = Store::open(dir.path(), &options).unwrap();
    assert!(store.report().torn.is_some());
    assert_eq!(store.records(&change.key).await.unwrap().len(), 1, "the group goes as a whole");
    store.append(vec![Change::resume(change.key.clone(), 1).started()]).await.unwrap();
    drop(store);
    fs::remove_file(dir.path().join("acked")).unwrap();
    file.write_all_at(b"#", first).unwrap();
    let error = Store::open(dir.path(), &options).unwrap_err().to_string();
    assert!(error.contains("sound records follow"), "{error}");
}

#[tokio::test]
async fn random_bytes_behind_the_end_are_a_torn_end() {
    let mut dice = Dice::new("random bytes behind the end");
    let dir = filled(&options(false)).await;
    let path = last_segment(dir.path());
    let sound = fs::read(&path).unwrap();
    let end = used(&path);
    for round in 0..30 {
        let len = usize::try_from(dice.below(3_000)).unwrap() + 1;
        let mut bytes = sound[..end].to_vec();
        bytes.extend((0..len).map(|_| u8::try_from(dice.below(256)).unwrap()));
        bytes[end + len - 1] |= 1;
        fs::write(&path, &bytes).unwrap();
        assert!(check_store(dir.path()).unwrap().is_sound(), "round {round}");
        let store = Store::open(dir.path(), &options(false)).unwrap();
        let torn = store.report().torn.as_ref().map(|torn| (torn.offset as usize, torn.bytes as usize));
        assert_eq!(torn, Some((end, len)), "round {round}");
        drop(store);
        assert_eq!(exported(dir.path()).0.len(), history().into_iter().flatten().count());
    }
}

#[tokio::test]
async fn an_end_that_was_acknowledged_is_no_torn_end() {
    let dir = filled(&options(false)).await;
    let path = last_segment(dir.path());
    let mut bytes = fs::read(&path).unwrap();
    let end = used(&path);
    for (cut, words) in [(end - 1, "damaged"), (64, "were acknowledged")] {
        bytes[cut..].fill(0);
        fs::write(&path, &bytes).unwrap();
        let error = Store::open(dir.path(), &options(false)).unwrap_err().to_string();
        assert!(error.contains(words) && error.contains("pintle check-store"), "{error}");
        assert!(!check_store(dir.path()).unwrap().is_sound());
        assert!(!exported(dir.path()).1);
    }
    // Whoever puts an old copy of the log back on purpose is told what to remove.
    fs::remove_file(dir.path().join("acked")).unwrap();
    Store::open(dir.path(), &options(false)).unwrap();
}

#[tokio::test]
async fn without_the_file_acked_nobody_can_say_whether_the_end_is_missing_and_that_is_said() {
    let dir = filled(&options(false)).await;
    let (acked, all) = (dir.path().join("acked"), history().into_iter().flatten().count());
    // What a power cut leaves of a file that is never synced.
    for left in [None, Some(0), Some(16), Some(4_096)] {
        match left {
            None => fs::remove_file(&acked).unwrap(),
            Some(zeros) => fs::write(&acked, vec![0; zeros]).unwrap(),
        }
        let report = check_store(dir.path()).unwrap();
        assert_finds(&report, Severity::Note, "missing or empty");
        assert!(report.is_sound() && report.findings.len() == 1, "{:#?}", report.findings);
        assert_eq!((exported(dir.path()).0.len(), exported(dir.path()).1), (all, true));
        let store = Store::open(dir.path(), &options(false)).unwrap();
        assert!(store.report().acked_missing);
        drop(store);
        assert!(check_store(dir.path()).unwrap().findings.is_empty(), "the start has written it");
        assert!(!Store::open(dir.path(), &options(false)).unwrap().report().acked_missing);
    }
    let new = TempDir::new().unwrap();
    assert!(!Store::open(new.path(), &options(false)).unwrap().report().acked_missing, "a new store misses nothing");
}

#[tokio::test]
async fn a_file_acked_that_makes_no_sense_is_damage_with_a_cure() {
    let dir = filled(&options(false)).await;
    let (path, all) = (dir.path().join("acked"), history().into_iter().flatten().count());
    let sound = fs::read(&path).unwrap();
    let flipped = (0..sound.len()).map(|place| {
        let mut bytes = sound.clone();
        bytes[place] ^= 1 << (place % 8);
        bytes
    });
    for garbage in flipped.chain([b"x".to_vec(), sound[..15].to_vec(), [sound.as_slice(), b"x"].concat()]) {
        fs::write(&path, &garbage).unwrap();
        let error = Store::open(dir.path(), &options(false)).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("acked") && text.contains("makes no sense") && text.contains("check-store"), "{text}");
        assert!(error.cure().unwrap().contains("pintle export"), "{:?}", error.cure());
        assert_eq!(fs::read(&path).unwrap(), garbage, "it is left as it is");
        let report = check_store(dir.path()).unwrap();
        assert_finds(&report, Severity::Damage, "makes no sense");
        assert_eq!(report.records, all as u64, "the check goes on behind it");
        assert!(Store::open_for_reading(dir.path()).is_err());
        // The cure: all that there is can be had, and then the file may go.
        assert_eq!((exported(dir.path()).0.len(), exported(dir.path()).1), (all, false));
    }
    fs::remove_file(&path).unwrap();
    assert!(Store::open(dir.path(), &options(false)).unwrap().report().acked_missing);
}

#[tokio::test]
async fn a_log_that_is_gone_as_a_whole_is_damage_for_whoever_opens_reads_or_checks_it() {
    let dir = filled(&options(false)).await;
    for number in 1..=segments(dir.path()) {
        fs::remove_file(segment(dir.path(), number)).unwrap();
    }
    assert!(Store::open(dir.path(), &options(false)).is_err());
    assert!(!check_store(dir.path()).unwrap().is_sound());
    assert!(!exported(dir.path()).1);
}

#[tokio::test]
async fn a_flipped_byte_is_found_wherever_it_is() {
    let mut dice = Dice::new("flipped bytes");
    let with_index = filled(&options(true)).await;
    let dir = filled(&options(false)).await;
    let truth: Vec<Record> = history().into_iter().flatten().collect();
    let segments = segments(dir.path());
    assert!(segments > 3, "{segments} segments");
    for round in 0..rounds(150) {
        let path = segment(dir.path(), u32::try_from(dice.below(u64::from(segments))).unwrap() + 1);
        let sound = fs::read(&path).unwrap();
        // Bytes that are not checked: what the last segment holds ready, and the unused part of a header.
        let place = usize::try_from(dice.below(used(&path) as u64)).unwrap();
        let mut flipped = sound.clone();
        flipped[place] ^= 1 << dice.below(8);
        fs::write(&path, &flipped).unwrap();
        let what = format!("round {round}: byte {place} of {}", path.display());
        let opened = Store::open(dir.path(), &options(false));
        let error = opened.map(|_| ()).expect_err(&what);
        assert!(matches!(&error, OpenError::Log(LogError::Damaged { .. } | LogError::Newer { .. })), "{what}: {error}");
        assert!(!check_store(dir.path()).unwrap().is_sound(), "{what}");
        let (records, whole) = exported(dir.path());
        assert!(!whole && truth.starts_with(&records), "{what}: the export is a part of the truth");
        fs::write(&path, &sound).unwrap();
    }
    assert!(check_store(dir.path()).unwrap().findings.is_empty());
    // An index does not walk through what it has taken in: the damage is found when the record is read, or by the check.
    let path = segment(with_index.path(), 1);
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.write_all_at(b"#", 300).unwrap();
    let store = Store::open(with_index.path(), &options(true)).unwrap();
    let error = store.records(&truth[0].change).await.unwrap_err();
    assert!(matches!(&error, JournalError::Damaged { problem } if problem.contains("00000001.seg")), "{error}");
    store.append(Change::whole("other", 1)).await.unwrap();
    assert_finds(&check_store(with_index.path()).unwrap(), Severity::Damage, "checksum");
}

#[tokio::test]
async fn the_check_goes_on_behind_damage() {
    let dir = filled(&options(false)).await;
    for number in [1, 3] {
        let file = fs::File::options().write(true).open(segment(dir.path(), number)).unwrap();
        file.write_all_at(b"#", 200).unwrap();
    }
    let report = check_store(dir.path()).unwrap();
    let files: Vec<_> =
        report.findings.iter().filter(|finding| finding.what.contains("checksum")).map(|f| &f.file).collect();
    assert_eq!(files, [&segment(dir.path(), 1), &segment(dir.path(), 3)], "{:#?}", report.findings);
    assert!(report.findings.iter().all(|finding| finding.offset.is_some()));
}

#[tokio::test]
async fn a_missing_segment_is_damage() {
    let dir = filled(&options(false)).await;
    fs::remove_file(segment(dir.path(), 2)).unwrap();
    let error = Store::open(dir.path(), &options(false)).unwrap_err().to_string();
    assert!(error.contains("00000002.seg") && error.contains("missing"), "{error}");
    assert_finds(&check_store(dir.path()).unwrap(), Severity::Damage, "missing");
    let dir = filled(&options(false)).await;
    fs::remove_dir_all(dir.path().join("log")).unwrap();
    let error = Store::open(dir.path(), &options(false)).unwrap_err().to_string();
    assert!(error.contains("has no segment"), "{error}");
}

#[tokio::test]
async fn what_a_newer_pintle_wrote_is_refused_in_clear_words() {
    // A segment of a later format, whose checksum may be elsewhere.
    let dir = filled(&options(false)).await;
    let file = fs::File::options().write(true).open(segment(dir.path(), 1)).unwrap();
    file.write_all_at(&2_u32.to_le_bytes(), 8).unwrap();
    let error = Store::open(dir.path(), &options(false)).unwrap_err();
    assert!(matches!(error, OpenError::Log(LogError::Newer { found: 2, reads: 1, .. })), "{error}");
    assert!(error.to_string().contains("a newer Pintle wrote it"), "{error}");
    assert_finds(&check_store(dir.path()).unwrap(), Severity::Damage, "a newer Pintle wrote it");

    // A record of a later format: the store writes what it is given.
    for with_index in [false, true] {
        let dir = TempDir::new().unwrap();
        let store = Store::open(dir.path(), &options(with_index)).unwrap();
        let mut change = Change::new("shop", 1);
        store.append(vec![change.opened()]).await.unwrap();
        store.append(vec![Record { v: FORMAT + 1, ..change.started() }]).await.unwrap();
        drop(store);
        let before = fs::read(segment(dir.path(), 1)).unwrap();
        let error = Store::open(dir.path(), &options(with_index)).unwrap_err();
        assert!(matches!(error, OpenError::Log(LogError::Newer { .. } | LogError::Record { .. })), "{error}");
        assert_eq!(fs::read(segment(dir.path(), 1)).unwrap(), before, "nothing of it is touched");
        assert_finds(&check_store(dir.path()).unwrap(), Severity::Damage, "newer Pintle wrote it");
        let mut lines = Vec::new();
        assert_eq!(export(dir.path(), &mut lines).unwrap(), 2, "an export keeps what it does not know");
    }
}

#[tokio::test]
async fn a_record_that_is_too_long_is_refused_before_it_is_written() {
    let dir = TempDir::new().unwrap();
    let store = Store::open(dir.path(), &options(false)).unwrap();
    let mut change = Change::new("shop", 1);
    store.append(vec![change.opened()]).await.unwrap();
    let long = Change::resume(change.key.clone(), 1).log(&"x".repeat(17 << 20));
    let error = store.append(vec![long]).await.unwrap_err();
    assert!(matches!(error, JournalError::TooLarge { seq: 1, limit: 16_777_216, .. }), "{error}");
    let nearly = "y".repeat(12 << 20);
    store.append(vec![change.log(&nearly)]).await.unwrap();
    drop(store);
    let store = Store::open(dir.path(), &options(false)).unwrap();
    assert_eq!(store.records(&change.key).await.unwrap().len(), 2, "a record may be longer than a segment");
}

#[tokio::test]
async fn without_room_no_new_change_opens_and_the_others_end() {
    let dir = TempDir::new().unwrap();
    let mut change = Change::new("shop", 1);
    Store::open(dir.path(), &options(false)).unwrap().append(vec![change.opened()]).await.unwrap();
    let full = StoreOptions { watermark_bytes: u64::MAX, ..options(false) };
    let store = Store::open(dir.path(), &full).unwrap();
    let error = store.append(Change::whole("blog", 1)).await.unwrap_err();
    assert!(matches!(error, JournalError::NoRoom { .. }), "{error}");
    assert!(matches!(store.room(), Err(JournalError::NoRoom { .. })));
    store.append(vec![change.started(), change.ended()]).await.unwrap();
    assert_eq!(store.changes(ChangeQuery::default()).await.unwrap().len(), 1);
    assert_eq!(store.trouble(), None, "running out of room is no trouble yet");
}
