//! The last segment of a log, whatever is in it: checked, exported, read and opened. What is accepted is what the bytes say by
//! `docs/store.md` and reads again the same; what is not has an error that says where.

pub(crate) mod layout;

use std::fs;
use std::path::{Path, PathBuf};

use pintle_journal::check::{CheckReport, Finding, Severity, check_store};
use pintle_journal::journal::{ChangeQuery, Journal};
use pintle_journal::{ExportError, LogError, OpenError, Reader, Store, StoreOptions, export};
use pintle_lifecycle::ids::ChangeKey;
use pintle_lifecycle::record::Record;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use layout::Held;

/// How the bytes become a segment: the two lowest bits of the first byte.
pub const RAW: u8 = 0;
/// Checksums are put right.
pub const SUMMED: u8 = 1;
/// Lines are records, an empty line ends a group.
pub const LINES: u8 = 2;
/// Lines as before, up to the first NUL; what is behind that follows the last group as it is.
pub const LINES_AND_TAIL: u8 = 3;
/// A sound segment is before it.
pub const SECOND: u8 = 4;
/// Everything sound is acknowledged.
pub const ACKED: u8 = 8;
/// Another byte is.
pub const LOST: u8 = 16;

/// The record of an opened change.
const OPENED: &str = include_str!("segment/opened.json");

/// Makes a store of the bytes and looks at it in every way.
///
/// # Panics
/// Where the journal does what its documentation says it does not.
pub fn run(bytes: &[u8]) {
    let Some((&how, bytes)) = bytes.split_first() else { return };
    let input = Input::of(how, bytes);
    let folder = scratch();
    input.write(folder.path());
    let held = input.held();
    let report = check_store(folder.path()).expect("all files can be read");
    assert_told(&report);
    let is_whole = assert_exported(folder.path(), &held);
    assert!(is_whole || !report.is_sound(), "an export that breaks off is damage: {report:#?}");
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("this process may have threads");
    match Reader::open(folder.path()) {
        Ok(reader) => assert_same(&runtime, &reader, &held),
        Err(error) => assert_told_and_found(&error, &report),
    }
    match Store::open(folder.path(), &options()) {
        Ok(store) => {
            assert_same(&runtime, &store, &held);
            let torn = store.report().torn.is_some();
            // There are notes on other files as well, such as a missing `acked`.
            let is_torn = |finding: &Finding| finding.severity == Severity::Note && finding.offset.is_some();
            assert_eq!(torn, report.findings.iter().any(is_torn));
            go_on(&runtime, folder.path(), store, held, &report);
        }
        Err(error) => {
            assert_told_and_found(&error, &report);
            let (path, bytes) = input.last(folder.path());
            assert_eq!(fs::read(path).expect("it is there"), bytes, "a log that is refused stays as it is");
        }
    }
}

/// Segments and the end of what is acknowledged.
struct Input {
    segments: Vec<Vec<u8>>,
    acked: Option<(u32, u32)>,
}

impl Input {
    fn of(how: u8, bytes: &[u8]) -> Self {
        let mut segments = Vec::new();
        if how & SECOND != 0 {
            segments.push([layout::header(1, 1, 0), layout::group(1, &[OPENED.trim_end().as_bytes()])].concat());
        }
        let (number, before) = (narrow(segments.len() + 1), narrow(segments.first().map_or(0, Vec::len)));
        let made = |lines: &[u8]| of_lines(layout::header(number, u64::from(number), before), u64::from(number), lines);
        segments.push(match how & 3 {
            RAW => bytes.to_vec(),
            SUMMED => {
                let mut bytes = bytes.to_vec();
                layout::put_checksums(&mut bytes);
                bytes
            }
            LINES => made(bytes),
            _ => {
                let (lines, tail) = bytes.split_at(bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len()));
                [made(lines), tail.get(1..).unwrap_or_default().to_vec()].concat()
            }
        });
        let mut input = Self { segments, acked: None };
        if how & (ACKED | LOST) != 0 {
            let held = input.held();
            let behind = u32::from(how & LOST != 0);
            input.acked = Some((held.segment, narrow(held.end) + behind));
        }
        input
    }

    /// What is sound of it.
    fn held(&self) -> Sound {
        let mut sound = Sound { records: Vec::new(), segment: 1, end: layout::SEGMENT_HEADER };
        let mut before: Option<Held<'_>> = None;
        for (bytes, number) in self.segments.iter().zip(1..) {
            let Some(held) = layout::read(bytes, number) else { break };
            let follows = before.is_none_or(|before| {
                held.store == before.store
                    && held.first_group == before.next_group
                    && held.previous_end as usize == before.end
            });
            if !follows {
                break;
            }
            sound.records.extend(held.records.iter().map(|record| record.to_vec()));
            (sound.segment, sound.end) = (number, held.end);
            before = Some(held);
        }
        sound
    }

    fn write(&self, folder: &Path) {
        fs::create_dir(folder.join("log")).expect("the folder is new");
        for (bytes, number) in self.segments.iter().zip(1..) {
            fs::write(path(folder, number), bytes).expect("the file can be written");
        }
        if let Some((segment, offset)) = self.acked {
            let mut bytes = b"ACK1".to_vec();
            bytes.extend(segment.to_le_bytes());
            bytes.extend(offset.to_le_bytes());
            bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
            fs::write(folder.join("acked"), bytes).expect("the file can be written");
        }
    }

    fn last(&self, folder: &Path) -> (PathBuf, &[u8]) {
        (path(folder, narrow(self.segments.len())), self.segments.last().map_or(&[], Vec::as_slice))
    }
}

