//! A relay in front of a port of this machine, in place of the network. It can cut all connections,
//! after which new ones can be made; it can block, after which no byte and no end of a connection
//! passes until it is opened again, by itself at a certain message if that is asked for; and it
//! counts bytes and round trips.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use anyhow::Result;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// A relay. It runs until the runtime ends.
#[derive(Debug)]
pub struct Relay {
    /// The port to connect to.
    pub port: u16,
    cuts: watch::Sender<u64>,
    carrier: Carrier,
}

/// The state that all connections of a relay share.
#[derive(Debug, Clone)]
struct Carrier {
    open: watch::Sender<bool>,
    /// The text at which the relay blocks itself.
    stops_at: watch::Sender<Option<&'static str>>,
    bytes: Arc<AtomicU64>,
    trips: Arc<AtomicU64>,
}

/// The traffic of a relay so far.
#[derive(Debug, Clone, Copy, Default)]
pub struct Passed {
    /// In both directions.
    pub bytes: u64,
    /// Times that a client sent something after an answer: a pipeline of requests counts once.
    pub trips: u64,
}

impl Relay {
    /// A relay to this port.
    pub async fn to(port: u16) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let here = listener.local_addr()?.port();
        let carrier = Carrier {
            open: watch::Sender::new(true),
            stops_at: watch::Sender::new(None),
            bytes: Arc::default(),
            trips: Arc::default(),
        };
        let relay = Self { port: here, cuts: watch::Sender::new(0), carrier: carrier.clone() };
        let cuts = relay.cuts.clone();
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                let (mut cut, carrier) = (cuts.subscribe(), carrier.clone());
                tokio::spawn(async move {
                    tokio::select! {
                        _ = cut.changed() => {}
                        _ = carrier.carry(near, port) => {}
                    }
                });
            }
        });
        Ok(relay)
    }

    /// Cuts every connection.
    pub fn cut(&self) {
        self.cuts.send_modify(|cuts| *cuts += 1);
    }

    /// Lets nothing pass, or everything again.
    pub fn block(&self, blocked: bool) {
        self.carrier.stops_at.send_replace(None);
        self.carrier.open.send_replace(!blocked);
    }

    /// Blocks the relay as soon as a client sends this text in one piece, before it passes.
    pub fn block_at(&self, text: &'static str) {
        self.carrier.stops_at.send_replace(Some(text));
    }

    /// Waits until the relay is blocked.
    pub async fn blocked(&self) {
        // The sender lives as long as `self`.
        drop(self.carrier.open.subscribe().wait_for(|open| !open).await);
    }

    pub fn passed(&self) -> Passed {
        let Carrier { bytes, trips, .. } = &self.carrier;
        Passed { bytes: bytes.load(Ordering::Relaxed), trips: trips.load(Ordering::Relaxed) }
    }
}

impl Carrier {
    async fn carry(&self, near: TcpStream, port: u16) -> Option<()> {
        self.open.subscribe().wait_for(|open| *open).await.ok()?;
        let far = TcpStream::connect(("127.0.0.1", port)).await.ok()?;
        near.set_nodelay(true).ok()?;
        far.set_nodelay(true).ok()?;
        let ((from_near, to_near), (from_far, to_far)) = (near.into_split(), far.into_split());
        let asked = AtomicBool::new(false);
        let asks = |bytes: &[u8]| {
            let stops = self.stops_at.borrow().is_some_and(|text| contains(bytes, text));
            if stops {
                self.open.send_replace(false);
            }
            if !asked.swap(true, Ordering::Relaxed) {
                self.trips.fetch_add(1, Ordering::Relaxed);
            }
        };
        let answers = |_: &[u8]| asked.store(false, Ordering::Relaxed);
        tokio::join!(self.pass(from_near, to_far, asks), self.pass(from_far, to_near, answers));
        Some(())
    }

    /// Passes on bytes, and the end of the stream.
    async fn pass(
        &self,
        mut from: impl AsyncRead + Unpin,
        mut to: impl AsyncWrite + Unpin,
        note: impl Fn(&[u8]),
    ) -> Option<()> {
        let mut open = self.open.subscribe();
        let mut buffer = vec![0; 16 << 10];
        loop {
            let read = from.read(&mut buffer).await.unwrap_or(0);
            if read > 0 {
                note(&buffer[..read]);
            }
            self.bytes.fetch_add(read as u64, Ordering::Relaxed);
            open.wait_for(|open| *open).await.ok()?;
            if read == 0 {
                return to.shutdown().await.ok();
            }
            to.write_all(&buffer[..read]).await.ok()?;
        }
    }
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}
