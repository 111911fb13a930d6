//! The flags of imports. The server knows which values they may have.

use std::path::{Path, PathBuf};

use caseload_client::Params;
use clap::Args;
use serde_json::{Map, Value};

use crate::failure::Failure;

/// How a file is read. Without a flag, the server decides.
#[derive(Debug, Args)]
#[command(next_help_heading = "Reading FILE")]
pub(crate) struct TableArgs {
    /// Read this column as this field; 'COLUMN=' leaves it out, and '#3' is the third column. May
    /// be repeated
    #[arg(long = "map", value_name = "COLUMN=FIELD",
          value_parser = parse_map)]
    columns: Vec<(String, String)>,
    /// What to do with a column that is not the name of a field: refuse the file, ignore the
    /// column, or make it a custom field [default: refuse]
    #[arg(long, value_name = "refuse|ignore|custom")]
    others: Option<String>,
    /// What to do with an entry of which one field is faulty: fail the entry, or import it without
    /// the field and warn [default: fail]
    #[arg(long, value_name = "fail|leave_out")]
    faulty_fields: Option<String>,
    /// The text between two values of a list in one cell [default: |]
    #[arg(long, value_name = "TEXT")]
    separator: Option<String>,
    /// The sign between two cells, such as ; or tab; without it, the first rows show it
    #[arg(long, value_name = "SIGN")]
    delimiter: Option<String>,
    /// The encoding of the file, such as windows-1252; without it, UTF-8, or UTF-16 with a byte
    /// order mark
    #[arg(long, value_name = "NAME")]
    encoding: Option<String>,
    /// The time zone of times without an offset, such as Europe/Berlin [default: UTC]
    #[arg(long, value_name = "NAME")]
    timezone: Option<String>,
    /// The text of a cell that clears its field
    #[arg(long, value_name = "TEXT")]
    null: Option<String>,
    /// The sheet of a workbook [default: the first one]
    #[arg(long, value_name = "NAME")]
    sheet: Option<String>,
}

impl TableArgs {
    /// Adds the flags that are given to the options of an import.
    pub(crate) fn push(&self, options: &mut Params) {
        if !self.columns.is_empty() {
            let field = |field: &String| match field.as_str() {
                "" => Value::Null,
                field => Value::from(field),
            };
            let columns = self.columns.iter().map(|(name, value)| (name.clone(), field(value)));
            options.push("columns", Value::Object(columns.collect::<Map<_, _>>()).to_string());
        }
        for (name, value) in [
            ("others", &self.others),
            ("faulty_fields", &self.faulty_fields),
            ("separator", &self.separator),
            ("delimiter", &self.delimiter),
            ("encoding", &self.encoding),
            ("timezone", &self.timezone),
            ("null", &self.null),
            ("sheet", &self.sheet),
        ] {
            options.push_given(name, value.as_ref());
        }
    }
}

/// The files that an import writes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Files to write")]
pub(crate) struct OutputArgs {
    /// Write all faults to this file, as JSON, one entry a line
    #[arg(long, value_name = "FILE")]
    pub(super) errors: Option<PathBuf>,
    /// Write what failed or was not processed to this file, in the form of the imported file:
    /// correct it, and import it as it is
    #[arg(long, value_name = "FILE")]
    pub(super) rejects: Option<PathBuf>,
}

impl OutputArgs {
    /// Whether no file is written over another one or over the import's own.
    pub(super) fn are_apart(&self, imported: &Path) -> Result<(), Failure> {
        let [errors, rejects] =
            [&self.errors, &self.rejects].map(|path| path.as_deref().map(located));
        let imported = Some(located(imported));
        if errors == imported || rejects == imported {
            let text = "the import would overwrite its own file; name another one";
            return Err(Failure::usage(text));
        }
        if errors.is_some() && errors == rejects {
            let text = "--errors and --rejects would overwrite each other; name two files";
            return Err(Failure::usage(text));
        }
        Ok(())
    }
}

/// The place of a file, however its path is spelt. It need not exist.
fn located(path: &Path) -> PathBuf {
    path.canonicalize().or_else(|_| std::path::absolute(path)).unwrap_or_else(|_| path.to_owned())
}

/// Parses `COLUMN=FIELD`. A column's name may have `=`.
fn parse_map(text: &str) -> Result<(String, String), String> {
    let (column, field) = text.rsplit_once('=').ok_or("write COLUMN=FIELD")?;
    Ok((column.trim().to_owned(), field.trim().to_owned()))
}
