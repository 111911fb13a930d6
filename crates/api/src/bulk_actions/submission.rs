//! The fields of a bulk request, gathered whatever form they came in and in whatever order, and
//! the faults they have, all of them. Both forms feed it through [`FieldSink`].

use caseload_model::error_code::ErrorCode;
use caseload_model::ids::DomainName;
use caseload_model::payload::{PayloadFault, PayloadReader};
use caseload_model::spelling::same_name;
use caseload_model::task::{Action, Family};

use super::path::BulkPath;
use super::staging::Staging;
use super::upload::{Payload, Upload};
use crate::Caller;
use crate::form::FieldSink;
use crate::problem::{Fault, Problem};
use crate::query::unknown;

/// The fields of a bulk request.
pub(crate) const FIELDS: [&str; 3] = ["action", "payload", "dry_run"];
/// Bytes of a word that are kept; no action is that long.
const WORD_BYTES_MAX: usize = 256;

/// Faults of fields, and unknown fields, beyond which no more are noted: a body may hold millions.
const FAULTS_MAX: usize = 100;

/// How the request body is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// `application/x-www-form-urlencoded`; the payload is an array.
    A,
    /// `multipart/form-data`; the payload is a file of JSON lines or an array.
    B,
}

/// A request body on its way in.
#[derive(Debug)]
pub(super) struct Submission {
    form: Form,
    family: Family,
    open: Open,
    action: Option<Vec<u8>>,
    dry_run: Option<Vec<u8>>,
    upload: Option<Upload>,
    /// What takes the payload, until one comes.
    staging: Option<Staging>,
    /// Whether a hash of the payload is asked for.
    hashed: bool,
    /// Faults beside those of action and payload.
    faults: Vec<Fault>,
    /// Unknown fields so far.
    strangers: usize,
}

/// A good request body.
#[derive(Debug)]
pub(crate) struct Submitted {
    pub(crate) action: Action,
    pub(crate) dry_run: bool,
    pub(crate) payload: Payload,
}

/// The field whose value arrives.
#[derive(Debug, Clone, Copy)]
enum Open {
    Action,
    Payload,
    DryRun,
    Ignored,
}

impl FieldSink for Submission {
    fn begin(&mut self, name: &str) {
        let field = FIELDS.iter().position(|known| same_name(known, name));
        self.open = match field {
            Some(0) if self.action.is_none() => {
                self.action = Some(Vec::new());
                Open::Action
            }
            Some(1) if self.upload.is_none() => {
                let entry_bytes_max = self.family.entry_bytes_read_max();
                let reader = match self.form {
                    Form::A => PayloadReader::array(entry_bytes_max),
                    Form::B => PayloadReader::new(entry_bytes_max),
                };
                let staging = self.staging.take();
                self.upload = staging.map(|to| Upload::new(reader, to, self.hashed));
                Open::Payload
            }
            Some(2) if self.dry_run.is_none() => {
                self.dry_run = Some(Vec::new());
                Open::DryRun
            }
            Some(_) => {
                let detail = format!("the field {name} is given more than once; send it once");
                self.fault(Fault::parameter(name, ErrorCode::ConflictingParameter, detail));
                Open::Ignored
            }
            None => {
                self.strangers += 1;
                if self.strangers <= FAULTS_MAX {
                    self.fault(unknown(name, &FIELDS, "field"));
                }
                Open::Ignored
            }
        };
    }

    fn data(&mut self, bytes: &[u8]) {
        let word = match self.open {
            Open::Action => &mut self.action,
            Open::DryRun => &mut self.dry_run,
            Open::Payload => {
                if let Some(upload) = &mut self.upload {
                    upload.push(bytes);
                }
                return;
            }
            Open::Ignored => return,
        };
        if let Some(word) = word {
            let room = WORD_BYTES_MAX.saturating_sub(word.len());
            word.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
    }

    fn end(&mut self) {
        self.open = Open::Ignored;
    }
}

impl Submission {
    /// Faults of query and headers come along, so that all are reported together. With `hashed`,
    /// the payload is hashed as it arrives.
    pub(super) fn new(
        form: Form,
        family: Family,
        hashed: bool,
        faults: Vec<Fault>,
        staging: Staging,
    ) -> Self {
        Self {
            form,
            family,
            open: Open::Ignored,
            action: None,
            dry_run: None,
            upload: None,
            staging: Some(staging),
            hashed,
            faults,
            strangers: 0,
        }
    }