/// The sound records of a log, and where they end.
struct Sound {
    records: Vec<Vec<u8>>,
    segment: u32,
    end: usize,
}

fn of_lines(header: Vec<u8>, first_group: u64, bytes: &[u8]) -> Vec<u8> {
    let mut lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    // The end of the last line starts no group.
    if lines.last().is_some_and(|line| line.is_empty()) {
        lines.pop();
    }
    let groups = lines.split(|line| line.is_empty()).zip(first_group..);
    groups.fold(header, |segment, (records, number)| [segment, layout::group(number, records)].concat())
}

fn path(folder: &Path, number: u32) -> PathBuf {
    folder.join(format!("log/{number:08}.seg"))
}

/// In memory where the machine has a place for that: thousands of stores are made.
fn scratch() -> TempDir {
    let memory = Path::new("/dev/shm");
    let made = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    made.expect("this machine has a place for a folder")
}

fn options() -> StoreOptions {
    StoreOptions {
        allocate_bytes: 4 << 10,
        ballast_bytes: 0,
        watermark_bytes: 0,
        index_from_bytes: usize::MAX,
        ..StoreOptions::default()
    }
}

fn assert_told(report: &CheckReport) {
    for finding in &report.findings {
        assert!(!finding.what.is_empty() && !finding.cure.is_empty(), "{finding:?}");
        let shown = finding.to_string();
        let name = finding.file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        assert!(!name.is_empty() && shown.contains(name), "a finding names its file: {shown}");
        let len = fs::metadata(&finding.file).map_or(0, |file| file.len());
        assert!(finding.offset.is_none_or(|offset| u64::from(offset) <= len), "an offset is in the file: {shown}");
    }
}

/// The error is about what is in a file, and the check has found something, too.
fn assert_told_and_found(error: &OpenError, report: &CheckReport) {
    let OpenError::Log(LogError::Damaged { path, .. } | LogError::Newer { path, .. } | LogError::Record { path, .. }) =
        error
    else {
        panic!("no error about the content of a file: {error:?}");
    };
    assert!(path.exists(), "{error}");
    assert!(!report.is_sound(), "the check found nothing, and opening fails: {error}");
}

/// Compares the export with what is sound. Whether it came to the end of the log.
fn assert_exported(folder: &Path, held: &Sound) -> bool {
    let mut exported = Vec::new();
    let ended = export(folder, &mut exported);
    let expected: Vec<u8> = held.records.iter().flat_map(|record| record.iter().chain(b"\n")).copied().collect();
    assert!(exported == expected, "{} bytes are exported, {} are sound", exported.len(), expected.len());
    match ended {
        Ok(count) => assert_eq!(count, held.records.len() as u64),
        Err(ExportError::Log(LogError::Damaged { .. } | LogError::Newer { .. })) => return false,
        Err(error) => panic!("no error about the content of a file: {error:?}"),
    }
    true
}

/// The journal has the records that are sound, and no others.
fn assert_same(runtime: &Runtime, journal: &dyn Journal, held: &Sound) {
    let records = held.records.iter().map(|json| Record::from_json(json).expect("a journal that opens has read it"));
    let mut expected: Vec<(ChangeKey, Vec<Record>)> = Vec::new();
    for record in records {
        match expected.iter_mut().find(|(change, _)| *change == record.change) {
            Some((_, records)) => records.push(record),
            None => expected.push((record.change.clone(), vec![record])),
        }
    }
    runtime.block_on(async {
        let changes = journal.changes(ChangeQuery::default()).await.expect("it is open");
        assert_eq!(changes.len(), expected.len());
        for (change, records) in &expected {
            assert_eq!(journal.records(change).await.expect("it was read before"), *records);
            let view = journal.change(change).await.expect("it is open").expect("it is in the list");
            assert_eq!(view.records, records.len() as u64);
        }
        let releases = journal.releases().await.expect("it is open");
        assert_eq!(releases.is_empty(), expected.is_empty());
    });
}

/// One more record, and the next process finds all of them.
fn go_on(runtime: &Runtime, folder: &Path, store: Store, mut held: Sound, before: &CheckReport) {
    let record = Record::from_json(OPENED.replace("fuzz/first", "fuzz/next").as_bytes()).expect("it is a record");
    if held.records.iter().any(|json| Record::from_json(json).is_ok_and(|known| known.change == record.change)) {
        return;
    }
    held.records.push(record.to_json());
    runtime.block_on(store.append(vec![record])).expect("the store is open");
    drop(store);
    assert!(assert_exported(folder, &held), "the export ends where the log does");
    let after = check_store(folder).expect("all files can be read");
    let damage = |report: &CheckReport| {
        let found = report.findings.iter().filter(|finding| finding.severity == Severity::Damage);
        found.cloned().collect::<Vec<_>>()
    };
    assert_eq!(damage(&after), damage(before));
    assert_eq!((after.findings.len(), after.records), (damage(before).len(), held.records.len() as u64));
    let store = Store::open(folder, &options()).expect("it was open before");
    assert_eq!(store.report().torn, None);
    assert_same(runtime, &store, &held);
}

fn narrow(len: usize) -> u32 {
    u32::try_from(len).expect("inputs are short")
}
