//! Files and folders that are there after a power cut once the call returns. Everything here is small and synchronous: a step that
//! a dropped future cannot tear is worth the few milliseconds of a runtime's thread.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// What [`reserve`] takes, in bytes: more than any of the files has that are written into it.
const RESERVED: usize = 4096;

/// Writes `value` as JSON: a reader sees the former file or the new one, never a part. Two may write the same file at once: the
/// later rename wins.
pub(super) fn write_json(path: &Path, value: &impl Serialize) -> io::Result<()> {
    remove_left(path)?;
    let new = new_name(path)?;
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    file.write_all(&serde_json::to_vec(value)?)?;
    file.sync_all()?;
    fs::rename(&new, path)?;
    sync_parent(path)
}

/// Takes the room on the disk now that [`write_reserved`] needs for `path` later, when the disk may be full.
pub(super) fn reserve(path: &Path) -> io::Result<()> {
    // Bytes, since a length alone has no room. Not synced: after a power cut nobody needs it.
    let mut file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(room_of(path)?)?;
    file.write_all(&[0; RESERVED])
}

/// As [`write_json`], into the room that was reserved, which is used up then; as it is where none was.
pub(super) fn write_reserved(path: &Path, value: &impl Serialize) -> io::Result<()> {
    fill_reserved(path, value, |new| fs::rename(new, path))
}

/// As [`write_reserved`], for a file that is there already: its former room is reserved for the next time.
pub(super) fn rewrite_reserved(path: &Path, value: &impl Serialize) -> io::Result<()> {
    fill_reserved(path, value, |new| match renameat_with(CWD, new, CWD, path, RenameFlags::EXCHANGE) {
        Ok(()) => fs::rename(new, room_of(path)?),
        // Not every file system can.
        Err(_) => fs::rename(new, path),
    })
}

fn fill_reserved(path: &Path, value: &impl Serialize, place: impl Fn(&Path) -> io::Result<()>) -> io::Result<()> {
    let (room, new) = (room_of(path)?, new_name(path)?);
    // Taken under a name of its own, so that no other may write into it.
    match fs::rename(&room, &new) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => return write_json(path, value),
        Err(error) => return Err(error),
    }
    let fill = || {
        let bytes = serde_json::to_vec(value)?;
        let mut file = OpenOptions::new().write(true).open(&new)?;
        file.write_all(&bytes)?;
        file.set_len(bytes.len() as u64)?;
        file.sync_all()?;
        place(&new)
    };
    if let Err(error) = fill() {
        // For the next try.
        let _gone = fs::rename(&new, &room);
        return Err(error);
    }
    sync_parent(path)
}

/// The value in a JSON file; none where there is no file.
pub(super) fn read_json<T: DeserializeOwned>(path: &Path) -> io::Result<Option<T>> {
    match fs::read(path) {
        Ok(bytes) => serde_json::from_slice(&bytes)
            .map(Some)
            .map_err(|error| io::Error::new(ErrorKind::InvalidData, format!("{}: {error}", path.display()))),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Makes a folder and those above it, each for the owner alone.
pub(super) fn create_dirs(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    if let Some(parent) = path.parent() {
        create_dirs(parent)?;
    }
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
        _ => sync_parent(path),
    }
}

/// Makes a folder that holds one file from the first moment on. The folder above must be there, and nobody else may make the same one
/// at the same time.
pub(super) fn create_dir_with(path: &Path, file: &str, value: &impl Serialize) -> io::Result<()> {
    let new = beside(path, "new")?;
    remove_all(&new)?;
    DirBuilder::new().mode(0o700).create(&new)?;
    write_json(&new.join(file), value)?;
    fs::rename(&new, path)?;
    sync_parent(path)
}

/// Removes a folder at once, then what was in it. Without effect where there is none.
pub(super) fn remove_dir(path: &Path) -> io::Result<()> {
    let gone = beside(path, "gone")?;
    remove_all(&gone)?;
    match fs::rename(path, &gone) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    }
    sync_parent(path)?;
    remove_all(&gone)
}

