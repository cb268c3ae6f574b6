//! Opening a store: lock, room, log, index, replay, in this order.

use std::fs::{DirBuilder, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, OnceLock};

use super::intake::Intake;
use super::lock::StoreLock;
use super::options::{Acknowledge, IndexState, OpenError, OpenReport, StoreOptions};
use super::queue::Queue;
use super::replay::{Recovered, recover};
use super::room::{BALLAST, Room};
use super::writer::{self, Desk, Writer};
use super::{Shared, Store, lock};
use crate::log::acked::{self, Acked};
use crate::log::append::{Layout, Log};
use crate::log::disk::Disk;
use crate::log::places::Places;
use crate::log::segment::{self, sync_dir};
use crate::log::{LogError, io_error};

/// The negative control of power cuts: does all but sync.
struct Unsynced(Arc<dyn Disk>);

impl Disk for Unsynced {
    fn write(&self, file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.0.write(file, bytes, offset)
    }

    fn sync(&self, _: &File) -> io::Result<()> {
        Ok(())
    }

    fn allocate(&self, file: &File, offset: u64, len: u64) -> io::Result<()> {
        self.0.allocate(file, offset, len)
    }
}

pub(super) fn open(dir: &Path, options: &StoreOptions, disk: Arc<dyn Disk>) -> Result<Store, OpenError> {
    let disk = if options.acknowledge == Acknowledge::WithoutSync { Arc::new(Unsynced(disk)) } else { disk };
    let lock = prepare(dir, options).map_err(|error| not_writable(dir, error))?;
    let layout = Layout {
        dir: dir.join("log"),
        segment_bytes: options.segment_bytes.min(1 << 30),
        allocate_bytes: options.allocate_bytes.min(1 << 30),
        ballast: dir.join(BALLAST),
        disk,
    };
    let room = Room::new(dir, options.watermark_bytes, &layout.ballast, options.ballast_bytes);
    let ballast_released = room.trim();
    let acked = acked::read(&dir.join("acked"))?;
    let recovered = recover(dir, options.index_from_bytes, acked)?;
    let log = match &recovered.end {
        Some(end) => Log::resume(layout, end, acked)?,
        None => Log::create(layout)?,
    };
    let Recovered { end, intake, index, replayed } = recovered;
    let intake = intake.unwrap_or_else(|| Intake::in_memory(dir, log.store(), options.index_from_bytes));
    let acked_missing = acked.is_none() && end.as_ref().is_some_and(|end| end.next_group > 1);
    let torn = end.and_then(|end| end.torn);
    let report = OpenReport { index, replayed, torn, acked_missing, ballast_released };
    say(dir, &report);
    start(dir, options, lock, room, log, intake, report)
}

fn start(
    dir: &Path,
    options: &StoreOptions,
    lock: StoreLock,
    room: Room,
    log: Log,
    intake: Intake,
    report: OpenReport,
) -> Result<Store, OpenError> {
    // What was found on the disk counts as acknowledged from now on.
    let mut acked = Acked::open(dir.join("acked"))?;
    acked.set(log.end());
    let shared = Arc::new(Shared {
        dir: dir.to_owned(),
        queue: Queue::default(),
        shelf: Arc::clone(intake.shelf()),
        desk: Desk::of(Writer::new(log, intake, acked)),
        acknowledge: options.acknowledge,
        few: AtomicBool::new(true),
        places: Places::new(&dir.join("log")),
        room,
        trouble: OnceLock::new(),
        index_failure: OnceLock::new(),
        settled: AtomicU64::new(0),
        _lock: lock,
    });
    let theirs = Arc::clone(&shared);
    let thread = std::thread::Builder::new().name("journal".to_owned()).spawn(move || writer::run(&theirs));
    let writer = Some(thread.map_err(io_error("start the writing thread for", dir))?);
    Ok(Store { shared, writer, report })
}

/// Makes the folders and takes the lock.
fn prepare(dir: &Path, options: &StoreOptions) -> Result<StoreLock, OpenError> {
    let log = dir.join("log");
    let is_new = !log.exists();
    DirBuilder::new().recursive(true).mode(0o700).create(&log).map_err(io_error("create", &log))?;
    let lock = lock::take(dir, &options.what)?;
    if is_new {
        sync_dir(dir)?;
        dir.parent().map_or(Ok(()), sync_dir)?;
    }
    segment::remove_nascent(&log)?;
    Ok(lock)
}

fn not_writable(dir: &Path, error: OpenError) -> OpenError {
    match error {
        OpenError::Log(LogError::Io { action, path, source })
            if matches!(source.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem) =>
        {
            OpenError::NotWritable { dir: dir.to_owned(), source: LogError::Io { action, path, source } }
        }
        other => other,
    }
}

fn say(dir: &Path, report: &OpenReport) {
    let dir = dir.display();
    if let Some(torn) = &report.torn {
        let (segment, problem) = (torn.segment.display(), torn.problem);
        tracing::warn!(
            %segment, offset = torn.offset, bytes = torn.bytes, problem,
            "the last process died while it wrote: the torn end of the log is cut off; nothing in it was acknowledged"
        );
    }
    if report.acked_missing {
        tracing::warn!(
            %dir,
            "the file `acked` of the store is missing or empty, as after a power cut: whether records at the end of the log are \
             missing cannot be told; those that are there are whole"
        );
    }
    match &report.index {
        IndexState::Remade { why, moved_to } => {
            let moved_to = moved_to.display();
            tracing::warn!(%dir, why, %moved_to, replayed = report.replayed, "the index was made again from the log");
        }
        state => tracing::debug!(%dir, ?state, replayed = report.replayed, "the store is open"),
    }
}
