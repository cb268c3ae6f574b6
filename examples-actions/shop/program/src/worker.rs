//! The worker: connected to the database for as long as it runs, ships an order every 100 ms, and ends between two orders.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use signal_hook::{
    consts::{SIGINT, SIGTERM},
    flag,
};

use crate::{
    data_dir::DataDir,
    error::ShopError,
    presence::Presence,
    say::{complain, say},
    store::Store,
    version::Version,
};

const PAUSE: Duration = Duration::from_millis(100);

/// Works until SIGTERM or SIGINT. The file `ready` is there only while the worker is.
///
/// # Errors
/// `SchemaMisfit` when the schema is not exactly the one of `version`, `MigrationRuns`, `Database`, `File`.
#[expect(clippy::disallowed_methods, reason = "the worker works at a pace of real time")]
pub fn work(dir: &DataDir, version: Version, ready: &Path) -> Result<(), ShopError> {
    remove_left_over(ready)?;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGTERM, SIGINT] {
        flag::register(signal, Arc::clone(&stop)).map_err(ShopError::process("listen to signals"))?;
    }
    let mut store = Store::open_or_create(dir, version)?;
    // Before it connects, so that a worker that cannot work is never in the way of a migration; and again when no
    // migration can come in between any more.
    store.expect_schema(version)?;
    let _presence = Presence::worker(dir)?;
    store.expect_schema(version)?;
    let _ready = ReadyFile::write(ready)?;
    say(format_args!("worker {version} is ready"));
    while !stop.load(Ordering::Relaxed) {
        if let Some(order) = store.ship_next_order(version)? {
            say(format_args!("shipped order {order}"));
        }
        thread::sleep(PAUSE);
    }
    say(format_args!("worker {version} has stopped"));
    Ok(())
}

/// A killed worker leaves its file behind; the next one must not seem ready before it is.
fn remove_left_over(ready: &Path) -> Result<(), ShopError> {
    match fs::remove_file(ready) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(ShopError::file("remove", ready)(error)),
        _ => Ok(()),
    }
}

struct ReadyFile(PathBuf);

impl ReadyFile {
    fn write(path: &Path) -> Result<Self, ShopError> {
        fs::write(path, format!("{}\n", process::id())).map_err(ShopError::file("write", path))?;
        Ok(Self(path.to_owned()))
    }
}

impl Drop for ReadyFile {
    fn drop(&mut self) {
        if let Err(error) = remove_left_over(&self.0) {
            complain(format_args!("{error}"));
        }
    }
}
