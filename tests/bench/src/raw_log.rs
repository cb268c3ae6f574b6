//! The raw limit of a log with group commit: bytes that are queued, one thread that writes and syncs them, and an answer to each.
//! No format, no checksum, no views.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;

use anyhow::Result;
use tokio::sync::oneshot;

const ALLOCATE: u64 = 4 << 20;

pub struct RawLog {
    queue: Arc<Queue>,
    writer: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    filled: Condvar,
}

#[derive(Default)]
struct State {
    bytes: Vec<u8>,
    waiting: Vec<oneshot::Sender<()>>,
    closed: bool,
}

impl RawLog {
    pub fn create(path: &Path) -> Result<Self> {
        let mut file = Allocated::create(path)?;
        let queue = Arc::<Queue>::default();
        let shared = Arc::clone(&queue);
        let writer = std::thread::Builder::new().name("raw-log".to_owned()).spawn(move || {
            let mut group = State::default();
            loop {
                let mut state = shared.state.lock().unwrap_or_else(PoisonError::into_inner);
                while state.waiting.is_empty() {
                    if state.closed {
                        return;
                    }
                    state = shared.filled.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
                std::mem::swap(&mut group.bytes, &mut state.bytes);
                std::mem::swap(&mut group.waiting, &mut state.waiting);
                drop(state);
                file.append(&group.bytes).expect("the disk of the bench takes what is written");
                group.bytes.clear();
                for waiting in group.waiting.drain(..) {
                    waiting.send(()).unwrap_or_default();
                }
            }
        })?;
        Ok(Self { queue, writer: Some(writer) })
    }

    /// Resolves when the bytes are durable.
    pub fn append(&self, bytes: &[u8]) -> oneshot::Receiver<()> {
        let (sender, receiver) = oneshot::channel();
        let mut state = self.queue.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.bytes.extend_from_slice(bytes);
        state.waiting.push(sender);
        drop(state);
        self.queue.filled.notify_one();
        receiver
    }
}

impl Drop for RawLog {
    fn drop(&mut self) {
        self.queue.state.lock().unwrap_or_else(PoisonError::into_inner).closed = true;
        self.queue.filled.notify_one();
        if let Some(writer) = self.writer.take() {
            drop(writer.join());
        }
    }
}

/// A file that is appended to and synced, with its place on the disk taken ahead.
pub struct Allocated {
    file: File,
    at: u64,
    /// Length of the file.
    len: u64,
}

impl Allocated {
    pub fn create(path: &Path) -> Result<Self> {
        let file = File::create(path)?;
        let mut allocated = Self { file, at: 0, len: 0 };
        allocated.allocate(1)?;
        allocated.file.sync_all()?;
        Ok(allocated)
    }

    /// Writes and syncs.
    pub fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.allocate(bytes.len() as u64)?;
        self.file.write_all_at(bytes, self.at)?;
        self.file.sync_data()?;
        self.at += bytes.len() as u64;
        Ok(())
    }

    fn allocate(&mut self, len: u64) -> Result<()> {
        if self.at + len > self.len {
            let more = len.max(ALLOCATE);
            rustix::fs::fallocate(&self.file, rustix::fs::FallocateFlags::empty(), self.len, more)?;
            self.len += more;
        }
        Ok(())
    }
}
