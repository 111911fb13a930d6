//! The rows of a table or of a sheet: the header says which field each column is, and each row
//! becomes an entry. A row has its raw text and notes about its faults. The cells of a row that can
//! be read become an entry without its faulty fields; of any other row the entry is the raw text.
//! Rows of issues that follow one another with the same id become one entry (`open_issue`).

use caseload_files::COLUMNS_MAX;
use caseload_model::error_code::{EntryErrorCode, ErrorCode};
use caseload_model::import::IMPORT_ENTRIES_MAX;
use caseload_model::notes::Notes;
use caseload_model::payload::{Block, BlockBuilder, Source};
use caseload_model::profile::{Cell, ColumnFault, RoundedIds, RowColumns, RowEntry, RowRules};
use caseload_model::record::EntryFault;
use caseload_model::sketch::Sketch;
use caseload_model::spelling::same_name;

use super::fault::{FileFault, check_count};
use super::open_issue::{BrokenRow, OpenIssue};
use super::options::{ColumnPreview, FileFormat, FileRead, ReadOptions};
use super::rejects::without_front_cells;

/// Full blocks after which the rest of the file waits for the next call.
pub(super) const BLOCKS_AT_ONCE: usize = 16;

/// Values of a column that a preview shows, and the most characters of one.
const SAMPLES_MAX: usize = 3;
const SAMPLE_CHARS_MAX: usize = 100;

/// A row of a file.
pub(super) struct FileRow<'r> {
    pub(super) line: u64,
    /// As it is in the file, or as it would be in a CSV.
    pub(super) raw: &'r str,
    pub(super) delimiter: u8,
    /// The number of cells, or why they cannot be read.
    pub(super) cells: Result<usize, EntryFault>,
}

/// The rows so far. Full blocks leave it.
pub(super) struct Rows {
    options: ReadOptions,
    rules: RowRules,
    header: Option<Result<Header, FileFault>>,
    builder: BlockBuilder,
    open: Option<OpenIssue>,
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

impl Rows {
    pub(super) fn new(options: &ReadOptions) -> Self {
        let rules = RowRules {
            separator: options.separator.clone(),
            null: options.null.clone(),
            leave_out: options.leave_out,
            placeholders: options.context.placeholders.clone(),
        };
        let entry_bytes_max = options.action.family().entry_bytes_read_max();
        let builder = BlockBuilder::new(entry_bytes_max, IMPORT_ENTRIES_MAX as usize);
        let (entry, notes) = (Vec::new(), Vec::new());
        let options = options.clone();
        let samples = Vec::new();
        Self { options, rules, header: None, builder, open: None, samples, entry, notes }
    }

    /// Fails if the header is faulty, or if there are too many entries.
    pub(super) fn check(&self) -> Result<(), FileFault> {
        if let Some(Err(fault)) = &self.header {
            return Err(fault.clone());
        }
        check_count(self.builder.count())
    }

    /// The number of columns of the header; none before it.
    pub(super) fn width(&self) -> usize {
        self.header.as_ref().map_or(0, |header| header.as_ref().map_or(0, |header| header.width))
    }

    /// Ends the rows.
    pub(super) fn finish(
        &mut self,
        format: FileFormat,
        blocks: &mut Vec<Block>,
    ) -> Result<FileRead, FileFault> {
        self.end_issue(blocks);
        self.check()?;
        let empty = |detail: &str| FileFault::new(ErrorCode::EmptyPayload, detail.to_owned());
        let header = self.header.take().unwrap_or_else(|| {
            Err(empty("the file is empty; a table has a header and rows below it"))
        })?;
        if let Some(detail) = header.rounded.refusal() {
            return Err(FileFault::new(ErrorCode::RoundedIds, detail));
        }
        let builder = std::mem::replace(&mut self.builder, BlockBuilder::new(0, 0));
        if builder.count() == 0 {
            return Err(empty("the table has a header and no row below it"));
        }
        Ok(FileRead {
            entries: builder.finish(blocks)?,
            content_length: 0,
            digest: [0; 32],
            sketch: Sketch::default(),
            format,
            columns: header.columns.fields(),
            previews: header.previews(std::mem::take(&mut self.samples)),
            header_faults: header.faults_of(None).collect(),
            header: Some(header.raw),
        })
    }

    /// Takes the header, or a row; a row of blanks is skipped.
    pub(super) fn take<'r>(
        &mut self,
        row: FileRow<'r>,
        cell: impl Fn(usize) -> Cell<'r>,
        blocks: &mut Vec<Block>,
    ) {
        let header = match &mut self.header {
            None => {
                self.header = Some(read_header(&row, cell, &self.options));
                return;
            }
            Some(Err(_)) => return,
            Some(Ok(header)) => header,
        };
        let raw = own_cells(&header.columns, row.raw, row.delimiter);
        let line = u32::try_from(row.line).unwrap_or(u32::MAX);
        let width = header.width;
        let fault = match row.cells {
            Ok(cells) if cells > width => too_many_cells(cells, width),
            Ok(_) => return self.take_cells(line, raw, cell, blocks),
            Err(fault) => fault,
        };
        let broken = BrokenRow { line, raw: raw.to_owned(), fault };
        if let Some(open) = self.open.as_mut().filter(|open| open.broken.is_none()) {
            open.broken = Some(broken);
            return;
        }
        self.end_issue(blocks);
        self.add_broken(&broken, blocks);
    }

