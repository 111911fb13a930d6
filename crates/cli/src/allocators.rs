//! The settings of the two allocators of a server: mimalloc, and that of the system, which SQLite
//! uses. By default mimalloc retains freed memory for a second, and the system freed blocks of up
//! to 32 MiB for each thread: with forty hostile clients 790 MiB instead of 556. They read their
//! settings from the environment at the start of a process, so a server starts again with them.

use std::os::unix::process::CommandExt as _;
use std::process::Command;

/// mimalloc gives freed memory back at once, and the system that of blocks from a megabyte on.
const SETTINGS: [(&str, &str); 2] =
    [("MIMALLOC_PURGE_DELAY", "0"), ("MALLOC_MMAP_THRESHOLD_", "1048576")];

/// Starts this process again, as the same process of the system, unless the settings are there. An
/// operator may set other values.
pub(crate) fn apply_settings() {
    let mut missing = Vec::from(SETTINGS);
    missing.retain(|(name, _)| std::env::var_os(name).is_none());
    let Some(program) = std::env::current_exe().ok().filter(|_| !missing.is_empty()) else {
        return;
    };
    let mut arguments = std::env::args_os();
    let name = arguments.next().unwrap_or_default();
    let error = Command::new(program).arg0(name).args(arguments).envs(missing).exec();
    tracing::warn!(%error, "the allocators retain freed memory: the process could not start again");
}
