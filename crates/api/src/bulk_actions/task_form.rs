//! The fields of a bulk request, collected from any kind of body and in any order, and all faults
//! of the request. The decoders feed it through [`FieldSink`] and [`MemberSink`].

use caseload_model::error_code::ErrorCode;
use caseload_model::ids::DomainName;
use caseload_model::payload::{PayloadFault, PayloadReader};
use caseload_model::spelling::{boolean_word, same_name};
use caseload_model::task::{self, Action, Family};

use super::path::BulkPath;
use super::staging::Staging;
use super::subject::SubjectKind;
use super::upload::{Payload, Upload};
use crate::http::auth::Caller;
use crate::http::form::body::FormKind;
use crate::http::form::{
    BrokenJson, FieldSink, FormSink, MemberSink, PartHead, PartSink, ValueKind, broken_json,
};
use crate::http::problem::{Fault, Problem};
use crate::http::query::unknown;

/// The fields of a bulk request; the last one only of the path of issues.
pub(crate) const FIELDS: [&str; 4] = ["action", "payload", "dry_run", "upsert"];
/// The meanings of the truth values.
const DRY_RUN_MEANING: &str = "the task writes nothing, and its results and errors show what it \
                               would do";
const UPSERT_MEANING: &str = "an entry replaces the issue that has its id, if their content \
                              differs";
/// How many bytes of a word are read; no action is longer.
const WORD_BYTES_MAX: usize = 256;

/// The most faults, and unknown fields, that an answer lists: a body may have millions.
const FAULTS_MAX: usize = 100;

/// A body with more unknown fields is not read further.
const UNKNOWN_FIELDS_MAX: usize = 1000;
/// The memory of reading and packing one upload, apart from its longest entry.
const UPLOAD_BYTES: usize = 4 << 20;

/// The form of a request while it arrives.
#[derive(Debug)]
pub(super) struct TaskForm {
    kind: FormKind,
    family: Family,
    open: OpenField,
    action: Word,
    dry_run: Word,
    upsert: Word,
    upload: Option<Upload>,
    /// Of the part with the payload.
    file_name: Option<String>,
    /// The receiver of the payload, until a payload begins.
    staging: Option<Staging>,
    /// Whether to hash the payload.
    hashed: bool,
    /// Faults other than those of action and payload.
    faults: Vec<Fault>,
    /// Unknown fields so far.
    unknown_fields: usize,
    /// Whether the open field is a string of a JSON body.
    quoted: bool,
}

/// A valid request.
#[derive(Debug)]
pub(crate) struct TaskRequest {
    pub(crate) action: Action,
    pub(crate) dry_run: bool,
    pub(crate) upsert: bool,
    pub(crate) file_name: Option<String>,
    pub(crate) payload: Payload,
}

/// A field of one word. It may come several times with one value.
#[derive(Debug, Default)]
struct Word {
    given: Option<Vec<u8>>,
    /// The value of a later field of the same name.
    again: Option<Vec<u8>>,
    differs: bool,
}

impl Word {
    fn begin(&mut self) {
        let value = if self.given.is_none() { &mut self.given } else { &mut self.again };
        *value = Some(Vec::new());
    }

    fn data(&mut self, bytes: &[u8]) {
        if let Some(word) = self.again.as_mut().or(self.given.as_mut()) {
            let room = WORD_BYTES_MAX.saturating_sub(word.len());
            word.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
    }

    fn end(&mut self) {
        let again = self.again.take();
        self.differs |= again.is_some() && again != self.given;
    }

    /// The value, and the fault of a field `name` that came with different ones.
    fn finish(self, name: &str) -> (Option<Vec<u8>>, Option<Fault>) {
        let fault = self.differs.then(|| {
            let detail = format!(
                "the field {name} is given more than once, with different values; send it once"
            );
            Fault::parameter(name, ErrorCode::ConflictingParameter, detail)
        });
        (self.given, fault)
    }
}

/// The field whose value is arriving.
#[derive(Debug, Clone, Copy)]
enum OpenField {
    Action,
    Payload,
    DryRun,
    Upsert,
    Ignored,
}

impl FieldSink for TaskForm {
    fn begin(&mut self, name: &str) {
        let field = FIELDS.iter().position(|known| same_name(known, name));
        self.open = match field {
            Some(0) => {
                self.action.begin();
                OpenField::Action
            }
            Some(1) if self.upload.is_none() => {
                let entry_bytes_max = self.family.entry_bytes_read_max();
                let reader = match self.kind {
                    FormKind::Urlencoded | FormKind::Json => PayloadReader::array(entry_bytes_max),
                    FormKind::Multipart => PayloadReader::new(entry_bytes_max),
                };
                let staging = self.staging.take();
                self.upload = staging.map(|to| Upload::new(reader, to, self.hashed));
                OpenField::Payload
            }
            Some(2) => {
                self.dry_run.begin();
                OpenField::DryRun
            }
            Some(3) => {
                self.upsert.begin();
                OpenField::Upsert
            }
            Some(_) => {
                let detail = format!("the field {name} is given more than once; send it once");
                self.fault(Fault::parameter(name, ErrorCode::ConflictingParameter, detail));
                OpenField::Ignored
            }
            None => {
                self.unknown_fields += 1;
                if self.unknown_fields <= FAULTS_MAX {
                    let of_family = if self.family == Family::Issues { 4 } else { 3 };
                    self.fault(unknown(name, &FIELDS[..of_family], "field"));
                }
                OpenField::Ignored
            }
        };
    }

