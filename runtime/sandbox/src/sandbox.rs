//! The room's door: modules come in as bytes, and actions of them run.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pintle_lifecycle::digest;
use tokio::sync::{Notify, Semaphore, SemaphorePermit};
use tokio::task::JoinError;
use wasmtime::Engine;
use wasmtime::component::{Component, HasSelf, Linker};

use crate::admission::{self, AdmissionError, Shape};
use crate::bindings::{ActionModule, ActionModulePre};
use crate::cache::{Cache, Known, Unproven};
use crate::compiler::Compiler;
use crate::described::Nothing;
use crate::guest::{Entry, Finish, Guest, Running, Start};
use crate::host::Host;
use crate::limits::Budget;
use crate::module::{ActionInfo, Inspection, Loaded, Module, ModuleError};
use crate::pool;
use crate::private_file::{self, FileError};
use crate::ticker::{Ticker, Ticking};
use crate::{described, wasi};

/// Where a sandbox keeps modules and how much it may use.
#[derive(Debug, Clone)]
pub struct SandboxConfig {
    /// Modules by their sha256. Changes in progress need them.
    pub modules_dir: PathBuf,
    /// Compiled code, which can be made again.
    pub cache_dir: PathBuf,
    /// Guests in memory at once.
    pub instances: u32,
    /// Bytes of a module.
    pub module_bytes: usize,
    /// Bytes of a guest's memory, whatever its plan allows.
    pub memory_bytes: usize,
}

/// Runs action modules. Clones are the same sandbox.
#[derive(Clone)]
pub struct Sandbox(pub(crate) Arc<Room>);

pub(crate) struct Room {
    pub(crate) engine: Engine,
    linker: Linker<Running>,
    ticker: Ticker,
    pub(crate) cache: Cache,
    loaded: Mutex<Loaded>,
    instances: Semaphore,
    /// Guests that found no room.
    waiting: AtomicUsize,
    /// Another one did.
    crowd: Notify,
    pub(crate) compiler: Compiler,
    config: SandboxConfig,
}

/// Why there is no sandbox.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error("the WebAssembly engine does not start: {0}")]
    Engine(String),
    #[error("the thread that interrupts guests does not start")]
    Ticker(#[source] std::io::Error),
}

impl SandboxConfig {
    /// The defaults, in two directories below `dir`.
    #[must_use]
    pub fn new(dir: &Path) -> Self {
        Self {
            modules_dir: dir.join("modules"),
            cache_dir: dir.join("compiled"),
            instances: 256,
            module_bytes: 32 << 20,
            memory_bytes: 1 << 30,
        }
    }
}

impl Sandbox {
    /// # Errors
    /// [`SandboxError`] where its directories cannot be made private, or the machine has no room for the instances.
    pub fn new(config: SandboxConfig) -> Result<Self, SandboxError> {
        let broken = |error: wasmtime::Error| SandboxError::Engine(format!("{error:#}"));
        private_file::private_dir(&config.modules_dir)?;
        let engine = pool::open(config.instances, config.memory_bytes).map_err(broken)?;
        let mut linker = Linker::new(&engine);
        wasi::add_to_linker(&mut linker).map_err(broken)?;
        ActionModule::add_to_linker::<_, HasSelf<Running>>(&mut linker, |running| running).map_err(broken)?;
        Ok(Self(Arc::new(Room {
            ticker: Ticker::start(&engine).map_err(SandboxError::Ticker)?,
            cache: Cache::open(&config.cache_dir, &engine)?,
            loaded: Mutex::default(),
            instances: Semaphore::new(config.instances as usize),
            waiting: AtomicUsize::new(0),
            crowd: Notify::new(),
            compiler: Compiler::new(),
            engine,
            linker,
            config,
        })))
    }

    /// Checks what can be told of a module before it is compiled.
    ///
    /// # Errors
    /// [`AdmissionError`] says what is wrong with it and what to do.
    pub async fn check(&self, bytes: &[u8]) -> Result<(), AdmissionError> {
        self.0.check(bytes.into()).await.map(drop)
    }

    /// Checks, compiles and keeps a module.
    ///
    /// # Errors
    /// [`AdmissionError`] says what is wrong with it and what to do.
    pub async fn admit(&self, bytes: &[u8]) -> Result<Arc<Module>, AdmissionError> {
        let bytes: Arc<[u8]> = bytes.into();
        let (digest, shape) = self.0.check(Arc::clone(&bytes)).await?;
        let module = self.0.ready(&digest, Arc::clone(&bytes), Some(shape)).await?;
        let path = self.0.module_path(&digest);
        blocking(move || keep_module(&path, &bytes)).await?;
        Ok(module)
    }

