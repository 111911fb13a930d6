//! The limit: a server that has the very bytes of each answer in memory and does nothing but send
//! them. It runs in threads of its own, as many as the server under measurement has workers.

use std::collections::HashMap;
use std::sync::{Arc, RwLock};

use anyhow::{Context as _, Result};
use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::routing::get;

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
    pub(crate) fn keep(&self, name: &str, body: Vec<u8>) -> Result<()> {
        let mut bodies = self.bodies.write().ok().context("a handler panicked")?;
        bodies.insert(name.to_owned(), body.into());
        Ok(())
    }
}

async fn body(State(bodies): State<Bodies>, Path(name): Path<String>) -> Bytes {
    bodies.read().ok().and_then(|bodies| bodies.get(&name).cloned()).unwrap_or_default()
}
