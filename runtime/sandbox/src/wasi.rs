//! WASI as a guest sees it: what a standard library needs to start, and the same in every run. No files, no sockets, no
//! environment; a wall clock that stands still, a monotonic clock that counts its readers, randomness from a seed.

use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};
use tokio::io::AsyncWrite;
use wasmtime::Result;
use wasmtime::component::{HasSelf, Linker, Resource, ResourceTable};
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::bindings::clocks::monotonic_clock;
use wasmtime_wasi::p2::{DynPollable, OutputStream, Pollable, StreamResult, subscribe};
use wasmtime_wasi::{HostWallClock, WasiCtx, WasiCtxView, WasiView, async_trait};

use crate::guest::Running;

/// 2020-01-01T00:00:00Z.
const WALL: Duration = Duration::from_hours(24 * 18_262);
/// What one look at the monotonic clock takes, in nanoseconds.
const LOOK: u64 = 1000;
/// Streams and pollables that a guest may hold.
const RESOURCES: usize = 1024;
/// The most random bytes at once.
const RANDOM_BYTES: u64 = 64 << 10;
/// What is kept of a guest's output between two calls: its end.
const PRINTED_BYTES: usize = 8 << 10;
/// The most that one write may bring.
const WRITE_BYTES: usize = 64 << 10;

/// The WASI state of one guest.
pub(crate) struct Wasi {
    context: WasiCtx,
    table: ResourceTable,
    /// Nanoseconds.
    clock: Arc<AtomicU64>,
    /// Whether the guest waited by its clock, which does not wait.
    pub(crate) waited: bool,
    pub(crate) stdout: Printed,
    pub(crate) stderr: Printed,
}

impl Wasi {
    pub(crate) fn new(seed: [u8; 32]) -> Self {
        let mut random = ChaCha12Rng::from_seed(seed);
        let insecure_seed = u128::from(random.next_u64()) << 64 | u128::from(random.next_u64());
        let insecure = ChaCha12Rng::from_seed(draw(&mut random));
        let mut table = ResourceTable::new();
        table.set_max_capacity(RESOURCES);
        let (stdout, stderr) = (Printed::default(), Printed::default());
        let context = WasiCtx::builder()
            .secure_random(random)
            .insecure_random(insecure)
            .insecure_random_seed(insecure_seed)
            .max_random_size(RANDOM_BYTES)
            .wall_clock(Standing)
            .allow_tcp(false)
            .allow_udp(false)
            .allow_ip_name_lookup(false)
            .stdout(stdout.clone())
            .stderr(stderr.clone())
            .build();
        Self { context, table, clock: Arc::default(), waited: false, stdout, stderr }
    }
}

fn draw(random: &mut ChaCha12Rng) -> [u8; 32] {
    let mut seed = [0; 32];
    random.fill_bytes(&mut seed);
    seed
}

/// Everything of WASI 0.2 but HTTP, so that modules of Rust, Python and JavaScript link. The monotonic clock is ours:
/// wasmtime's waits on real time.
pub(crate) fn add_to_linker(linker: &mut Linker<Running>) -> Result<()> {
    wasmtime_wasi::p2::add_to_linker_async(linker)?;
    linker.allow_shadowing(true);
    monotonic_clock::add_to_linker::<_, HasSelf<Running>>(linker, |running| running)?;
    linker.allow_shadowing(false);
    Ok(())
}

impl WasiView for Running {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi.context, table: &mut self.wasi.table }
    }
}

struct Standing;

impl HostWallClock for Standing {
    fn resolution(&self) -> Duration {
        Duration::from_secs(1)
    }

    fn now(&self) -> Duration {
        WALL
    }
}

impl monotonic_clock::Host for Running {
    fn now(&mut self) -> Result<u64> {
        Ok(self.wasi.clock.fetch_add(LOOK, Ordering::Relaxed))
    }

    fn resolution(&mut self) -> Result<u64> {
        Ok(LOOK)
    }

    fn subscribe_instant(&mut self, when: u64) -> Result<Resource<DynPollable>> {
        if when > self.wasi.clock.load(Ordering::Relaxed) {
            self.wasi.waited = true;
        }
        let moment = self.wasi.table.push(Moment { at: when, clock: Arc::clone(&self.wasi.clock) })?;
        subscribe(&mut self.wasi.table, moment)
    }

    fn subscribe_duration(&mut self, duration: u64) -> Result<Resource<DynPollable>> {
        let now = self.wasi.clock.load(Ordering::Relaxed);
        self.subscribe_instant(now.saturating_add(duration))
    }
}

/// A moment of the monotonic clock. Who waits for it is there at once.
struct Moment {
    at: u64,
    clock: Arc<AtomicU64>,
}

#[async_trait]
impl Pollable for Moment {
    async fn ready(&mut self) {
        self.clock.fetch_max(self.at, Ordering::Relaxed);
    }
}

/// What a guest printed since it was last asked.
#[derive(Debug, Clone, Default)]
pub(crate) struct Printed(Arc<Mutex<Vec<u8>>>);

impl Printed {
    /// Takes the whole text, without the line break at its end.
    pub(crate) fn take(&self) -> String {
        let bytes = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        String::from_utf8_lossy(&bytes).trim_end().to_owned()
    }

    fn push(&self, bytes: &[u8]) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(bytes);
        let over = kept.len().saturating_sub(PRINTED_BYTES);
        kept.drain(..over);
    }
}

#[async_trait]
impl Pollable for Printed {
    async fn ready(&mut self) {}
}

impl OutputStream for Printed {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.push(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(WRITE_BYTES)
    }
}

impl IsTerminal for Printed {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Printed {
    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }

    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(self.clone())
    }
}

impl AsyncWrite for Printed {
    fn poll_write(
        self: Pin<&mut Self>,
        _context: &mut std::task::Context<'_>,
        bytes: &[u8],
    ) -> std::task::Poll<std::io::Result<usize>> {
        self.push(bytes);
        std::task::Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _context: &mut std::task::Context<'_>) -> std::task::Poll<std::io::Result<()>> {
        std::task::Poll::Ready(Ok(()))
    }

    fn poll_shutdown(
        self: Pin<&mut Self>,
        _context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<std::io::Result<()>> {
        std::task::Poll::Ready(Ok(()))
    }
}
