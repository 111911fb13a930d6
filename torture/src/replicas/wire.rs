//! The network between one server and the database: a relay that can cut all connections, after
//! which new ones can be made, and can block, after which no byte and no end of a connection passes
//! until it is opened again.

use anyhow::Result;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

pub(super) struct Wire {
    pub(super) port: u16,
    cuts: watch::Sender<u64>,
    open: watch::Sender<bool>,
}

impl Wire {
    /// A wire to the port of this machine that the database listens on.
    pub(super) async fn to(database: u16) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        let (cuts, _) = watch::channel(0);
        let (open, _) = watch::channel(true);
        let wire = Self { port, cuts: cuts.clone(), open: open.clone() };
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                let (mut cut, open) = (cuts.subscribe(), open.subscribe());
                tokio::spawn(async move {
                    tokio::select! {
                        _ = cut.changed() => {}
                        _ = carry(near, database, open) => {}
                    }
                });
            }
        });
        Ok(wire)
    }

    /// Cuts every connection.
    pub(super) fn cut(&self) {
        self.cuts.send_modify(|cuts| *cuts += 1);
    }

    pub(super) fn block(&self, blocked: bool) {
        self.open.send_replace(!blocked);
    }
}

async fn carry(near: TcpStream, database: u16, mut open: watch::Receiver<bool>) -> Option<()> {
    open.wait_for(|open| *open).await.ok()?;
    let far = TcpStream::connect(("127.0.0.1", database)).await.ok()?;
    near.set_nodelay(true).ok()?;
    far.set_nodelay(true).ok()?;
    let ((from_near, to_near), (from_far, to_far)) = (near.into_split(), far.into_split());
    tokio::join!(pass(from_near, to_far, open.clone()), pass(from_far, to_near, open));
    Some(())
}

/// Passes on bytes, and the end of the stream.
async fn pass(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut open: watch::Receiver<bool>,
) -> Option<()> {
    let mut buffer = vec![0; 16 << 10];
    loop {
        let read = from.read(&mut buffer).await.unwrap_or(0);
        open.wait_for(|open| *open).await.ok()?;
        if read == 0 {
            return to.shutdown().await.ok();
        }
        to.write_all(&buffer[..read]).await.ok()?;
    }
}