    fn take_cells<'r>(
        &mut self,
        line: u32,
        raw: &str,
        cell: impl Fn(usize) -> Cell<'r>,
        blocks: &mut Vec<Block>,
    ) {
        let Some(Ok(header)) = &mut self.header else { return };
        let id = header.columns.id_of(&cell);
        let same = self.open.as_mut().filter(|open| Some(open.id.as_str()) == id);
        let mut continues = None;
        match same {
            Some(open) if open.is_full() => continues = Some(open.continuation()),
            Some(open) => {
                open.add_row(&header.columns, &self.rules, line, raw, &cell);
                header.rounded.see(&cell);
                return;
            }
            None => {}
        }
        self.entry.clear();
        let mut notes = Notes::default();
        match header.columns.write_entry(&self.rules, &cell, &mut self.entry) {
            RowEntry::Blank => return,
            RowEntry::Entry(warnings) => notes.warnings = warnings,
            RowEntry::Faulty(faults) => notes.faults = faults,
        }
        notes.faults.extend(continues);
        header.rounded.see(&cell);
        if self.options.is_preview {
            sample(&mut self.samples, header.width, &cell);
        }
        let opened = id.map(|id| {
            let first = (0..header.width).map(|at| cell(at).text.to_owned()).collect();
            (id.to_owned(), first)
        });
        self.end_issue(blocks);
        let entry = std::mem::take(&mut self.entry);
        if let Some((id, first)) = opened {
            self.open = Some(OpenIssue::new(id, first, entry, notes, (line, raw.to_owned())));
        } else {
            self.add(&entry, &notes, &[(line, raw.as_bytes())], blocks);
            self.entry = entry;
        }
    }

    /// Ends the issue that rows were added to, and the broken row after it.
    fn end_issue(&mut self, blocks: &mut Vec<Block>) {
        let Some(open) = self.open.take() else { return };
        let rows: Vec<_> = open.rows.iter().map(|(line, raw)| (*line, raw.as_bytes())).collect();
        self.add(&open.entry, &open.notes, &rows, blocks);
        if let Some(broken) = &open.broken {
            self.add_broken(broken, blocks);
        }
    }

    fn add_broken(&mut self, broken: &BrokenRow, blocks: &mut Vec<Block>) {
        let notes = Notes { faults: vec![broken.fault.clone()], warnings: Vec::new() };
        self.add(broken.raw.as_bytes(), &notes, &[(broken.line, &[])], blocks);
    }

    /// Adds an entry, which is on the line of its first row.
    fn add(&mut self, entry: &[u8], notes: &Notes, rows: &[(u32, &[u8])], blocks: &mut Vec<Block>) {
        self.builder.append(entry);
        self.notes.clear();
        notes.write(&mut self.notes);
        let line = rows.first().map_or(0, |(line, _)| *line);
        // An entry that is a raw row needs no other one.
        let is_raw = notes.faults.iter().any(|fault| fault.pointer.is_none());
        let rows = if is_raw { &rows[..0] } else { rows };
        self.builder.close(line, Source { rows, notes: &self.notes }, blocks);
    }
}

fn read_header<'r>(
    row: &FileRow<'r>,
    cell: impl Fn(usize) -> Cell<'r>,
    options: &ReadOptions,
) -> Result<Header, FileFault> {
    let width = *row.cells.as_ref().map_err(|fault| {
        let place = if fault.detail.starts_with("line ") {
            String::new()
        } else {
            format!("line {}, ", row.line)
        };
        let detail = format!("the header of the file cannot be read, at {place}{}", fault.detail);
        FileFault::unreadable(detail).on_line(row.line)
    })?;
    if width > COLUMNS_MAX {
        let why = format!("the header has {width} columns; at most {COLUMNS_MAX} are read");
        return Err(FileFault::unreadable(why).on_line(row.line));
    }
    let cells: Vec<Cell<'_>> = (0..width).map(cell).collect();
    let renames: Vec<(String, String)> = options
        .columns
        .iter()
        .map(|(name, field)| (name.clone(), field.clone().unwrap_or_default()))
        .collect();
    let (columns, faults) = RowColumns::read(options.action, &cells, &renames, options.others);
    if !faults.is_empty() && !options.is_preview {
        return Err(FileFault::header(faults).on_line(row.line));
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

fn too_many_cells(cells: usize, width: usize) -> EntryFault {
    let detail = format!(
        "the row has {cells} cells, and the header has {width} columns; is a quote missing?"
    );
    EntryFault::of_row(EntryErrorCode::TooManyCells, detail)
}
