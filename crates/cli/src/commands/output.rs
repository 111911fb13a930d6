//! The place and the form of a list that a command writes: lines or a table, to standard output or
//! to a file. A file gets its name only when it is complete and on disk; until then the name ends
//! in `.caseload-part`, and an interrupted command removes that file.

use std::ffi::OsStr;
use std::fmt::Display;
use std::path::{Path, PathBuf};

use caseload_client::{Body, Params};
use clap::{Args, ValueEnum};

use crate::commands::part_file::PartFile;
use crate::failure::Failure;
use crate::printer::{Printer, note};
use crate::progress::{Progress, Unit};

/// The form of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    Jsonl,
    Csv,
}

#[derive(Debug, Args)]
pub(crate) struct OutputArgs {
    /// File to write; without it, standard output. A name that ends in .csv gets a table, one that
    /// ends in .jsonl gets lines
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The form, if the name of the file does not say it; without it, jsonl
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
    /// The form of the list. The name of the file comes before `--format`.
    pub(crate) fn form(&self) -> Result<Form, Failure> {
        let ending = self.output.as_ref().and_then(|path| path.extension());
        let form = match ending.map(OsStr::to_ascii_lowercase) {
            Some(ending) if ending == "csv" => Form::Csv,
            Some(ending) if ending == "jsonl" || ending == "ndjson" => Form::Jsonl,
            _ => self.format.unwrap_or(Form::Jsonl),
        };
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

    /// Opens the place that the list is written to.
    pub(crate) fn open<'o>(&'o self, printer: &'o mut Printer) -> Result<Output<'o>, Failure> {
        let Some(path) = &self.output else { return Ok(Output::Standard(printer)) };
        Ok(Output::File(PartFile::create(path)?, path))
    }
}

/// Copies records as they arrive to standard output.
pub(crate) async fn copy(mut body: Body, printer: &mut Printer) -> Result<(), Failure> {
    while let Some(chunk) = body.chunk().await? {
        printer.data(&chunk)?;
    }
    printer.flush()
}

/// The place that a list is written to.
pub(crate) enum Output<'o> {
    Standard(&'o mut Printer),
    File(PartFile, &'o Path),
}

impl Output<'_> {
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        match self {
            Self::Standard(printer) => printer.data(bytes),
            Self::File(part, _) => part.write(bytes),
        }
    }

    /// Copies a table as it arrives.
    pub(crate) async fn copy(&mut self, mut table: Body) -> Result<(), Failure> {
        let mut progress = Progress::new("exporting a table", None, Unit::Bytes);
        let mut bytes = 0;
        while let Some(chunk) = table.chunk().await? {
            self.write(&chunk)?;
            bytes += chunk.len() as u64;
            progress.reached(bytes);
        }
        progress.finish();
        Ok(())
    }

    /// Gives the file its name.
    pub(crate) fn complete(self, said: impl Display) -> Result<(), Failure> {
        match self {
            Self::Standard(printer) => {
                printer.flush()?;
                note(said);
            }
            Self::File(part, path) => {
                part.complete()?;
                note(format_args!("{said} to {}", path.display()));
            }
        }
        Ok(())
    }
}
