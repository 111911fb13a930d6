//! The limit: a server that has the bytes of each answer in memory and only sends them. It runs in
//! threads of its own, as many as the measured server has workers.

use std::collections::HashMap;
use std::sync::Arc;

use anyhow::Result;
use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::routing::get;
use parking_lot::RwLock;

type Bodies = Arc<RwLock<HashMap<String, Bytes>>>;

pub(crate) struct MemoryServer {
    pub(crate) address: String,
    bodies: Bodies,
}

impl MemoryServer {
    pub(crate) fn start() -> Result<Self> {
        let bodies = Bodies::default();
        let served = bodies.clone();
        let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?.to_string();
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        std::thread::spawn(move || {
            runtime.block_on(async move {
                let listener = tokio::net::TcpListener::from_std(listener)?;
                let app = Router::new()
                    .route("/hello", get(|| async { "hello" }))
                    .route("/{name}", get(body))
                    .with_state(served);
                axum::serve(listener, app).await
            })
        });
        Ok(Self { address, bodies })
    }

    /// Serves `body` under `name`.
    pub(crate) fn add(&self, name: &str, body: Vec<u8>) {
        self.bodies.write().insert(name.to_owned(), body.into());
    }
}

async fn body(State(bodies): State<Bodies>, Path(name): Path<String>) -> Bytes {
    bodies.read().get(&name).cloned().unwrap_or_default()
}
