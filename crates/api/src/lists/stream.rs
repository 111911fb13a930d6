//! Every match as JSON lines or as a table, one record per line or row. The server reads the list
//! in [`steps`], each after the client has taken the previous one. A stream that cannot continue
//! (the server stops, the key is revoked, the store fails) breaks off: clients see an incomplete
//! transfer, and the last line is missing. A caller may leave that line out, and a table has none;
//! a broken transfer is then the only sign. Before the last step is sent, the number of records is
//! compared with the total of the list, if the stream began at the first record, the domain did not
//! change since then, and the total costs less than the list. Invariant: the line with `end`
//! follows the last record, and only then.
//!
//! [`steps`]: super::steps

use std::io;

use axum::body::{Body, Bytes};
use axum::response::{IntoResponse, Response};
use caseload_store::{ListStep, StepForm};
use futures_util::stream;
use http::header;

use super::list_error::ListError;
use super::noun::Noun;
use super::steps::ListReader;
use super::table::Table;
use crate::http::connection::LongAnswer;
use crate::http::cpu::CpuPool;
use crate::http::csv::DamagedRecord;
use crate::http::memory::{Memory, WAIT};

/// A step ends before this many bytes, but not before its first record.
pub(crate) const STEP_BYTES: usize = 2 << 20;

/// Reads a list step by step.
pub(crate) struct StepReader<N: Noun> {
    pub(crate) steps: ListReader<N>,
    /// Answers of this list before the stream, which the cursor counts.
    pub(crate) pages: u32,
    /// The media type of the stream.
    pub(crate) content_type: &'static str,
    pub(crate) form: StreamForm,
}

/// The form in which the records of a stream are written.
#[derive(Debug, Clone)]
pub(crate) enum StreamForm {
    /// JSON lines; `trailer` says whether a last line confirms that the stream is complete.
    Lines {
        trailer: bool,
    },
    Table(Table),
}

/// The body of the answer.
struct RecordStream<N: Noun> {
    reader: StepReader<N>,
    /// The step that was read before the answer began.
    first: Option<(ListStep<N::Id>, Memory)>,
    /// The mark of changes with which the end is compared.
    mark: Option<i64>,
    records: u64,
    ended: bool,
}

impl<N: Noun> StepReader<N> {
    /// Reads the first step, so that an error of the store then is an error answer and not a broken
    /// body. The rest follows as the body.
    pub(crate) async fn respond(mut self) -> Result<Response, ListError> {
        self.steps.form = StepForm::Lines;
        let mut mark = self.steps.mark().await?;
        let (first, memory) = self.steps.step(WAIT).await?;
        if !first.more
            && let Some(mark) = mark.take()
        {
            self.steps.require_total(mark, first.count.into()).await?;
        }
        let (first, content_type) = (Some((first, memory)), self.content_type);
        let begin = RecordStream { reader: self, first, mark, records: 0, ended: false };
        let pieces = stream::try_unfold(begin, |mut stream| async {
            Ok::<_, io::Error>(stream.piece().await?.map(|piece| (piece, stream)))
        });
        let headers = [(header::CONTENT_TYPE, content_type), (header::VARY, "Accept")];
        let mut response = (headers, Body::from_stream(pieces)).into_response();
        response.extensions_mut().insert(LongAnswer);
        Ok(response)
    }

    /// The cursor after the last record of the stream; empty if there was no record.
    fn cursor(&self) -> String {
        self.steps.cursor(self.pages.saturating_add(1)).unwrap_or_default()
    }
}

impl<N: Noun> RecordStream<N> {
    async fn piece(&mut self) -> io::Result<Option<Bytes>> {
        if self.ended {
            return Ok(None);
        }
        let begins = self.first.is_some();
        let (step, memory) = match self.first.take() {
            Some(first) => first,
            None => self.reader.steps.next().await?,
        };
        self.records += u64::from(step.count);
        self.ended = !step.more;
        if self.ended
            && let Some(mark) = self.mark.take()
            && let Err(error) = self.reader.steps.require_total(mark, self.records).await
        {
            tracing::error!(%error, "a stream breaks off before its end");
            return Err(io::Error::other("the end of the list cannot be confirmed"));
        }
        let mut piece = self.reader.steps.base.inserted(step.body, &step.urls);
        match &self.reader.form {
            StreamForm::Lines { trailer } => {
                if self.ended && *trailer {
                    let (count, cursor) = (self.records, self.reader.cursor());
                    let end = format!(
                        "{{\"end\":true,\"count\":{count},\"next-cursor\":\"{cursor}\"}}\n"
                    );
                    piece.extend_from_slice(end.as_bytes());
                }
            }
            StreamForm::Table(table) => {
                let cpu = &self.reader.steps.state.cpu;
                let (table, rows) = rows(cpu, table.clone(), piece, begins).await?;
                self.reader.form = StreamForm::Table(table);
                piece = rows;
            }
        }
        Ok(Some(memory.hold(piece)))
    }
}

/// The rows of records, after the header at the beginning of the stream, and the table that
/// continues.
async fn rows(
    cpu: &CpuPool,
    mut table: Table,
    lines: Vec<u8>,
    begins: bool,
) -> io::Result<(Table, Vec<u8>)> {
    let written = cpu.run(move || {
        let mut out = if begins { table.begin(&lines)? } else { Vec::new() };
        out.reserve(lines.len() / 2);
        table.rows(&lines, &mut out)?;
        Ok::<_, DamagedRecord>((table, out))
    });
    match written.await {
        Ok(Ok(rows)) => Ok(rows),
        damaged => {
            tracing::error!(?damaged, "records cannot be written as a table");
            Err(io::Error::other("the records cannot be written as a table"))
        }
    }
}
