//! Notifications of new work. A connection of its own listens on a channel and reports each
//! notification, and one more after every reconnect, because notifications in between were lost.
//! Notifications are only a hint: without them (a pooler that assigns connections per transaction
//! does not forward them), runners find work a little later by polling.

use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::poll_fn;
use tokio_postgres::{AsyncMessage, Error};

use crate::address::Connector;

/// Time between two attempts to connect.
const RETRY: Duration = Duration::from_secs(1);

/// Calls `notify` for every notification.
pub(super) async fn listen(
    connector: Connector,
    channel: &'static str,
    notify: impl Fn() + Send + Sync,
) {
    let mut interrupted = false;
    loop {
        let ended = receive(&connector, channel, &notify, &mut interrupted).await;
        // Warn once, not after every attempt.
        if let (Err(error), false) = (ended, std::mem::replace(&mut interrupted, true)) {
            tracing::warn!(%error, "notifications of other servers' work are interrupted");
        }
        tokio::time::sleep(RETRY).await;
    }
}

/// Reports notifications until the connection ends. Logs the end of an interruption.
async fn receive(
    connector: &Connector,
    channel: &str,
    notify: &(impl Fn() + Sync),
    interrupted: &mut bool,
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
                if std::mem::take(interrupted) {
                    tracing::warn!("notifications of other servers' work are back");
                }
                notify();
            }
            message = messages.next() => match message {
                Some(Ok(AsyncMessage::Notification(_))) => notify(),
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(error),
                None => return Ok(()),
            }
        }
    }
}