    /// A module that was admitted before, by its sha256.
    ///
    /// # Errors
    /// [`ModuleError`] where it is not there any more, or is not what it was.
    pub async fn module(&self, digest: &str) -> Result<Arc<Module>, ModuleError> {
        if digest.len() != 64 || digest::unhex(digest).is_none() {
            return Err(ModuleError::BadDigest(digest.to_owned()));
        }
        if let Some(module) = self.0.loaded().get(digest) {
            return Ok(module);
        }
        let (path, name) = (self.0.module_path(digest), digest.to_owned());
        let bytes = blocking(move || read_module(&name, &path)).await?;
        let ready = self.0.ready(digest, bytes, None).await;
        ready.map_err(|source| ModuleError::NotAdmitted { digest: digest.to_owned(), source })
    }

    /// Everything about a module, which is not kept.
    ///
    /// # Errors
    /// [`AdmissionError`] where it would not be admitted.
    pub async fn inspect(&self, bytes: &[u8]) -> Result<Inspection, AdmissionError> {
        let bytes: Arc<[u8]> = bytes.into();
        let (digest, shape) = self.0.check(Arc::clone(&bytes)).await?;
        let size = bytes.len();
        let module = self.0.ready(&digest, bytes, Some(shape.clone())).await?;
        let Shape { imports, exports, wit, calls: _, weight: _ } = shape;
        Ok(Inspection { size, digest, wit, imports, exports, actions: module.actions.clone() })
    }

    /// Runs a guest to its finish, once there is room for it. Dropping the future ends the guest and frees what it had.
    ///
    /// `seed` is what its WASI randomness comes from: the same for the same attempt, so that a replay draws the same.
    pub async fn run(
        &self,
        module: &Module,
        entry: Entry,
        host: Arc<dyn Host>,
        budget: Arc<Budget>,
        seed: [u8; 32],
    ) -> Finish {
        let _place = self.0.place().await;
        match Guest::start(self.0.start(&module.code, host, budget, seed, true)).await {
            Ok(guest) => guest.run(entry).await,
            Err(finish) => finish,
        }
    }

    /// Resolves when a guest waits for room: those that only wait for an answer should leave memory then.
    pub async fn crowded(&self) {
        // Made before the look, so that a guest that comes between is not missed.
        let crowd = self.0.crowd.notified();
        if self.0.waiting.load(Ordering::SeqCst) == 0 {
            crowd.await;
        }
    }
}

impl Room {
    /// A place for one guest, held until the answer is dropped.
    pub(crate) async fn place(&self) -> (SemaphorePermit<'_>, Ticking) {
        if let Ok(permit) = self.instances.try_acquire() {
            return (permit, self.ticker.tick());
        }
        let _waiting = Waiting::new(&self.waiting);
        self.crowd.notify_waiters();
        let permit = self.instances.acquire().await.expect("the semaphore is never closed");
        (permit, self.ticker.tick())
    }

