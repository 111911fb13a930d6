//! Requests that no library sends: raw bytes, slow or unread, from any loopback address.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context as _, Result};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

/// How long the attacker waits for a connection, and for the end of an answer.
const CONNECT_MAX: Duration = Duration::from_mins(2);
const ANSWER_MAX: Duration = Duration::from_mins(5);
/// The receive buffer of a connection that is not read: the smallest.
const SMALL_BUFFER_BYTES: u32 = 4 << 10;

/// A raw answer.
#[derive(Debug, Default)]
pub(crate) struct Raw {
    /// The HTTP status; 0 if the server closed the connection without an answer.
    pub(crate) status: u16,
    pub(crate) body: String,
}

/// Connects from a loopback address, `127.0.0.{from}`.
pub(crate) async fn connect(address: &str, from: u8) -> Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.set_recv_buffer_size(SMALL_BUFFER_BYTES)?;
    socket.bind(SocketAddr::from(([127, 0, 0, from], 0)))?;
    let address = address.parse().context("an address")?;
    Ok(timeout(CONNECT_MAX, socket.connect(address)).await??)
}

/// Sends bytes and reads the answer to its end.
pub(crate) async fn exchange(address: &str, request: &[u8]) -> Result<Raw> {
    let mut stream = connect(address, 1).await?;
    // A server that refuses early may close before it has read everything.
    drop(timeout(ANSWER_MAX, stream.write_all(request)).await);
    Ok(answer(&mut stream).await)
}

/// Reads an answer until the connection ends.
pub(crate) async fn answer(stream: &mut TcpStream) -> Raw {
    let mut bytes = Vec::new();
    drop(timeout(ANSWER_MAX, stream.read_to_end(&mut bytes)).await);
    let text = String::from_utf8_lossy(&bytes);
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.get(9..12).and_then(|digits| digits.parse().ok()).unwrap_or(0);
    Raw { status, body: body.to_owned() }
}

/// Sends a request and reads nothing. The connection stays open as long as the value lives.
pub(crate) async fn unread(address: &str, request: &str) -> Result<TcpStream> {
    let mut stream = connect(address, 1).await?;
    stream.write_all(request.as_bytes()).await?;
    Ok(stream)
}

/// Whether the server ends the connection in this time.
pub(crate) async fn ends_within(stream: &mut TcpStream, most: Duration) -> bool {
    let mut buffer = [0; 1024];
    let ended = async { while matches!(stream.read(&mut buffer).await, Ok(read) if read > 0) {} };
    timeout(most, ended).await.is_ok()
}
