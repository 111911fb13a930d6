//! The form of an import while it arrives: the options, then the file. The file goes to its reader
//! as it arrives; a form that cannot become an import is refused at once and not read further.

use caseload_model::error_code::ErrorCode;
use caseload_model::payload::Block;
use caseload_model::profile::ColumnFault;
use caseload_model::spelling::same_name;
use caseload_model::task::{self, Family};
use caseload_store::EntryContext;

use super::file_reader::{FileFault, FileRead, FileReader};
use super::options::{FILE, Options, fields_of};
use crate::bulk_actions::{BlockReader, Payload, Staging, Upload};
use crate::http::auth::Caller;
use crate::http::cpu::CpuPool;
use crate::http::form::{FieldSink, Fields, FormSink, MemberSink, PartHead, PartSink, ValueKind};
use crate::http::memory::Memory;
use crate::http::problem::{FAULTS_MAX, Fault, Problem};
use crate::http::query::unknown;

/// The most bytes that all options may have together.
pub(super) const OPTIONS_BYTES_MAX: usize = 1 << 20;
/// The memory of reading and packing one file, apart from that of its reader.
pub(super) const FILE_UPLOAD_BYTES: usize = 6 << 20;

impl BlockReader for FileReader {
    type Read = FileRead;
    type Fault = FileFault;

    fn push(&mut self, bytes: &[u8], full: &mut Vec<Block>) -> Result<(), FileFault> {
        full.extend(Self::push(self, bytes)?);
        while self.has_more() {
            full.extend(Self::push(self, &[])?);
        }
        Ok(())
    }

    fn end(&mut self, full: &mut Vec<Block>) -> Result<(), FileFault> {
        full.extend(Self::end(self)?);
        Ok(())
    }

    fn finish(self, rest: &mut Vec<Block>) -> Result<FileRead, FileFault> {
        let (blocks, read) = Self::finish(self)?;
        rest.extend(blocks);
        Ok(read)
    }
}

/// How much of the file is read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reach {
    pub(super) bytes_max: u64,
    /// Whether the rest of a longer file does not matter.
    pub(super) is_preview: bool,
}

/// The form of one request.
pub(super) struct ImportForm {
    family: Family,
    caller: Caller,
    context: EntryContext,
    reach: Reach,
    cpu: CpuPool,
    memory: Memory,
    options: Fields,
    /// The faults of the query and the headers, until the options are read.
    faults: Vec<Fault>,
    /// Why the form is refused.
    refused: Option<Problem>,
    /// The receiver of the file, until it begins.
    staging: Option<Staging>,
    open: OpenPart,
    file: Option<ArrivingFile>,
    file_name: Option<String>,
}

/// A part whose content is arriving.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OpenPart {
    Option,
    File,
    Refused,
}

/// The file that is arriving, with its options.
struct ArrivingFile {
    options: Options,
    /// `None` while another thread has it.
    upload: Option<Upload<FileReader>>,
    /// Bytes that the reader has not got yet.
    arrived: Vec<u8>,
}

/// A valid request.
pub(super) struct ImportRequest {
    pub(super) options: Options,
    pub(super) file_name: Option<String>,
    pub(super) payload: Payload<FileRead>,
}

impl ImportForm {
    /// `faults` are those of the query and the headers.
    pub(super) fn new(
        (family, caller, context): (Family, &Caller, EntryContext),
        (reach, cpu, memory): (Reach, CpuPool, Memory),
        faults: Vec<Fault>,
        staging: Staging,
    ) -> Self {
        Self {
            family,
            caller: caller.clone(),
            context,
            reach,
            cpu,
            memory,
            options: Fields::default(),
            faults,
            refused: None,
            staging: Some(staging),
            open: OpenPart::Refused,
            file: None,
            file_name: None,
        }
    }

    /// Reads the options, which are complete when the file begins.
    fn begin_file(&mut self) {
        let options = self.read_options(Vec::new());
        match (options, self.staging.take()) {
            (Ok(mut options), Some(staging)) => {
                options.read.bytes_max = self.reach.bytes_max;
                let reader = FileReader::new(options.read.clone());
                let upload = Some(Upload::new(reader, staging, false));
                self.file = Some(ArrivingFile { options, upload, arrived: Vec::new() });
                self.open = OpenPart::File;
            }
            (Err(problem), _) => self.refused = Some(problem),
            (Ok(_), None) => self.refused = Some(second_file()),
        }
    }

    fn read_options(&mut self, more: Vec<Fault>) -> Result<Options, Problem> {
        let mut faults = std::mem::take(&mut self.faults);
        faults.append(&mut self.options.faults);
        faults.extend(more);
        let pairs = &self.options.pairs;
        let by = (&self.caller, self.reach.is_preview);
        Options::read(pairs, self.family, by, self.context.clone(), faults)
    }