    fn data(&mut self, bytes: &[u8]) {
        match self.open {
            OpenField::Action => self.action.data(bytes),
            OpenField::DryRun => self.dry_run.data(bytes),
            OpenField::Upsert => self.upsert.data(bytes),
            OpenField::Payload => {
                if let Some(upload) = &mut self.upload {
                    upload.push(bytes);
                }
            }
            OpenField::Ignored => {}
        }
    }

    fn end(&mut self) {
        match self.open {
            OpenField::Action => self.action.end(),
            OpenField::DryRun => self.dry_run.end(),
            OpenField::Upsert => self.upsert.end(),
            OpenField::Payload | OpenField::Ignored => {}
        }
        self.open = OpenField::Ignored;
    }
}

/// A value of another type than its field is reported like a wrong text, because its JSON is not an
/// action, a boolean or an array.
impl MemberSink for TaskForm {
    fn begin(&mut self, name: &str, kind: ValueKind) {
        FieldSink::begin(self, name);
        self.quoted = kind == ValueKind::Text;
        if kind == ValueKind::Number && matches!(self.open, OpenField::DryRun | OpenField::Upsert) {
            // The text of a form may be a digit, but a number is not a truth value.
            FieldSink::data(self, b"the number ");
        }
    }

    fn data(&mut self, bytes: &[u8]) {
        FieldSink::data(self, bytes);
    }

    fn end(&mut self) {
        FieldSink::end(self);
    }
}

/// A part is a field, with or without the name of a file.
impl PartSink for TaskForm {
    fn begin(&mut self, part: &PartHead) {
        FieldSink::begin(self, &part.name);
        if let (OpenField::Payload, Some(name)) = (self.open, &part.file_name) {
            self.file_name = task::file_name(name);
        }
    }

    fn data(&mut self, bytes: &[u8]) {
        FieldSink::data(self, bytes);
    }

    fn end(&mut self) {
        FieldSink::end(self);
    }
}

impl FormSink for TaskForm {
    fn check(&self) -> Result<(), Problem> {
        if self.unknown_fields > UNKNOWN_FIELDS_MAX {
            return Err(Problem::faults(self.faults.clone()));
        }
        Ok(())
    }

    /// Compresses the blocks of the payload that are full.
    async fn settle(&mut self) -> Result<(), Problem> {
        match &mut self.upload {
            Some(upload) => upload.settle().await,
            None => Ok(()),
        }
    }
}

impl TaskForm {
    /// The memory that reading a payload of any length needs.
    pub(super) const fn memory_bytes(&self) -> usize {
        UPLOAD_BYTES + self.family.entry_bytes_read_max()
    }

    /// `faults` are those of the query and the headers, so that the caller receives all together.
    /// With `hashed`, the payload is hashed as it arrives.
    pub(super) fn new(
        kind: FormKind,
        family: Family,
        hashed: bool,
        faults: Vec<Fault>,
        staging: Staging,
    ) -> Self {
        Self {
            kind,
            family,
            open: OpenField::Ignored,
            action: Word::default(),
            dry_run: Word::default(),
            upsert: Word::default(),
            upload: None,
            file_name: None,
            staging: Some(staging),
            hashed,
            faults,
            unknown_fields: 0,
            quoted: false,
        }
    }

