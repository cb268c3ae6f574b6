//! Segments that the store wrote: whole, torn, bent, and with what may be around them.

use std::fs;

use pintle_journal::journal::Journal;
use pintle_journal::{Store, StoreOptions};
use pintle_lifecycle::record::Record;

use crate::segment::{ACKED, LINES, LINES_AND_TAIL, LOST, RAW, SECOND, SUMMED, layout};

/// What a store of version 1 exported.
const FOSSIL: &str = include_str!("../../../../runtime/journal/tests/fossils/v1/export.jsonl");

/// Segments under what was done to them.
pub fn all() -> Vec<(String, Vec<u8>)> {
    let lines: Vec<&str> = FOSSIL.lines().filter(|line| line.contains("acme/shop-1\"")).collect();
    let whole = written(&lines);
    let mut flipped = whole.clone();
    flipped[200] ^= 1;
    let second = [layout::header(2, 2, 853), layout::group(2, &[lines[0].as_bytes(), lines[1].as_bytes()])].concat();
    let text = format!("{}\n{}\n\n{}\n", lines[0], lines[1], lines[2]);
    let torn = [text.as_bytes(), b"\0PGRP\x10\0\0\0".as_slice()].concat();
    let newer = text.replacen("\"v\":1", "\"v\":2", 1);
    let others: String = FOSSIL
        .lines()
        .filter(|line| line.contains("-2\"") || line.contains("-1\""))
        .take(16)
        .fold(String::new(), |text, line| text + line + "\n\n");
    [
        ("whole", RAW, whole.clone()),
        ("whole-acked", RAW | ACKED, whole.clone()),
        ("more-was-acked", RAW | LOST, whole.clone()),
        ("torn", RAW, whole[..whole.len() - 100].to_vec()),
        ("zeros-behind", RAW, [whole.as_slice(), &[0; 64]].concat()),
        ("flipped", RAW, flipped),
        ("header", RAW, whole[..64].to_vec()),
        ("summed", SUMMED, whole),
        ("second", SUMMED | SECOND, second),
        ("lines", LINES, text.clone().into_bytes()),
        ("lines-second", LINES | SECOND | ACKED, text.into_bytes()),
        ("lines-torn", LINES_AND_TAIL, torn),
        ("newer", LINES, newer.into_bytes()),
        ("changes", LINES, others.into_bytes()),
    ]
    .map(|(name, how, bytes)| (name.to_owned(), [&[how], bytes.as_slice()].concat()))
    .into()
}

/// The segment in which a store keeps these records, without what it holds ready.
fn written(lines: &[&str]) -> Vec<u8> {
    let folder = tempfile::tempdir().expect("this machine has a place for a folder");
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("this process may have threads");
    let store = Store::open(folder.path(), &StoreOptions::default()).expect("the folder is empty");
    for line in lines {
        let record = Record::from_json(line.as_bytes()).expect("it is a record");
        runtime.block_on(store.append(vec![record])).expect("the store is open");
    }
    drop(store);
    let mut bytes = fs::read(folder.path().join("log/00000001.seg")).expect("the store wrote it");
    bytes.truncate(bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1));
    bytes
}
