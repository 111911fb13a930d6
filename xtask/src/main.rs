//! The checks and generators of this repository, run as `cargo xtask COMMAND`.
//! Nothing of the product depends on this crate. A command prints its findings and fails with a
//! non-zero exit code; it never repairs a file that a person wrote.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command prints its findings")]

mod limits;
mod reference;
mod source;
mod tables;
mod tidy;

use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask COMMAND

commands:
  tidy     check sizes, module headers, words, attributes, prose, circles of files and imports
  prose    list the habits of prose that `tidy` counts; PATH... limits it to files or folders
  circles  list the circles of files that need each other
  limits   compare the figures in the pages with the code
  reference  write docs/reference.md, the calls and records of the API, from openapi.json
  tables   write the country and language tables of crates/model
           --iso-codes FILE           iso_3166-1.json of the package iso-codes
           --iso-639 FILE             iso_639-2.json of the same package; may be given again
           --cldr FOLDER              the folder main of the npm package cldr-localenames-full
           --official-languages FILE  supplemental/territoryInfo.json of the package cldr-core
           --iso-codes-version TEXT   the version of iso-codes, for the tables' headers
           --cldr-version TEXT        the version of both packages of CLDR, for the same";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match words.split_first() {
        Some((command, [])) if command == "tidy" => tidy::run(repository_root()),
        Some((command, paths)) if command == "prose" => tidy::run_prose(repository_root(), paths),
        Some((command, [])) if command == "circles" => tidy::run_circles(repository_root()),
        Some((command, [])) if command == "limits" => limits::run(repository_root()),
        Some((command, [])) if command == "reference" => reference::run(repository_root()),
        Some((command, options)) if command == "tables" => tables::run(repository_root(), options),
        Some((command, [])) if matches!(command.as_str(), "help" | "--help" | "-h") => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        Some((command, [extra, ..]))
            if matches!(command.as_str(), "tidy" | "circles" | "limits" | "reference") =>
        {
            return misused(&format!("`{command}` takes no options, but got `{extra}`"));
        }
        Some((command, _)) => return misused(&format!("there is no command `{command}`")),
        None => return misused("a command is missing"),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Exit code 2 is for wrong usage; findings have exit code 1.
fn misused(reason: &str) -> ExitCode {
    eprintln!("error: {reason}\n\n{USAGE}");
    ExitCode::from(2)
}

/// The folder above this crate, so that the commands work from any folder.
fn repository_root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."))
}