/// Names in a folder, in order, without what [`create_dir_with`] and [`remove_dir`] leave when Pintle dies amid them.
pub(super) fn list(path: &Path) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut names = Vec::new();
    for entry in entries {
        if let Ok(name) = entry?.file_name().into_string()
            && !name.starts_with('.')
        {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// Makes what happened to the entry `path` of its folder last.
fn sync_parent(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(parent) if parent != Path::new("") => File::open(parent)?.sync_all(),
        _ => Ok(()),
    }
}

fn remove_all(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Removes what writers of `path` left that died.
fn remove_left(path: &Path) -> io::Result<()> {
    let (Some(folder), prefix) = (path.parent(), beside(path, "")?) else { return Ok(()) };
    let prefix = prefix.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
    for entry in fs::read_dir(folder)?.flatten() {
        let name = entry.file_name();
        let writer = name.to_str().and_then(|name| name.strip_prefix(&prefix)?.strip_suffix(".new")?.split_once('-'));
        let is_gone =
            |(pid, _): (&str, &str)| pid.parse().is_ok_and(|pid: u32| !Path::new(&format!("/proc/{pid}")).exists());
        if writer.is_some_and(is_gone) {
            // Another one may have removed it meanwhile.
            drop(fs::remove_file(entry.path()));
        }
    }
    Ok(())
}

/// A name next to `path` for what shall become it, which nobody else has.
fn new_name(path: &Path) -> io::Result<PathBuf> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    beside(path, &format!("{}-{}.new", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed)))
}

fn room_of(path: &Path) -> io::Result<PathBuf> {
    beside(path, "room")
}

/// A hidden name next to `path`: `.exit.json.new`.
fn beside(path: &Path, word: &str) -> io::Result<PathBuf> {
    let name = path.file_name().and_then(|name| name.to_str());
    let name =
        name.ok_or_else(|| io::Error::new(ErrorKind::InvalidInput, format!("{} has no name", path.display())))?;
    Ok(path.with_file_name(format!(".{name}.{word}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_death_left_amid_a_creation_or_removal_is_no_hindrance_and_is_not_listed() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("a/b");
        create_dirs(path.parent().unwrap()).unwrap();
        for word in ["new", "gone"] {
            fs::create_dir(beside(&path, word).unwrap()).unwrap();
            fs::write(beside(&path, word).unwrap().join("rest"), "x").unwrap();
        }
        assert_eq!(list(&root.path().join("a")).unwrap(), [""; 0]);
        create_dir_with(&path, "one.json", &1).unwrap();
        assert_eq!(list(&root.path().join("a")).unwrap(), ["b"]);
        assert_eq!(read_json::<u32>(&path.join("one.json")).unwrap(), Some(1));
        remove_dir(&path).unwrap();
        remove_dir(&path).unwrap();
        assert_eq!(fs::read_dir(root.path().join("a")).unwrap().count(), 0);
    }

    #[test]
    fn reserved_room_is_used_up_once_or_kept_by_a_file_that_changes() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("exit.json");
        let rooms = || fs::metadata(room_of(&path).unwrap()).map(|room| room.len()).ok();
        reserve(&path).unwrap();
        assert_eq!(rooms(), Some(RESERVED as u64));
        write_reserved(&path, &1).unwrap();
        assert_eq!((read_json::<u32>(&path).unwrap(), rooms()), (Some(1), None));
        reserve(&path).unwrap();
        rewrite_reserved(&path, &"two").unwrap();
        rewrite_reserved(&path, &3).unwrap();
        assert_eq!(read_json::<u32>(&path).unwrap(), Some(3));
        assert_eq!(fs::read_to_string(room_of(&path).unwrap()).unwrap(), "\"two\"");
        fs::remove_file(room_of(&path).unwrap()).unwrap();
        write_reserved(&path, &4).unwrap();
        assert_eq!(read_json::<u32>(&path).unwrap(), Some(4));
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_a_writer_left_that_died_goes_with_the_next_write() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("applied.json");
        // No process has that number: it is above the most that the kernel gives.
        let (dead, alive) = (".applied.json.4194305-0.new", format!(".applied.json.{}-99.new", std::process::id()));
        for name in [dead, &alive, ".other.json.4194305-0.new", ".applied.json.room"] {
            fs::write(root.path().join(name), "{").unwrap();
        }
        write_json(&path, &1).unwrap();
        let mut left: Vec<_> = fs::read_dir(root.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, [&alive, ".applied.json.room", ".other.json.4194305-0.new", "applied.json"]);
    }

    #[test]
    fn a_torn_file_is_an_error_that_names_it() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("exit.json");
        fs::write(&path, "{").unwrap();
        assert!(read_json::<u32>(&path).unwrap_err().to_string().contains("exit.json"));
        assert_eq!(read_json::<u32>(&root.path().join("none.json")).unwrap(), None);
    }
}
