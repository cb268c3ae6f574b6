//! How an index comes into being, is opened, and is given up. sled 0.34.7 opens some damaged databases silently as empty ones,
//! panics on others, and knows nothing of its other versions' folders; so a folder with a version in its name, a marker that is
//! written last, and a mark inside say whether what was opened is what was written.

use std::fs::{DirBuilder, File};
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Database, Index, IndexError, Mark, keys};
use crate::log::position::Position;
use crate::log::segment::{StoreId, sync_dir, write_whole};
use crate::store::lock::{PATIENCE, wait_for_copies};

const FOLDER: &str = "index-v1";
/// Version of the keys and values.
const INDEX: u32 = 2;
const SLED: &str = "0.34.7";

/// Written last into a new index.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Marker {
    index: u32,
    sled: String,
    store: String,
}

/// The folder of the index in a store's folder.
pub(crate) fn folder(store: &Path) -> PathBuf {
    store.join(FOLDER)
}

/// Opens the index of a store; none where there is no folder of it.
///
/// # Errors
/// Where it cannot be trusted: the index must be moved away.
pub(crate) fn open(store: &Path, id: StoreId) -> Result<Option<(Index, Mark)>, IndexError> {
    let folder = folder(store);
    if !folder.try_exists().map_err(|error| io(&folder, &error))? {
        return Ok(None);
    }
    check_marker(&folder, id)?;
    // Survives where the process dies in sled's hands, and is gone else.
    let opening = folder.join("opening");
    if opening.exists() {
        return Err(IndexError::new("the process that opened it last died over it"));
    }
    if let Ok(why) = std::fs::read_to_string(folder.join("condemned")) {
        return Err(IndexError::new(format!("it failed while it was in use: {why}")));
    }
    File::create(&opening).map_err(|error| io(&opening, &error))?;
    let index = Index { db: Database(Some(open_sled(&folder.join("sled"))?)), store: store.to_owned() };
    let mark = guarded(|| index.mark())?;
    if mark.store != id.hex() {
        return Err(IndexError::new("it is of another store"));
    }
    std::fs::remove_file(&opening).map_err(|error| io(&opening, &error))?;
    Ok(Some((index, mark)))
}

/// Makes an empty index.
///
/// # Errors
/// Where that fails, above all on a full disk.
pub(crate) fn create(store: &Path, id: StoreId) -> Result<(Index, Mark), IndexError> {
    let folder = folder(store);
    let sled = folder.join("sled");
    // What an attempt left that failed.
    remove(&folder)?;
    let made = DirBuilder::new().recursive(true).mode(0o700).create(&sled);
    made.map_err(|error| io(&sled, &error))?;
    let index = Index { db: Database(Some(open_sled(&sled)?)), store: store.to_owned() };
    let mark = Mark { store: id.hex(), group: 0, at: Position { segment: 0, offset: 0 }, format: 0 };
    guarded(|| {
        index.db.insert(keys::MARK, mark.bytes())?;
        Ok(index.db.flush()?)
    })?;
    for entry in std::fs::read_dir(&sled).map_err(|error| io(&sled, &error))? {
        let path = entry.map_err(|error| io(&sled, &error))?.path();
        if path.is_file() {
            File::open(&path).and_then(|file| file.sync_all()).map_err(|error| io(&path, &error))?;
        }
    }
    let marker = Marker { index: INDEX, sled: SLED.to_owned(), store: id.hex() };
    let marker = serde_json::to_vec(&marker).map_err(|error| IndexError::new(error.to_string()))?;
    sync_dir(&sled)
        .and_then(|()| write_whole(&folder.join("marker"), &marker))
        .and_then(|()| sync_dir(store))
        .map_err(|error| IndexError::new(error.line()))?;
    Ok((index, mark))
}

/// Moves the index out of the way and keeps it for whoever wants to look; an older one that was kept is removed. Says where it is.
///
/// # Errors
/// Where the file system refuses.
pub(crate) fn move_away(store: &Path) -> Result<PathBuf, IndexError> {
    let (folder, kept) = (folder(store), store.join(format!("{FOLDER}.broken")));
    remove(&kept)?;
    std::fs::rename(&folder, &kept).map_err(|error| io(&folder, &error))?;
    Ok(kept)
}

