//! A table of profiles: the header says which field each column is, and each row becomes an entry.
//! A row has its raw text and notes about its faults. The cells of a row that can be
//! read become an entry without its faulty fields; of any other row the entry is the raw text.

use caseload_files::{
    COLUMNS_MAX, Record, Row, RowFault, TOO_LARGE, TableOptions, TableReader, TextFault,
};
use caseload_model::error_code::{EntryErrorCode, ErrorCode};
use caseload_model::import::IMPORT_ENTRIES_MAX;
use caseload_model::notes::Notes;
use caseload_model::payload::{Block, BlockBuilder, Source};
use caseload_model::profile::{Cell, ColumnFault, RoundedIds, RowColumns, RowEntry, RowRules};
use caseload_model::record::EntryFault;
use caseload_model::spelling::same_name;

use super::fault::{FileFault, check_count};
use super::options::{ColumnPreview, FileFormat, FileRead, FileType, ReadOptions};
use super::rejects::without_front_cells;

/// Values of a column that a preview shows, and the most characters of one.
const SAMPLES_MAX: usize = 3;
const SAMPLE_CHARS_MAX: usize = 100;

pub(super) struct TableSource {
    reader: TableReader,
    rows: Rows,
}

/// The rows so far. Full blocks leave it.
struct Rows {
    options: ReadOptions,
    rules: RowRules,
    header: Option<Result<Header, FileFault>>,
    builder: BlockBuilder,
    /// Of a preview: the first values of each column.
    samples: Vec<Vec<String>>,
    /// Buffers that each row uses.
    entry: Vec<u8>,
    notes: Vec<u8>,
}

struct Header {
    columns: RowColumns,
    width: usize,
    rounded: RoundedIds,
    raw: String,
    /// Of a preview: the faults of the header.
    faults: Vec<ColumnFault>,
    renames: Vec<(String, String)>,
}

impl TableSource {
    pub(super) fn new(options: &ReadOptions) -> Self {
        let ReadOptions { delimiter, encoding, .. } = *options;
        let rules = RowRules {
            separator: options.separator.clone(),
            null: options.null.clone(),
            leave_out: options.leave_out,
            placeholders: options.context.placeholders.clone(),
        };
        let entry_bytes_max = options.action.family().entry_bytes_read_max();
        let builder = BlockBuilder::new(entry_bytes_max, IMPORT_ENTRIES_MAX as usize);
        let (entry, notes) = (Vec::new(), Vec::new());
        let rows = Rows {
            options: options.clone(),
            rules,
            header: None,
            builder,
            samples: Vec::new(),
            entry,
            notes,
        };
        Self { reader: TableReader::new(TableOptions { delimiter, encoding }), rows }
    }

    pub(super) fn push(&mut self, bytes: &[u8], blocks: &mut Vec<Block>) -> Result<(), FileFault> {
        let rows = &mut self.rows;
        let read = self.reader.feed(bytes, &mut |record| rows.take(record, blocks));
        self.check(read)
    }

    /// With `is_cut`, a row that has not ended is not read.
    pub(super) fn finish(
        &mut self,
        is_cut: bool,
        blocks: &mut Vec<Block>,
    ) -> Result<FileRead, FileFault> {
        let rows = &mut self.rows;
        if !is_cut {
            let read = self.reader.finish(&mut |record| rows.take(record, blocks));
            self.check(read)?;
        }
        let encoding = self.reader.encoding().name();
        let delimiter = self.reader.delimiter();
        let format = FileFormat { file_type: FileType::Csv, encoding, delimiter, sheet: None };
        let empty = |detail: &str| FileFault::new(ErrorCode::EmptyPayload, detail.to_owned());
        let header = self.rows.header.take().unwrap_or_else(|| {
            Err(empty("the file is empty; a table has a header and rows below it"))
        })?;
        if let Some(detail) = header.rounded.refusal() {
            return Err(FileFault::new(ErrorCode::RoundedIds, detail));
        }
        let last = BlockBuilder::new(0, 0);
        let builder = std::mem::replace(&mut self.rows.builder, last);
        if builder.count() == 0 {
            return Err(empty("the table has a header and no row below it"));
        }
        Ok(FileRead {
            entries: builder.finish(blocks)?,
            content_length: 0,
            digest: [0; 32],
            format,
            columns: header.columns.fields(),
            previews: header.previews(std::mem::take(&mut self.rows.samples)),
            header_faults: header.faults_of(None).collect(),
            header: Some(header.raw),
        })
    }

    fn check(&self, read: Result<(), TextFault>) -> Result<(), FileFault> {
        read?;
        if let Some(Err(fault)) = &self.rows.header {
            return Err(fault.clone());
        }
        check_count(self.rows.builder.count())
    }
}

