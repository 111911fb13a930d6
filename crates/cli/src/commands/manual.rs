//! `caseload completions` and `caseload man`: texts for shells and for `man`, made from the
//! definition of the command line, so that they have every command and flag.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Command};
use clap_complete::Shell;

use crate::failure::{Done, Failure};
use crate::printer::{Printer, note};

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// Shell that reads the completions
    #[arg(value_parser = PossibleValuesParser::new(["bash", "zsh", "fish"])
          .try_map(|name| name.parse::<Shell>()))]
    shell: Shell,
}

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Folder to write a page for each command to; without it, the page of the program goes to
    /// standard output
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
}

pub(crate) fn completions(
    args: &CompletionsArgs,
    mut program: Command,
    printer: &mut Printer,
) -> Result<Done, Failure> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut program, "caseload", &mut text);
    printer.data(&text)?;
    printer.flush()?;
    Ok(Done::Good)
}

pub(crate) fn man(
    args: &ManArgs,
    program: Command,
    printer: &mut Printer,
) -> Result<Done, Failure> {
    let program = program.disable_help_subcommand(true);
    let Some(folder) = &args.folder else {
        let mut page = Vec::new();
        let rendered = clap_mangen::Man::new(program).render(&mut page);
        rendered.map_err(|error| Failure::output(&error))?;
        printer.data(&page)?;
        printer.flush()?;
        return Ok(Done::Good);
    };
    let written =
        std::fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(program, folder));
    written.map_err(|error| Failure::file("write to", folder, &error))?;
    note(format_args!("wrote a page for each command to {}", folder.display()));
    Ok(Done::Good)
}
