//! `caseload profiles import`: imports a file of people, in as many tasks as it needs. A file is
//! read to its end once before anything is sent, so that a fault of the file, for example another
//! encoding, leaves nothing half done. Standard input can only be read once: a fault in it ends the
//! import after the parts before it.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use caseload_client::Client;
use caseload_files::{Encoding, TableOptions};
use caseload_model::profile::{OtherColumns, RowRules};
use caseload_model::task::Action;
use clap::builder::{FalseyValueParser, NonEmptyStringValueParser};
use clap::{Args, ValueEnum};

use super::kind::KindArg;
use crate::args::{AgainArg, ServerArgs};
use crate::commands::file_import::{FileImport, OutputArgs};
use crate::commands::session::block_on_or;
use crate::commands::submission::Submission;
use crate::failure::{Done, Failure};
use crate::payload_file::{Forms, Input, PartLimits, PartReader, SplitError, TableForm};
use crate::printer::Printer;
use crate::progress::{Progress, Unit};

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// File of profiles: one JSON map per line, one JSON array, or CSV with a header of field
    /// names; may be compressed with gzip or zstd; - means standard input
    file: PathBuf,
    /// Update the profiles that have the identities of entries, and create the others
    #[arg(long, env = "CASELOAD_UPSERT", value_parser = FalseyValueParser::new())]
    upsert: bool,
    /// Update profiles only, by their identities or ids; none is created
    #[arg(long, env = "CASELOAD_UPDATE", value_parser = FalseyValueParser::new())]
    update: bool,
    #[command(flatten)]
    kind: KindArg,
    /// Read the column, or member, under the name of this field; without a field, leave it out.
    /// '#3' is the third column. Can be repeated
    #[arg(long = "map", env = "CASELOAD_MAP", value_name = "COLUMN=FIELD",
          value_parser = parse_map)]
    renames: Vec<(String, String)>,
    /// The character between two cells of CSV, or tab; without it, the first rows show it
    #[arg(long, env = "CASELOAD_DELIMITER", value_name = "CHARACTER",
          value_parser = parse_delimiter)]
    delimiter: Option<u8>,
    /// The encoding of the file, such as windows-1252; without it, UTF-8, or UTF-16 with a byte
    /// order mark
    #[arg(long, env = "CASELOAD_ENCODING", value_name = "NAME")]
    encoding: Option<Encoding>,
    /// Columns without a field: refuse the file, ignore them, or make each the custom field of its
    /// name
    #[arg(
        long,
        env = "CASELOAD_OTHERS",
        value_enum,
        default_value_t,
        hide_possible_values = true,
        value_name = "refuse|ignore|custom"
    )]
    others: Others,
    /// A faulty field of a row: fail the row, or leave the field out and warn of it
    #[arg(
        long,
        env = "CASELOAD_FAULTY_FIELDS",
        value_enum,
        default_value_t,
        hide_possible_values = true,
        value_name = "fail|leave_out"
    )]
    faulty_fields: FaultyFields,
    /// The text between two values of a list in one cell
    #[arg(long, env = "CASELOAD_SEPARATOR", value_name = "TEXT", default_value = "|",
          value_parser = NonEmptyStringValueParser::new())]
    separator: String,
    /// The text of a cell that clears its field
    #[arg(long, env = "CASELOAD_NULL", value_name = "TEXT")]
    null: Option<String>,
    /// Write nothing, but report what the import would do
    #[arg(long, env = "CASELOAD_DRY_RUN", value_parser = FalseyValueParser::new())]
    dry_run: bool,
    #[command(flatten)]
    outputs: OutputArgs,
    #[command(flatten)]
    again: AgainArg,
    #[command(flatten)]
    server: ServerArgs,
}

/// The use of columns without a field.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Others {
    #[default]
    Refuse,
    Ignore,
    Custom,
}

/// The use of a row with a faulty field.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum FaultyFields {
    #[default]
    Fail,
    #[value(name = "leave_out", alias = "leave-out")]
    LeaveOut,
}

