//! The HTTP side of the shop. A server runs on every schema, older or newer than itself: an upgrade replaces the server
//! first and migrates afterwards, and must find it healthy in between.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
};

use axum::{
    Json, Router,
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::{get, post},
};
use serde::Serialize;
use serde_json::json;
use tokio::{
    net::TcpListener,
    runtime,
    signal::unix::{Signal, SignalKind, signal},
};

use crate::{
    data_dir::DataDir,
    error::ShopError,
    orders::NewOrder,
    say::{complain, say},
    store::Store,
    version::Version,
};

struct Shop {
    version: Version,
    store: Mutex<Store>,
}

/// Answers on `listen` until SIGTERM or SIGINT, then finishes the requests that it has.
///
/// # Errors
/// `Listen` when the address is taken; `Database`, `File`, `Process`.
pub fn serve(dir: &DataDir, version: Version, listen: SocketAddr) -> Result<(), ShopError> {
    let store = Mutex::new(Store::open_or_create(dir, version)?);
    let shop = Arc::new(Shop { version, store });
    let runtime =
        runtime::Builder::new_current_thread().enable_all().build().map_err(ShopError::process("start the runtime"))?;
    runtime.block_on(answer(shop, listen))
}

async fn answer(shop: Arc<Shop>, listen: SocketAddr) -> Result<(), ShopError> {
    let listening = ShopError::process("listen to signals");
    let terminate = signal(SignalKind::terminate()).map_err(&listening)?;
    let interrupt = signal(SignalKind::interrupt()).map_err(&listening)?;
    let failed = |source| ShopError::Listen { address: listen, source };
    let listener = TcpListener::bind(listen).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let version = shop.version;
    let pages = Router::new()
        .route("/", get(overview))
        .route("/healthz", get(health))
        .route("/orders", post(place_order))
        .with_state(shop);
    say(format_args!("server {version} listens on http://{address}"));
    axum::serve(listener, pages)
        .with_graceful_shutdown(first_of(terminate, interrupt))
        .await
        .map_err(ShopError::process("answer requests"))?;
    say(format_args!("server {version} has stopped"));
    Ok(())
}

async fn first_of(mut terminate: Signal, mut interrupt: Signal) {
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}

impl Shop {
    /// Does `work` on a thread that may wait for the database, and answers with what it gives.
    async fn answer<T: Serialize + Send + 'static>(
        self: Arc<Self>,
        status: StatusCode,
        work: impl FnOnce(&mut Store, Version) -> Result<T, ShopError> + Send + 'static,
    ) -> Response {
        let done = tokio::task::spawn_blocking(move || {
            // A panic in another request leaves the store whole: SQLite took its transaction back.
            let mut store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
            work(&mut store, self.version)
        });
        match done.await {
            Ok(Ok(body)) => (status, Json(body)).into_response(),
            Ok(Err(error)) => {
                complain(format_args!("{error}"));
                trouble(StatusCode::SERVICE_UNAVAILABLE, &error.to_string())
            }
            Err(panic) => {
                complain(format_args!("{panic}"));
                trouble(StatusCode::INTERNAL_SERVER_ERROR, "the request was given up; see the server's output")
            }
        }
    }
}

fn trouble(status: StatusCode, message: &str) -> Response {
    (status, Json(json!({ "error": message }))).into_response()
}

async fn overview(State(shop): State<Arc<Shop>>) -> Response {
    shop.answer(StatusCode::OK, |store, _| store.counts()).await
}

/// Healthy is a server whose database has a schema that it knows.
async fn health(State(shop): State<Arc<Shop>>) -> Response {
    shop.answer(StatusCode::OK, |store, version| {
        let schema = store.existing_schema()?;
        Ok(json!({ "version": version, "schema": schema }))
    })
    .await
}

async fn place_order(State(shop): State<Arc<Shop>>, Json(order): Json<NewOrder>) -> Response {
    shop.answer(StatusCode::CREATED, move |store, _| {
        let id = store.place_order(&order)?;
        Ok(json!({ "order": id }))
    })
    .await
}
