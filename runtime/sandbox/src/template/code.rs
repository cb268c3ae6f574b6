//! The module that renders: unpacked, compiled once into the cache of actions, and linked.

use std::sync::Arc;

use pintle_lifecycle::digest;
use pintle_lifecycle::template::RenderError;
use ruzstd::decoding::StreamingDecoder;
use tokio::task::JoinError;
use wasmtime::{InstancePre, Linker, Module};

use crate::cache::Known;
use crate::private_file::FileError;
use crate::sandbox::{Room, blocking};
use crate::template::instance::{self, Running};
use crate::template::wasi;

/// Built from `runtime/sandbox/template`; a test builds it again and compares.
const PACKED: &[u8] = include_bytes!("../../template/template.wasm.zst");

/// Far above what a module of an action weighs: it is compiled in the lane of large ones.
const WEIGHT: usize = usize::MAX;

/// The module, ready to be instantiated.
pub(super) type Code = InstancePre<Running>;

/// Why there is no code.
#[derive(Debug, thiserror::Error)]
enum Unready {
    #[error(transparent)]
    File(#[from] FileError),
    #[error("it was not compiled: {0}")]
    Unfinished(#[from] JoinError),
    #[error("its module cannot be unpacked: {0}")]
    Packed(String),
    #[error("its module does not compile: {0}")]
    Compile(String),
}

/// The code from the cache, or compiled.
pub(super) async fn ready(room: &Arc<Room>) -> Result<Code, RenderError> {
    let failed = |error: Unready| RenderError::Unavailable(error.to_string());
    let module = match cached(room).await.map_err(failed)? {
        Some(module) => module,
        None => compiled(room).await.map_err(failed)?,
    };
    link(room, &module).map_err(|error| failed(Unready::Compile(format!("{error:#}"))))
}

/// The name in the cache: of the packed bytes, so that nothing is unpacked to look there.
fn name() -> String {
    digest::sha256(PACKED)
}

async fn cached(room: &Arc<Room>) -> Result<Option<Module>, Unready> {
    let room = Arc::clone(room);
    blocking(move || Ok(room.cache.load(&room.engine, &name())?.map(|(module, _)| module))).await
}

async fn compiled(room: &Arc<Room>) -> Result<Module, Unready> {
    let turn = room.compiler.compiling(WEIGHT).await;
    // Whoever had the turn before may have compiled it.
    if let Some(module) = cached(room).await? {
        return Ok(module);
    }
    let room = Arc::clone(room);
    blocking(move || {
        // A compilation goes on when nobody waits for it any more, so it keeps the turn.
        let _turn = turn;
        let compile = |error: wasmtime::Error| Unready::Compile(format!("{error:#}"));
        let code = room.engine.precompile_module(&unpacked()?).map_err(compile)?;
        let unproven = room.cache.put_code(&name(), &code)?;
        let module = unproven.load(&room.engine).map_err(compile)?;
        let known = Known::code_alone(unproven.sha256.clone());
        unproven.keep(&known)?;
        Ok(module)
    })
    .await
}

fn unpacked() -> Result<Vec<u8>, Unready> {
    let packed = |error: &dyn std::fmt::Display| Unready::Packed(error.to_string());
    let mut decoder = StreamingDecoder::new(PACKED).map_err(|error| packed(&error))?;
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut decoder, &mut bytes).map_err(|error| packed(&error))?;
    Ok(bytes)
}

fn link(room: &Room, module: &Module) -> wasmtime::Result<Code> {
    let mut linker = Linker::new(&room.engine);
    linker.func_wrap("pintle", "answer", instance::answer)?;
    wasi::add_to_linker(&mut linker, module)?;
    linker.instantiate_pre(module)
}