pub(crate) fn run(args: &ImportArgs, printer: &mut Printer) -> Result<Done, Failure> {
    let action = args.action()?;
    let mut submission = Submission::new(action, &args.file, args.again.name())?;
    submission.dry_run = args.dry_run;
    // Another file may have changed the profiles since.
    submission.renew = action != Action::CreateCoreProfiles;
    let client = args.server.client()?;
    block_on_or(import(args, &client, &submission, printer), || submission.interrupted())
}

impl ImportArgs {
    fn action(&self) -> Result<Action, Failure> {
        match (self.kind.app, self.upsert, self.update) {
            (_, true, true) => Err(Failure::usage("--upsert and --update exclude each other")),
            (true, true, false) => Err(Failure::usage(
                "--upsert is for core profiles; app profiles come from issues and are only updated",
            )),
            (true, false, _) => Ok(Action::UpdateAppProfiles),
            (false, true, false) => Ok(Action::UpsertCoreProfiles),
            (false, false, true) => Ok(Action::UpdateCoreProfiles),
            (false, false, false) => Ok(Action::CreateCoreProfiles),
        }
    }

    fn parts(&self, action: Action, input: Input) -> PartReader {
        let options = TableOptions { delimiter: self.delimiter, encoding: self.encoding };
        let others = match self.others {
            Others::Refuse => OtherColumns::Refuse,
            Others::Ignore => OtherColumns::Ignore,
            Others::Custom => OtherColumns::Custom,
        };
        let rules = RowRules {
            separator: self.separator.clone(),
            null: self.null.clone(),
            leave_out: self.faulty_fields == FaultyFields::LeaveOut,
            ..RowRules::default()
        };
        let renames = self.renames.clone();
        let form = TableForm { action, options, renames, others, rules };
        PartReader::start(input, PartLimits::IMPORT, Forms::Profiles(form))
    }
}

async fn import(
    args: &ImportArgs,
    client: &Client,
    submission: &Submission,
    printer: &mut Printer,
) -> Result<Done, Failure> {
    let entries = check(args, submission).await?;
    let input = Input::open(&args.file)?;
    let what = if submission.dry_run { "trying profiles" } else { "importing profiles" };
    let progress = Progress::new(what, entries, Unit::Count);
    let mut parts = args.parts(submission.action, input);
    let mut import = FileImport::start(client, submission, &args.outputs, progress)?;
    while let Some(part) = parts.next().await.map_err(|error| unreadable(submission, &error))? {
        import.part(part).await?;
    }
    import.finish(printer)
}

/// Reads the whole file and counts its entries; `None` if it can be read only once.
async fn check(args: &ImportArgs, submission: &Submission) -> Result<Option<u64>, Failure> {
    if args.file == Path::new("-") {
        return Ok(None);
    }
    let input = Input::open(&args.file)?;
    if input.length.is_none() {
        return Ok(None);
    }
    let mut progress = Progress::new("reading the file", input.length, Unit::Bytes);
    let read = input.read.clone();
    let mut parts = args.parts(submission.action, input);
    let mut entries = 0;
    while let Some(part) = parts.next().await.map_err(|error| unreadable(submission, &error))? {
        entries = part.last();
        progress.reached(read.load(Ordering::Relaxed));
    }
    progress.finish();
    Ok(Some(entries))
}

fn unreadable(submission: &Submission, error: &SplitError) -> Failure {
    let failure = submission.unreadable(error);
    match error {
        SplitError::Text(fault) if !fault.is_cut() => {
            failure.with_hint("--encoding NAME names the encoding of a file")
        }
        _ => failure,
    }
}

/// Parses `COLUMN=FIELD`. A column's name may have `=`.
fn parse_map(text: &str) -> Result<(String, String), String> {
    let (column, field) = text.rsplit_once('=').ok_or("write COLUMN=FIELD")?;
    Ok((column.trim().to_owned(), field.trim().to_owned()))
}

fn parse_delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"tab" | b"\\t" => Ok(b'\t'),
        [byte] if byte.is_ascii() && !matches!(byte, b'"' | b'\n' | b'\r') => Ok(*byte),
        _ => Err("write one ASCII character, such as ; or |, or the word tab".to_owned()),
    }
}
