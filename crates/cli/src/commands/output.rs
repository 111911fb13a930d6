//! The place and the form of data that a command writes. `-o` is the same flag in each command that
//! has it: the file that gets the bytes which would have gone to standard output. It gets its name
//! only when it is complete and on disk; until then the name ends in `.caseload-part`, and an
//! interrupted command removes that file.

use std::path::{Path, PathBuf};

use caseload_client::{Body, Params};
use clap::{Args, ValueEnum};

use crate::failure::Failure;
use crate::printer::Printer;
use crate::progress::{Progress, Unit};

/// The file in place of standard output.
#[derive(Debug, Args)]
pub(crate) struct FileArg {
    /// File to write instead of standard output, which - means, too. It replaces a file of that
    /// name, once it is complete
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl FileArg {
    fn path(&self) -> Option<&Path> {
        self.output.as_deref().filter(|path| *path != Path::new("-"))
    }

    /// Sends the data of a command to the file.
    pub(crate) fn redirect(&self, printer: &mut Printer) -> Result<(), Failure> {
        self.path().map_or(Ok(()), |path| printer.redirect(path))
    }
}

/// The form of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    Jsonl,
    Csv,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    #[command(flatten)]
    pub(crate) file: FileArg,
    /// The form of the data. Without it, the name of the file decides: .csv is a table; .jsonl,
    /// .ndjson and every other name are lines of JSON
    #[arg(long, value_name = "FORMAT")]
    format: Option<Form>,
    /// The columns of a table, with commas between them, such as id,title,tags;
    /// without it, every field
    #[arg(long, value_name = "COLUMNS")]
    columns: Option<String>,
    /// Write the table for a spreadsheet: with a byte order mark, and with long numbers as texts,
    /// which a spreadsheet would round
    #[arg(long)]
    spreadsheet: bool,
    /// Begin the table with a byte order mark
    #[arg(long)]
    bom: bool,
}

impl OutputArgs {
    /// The form of the list. `--format` comes before the name of the file.
    pub(crate) fn form(&self) -> Result<Form, Failure> {
        let ending = self.file.path().and_then(Path::extension);
        let is_csv = ending.is_some_and(|ending| ending.eq_ignore_ascii_case("csv"));
        let form = self.format.unwrap_or(if is_csv { Form::Csv } else { Form::Jsonl });
        let of_table = [
            ("--columns", self.columns.is_some()),
            ("--spreadsheet", self.spreadsheet),
            ("--bom", self.bom),
        ];
        match of_table.into_iter().find(|(_, is_given)| *is_given) {
            Some((flag, _)) if form == Form::Jsonl => Err(Failure::usage(format!(
                "{flag} is about a table; write --format csv, or a file whose name ends in .csv"
            ))),
            _ => Ok(form),
        }
    }

    /// Adds the parameters of a table.
    pub(crate) fn extend(&self, params: &mut Params) {
        params.push_given("columns", self.columns.as_deref());
        for (name, is_given) in [("spreadsheet", self.spreadsheet), ("bom", self.bom)] {
            params.push_given(name, is_given.then_some("true"));
        }
    }
}

/// Copies records as they arrive.
pub(crate) async fn copy(mut body: Body, printer: &mut Printer) -> Result<(), Failure> {
    while let Some(chunk) = body.chunk().await? {
        printer.data(&chunk)?;
    }
    printer.flush()
}

/// Copies a table as it arrives, and shows the progress.
pub(crate) async fn copy_table(mut table: Body, printer: &mut Printer) -> Result<(), Failure> {
    let mut progress = Progress::new("exporting a table", None, Unit::Bytes);
    let mut bytes = 0;
    while let Some(chunk) = table.chunk().await? {
        printer.data(&chunk)?;
        bytes += chunk.len() as u64;
        progress.reached(bytes);
    }
    progress.finish();
    Ok(())
}