    /// The valid request, or all faults of its options, or that of its file.
    pub(super) async fn finish(mut self) -> Result<ImportRequest, Problem> {
        let Some(file) = self.file.take() else {
            let missing = Fault::parameter(
                FILE,
                ErrorCode::MissingField,
                "the part file is missing; send the file after the options",
            );
            let problem = self.read_options(vec![missing]).err();
            return Err(problem.unwrap_or_else(Problem::internal));
        };
        let ArrivingFile { options, upload, .. } = file;
        let mut upload = upload.ok_or_else(Problem::internal)?;
        let end = move || {
            upload.end();
            upload
        };
        let upload = self.cpu.run(end).await?;
        let reader = upload.reader().memory_bytes();
        self.memory.grow_to(FILE_UPLOAD_BYTES + reader).await?;
        let payload = upload.finish().await?.map_err(|fault| file_fault(&fault))?;
        Ok(ImportRequest { options, file_name: self.file_name, payload })
    }
}

fn second_file() -> Problem {
    let detail = "the part file is given more than once; send each file as an import of its own";
    Problem::faults(vec![Fault::parameter(FILE, ErrorCode::ConflictingParameter, detail)])
}

/// The refusal of an option that follows the file.
fn late_option(name: &str, family: Family) -> Problem {
    let known = fields_of(family);
    if !known.iter().any(|known| same_name(known, name)) {
        return Problem::faults(vec![unknown(name, known, "option")]);
    }
    let detail = format!("the option {name} follows the file; send all options before it");
    Problem::faults(vec![Fault::parameter(name, ErrorCode::InvalidValue, detail)])
}

/// The refusal of a file. Each fault of a column names it by its number, as `columns` may.
fn file_fault(fault: &FileFault) -> Problem {
    let FileFault { code, detail, line, columns } = fault.clone();
    if columns.is_empty() {
        return Problem::faults(vec![Fault { parameter: FILE.to_owned(), line, code, detail }]);
    }
    let of_column = |ColumnFault { column, detail }| {
        let parameter = column.map_or_else(|| FILE.to_owned(), |at| format!("#{}", at + 1));
        Fault { parameter, line, code, detail }
    };
    Problem::faults(columns.into_iter().map(of_column).collect())
}

impl PartSink for ImportForm {
    fn begin(&mut self, part: &PartHead) {
        self.open = OpenPart::Refused;
        if self.refused.is_some() {
            return;
        }
        let is_file = same_name(FILE, &part.name);
        match (is_file, self.file.is_some()) {
            (true, true) => self.refused = Some(second_file()),
            (true, false) => {
                self.file_name = part.file_name.as_deref().and_then(task::file_name);
                self.begin_file();
            }
            (false, true) => self.refused = Some(late_option(&part.name, self.family)),
            (false, false) => {
                self.open = OpenPart::Option;
                self.options.begin(&part.name);
            }
        }
    }

    fn data(&mut self, bytes: &[u8]) {
        match (self.open, &mut self.file) {
            (OpenPart::Option, _) => self.options.data(bytes),
            (OpenPart::File, Some(file)) => file.arrived.extend_from_slice(bytes),
            _ => {}
        }
    }

    fn end(&mut self) {
        if self.open == OpenPart::Option {
            self.options.end();
        }
    }
}

/// Only a multipart form has a file; these parts never arrive.
impl FieldSink for ImportForm {
    fn begin(&mut self, _: &str) {}
    fn data(&mut self, _: &[u8]) {}
    fn end(&mut self) {}
}

impl MemberSink for ImportForm {
    fn begin(&mut self, _: &str, _: ValueKind) {}
    fn data(&mut self, _: &[u8]) {}
    fn end(&mut self) {}
}

impl FormSink for ImportForm {
    fn check(&self) -> Result<(), Problem> {
        if let Some(problem) = &self.refused {
            return Err(problem.clone());
        }
        let (bytes, count) = (self.options.bytes(), self.options.pairs.len());
        if bytes > OPTIONS_BYTES_MAX || count > FAULTS_MAX {
            let detail = format!(
                "the options have more than {OPTIONS_BYTES_MAX} bytes, or are more than \
                 {FAULTS_MAX}; send the file as the part {FILE}"
            );
            return Err(Problem::new(ErrorCode::TooLarge, detail));
        }
        Ok(())
    }

    /// Gives the arrived bytes to the reader, on another thread, and packs the full blocks.
    async fn settle(&mut self) -> Result<(), Problem> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let mut bytes = std::mem::take(&mut file.arrived);
        let mut pushed = 0;
        while pushed < bytes.len() {
            let mut upload = file.upload.take().ok_or_else(Problem::internal)?;
            let work = move || {
                let end = pushed + upload.push_some(&bytes[pushed..]);
                (upload, bytes, end)
            };
            let (mut upload, rest, end) = self.cpu.run(work).await?;
            (bytes, pushed) = (rest, end);
            if let Some(fault) = upload.fault() {
                return Err(file_fault(fault));
            }
            upload.settle().await?;
            let reader = upload.reader().memory_bytes();
            file.upload = Some(upload);
            self.memory.grow_to(FILE_UPLOAD_BYTES + reader).await?;
        }
        Ok(())
    }

    fn has_enough(&self) -> bool {
        let upload = self.file.as_ref().and_then(|file| file.upload.as_ref());
        upload.is_some_and(|upload| upload.reader().has_enough())
    }
}