impl Rows {
    /// Takes the header, or a row; a row of blanks is skipped.
    fn take(&mut self, record: Record<'_>, blocks: &mut Vec<Block>) {
        let header = match &mut self.header {
            None => {
                self.header = Some(read_header(record, &self.options));
                return;
            }
            Some(Err(_)) => return,
            Some(Ok(header)) => header,
        };
        let (line, raw, delimiter, unreadable) = match record {
            Record::Fault(fault) => {
                (fault.row_line, fault.raw, fault.delimiter, Some(unreadable(&fault)))
            }
            Record::Row(row) => {
                let is_long = row.cells() > header.width;
                let fault = is_long.then(|| too_many_cells(&row, header.width));
                (row.line, row.raw, row.delimiter, fault)
            }
        };
        let raw = own_cells(&header.columns, raw, delimiter);
        let line = u32::try_from(line).unwrap_or(u32::MAX);
        let mut notes = Notes::default();
        match (unreadable, record) {
            (None, Record::Row(row)) => {
                self.entry.clear();
                let cell = |at| cell_of(&row, at);
                match header.columns.write_entry(&self.rules, cell, &mut self.entry) {
                    RowEntry::Blank => return,
                    RowEntry::Entry(warnings) => notes.warnings = warnings,
                    RowEntry::Faulty(faults) => notes.faults = faults,
                }
                header.rounded.see(cell);
                if self.options.is_preview {
                    sample(&mut self.samples, header.width, cell);
                }
                self.builder.append(&self.entry);
            }
            (fault, _) => {
                notes.faults.extend(fault);
                self.builder.append(raw.as_bytes());
            }
        }
        self.notes.clear();
        notes.write(&mut self.notes);
        let is_raw = notes.faults.iter().any(|fault| fault.pointer.is_none());
        let row = [(line, raw.as_bytes())];
        let rows = if is_raw { &row[..0] } else { &row[..] };
        self.builder.close(line, Source { rows, notes: &self.notes }, blocks);
    }
}

fn read_header(record: Record<'_>, options: &ReadOptions) -> Result<Header, FileFault> {
    let row = match record {
        Record::Row(row) => row,
        Record::Fault(RowFault { line, column, detail, .. }) => {
            let detail = format!(
                "the header of the file cannot be read, at line {line}, column {column}: {detail}"
            );
            return Err(FileFault::unreadable(detail).on_line(line));
        }
    };
    let width = row.cells();
    if width > COLUMNS_MAX {
        let why = format!("it has {width} columns; at most {COLUMNS_MAX} are read");
        return Err(FileFault::header(vec![why]).on_line(row.line));
    }
    let cells: Vec<Cell<'_>> = (0..width).map(|at| cell_of(&row, at)).collect();
    let renames: Vec<(String, String)> = options
        .columns
        .iter()
        .map(|(name, field)| (name.clone(), field.clone().unwrap_or_default()))
        .collect();
    let (columns, faults) =
        RowColumns::read_with_faults(options.action, &cells, &renames, options.others);
    if !faults.is_empty() && !options.is_preview {
        let shown = faults.into_iter().map(|ColumnFault { column, detail }| match column {
            Some(at) => format!("column {}: {detail}", at + 1),
            None => detail,
        });
        return Err(FileFault::header(shown.collect()).on_line(row.line));
    }
    let raw = own_cells(&columns, row.raw, row.delimiter).to_owned();
    let rounded = columns.rounded_ids();
    Ok(Header { columns, width, rounded, raw, faults, renames })
}

impl Header {
    /// The faults of a column, or those of none.
    fn faults_of(&self, column: Option<usize>) -> impl Iterator<Item = String> {
        let own = self.faults.iter().filter(move |fault| fault.column == column);
        own.map(|fault| fault.detail.clone())
    }

    fn previews(&self, samples: Vec<Vec<String>>) -> Vec<ColumnPreview> {
        let mut samples = samples.into_iter();
        let fields = self.columns.fields().into_iter().enumerate();
        let preview = |(at, (name, field)): (usize, (String, Option<String>))| {
            let warnings: Vec<String> = self.faults_of(Some(at)).collect();
            let is_named = self
                .renames
                .iter()
                .any(|(from, _)| same_name(from, &name) || *from == format!("#{}", at + 1));
            let why = match &field {
                _ if is_named => "the option columns says so",
                Some(field) if same_name(field, &name) => "it has the name of the field",
                Some(_) => "its name is a word for the field",
                None if !warnings.is_empty() => "no field has its name",
                None => "it is left out",
            };
            let samples = samples.next().unwrap_or_default();
            ColumnPreview { name, field, why, samples, warnings }
        };
        fields.map(preview).collect()
    }
}

/// Notes the first values of the columns, shortened.
fn sample<'c>(samples: &mut Vec<Vec<String>>, width: usize, cell: impl Fn(usize) -> Cell<'c>) {
    samples.resize(width, Vec::new());
    for (at, samples) in samples.iter_mut().enumerate() {
        let text = cell(at).text;
        if samples.len() < SAMPLES_MAX && !text.is_empty() {
            samples.push(text.chars().take(SAMPLE_CHARS_MAX).collect());
        }
    }
}

/// A row without the cells that a table of rejects has in front.
fn own_cells<'r>(columns: &RowColumns, raw: &'r str, delimiter: u8) -> &'r str {
    if columns.is_of_rejects() { without_front_cells(raw, delimiter) } else { raw }
}

fn too_many_cells(row: &Row<'_>, width: usize) -> EntryFault {
    let detail = format!(
        "the row has {} cells, and the header has {width} columns; is a quote missing?",
        row.cells()
    );
    EntryFault::of_row(EntryErrorCode::TooManyCells, detail)
}

fn unreadable(fault: &RowFault<'_>) -> EntryFault {
    let RowFault { code, row_line, line, column, detail, .. } = fault;
    let line = if line == row_line { String::new() } else { format!("line {line}, ") };
    let code = match *code {
        TOO_LARGE => EntryErrorCode::TooLarge,
        _ => EntryErrorCode::OpenQuote,
    };
    EntryFault::of_row(code, format!("{line}column {column}: {detail}"))
}

fn cell_of<'r>(row: &Row<'r>, at: usize) -> Cell<'r> {
    Cell { text: row.cell(at), quoted: row.is_quoted(at) }
}
