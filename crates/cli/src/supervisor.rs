//! The program that started the server and looks after it: systemd, or another one with its
//! protocols. It may pass sockets on which it listens already, so that no connection is lost while
//! no server runs. The server notifies it when it is ready, waits or stops, and that it is alive,
//! all through the socket that `NOTIFY_SOCKET` names. Without a supervisor nothing here has an
//! effect.

use std::net::TcpListener as PassedSocket;
use std::time::Duration;

use caseload_location::StoreLocation;
use listenfd::ListenFd;
use rustix::net::sockopt::socket_acceptconn;
use sd_notify::NotifyState;
use tokio::net::TcpListener;

use crate::failure::{Failure, io_reason};
use crate::printer::note;
use crate::server::bind;

/// The name of the socket for operators.
const ADMIN: &str = "admin";
/// The time of the start after the database has answered.
const START_AFTER_WAIT: Duration = Duration::from_secs(30);

/// The sockets that the supervisor passed.
#[derive(Debug, Default)]
pub(crate) struct PassedSockets {
    callers: Option<PassedSocket>,
    admin: Option<PassedSocket>,
}

impl PassedSockets {
    /// Takes them. The process has no other thread yet, because this changes its environment.
    pub(crate) fn take() -> Result<Self, Failure> {
        let mut passed = Self::default();
        let own = std::process::id().to_string();
        if std::env::var("LISTEN_PID").ok().as_ref() != Some(&own) {
            return Ok(passed);
        }
        let names = std::env::var("LISTEN_FDNAMES").unwrap_or_default();
        let mut names = names.split(':');
        let mut sockets = ListenFd::from_env();
        for index in 0..sockets.len() {
            let name = names.next().unwrap_or_default();
            let (whose, place) = match name {
                ADMIN => ("operators", &mut passed.admin),
                _ => ("callers", &mut passed.callers),
            };
            if place.is_some() {
                let message = format!("the supervisor passed two sockets for {whose}: {name:?}");
                let hint = "pass one for callers, and perhaps one for operators with \
                            FileDescriptorName=admin; [::]:443 accepts IPv4, too";
                return Err(Failure::usage(message).with_hint(hint));
            }
            *place = Some(take_one(&mut sockets, index).map_err(|reason| {
                let message = format!(
                    "the socket {name:?} that the supervisor passed does not accept connections \
                     over TCP: {reason}"
                );
                let hint = "write ListenStream=ADDRESS:PORT into the socket unit, without \
                            Accept=yes; the server serves no unix socket";
                Failure::usage(message).with_hint(hint)
            })?);
        }
        Ok(passed)
    }

    /// The address for callers: that of their socket, else `listen`.
    pub(crate) fn address(&self, listen: &str) -> String {
        let passed = self.callers.as_ref().and_then(|socket| socket.local_addr().ok());
        passed.map_or_else(|| listen.to_owned(), |address| address.to_string())
    }

    /// The listeners for callers and for operators. A passed socket comes before an address.
    pub(crate) async fn listeners(
        self,
        listen: &str,
        admin_listen: Option<&str>,
    ) -> Result<(TcpListener, Option<TcpListener>), Failure> {
        let callers = match self.callers {
            Some(socket) => adopt(socket, "--listen")?,
            None => bind(listen).await?,
        };
        let admin = match (self.admin, admin_listen) {
            (Some(socket), _) => Some(adopt(socket, "--admin-listen")?),
            (None, Some(address)) => Some(bind(address).await?),
            (None, None) => None,
        };
        Ok((callers, admin))
    }
}

fn take_one(sockets: &mut ListenFd, index: usize) -> Result<PassedSocket, String> {
    let taken = sockets.take_tcp_listener(index).map_err(|error| error.to_string())?;
    let socket = taken.ok_or("it is missing")?;
    match socket_acceptconn(&socket) {
        Ok(true) => Ok(socket),
        Ok(false) => Err("it does not listen".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

fn adopt(socket: PassedSocket, flag: &str) -> Result<TcpListener, Failure> {
    note(format_args!("the supervisor passed a socket, which comes before {flag}"));
    socket.set_nonblocking(true).and_then(|()| TcpListener::from_std(socket)).map_err(|error| {
        Failure::server(format!("cannot use the passed socket: {}", io_reason(&error)))
    })
}

/// The server listens, and its store is open.
pub(crate) fn tell_ready(status: &str) {
    tell(&[NotifyState::Ready, NotifyState::Status(&one_line(status))]);
}

/// The start waits for its database, for at most so long.
pub(crate) fn tell_waiting(store: &StoreLocation, reason: &str, patience: Duration) {
    let status = one_line(&format!("waiting for {store}: {reason}"));
    let micros = (patience + START_AFTER_WAIT).as_micros();
    let longer = u32::try_from(micros).unwrap_or(u32::MAX);
    tell(&[NotifyState::Status(&status), NotifyState::ExtendTimeoutUsec(longer)]);
}

/// The server finishes its requests and ends.
pub(crate) fn tell_stopping() {
    tell(&[NotifyState::Stopping, NotifyState::Status("stopping")]);
}

/// Notifies the supervisor again and again that the server is alive, if it wants to know. The
/// threads that answer requests do that, so it ends if they are stuck. A database that is gone does
/// not end it, because a restart would not help.
pub(crate) fn start_watchdog() {
    let Some(limit) = sd_notify::watchdog_enabled().filter(|limit| !limit.is_zero()) else {
        return;
    };
    tokio::spawn(async move {
        let mut ticks = tokio::time::interval(limit / 2);
        loop {
            ticks.tick().await;
            tell(&[NotifyState::Watchdog]);
        }
    });
}

fn tell(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::warn!(%error, "the supervisor cannot be notified");
    }
}

/// A line of the protocol ends at a line break.
fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}