    fn start<'a>(
        &'a self,
        code: &'a ActionModulePre<Running>,
        host: Arc<dyn Host>,
        budget: Arc<Budget>,
        seed: [u8; 32],
        in_change: bool,
    ) -> Start<'a> {
        let memory_bytes = self.config.memory_bytes as u64;
        Start { engine: &self.engine, code, host, budget, memory_bytes, seed, in_change }
    }

    fn module_path(&self, digest: &str) -> PathBuf {
        self.config.modules_dir.join(format!("{digest}.wasm"))
    }

    fn loaded(&self) -> MutexGuard<'_, Loaded> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn check(&self, bytes: Arc<[u8]>) -> Result<(String, Shape), AdmissionError> {
        let limit = self.config.module_bytes;
        let turn = self.compiler.reading(bytes.len()).await;
        blocking(move || {
            // Reading goes on when nobody waits for it any more, so it keeps the turn.
            let _turn = turn;
            admission::admit(&bytes, limit).map(|shape| (digest::sha256(&bytes), shape))
        })
        .await
        .map_err(AdmissionError::plain)
    }

    /// The module from memory, from the cache, or compiled.
    async fn ready(
        self: &Arc<Self>,
        digest: &str,
        bytes: Arc<[u8]>,
        shape: Option<Shape>,
    ) -> Result<Arc<Module>, AdmissionError> {
        if let Some(module) = self.cached(digest).await? {
            return Ok(module);
        }
        let shape = match shape {
            Some(shape) => shape,
            None => self.check(Arc::clone(&bytes)).await?.1,
        };
        let turn = self.compiler.compiling(shape.weight).await;
        // Whoever had the turn before may have compiled the same module.
        if let Some(module) = self.cached(digest).await? {
            return Ok(module);
        }
        let (room, name) = (Arc::clone(self), digest.to_owned());
        let (unproven, component) = blocking(move || {
            // A compilation goes on when nobody waits for it any more, so it keeps the turn.
            let _turn = turn;
            room.compile(&name, &bytes)
        })
        .await
        .map_err(AdmissionError::plain)?;
        let pre = self.link(&component)?;
        let actions = self.describe(&pre).await.map_err(AdmissionError::plain)?;
        let known = Known { code: unproven.sha256.clone(), wit: shape.wit, calls: shape.calls, actions };
        unproven.keep(&known)?;
        Ok(self.keep(digest, known, pre))
    }

    async fn cached(self: &Arc<Self>, digest: &str) -> Result<Option<Arc<Module>>, AdmissionError> {
        if let Some(module) = self.loaded().get(digest) {
            return Ok(Some(module));
        }
        let (room, name) = (Arc::clone(self), digest.to_owned());
        let Some((component, known)) =
            blocking(move || room.cache.load(&room.engine, &name).map_err(AdmissionError::from)).await?
        else {
            return Ok(None);
        };
        let pre = self.link(&component)?;
        Ok(Some(self.keep(digest, known, pre)))
    }

    fn keep(&self, digest: &str, known: Known, code: ActionModulePre<Running>) -> Arc<Module> {
        let Known { wit, calls, actions, .. } = known;
        let module = Module { digest: digest.to_owned(), wit, calls, actions, code };
        self.loaded().insert(Arc::new(module))
    }

    /// The code in its file, and mapped from there.
    fn compile(&self, digest: &str, bytes: &[u8]) -> Result<(Unproven, Component), AdmissionError> {
        let compile = |error: wasmtime::Error| AdmissionError::Compile { reason: format!("{error:#}") };
        let code = self.engine.precompile_component(bytes).map_err(compile)?;
        let unproven = self.cache.put_code(digest, &code)?;
        let component = unproven.load(&self.engine).map_err(compile)?;
        Ok((unproven, component))
    }

    fn link(&self, component: &Component) -> Result<ActionModulePre<Running>, AdmissionError> {
        let unfit = |error: wasmtime::Error| AdmissionError::Unfit { reason: format!("{error:#}") }.plain();
        ActionModulePre::new(self.linker.instantiate_pre(component).map_err(unfit)?).map_err(unfit)
    }

    async fn describe(&self, code: &ActionModulePre<Running>) -> Result<Vec<ActionInfo>, AdmissionError> {
        let _place = self.place().await;
        let budget = Arc::new(Budget::new(&described::limits()));
        let described = match Guest::start(self.start(code, Arc::<Nothing>::default(), budget, [0; 32], false)).await {
            Ok(guest) => guest.describe().await,
            Err(finish) => Err(finish),
        };
        described::check(described.map_err(described::failed)?)
    }
}

/// Somebody waits for a place.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

fn keep_module(path: &Path, bytes: &[u8]) -> Result<(), AdmissionError> {
    if private_file::read(path)?.is_none_or(|kept| kept != bytes) {
        private_file::write(path, bytes)?;
    }
    Ok(())
}

/// The bytes of a module, if the file has what it had when the module was admitted.
fn read_module(digest: &str, path: &Path) -> Result<Arc<[u8]>, ModuleError> {
    let shown = || path.display().to_string();
    let missing = || ModuleError::Missing { digest: digest.to_owned(), path: shown() };
    let bytes = private_file::read(path)?.ok_or_else(missing)?;
    let found = digest::sha256(&bytes);
    if found != digest {
        return Err(ModuleError::Changed { path: shown(), found });
    }
    Ok(bytes.into())
}

/// Runs work that takes the processor for long, or reads and writes files. Bytes that make a parser or the compiler panic are
/// refused like others that cannot be read.
pub(crate) async fn blocking<T, E>(work: impl FnOnce() -> Result<T, E> + Send + 'static) -> Result<T, E>
where
    T: Send + 'static,
    E: From<JoinError> + Send + 'static,
{
    tokio::task::spawn_blocking(work).await?
}