    /// Has what arrived of the payload compressed.
    pub(super) async fn settle(&mut self) -> Result<(), Problem> {
        match &mut self.upload {
            Some(upload) => upload.settle().await,
            None => Ok(()),
        }
    }

    /// The good request, or all its faults. A key that may not do what is asked for is told only
    /// that.
    pub(super) async fn finish(mut self, caller: &Caller) -> Result<Submitted, Problem> {
        let action = read_action(self.action.as_deref(), self.family, &caller.domain_name);
        let dry_run = read_dry_run(self.dry_run.as_deref());
        if let Ok(action) = &action {
            let dry_run = dry_run.as_ref().is_ok_and(|dry_run| *dry_run);
            caller.may(action.access_of(dry_run), action.as_str())?;
        }
        let dry_run = dry_run.unwrap_or_else(|fault| {
            self.fault(fault);
            false
        });
        let payload = match self.upload {
            Some(upload) => upload.finish().await?.map_err(payload_fault),
            None => Err(missing_payload(self.form)),
        };
        match (action, payload) {
            (Ok(action), Ok(payload)) if self.faults.is_empty() => {
                Ok(Submitted { action, dry_run, payload })
            }
            (action, payload) => {
                let mut faults: Vec<_> = action.err().into_iter().chain(payload.err()).collect();
                faults.extend(self.faults);
                Err(Problem::faults(faults))
            }
        }
    }

    /// Notes a fault once: a field may come thousands of times.
    fn fault(&mut self, fault: Fault) {
        if self.faults.len() < FAULTS_MAX && !self.faults.contains(&fault) {
            self.faults.push(fault);
        }
    }
}

fn read_action(value: Option<&[u8]>, family: Family, domain: &DomainName) -> Result<Action, Fault> {
    let accepted = Action::of_family(family).map(Action::as_str).collect::<Vec<_>>().join(", ");
    let Some(value) = value.filter(|value| !value.is_empty()) else {
        let detail = format!("the field action is missing; send one of {accepted}");
        return Err(Fault::parameter("action", ErrorCode::MissingField, detail));
    };
    let word = String::from_utf8_lossy(value);
    let detail = match Action::parse(&word) {
        Some(action) if action.family() == family => return Ok(action),
        Some(action) => format!(
            "{word} belongs to the path {}; this path accepts {accepted}",
            BulkPath::of(domain, action.family())
        ),
        None => {
            let shown: String = word.chars().take(100).collect();
            format!("there is no action {shown:?}; this path accepts {accepted}")
        }
    };
    Err(Fault::parameter("action", ErrorCode::UnknownAction, detail))
}

fn read_dry_run(value: Option<&[u8]>) -> Result<bool, Fault> {
    match value {
        None | Some(b"false") => Ok(false),
        Some(b"true") => Ok(true),
        Some(other) => {
            let shown: String = String::from_utf8_lossy(other).chars().take(100).collect();
            let detail = format!(
                "{shown:?} is neither true nor false; with true nothing is written, and results \
                 and errors tell what would be"
            );
            Err(Fault::parameter("dry_run", ErrorCode::InvalidValue, detail))
        }
    }
}

fn missing_payload(form: Form) -> Fault {
    let wanted = match form {
        Form::A => "a JSON array with one map per entry",
        Form::B => "a file of JSON lines, one map per line",
    };
    let detail = format!("the field payload is missing; send {wanted}");
    Fault::parameter("payload", ErrorCode::MissingField, detail)
}

fn payload_fault(fault: PayloadFault) -> Fault {
    let PayloadFault { code, detail, line } = fault;
    Fault { parameter: "payload".to_owned(), line, code, detail }
}
