//! The check of the index against the log, on a copy: sled writes to what it opens.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::{fs, io};

use super::{CheckReport, IndexCheck, Severity};
use crate::index::{Index, IndexError, open};
use crate::journal::ChangeQuery;
use crate::log::position::Place;
use crate::log::scan::Scan;
use crate::log::{acked, segment};
use crate::store::OpenError;
use crate::store::replay::{Recovered, with_index};
use crate::store::shelf::{Kept, Shelf};
use crate::views::Views;

const UNUSABLE: &str = "none needed: the next start makes a new one from the log";
const DIFFERENT: &str =
    "remove the folder while no Pintle runs: the next start makes a new index from the log, which is sound";
/// So many differences are told.
const DIFFERENCES: usize = 20;

/// Compares the index of the store in `dir` with the views of its log.
pub(super) fn check(dir: &Path, views: &Views<Place>, report: &mut CheckReport) -> Result<(), OpenError> {
    let folder = open::folder(dir);
    if !folder.exists() {
        return Ok(());
    }
    report.index = IndexCheck::NotCompared;
    if report.holder.is_some() {
        let cure = "check again when it has ended";
        report.find(Severity::Note, &folder, None, "another Pintle writes the index, so it was not checked", cure);
        return Ok(());
    }
    if !report.is_sound() {
        let cure = "put the log right first";
        report.find(Severity::Note, &folder, None, "the log is damaged, so the index was not compared with it", cure);
        return Ok(());
    }
    let copied = private_folder().and_then(|copy| copy_tree(&folder, &open::folder(copy.path())).map(|()| copy));
    let copy = match copied {
        Ok(copy) => copy,
        Err(error) => {
            let at = std::env::temp_dir();
            let what = format!("the index cannot be copied to {}, so it was not checked: {error}", at.display());
            report.find(
                Severity::Note,
                &folder,
                None,
                what,
                "set TMPDIR to a folder with room for it, and check again",
            );
            return Ok(());
        }
    };
    let differences = match recovered(dir, copy.path())? {
        Ok(shelf) => match &*shelf.kept() {
            Kept::Index(index) => open::guarded(|| differences(index, views)),
            Kept::Memory(_) => Ok(Vec::new()),
        },
        Err(error) => Err(error),
    };
    match differences {
        Err(error) => {
            report.find(Severity::Note, &folder, None, format!("the index cannot be used: {error}"), UNUSABLE);
        }
        Ok(differences) => {
            report.index = IndexCheck::Compared;
            for difference in differences.into_iter().take(DIFFERENCES) {
                let what = format!("the index differs from the log: {difference}");
                report.find(Severity::Damage, &folder, None, what, DIFFERENT);
            }
        }
    }
    Ok(())
}

/// The index in `copy`, brought up to the end of the log of the store in `dir`.
fn recovered(dir: &Path, copy: &Path) -> Result<Result<Arc<Shelf>, IndexError>, OpenError> {
    let log = dir.join("log");
    let Some(first) = segment::list(&log)?.first().copied() else {
        return Ok(Err(IndexError::new("there is no log")));
    };
    let id = Scan::open(&log, first)?.header.store;
    let acked = acked::read(&dir.join("acked"))?;
    Ok(match with_index(copy, &log, id, acked)? {
        Ok(Some(Recovered { intake: Some(intake), .. })) => Ok(Arc::clone(intake.shelf())),
        Ok(_) => Err(IndexError::new("its folder vanished")),
        Err(why) => Err(IndexError::new(why)),
    })
}

/// In what the index says other things than the views of the log.
fn differences(index: &Index, views: &Views<Place>) -> Result<Vec<String>, IndexError> {
    let mut found = Vec::new();
    for (open, list) in [(false, "the list of changes"), (true, "the list of open changes")] {
        let query = ChangeQuery { open, ..ChangeQuery::default() };
        let (mine, truth) = (index.changes(&query)?, views.changes(&query));
        if mine != truth {
            found.push(format!("{list} has {} entries, {} of them are right", mine.len(), common(&mine, &truth)));
        }
    }
    for change in views.order() {
        if index.places(change)? != views.records(change) {
            found.push(format!("the records of {change} are elsewhere"));
        }
        if index.change(change)?.map(|indexed| indexed.fold) != views.kept(change).map(|kept| kept.fold.clone()) {
            found.push(format!("{change} looks different"));
        }
    }
    let (mine, truth) = (index.releases()?, views.releases().into_iter().cloned().collect::<Vec<_>>());
    if mine != truth {
        found.push(format!("{} releases are known, {} of them are right", mine.len(), common(&mine, &truth)));
    }
    let mine = index.states()?;
    let truth: BTreeSet<_> = views.states().map(|(uid, key, place)| (uid, key, *place)).collect();
    let right = mine.iter().filter(|(uid, key, place)| truth.contains(&(uid.as_str(), key.as_str(), *place))).count();
    if mine.len() != truth.len() || right != truth.len() {
        found.push(format!("{} keys of states are known, {right} of {} are right", mine.len(), truth.len()));
    }
    Ok(found)
}

fn common<T: PartialEq>(mine: &[T], truth: &[T]) -> usize {
    mine.iter().zip(truth).filter(|(mine, truth)| mine == truth).count()
}

/// A folder for this user alone, as the store is.
fn private_folder() -> io::Result<tempfile::TempDir> {
    tempfile::Builder::new().prefix("pintle-check-").permissions(fs::Permissions::from_mode(0o700)).tempdir()
}

fn copy_tree(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_tree(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), &target)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_copy_is_for_this_user_alone() {
        let folder = private_folder().unwrap();
        assert_eq!(folder.path().metadata().unwrap().permissions().mode() & 0o777, 0o700);
    }
}
