//! The environment of the process. The program reads `CASELOAD_` variables of flags and the few
//! others that docs/program.md lists. Libraries read more at the start of a process, so the program
//! starts again without those. A server also starts with settings of its two allocators: by default
//! mimalloc retains freed memory for a second, and the allocator of the system, which SQLite uses,
//! freed blocks of up to 32 MiB for each thread: with forty hostile clients 790 MiB instead of 556.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use caseload_model::spelling::nearest_word;

use crate::printer::note;

/// mimalloc gives freed memory back at once, and the system that of blocks from a megabyte on.
const OF_SERVERS: [(&str, &str); 2] =
    [("MIMALLOC_PURGE_DELAY", "0"), ("MALLOC_MMAP_THRESHOLD_", "1048576")];

/// Variables that libraries read: of colours, of allocators and threads, of the look-up of names,
/// of the folder for temporary files of SQLite, of trusted certificates, and of proxies
/// (`REQUEST_METHOD`).
const STRAY: [&str; 11] = [
    "CI",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "GLIBC_TUNABLES",
    "HOSTALIASES",
    "LOCALDOMAIN",
    "REQUEST_METHOD",
    "RES_OPTIONS",
    "RUST_MIN_STACK",
    "SQLITE_TMPDIR",
    "SSL_CERT_DIR",
];
const STRAY_PREFIXES: [&str; 3] = ["MALLOC_", "MIMALLOC_", "TOKIO_"];

/// How the variables of flags begin.
const PREFIX: &str = "CASELOAD_";

/// Starts this process again, as the same process of the system, if it has a stray variable, or is
/// a server without the settings. The new process has neither, so it does not start again.
pub(crate) fn start_again_without_strays(is_server: bool) {
    let settings = if is_server { &OF_SERVERS[..] } else { &[] };
    let is_set =
        |&(name, value): &(&str, &str)| std::env::var_os(name).is_some_and(|is| is == value);
    let strays: Vec<OsString> =
        std::env::vars_os().map(|(name, _)| name).filter(|name| is_stray(name, settings)).collect();
    if strays.is_empty() && settings.iter().all(is_set) {
        return;
    }
    let Ok(program) = std::env::current_exe() else { return };
    let mut arguments = std::env::args_os();
    let mut again = Command::new(program);
    again.arg0(arguments.next().unwrap_or_default()).args(arguments);
    for name in &strays {
        again.env_remove(name);
    }
    let error = again.envs(settings.iter().copied()).exec();
    note(format_args!(
        "warning: allocators and libraries have other settings than ours, because the process \
         could not start again: {error}"
    ));
}

/// Whether a library would read this variable, and it is none of the settings.
fn is_stray(name: &OsStr, settings: &[(&str, &str)]) -> bool {
    let Some(name) = name.to_str() else { return false };
    !settings.iter().any(|(own, _)| *own == name)
        && (STRAY.contains(&name) || STRAY_PREFIXES.iter().any(|stray| name.starts_with(stray)))
}

/// Warns of each `CASELOAD_` variable that no flag has: it is probably misspelt.
pub(crate) fn warn_of_unknown(program: &clap::Command) {
    let mut known = Vec::new();
    collect(program, &mut known);
    let given = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    for name in given.filter(|name| name.starts_with(PREFIX) && !known.contains(&&**name)) {
        let own = known.iter().filter_map(|known| known.strip_prefix(PREFIX));
        let meant = nearest_word(&name[PREFIX.len()..], own);
        let meant = meant.map(|meant| format!("; did you mean {PREFIX}{meant}?"));
        let meant = meant.unwrap_or_default();
        note(format_args!("warning: no flag has the environment variable {name}{meant}"));
    }
}

fn collect<'c>(command: &'c clap::Command, names: &mut Vec<&'c str>) {
    names.extend(command.get_arguments().filter_map(|flag| flag.get_env()?.to_str()));
    command.get_subcommands().for_each(|inner| collect(inner, names));
}
