//! `caseload issues export`: walks the specification's cursor procedure and writes each issue as a
//! line, with everything it has. A file appears under its name only when it is complete and on
//! disk; until then its name ends in `.part`.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use caseload_client::Client;
use clap::Args;

use super::line_of;
use crate::args::ServerArgs;
use crate::failure::{Done, Failure};
use crate::printer::{Printer, counted, note};
use crate::progress::{Progress, Unit};

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// Only issues created at or after this time, in Unix milliseconds
    #[arg(long, env = "CASELOAD_SINCE", value_name = "MS", allow_negative_numbers = true)]
    since: Option<i64>,
    /// Only issues created at or before this time, in Unix milliseconds
    #[arg(long, env = "CASELOAD_UNTIL", value_name = "MS", allow_negative_numbers = true)]
    until: Option<i64>,
    /// The file to write; without it, standard output
    #[arg(short, long, env = "CASELOAD_OUTPUT", value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    server: ServerArgs,
}

pub(crate) async fn run(args: ExportArgs, printer: &mut Printer) -> Result<Done, Failure> {
    let client = args.server.client()?;
    let span = (args.since, args.until);
    let Some(path) = &args.output else {
        let exported = walk(&client, span, |line| printer.data(line)).await?;
        printer.flush()?;
        note(format_args!("exported {}", counted(exported, "issue", "issues")));
        return Ok(Done::Good);
    };
    let mut part = PartFile::create(path)?;
    let exported = walk(&client, span, |line| part.write(line)).await?;
    part.complete()?;
    note(format_args!("exported {} to {}", counted(exported, "issue", "issues"), path.display()));
    Ok(Done::Good)
}

/// Walks a span and hands out each issue as a line; the answer is their number.
async fn walk(
    client: &Client,
    (since, until): (Option<i64>, Option<i64>),
    mut write: impl FnMut(&[u8]) -> Result<(), Failure>,
) -> Result<u64, Failure> {
    let mut progress = Progress::new("exporting issues", None, Unit::Count);
    let mut walk = client.walk_issues(since, until);
    let mut exported = 0;
    while let Some(batch) = walk.next().await? {
        for issue in &batch {
            write(&line_of(issue))?;
        }
        exported += batch.len() as u64;
        progress.reached(exported);
    }
    progress.finish();
    Ok(exported)
}

/// A file that gets its name when it is complete, and is gone when it is not.
#[derive(Debug)]
pub(crate) struct PartFile {
    path: PathBuf,
    part: PathBuf,
    out: BufWriter<File>,
    complete: bool,
}

impl PartFile {
    pub(crate) fn create(path: &Path) -> Result<Self, Failure> {
        let mut part = path.as_os_str().to_owned();
        part.push(".part");
        let part = PathBuf::from(part);
        let file = File::create(&part).map_err(|e| Failure::file("write", &part, &e))?;
        Ok(Self { path: path.to_owned(), part, out: BufWriter::new(file), complete: false })
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.out.write_all(bytes).map_err(|e| Failure::file("write", &self.part, &e))
    }

    pub(crate) fn complete(mut self) -> Result<(), Failure> {
        let written = self.out.flush().and_then(|()| self.out.get_ref().sync_all());
        written.map_err(|e| Failure::file("write", &self.part, &e))?;
        std::fs::rename(&self.part, &self.path)
            .map_err(|e| Failure::file("write", &self.path, &e))?;
        self.complete = true;
        Ok(())
    }
}

impl Drop for PartFile {
    fn drop(&mut self) {
        if !self.complete {
            let _ = std::fs::remove_file(&self.part);
        }
    }
}