/// Removes what is there, be it a folder or a file that somebody put in its place.
fn remove(path: &Path) -> Result<(), IndexError> {
    let removed = match std::fs::remove_dir_all(path) {
        Err(error) if error.kind() == ErrorKind::NotADirectory => std::fs::remove_file(path),
        removed => removed,
    };
    match removed {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(io(path, &error)),
        _ => Ok(()),
    }
}

/// Removes an index that could not be made. The views stay in memory then.
pub(crate) fn discard(store: &Path, error: &IndexError) {
    tracing::warn!(%error, dir = %store.display(), "no index can be made now; reads go on without one, and all records are in the log");
    // Whatever stays is removed when one is made the next time.
    drop(std::fs::remove_dir_all(folder(store)));
}

/// Lets the next start make a new index, since this one failed while it was in use.
pub(crate) fn condemn(store: &Path, why: &str) {
    let path = folder(store).join("condemned");
    if let Err(error) = std::fs::write(&path, why) {
        tracing::error!(%error, path = %path.display(), "cannot mark the failed index; remove its folder before the next start");
    }
}

/// Runs what may panic inside sled.
///
/// # Errors
/// What `work` returns, or that it panicked.
pub(crate) fn guarded<T>(work: impl FnOnce() -> Result<T, IndexError>) -> Result<T, IndexError> {
    // What sled leaves half done is not used again: the caller gives the index up.
    let work = || {
        #[cfg(test)]
        super::faults::strike()?;
        work()
    };
    std::panic::catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
        Err(IndexError::new(format!("sled panicked: {}", text.unwrap_or("without words"))))
    })
}

impl Index {
    fn mark(&self) -> Result<Mark, IndexError> {
        // Where it is missing, sled has opened something else as an empty database.
        self.json(keys::MARK)?.ok_or_else(|| IndexError::new("it has no mark: it is empty or of another version"))
    }
}

impl Mark {
    pub(super) fn bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a mark has string keys only")
    }
}

fn check_marker(folder: &Path, id: StoreId) -> Result<(), IndexError> {
    let path = folder.join("marker");
    let bytes = std::fs::read(&path).map_err(|error| io(&path, &error))?;
    let marker: Marker = serde_json::from_slice(&bytes)
        .map_err(|error| IndexError::new(format!("its marker makes no sense: {error}")))?;
    if marker.store != id.hex() {
        return Err(IndexError::new("it is of another store"));
    }
    if marker.index != INDEX || marker.sled != SLED {
        return Err(IndexError::new(format!("it is of sled {} and version {}", marker.sled, marker.index)));
    }
    Ok(())
}

fn open_sled(path: &Path) -> Result<sled::Db, IndexError> {
    // A snapshot that was being written when the process died makes the database unopenable.
    let entries = std::fs::read_dir(path).map_err(|error| io(path, &error))?;
    for entry in entries {
        let entry = entry.map_err(|error| io(path, &error))?;
        let name = entry.file_name();
        if name.to_str().is_some_and(|name| name.starts_with("snap.") && name.ends_with(".generating")) {
            std::fs::remove_file(entry.path()).map_err(|error| io(&entry.path(), &error))?;
        }
    }
    let config = sled::Config::new()
        .path(path)
        // Values of up to 64 KiB stay in the file that is synced. What is left of the last segment is written and synced when it
        // is opened after a crash, so a larger one costs time then.
        .segment_size(1 << 20)
        .cache_capacity(64 << 20);
    // The store's lock is ours, so only a copy of the file can hold sled's.
    let is_locked = |error: &sled::Error| error.to_string().contains("could not acquire lock");
    guarded(|| {
        for _ in 0..PATIENCE {
            match config.open() {
                Err(error) if is_locked(&error) => wait_for_copies(),
                opened => return Ok(opened?),
            }
        }
        Ok(config.open()?)
    })
}

fn io(path: &Path, error: &std::io::Error) -> IndexError {
    IndexError::new(format!("{}: {error}", path.display()))
}