    /// The valid request, or all its faults. A key without the required access receives that
    /// refusal only.
    pub(super) async fn finish(mut self, caller: &Caller) -> Result<TaskRequest, Problem> {
        let (action, twice) = std::mem::take(&mut self.action).finish("action");
        let (dry_run, dry_run_twice) = std::mem::take(&mut self.dry_run).finish("dry_run");
        let (upsert, upsert_twice) = std::mem::take(&mut self.upsert).finish("upsert");
        [twice, dry_run_twice, upsert_twice].into_iter().flatten().for_each(|f| self.fault(f));
        let action = read_action(action.as_deref(), self.family, &caller.domain_name);
        let dry_run = read_boolean("dry_run", dry_run.as_deref(), DRY_RUN_MEANING);
        let upsert = read_upsert(upsert.as_deref(), action.as_ref().ok().copied());
        if let Ok(action) = &action {
            let dry_run = dry_run.as_ref().is_ok_and(|dry_run| *dry_run);
            caller.require(action.access_of(dry_run), action.as_str())?;
        }
        let dry_run = dry_run.unwrap_or_else(|fault| {
            self.fault(fault);
            false
        });
        let upsert = upsert.unwrap_or_else(|fault| {
            self.fault(fault);
            false
        });
        let payload = match self.upload {
            Some(upload) => upload.finish().await?.map_err(payload_fault),
            None => Err(missing_payload(self.kind)),
        };
        match (action, payload) {
            (Ok(action), Ok(payload)) if self.faults.is_empty() => {
                Ok(TaskRequest { action, dry_run, upsert, file_name: self.file_name, payload })
            }
            (action, payload) => {
                let mut faults: Vec<_> = action.err().into_iter().chain(payload.err()).collect();
                faults.extend(self.faults);
                Err(Problem::faults(faults))
            }
        }
    }

    /// The refusal of a JSON body with broken grammar. Within an array of entries the reader of the
    /// payload knows the entry.
    pub(super) async fn refuse_broken(self, broken: BrokenJson) -> Problem {
        let in_payload = matches!(self.open, OpenField::Payload) && !self.quoted;
        let Some(upload) = self.upload.filter(|_| in_payload) else { return broken_json(broken) };
        match upload.finish().await {
            Ok(Err(fault)) => Problem::faults(vec![payload_fault(fault)]),
            Ok(Ok(_)) => broken_json(broken),
            Err(problem) => problem,
        }
    }

    /// Adds a fault, once: a field may be sent thousands of times.
    fn fault(&mut self, fault: Fault) {
        if self.faults.len() < FAULTS_MAX && !self.faults.contains(&fault) {
            self.faults.push(fault);
        }
    }
}

/// An action of the path of `family`.
fn read_action(value: Option<&[u8]>, family: Family, domain: &DomainName) -> Result<Action, Fault> {
    let accepted = Action::of_family(family).map(Action::as_str).collect::<Vec<_>>().join(", ");
    let Some(value) = value.filter(|value| !value.is_empty()) else {
        let detail = format!("the field action is missing; send one of {accepted}");
        return Err(Fault::parameter("action", ErrorCode::MissingField, detail));
    };
    let word = String::from_utf8_lossy(value);
    let detail = match Action::parse(&word) {
        Some(action) if action.is_taken_by(family) => return Ok(action),
        Some(Action::ErasePerson) => {
            format!(
                "a person is erased by POST /v1/{domain}/erasures; this path accepts {accepted}"
            )
        }
        Some(action) => format!(
            "{word} belongs to the path {}; this path accepts {accepted}",
            BulkPath::of(domain, action.family(), SubjectKind::Task)
        ),
        None => {
            let shown: String = word.chars().take(100).collect();
            format!("there is no action {shown:?}; this path accepts {accepted}")
        }
    };
    Err(Fault::parameter("action", ErrorCode::UnknownAction, detail))
}

/// A truth value, false without a value; `meaning` names the meaning of `true`.
pub(crate) fn read_boolean(name: &str, value: Option<&[u8]>, meaning: &str) -> Result<bool, Fault> {
    let Some(value) = value else { return Ok(false) };
    let word = String::from_utf8_lossy(value);
    boolean_word(&word).ok_or_else(|| {
        let shown: String = word.chars().take(100).collect();
        let detail = format!("{shown:?} is neither true nor false; with true {meaning}");
        Fault::parameter(name, ErrorCode::InvalidValue, detail)
    })
}

/// Whether an import replaces issues. Other actions do not know the field.
fn read_upsert(value: Option<&[u8]>, action: Option<Action>) -> Result<bool, Fault> {
    match action {
        Some(action) if value.is_some() && action != Action::ImportIssues => {
            let (action, import) = (action.as_str(), Action::ImportIssues.as_str());
            let detail = format!("{action} does not take the field upsert, only {import} does");
            Err(Fault::parameter("upsert", ErrorCode::UnknownParameter, detail))
        }
        _ => read_boolean("upsert", value, UPSERT_MEANING),
    }
}

fn missing_payload(kind: FormKind) -> Fault {
    let wanted = match kind {
        FormKind::Urlencoded | FormKind::Json => "a JSON array with one map per entry",
        FormKind::Multipart => "a file of JSON lines, one map per line",
    };
    let detail = format!("the field payload is missing; send {wanted}");
    Fault::parameter("payload", ErrorCode::MissingField, detail)
}

fn payload_fault(fault: PayloadFault) -> Fault {
    let PayloadFault { code, detail, line } = fault;
    Fault { parameter: "payload".to_owned(), line, code, detail }
}
