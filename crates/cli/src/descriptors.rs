//! How many file descriptors the process may have, and how many of them are for connections. The
//! system starts programs with a low limit that they may raise themselves, up to a hard one.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::failure::Failure;

/// Descriptors for the store, its log, the database and the files of the program.
const RESERVED: u64 = 64;
/// The most descriptors that a server without a hard limit plans with.
const DESCRIPTORS_MAX: u64 = 1 << 20;

/// Raises the limit on descriptors to the hard one. Returns how many connections the server may
/// have: as many as wanted, else as many as the limit allows.
pub(crate) fn connections_max(wanted: Option<usize>) -> Result<usize, Failure> {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    let usable = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => limit.maximum,
        Err(error) => {
            tracing::warn!(%error, "the limit on file descriptors cannot be raised");
            limit.current
        }
    };
    let usable = usable.unwrap_or(DESCRIPTORS_MAX).min(DESCRIPTORS_MAX);
    let room = usize::try_from(usable.saturating_sub(RESERVED)).unwrap_or(usize::MAX).max(2);
    match wanted {
        Some(wanted) if wanted > room => {
            let message = format!(
                "--connections {wanted} needs {} file descriptors, and the process may have \
                 {usable}",
                wanted as u64 + RESERVED
            );
            let hint =
                "raise the hard limit of the system (`ulimit -Hn`), or choose a smaller number";
            Err(Failure::usage(message).with_hint(hint))
        }
        wanted => Ok(wanted.unwrap_or(room)),
    }
}
