//! `caseload upgrade --check`: whether this program can open a store, and whether its first start
//! would upgrade it. It looks at the store without opening it, because a program that opens a store
//! upgrades it. No command does only that.

use caseload_location::{StoreLocation, look};
use caseload_store::migrations::StoreState;
use clap::Args;
use serde_json::json;

use super::session::block_on;
use crate::args::{ListArgs, StoreArgs};
use crate::failure::{Done, Failure};
use crate::printer::{Printer, counted, grouped, note};

#[derive(Debug, Args)]
pub(crate) struct UpgradeArgs {
    /// Only look, and change nothing. Required, because `caseload serve` upgrades by itself
    #[arg(long, required = true)]
    check: bool,
    #[command(flatten)]
    list: ListArgs,
    #[command(flatten)]
    store: StoreArgs,
}

/// The way of this program with a store that it opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Current,
    Upgrade,
    NoRoom,
    Refused,
}

impl Verdict {
    fn of(state: &StoreState) -> Self {
        match state.versions.store {
            Some(version) if version == state.versions.program => Self::Current,
            Some(version) if version < state.versions.program => {
                // The log of one transaction may have every page of the store.
                let has_room = state.free_bytes.is_none_or(|free| free >= state.bytes);
                if has_room { Self::Upgrade } else { Self::NoRoom }
            }
            _ => Self::Refused,
        }
    }

    const fn as_str(self) -> &'static str {
        match self {
            Self::Current => "current",
            Self::Upgrade => "upgrade",
            Self::NoRoom => "no room",
            Self::Refused => "refused",
        }
    }
}

pub(crate) fn run(args: &UpgradeArgs, printer: &mut Printer) -> Result<Done, Failure> {
    debug_assert!(args.check, "the flag is required");
    let location = &args.store.store;
    let state = block_on(async { Ok(look(location).await?) })?;
    let verdict = Verdict::of(&state);
    print(args, &state, verdict, printer)?;
    match verdict {
        Verdict::Current => note(format_args!(
            "nothing to do: caseload {} opens the store as it is",
            env!("CARGO_PKG_VERSION")
        )),
        Verdict::Upgrade => note_steps(&state),
        Verdict::NoRoom => {
            let bytes = grouped(state.bytes);
            let said =
                format!("an upgrade of {location} may need {bytes} bytes, which are not free");
            return Err(
                Failure::usage(said).with_hint("free them, and back up the store elsewhere")
            );
        }
        Verdict::Refused => return Err(refusal(&state, location)),
    }
    Ok(Done::Good)
}

fn print(
    args: &UpgradeArgs,
    state: &StoreState,
    verdict: Verdict,
    printer: &mut Printer,
) -> Result<(), Failure> {
    let location = args.store.store.to_string();
    let StoreState { versions, servers, bytes, free_bytes } = state;
    let json = |(): &()| {
        json!({
            "store": location, "state": verdict.as_str(), "store_version": versions.store,
            "program_version": versions.program, "servers": servers, "bytes": bytes,
            "free_bytes": free_bytes,
        })
    };
    let row = |(): &()| {
        vec![
            verdict.as_str().to_owned(),
            versions.store.map_or_else(|| "-".to_owned(), |version| version.to_string()),
            versions.program.to_string(),
            servers.to_string(),
            grouped(*bytes),
            free_bytes.map_or_else(|| "-".to_owned(), grouped),
            location.clone(),
        ]
    };
    let header = ["STATE", "STORE", "PROGRAM", "SERVERS", "BYTES", "FREE BYTES", "LOCATION"];
    printer.list(args.list.json, &[()], json, (&header, row))
}

fn note_steps(state: &StoreState) {
    note("the next start of this program upgrades the store: all of it, or nothing");
    note("no older program can open it after that: only a backup leads back");
    if state.servers > 0 {
        note(format_args!(
            "first: stop all servers of the store ({})",
            counted(state.servers, "runs", "run")
        ));
    }
    note("first: back it up with the program that runs now, not with this one");
    if state.free_bytes.is_none() {
        note(format_args!(
            "first: see that the database's disk has {} free bytes",
            grouped(state.bytes)
        ));
    }
}

/// The refusal of a start, as a mistake of the caller's: the store or the program is the wrong one.
fn refusal(state: &StoreState, location: &StoreLocation) -> Failure {
    let refused = state.versions.refusal(&location.to_string());
    let mut failure = Failure::usage(refused.as_ref().map(ToString::to_string).unwrap_or_default());
    failure.hint = refused.and_then(|error| Failure::from(error).hint);
    failure
}

#[cfg(test)]
mod tests {
    use caseload_store::migrations::Versions;

    use super::*;

    #[test]
    fn a_store_is_upgraded_if_it_is_older_and_has_room() {
        for (store, free_bytes, expected) in [
            (Some(2), Some(0), Verdict::Current),
            (Some(1), Some(100), Verdict::Upgrade),
            (Some(1), None, Verdict::Upgrade),
            (Some(0), Some(99), Verdict::NoRoom),
            (Some(3), Some(100), Verdict::Refused),
            (None, Some(100), Verdict::Refused),
        ] {
            let versions = Versions { store, program: 2 };
            let state = StoreState { versions, servers: 0, bytes: 100, free_bytes };
            assert_eq!(Verdict::of(&state), expected, "{state:?}");
        }
    }
}
