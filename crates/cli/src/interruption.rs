//! Ctrl-C and SIGTERM for commands that are not servers: the work is dropped at the point that it
//! waits at, which removes unfinished files, and the command ends with the status of an
//! interruption. A command that is stuck elsewhere, for example because its output has no reader,
//! is ended a little later.

use std::future::Future;
use std::time::Duration;

use crate::failure::{Failure, INTERRUPTED};
use crate::printer::note;
use crate::server::StopSignals;

/// How long after a signal a command that is stuck is ended.
const GRACE: Duration = Duration::from_secs(2);

/// Does the work until it is done or a signal arrives. After a signal, `failure` says how far the
/// work came.
pub(crate) async fn interruptible<T>(
    work: impl Future<Output = Result<T, Failure>>,
    failure: impl FnOnce() -> Failure,
) -> Result<T, Failure> {
    end_stuck_command()?;
    let mut signals = StopSignals::listen()?;
    tokio::select! {
        done = work => done,
        () = signals.wait() => Err(failure()),
    }
}

/// Starts a thread that ends the process some time after a signal, even after one that arrives
/// before the thread runs.
fn end_stuck_command() -> Result<(), Failure> {
    let mut signals = StopSignals::listen()?;
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let waited = runtime.map(|runtime| {
            runtime.block_on(async {
                signals.wait().await;
                tokio::time::sleep(GRACE).await;
            });
        });
        if waited.is_ok() {
            note("error: interrupted");
            exit();
        }
    });
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "the main thread is stuck, and no store is open")]
fn exit() {
    std::process::exit(i32::from(INTERRUPTED));
}
