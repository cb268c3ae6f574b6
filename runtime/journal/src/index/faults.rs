//! Tests of an index that fails or panics, at every use of sled from the first to the last: while it is made, opened, read and
//! written. A process of its own is told by its environment which use it is, since all tests of this one have the same sled.

use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use tempfile::TempDir;

use super::IndexError;
use crate::check::{IndexCheck, Severity, check_store};
use crate::journal::{ChangeQuery, Journal};
use crate::sample::{Change, release};
use crate::{IndexState, OpenError, Store, StoreOptions};

const FAULT: &str = "PINTLE_INDEX_FAULT";
const DIR: &str = "PINTLE_INDEX_DIR";
const UNHARMED: &str = "unharmed";

/// Fails where this process was told to: `error 7` and `panic 7` are the seventh use of sled.
pub(super) fn strike() -> Result<(), IndexError> {
    static PLAN: OnceLock<Option<(bool, u64)>> = OnceLock::new();
    static USES: AtomicU64 = AtomicU64::new(0);
    let plan = PLAN.get_or_init(|| {
        let told = std::env::var(FAULT).ok()?;
        let (how, use_) = told.split_once(' ')?;
        Some((how == "panic", use_.parse().ok()?))
    });
    let Some((panics, wanted)) = plan else { return Ok(()) };
    if USES.fetch_add(1, Ordering::SeqCst) + 1 != *wanted {
        return Ok(());
    }
    println!("struck");
    assert!(!panics, "sled panics as the test wants");
    Err(IndexError::new("sled fails as the test wants"))
}

fn options() -> StoreOptions {
    StoreOptions {
        segment_bytes: 8 << 10,
        allocate_bytes: 4 << 10,
        ballast_bytes: 0,
        watermark_bytes: 0,
        index_from_bytes: 1,
        ..StoreOptions::default()
    }
}

/// The process that has the fault: not a test by itself. Says how many records were acknowledged, and what the store said.
#[tokio::test]
#[ignore = "is started by the tests of this file"]
async fn child() {
    let Ok(dir) = std::env::var(DIR) else { return };
    let store = match Store::open(Path::new(&dir), &options()) {
        Ok(store) => store,
        Err(error) => {
            assert!(matches!(error, OpenError::Index(_)), "{error}");
            return println!("said {error}");
        }
    };
    let first = store.changes(ChangeQuery::default()).await.map_or(1, |changes| changes.len() as u64 + 1);
    for number in first..=first {
        for record in Change::whole("shop", number) {
            let (key, seq) = (record.change.clone(), record.seq);
            if let Err(error) = store.append(vec![record]).await {
                return println!("said {error}");
            }
            println!("acknowledged {} {seq}", key.stored());
            if seq % 2 == 0 {
                continue;
            }
            // Right, or with a word: never a part of it.
            match store.records(&key).await {
                Ok(records) => assert_eq!(records, Change::whole("shop", number)[..records.len()]),
                Err(error) => return println!("said {error}"),
            }
            match store.changes(ChangeQuery { release: Some(release("shop")), ..ChangeQuery::default() }).await {
                Ok(changes) => assert_eq!(changes.len() as u64, number),
                Err(error) => return println!("said {error}"),
            }
            match store.state("00000000shop", "seen").await {
                Ok(value) => assert!(value.is_none_or(|value| value == [1, 2, 3])),
                Err(error) => return println!("said {error}"),
            }
        }
    }
    println!("{UNHARMED}");
}

/// Runs the child; gives its lines.
fn run(dir: &Path, fault: &str) -> Vec<String> {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["index::faults::child", "--exact", "--ignored", "--nocapture"])
        .env(DIR, dir)
        .env(FAULT, fault)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{fault}: {text}{}", String::from_utf8_lossy(&output.stderr));
    text.lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn an_index_that_fails_or_panics_at_any_use_costs_nothing_but_itself() {
    for how in ["error", "panic"] {
        // While a new one is made, and while one that is there is opened.
        for is_there in [false, true] {
            let mut use_ = 1;
            while strikes(how, use_, is_there).await {
                use_ += 1;
            }
            assert!(use_ > 15, "{how}: sled was used {use_} times only");
        }
    }
}

/// Lets that use of sled fail in a new store or one that has an index. Says whether there was one.
async fn strikes(how: &str, use_: u64, is_there: bool) -> bool {
    let fault = format!("{how} {use_}");
    let what = format!("{fault}, {is_there}");
    let dir = TempDir::new().unwrap();
    if is_there {
        let store = Store::open(dir.path(), &options()).unwrap();
        for number in 1..=2 {
            store.append(Change::whole("shop", number)).await.unwrap();
        }
    }
    let lines = run(dir.path(), &fault);
    let has = |start: &str| lines.iter().any(|line| line.starts_with(start));
    if !has("struck") {
        assert!(has(UNHARMED), "{what}: {lines:#?}");
        return false;
    }
    let said: Vec<_> = lines.iter().filter_map(|line| line.strip_prefix("said ")).collect();
    // A fault of the index that was there is mended at once, by a new one.
    assert!(has(UNHARMED) || said.iter().all(|said| said.contains("index")) && !said.is_empty(), "{what}: {lines:#?}");
    let report = check_store(dir.path()).unwrap();
    assert!(report.is_sound(), "{what}: {:#?}", report.findings);
    let words = |finding: &crate::check::Finding| finding.severity == Severity::Note && !finding.cure.is_empty();
    assert!(report.findings.iter().all(words), "{what}: {:#?}", report.findings);
    assert!(
        has(UNHARMED) || report.index != IndexCheck::Compared,
        "{what}: the check says what the next start will do"
    );
    let store = Store::open(dir.path(), &options()).unwrap();
    assert!(has(UNHARMED) || store.report().index != IndexState::Ready, "{what}: it is not trusted again");
    let shop = release("shop");
    for line in lines.iter().filter_map(|line| line.strip_prefix("acknowledged ")) {
        let (change, seq) = line.split_once(' ').unwrap();
        let change: pintle_lifecycle::ids::ChangeKey = change.parse().unwrap();
        let records = store.records(&change).await.unwrap();
        assert!(records.len() as u64 > seq.parse::<u64>().unwrap(), "{what}: {line} is lost");
        assert_eq!(records, Change::whole(&shop.name, change.number)[..records.len()], "{what}");
    }
    if is_there {
        assert!(store.records(&shop.change(2)).await.unwrap().len() == 6, "{what}");
    }
    drop(store);
    let report = check_store(dir.path()).unwrap();
    assert!(report.findings.is_empty(), "{what}: {:#?}", report.findings);
    true
}
