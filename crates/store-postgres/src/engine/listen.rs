//! Hearing of work: a connection of its own that listens on a channel and rings for every note, and
//! once more whenever it was connected anew, because notes in between went unheard. It is a hint:
//! where the connection cannot be had (a pooler that hands connections out by transaction passes no
//! notes on), those who wait ask a little later by themselves.

use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::poll_fn;
use tokio::task::JoinHandle;
use tokio_postgres::{AsyncMessage, Error};

use crate::address::Connector;

/// Time between two tries to connect.
const RETRY: Duration = Duration::from_secs(1);

/// Listens until it is dropped.
#[derive(Debug)]
pub(crate) struct Listener(JoinHandle<()>);

impl Listener {
    pub(super) fn start(
        connector: Connector,
        channel: &'static str,
        ring: impl Fn() + Send + Sync + 'static,
    ) -> Self {
        Self(tokio::spawn(async move {
            let mut deaf = false;
            loop {
                let heard = hear(&connector, channel, &ring, &mut deaf).await;
                // Told once, and not at every try.
                if let (Err(error), false) = (heard, std::mem::replace(&mut deaf, true)) {
                    tracing::warn!(%error, "new work of other servers is heard of late");
                }
                tokio::time::sleep(RETRY).await;
            }
        }))
    }

    /// Ends it. Its connection, and one that is only being made, is closed when this is done.
    pub(crate) async fn stop(mut self) {
        self.0.abort();
        drop((&mut self.0).await);
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Rings until the connection ends. Whoever was `deaf` before is told when they are no more.
async fn hear(
    connector: &Connector,
    channel: &str,
    ring: &(impl Fn() + Sync),
    deaf: &mut bool,
) -> Result<(), Error> {
    let (client, mut connection) = connector.connect().await?;
    let mut messages = poll_fn(move |context| connection.poll_message(context));
    let listen = format!("LISTEN {channel}");
    let mut listening = std::pin::pin!(client.batch_execute(&listen));
    let mut listens = false;
    loop {
        tokio::select! {
            done = &mut listening, if !listens => {
                done?;
                listens = true;
                if std::mem::take(deaf) {
                    tracing::warn!("new work of other servers is heard of again");
                }
                ring();
            }
            message = messages.next() => match message {
                Some(Ok(AsyncMessage::Notification(_))) => ring(),
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(error),
                None => return Ok(()),
            }
        }
    }
}
