//! The result and error records of a task: one per entry, as JSON lines. Wire form: docs/api.md,
//! "Results and errors". Records are collected per chunk and stored exactly as they will be served.

use std::borrow::Cow;

use crate::change::Effect;
use crate::error_code::{EntryErrorCode, EntryWarningCode};
use crate::ids::{CoreProfileId, IdentityKey};
use crate::json::{self, Json, ValuePath, write_decimal};
use crate::payload::{Entry, OVERSIZE_PREFIX_BYTES};
use crate::task::Action;

/// Bytes of a faulty value that an error record repeats; longer values are shortened.
pub const FAULT_VALUE_BYTES_MAX: usize = 1024;
/// Most warnings of one entry that are listed. If an exporter sends seconds, every time of an issue
/// is odd, and the first ones say so.
pub const WARNINGS_MAX: usize = 10;
/// Bytes of an unreadable entry that an error record repeats.
pub const RAW_ENTRY_BYTES_MAX: usize = 1024;

const _: () = assert!(OVERSIZE_PREFIX_BYTES > RAW_ENTRY_BYTES_MAX);

/// One fault of one entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryFault {
    pub code: EntryErrorCode,
    /// RFC 6901 pointer into the entry; absent if the entry could not be read.
    pub pointer: Option<String>,
    /// The fault and its correction, as a sentence.
    pub detail: String,
    /// The faulty value as JSON text, if there is one.
    pub value: Option<Vec<u8>>,
    /// The profiles that have the identities, if that is the fault.
    pub owners: Vec<CoreProfileId>,
}

impl EntryFault {
    pub fn new(
        code: EntryErrorCode,
        pointer: impl Into<String>,
        detail: impl Into<String>,
    ) -> Self {
        let (pointer, detail) = (Some(pointer.into()), detail.into());
        Self { code, pointer, detail, value: None, owners: Vec::new() }
    }

    /// A fault of a whole row or line, in which there is nothing to point to.
    pub fn of_row(code: EntryErrorCode, detail: String) -> Self {
        Self { code, pointer: None, detail, value: None, owners: Vec::new() }
    }

    /// This fault with the faulty value, shortened if it is long.
    #[must_use]
    pub fn with_value(mut self, value: &Json<'_>) -> Self {
        self.value = Some(shown_value(value));
        self
    }
}

/// A value as JSON text, shortened if it is long.
pub(crate) fn shown_value(value: &Json<'_>) -> Vec<u8> {
    let mut text = Vec::new();
    value.write_to(&mut text);
    if text.len() > FAULT_VALUE_BYTES_MAX {
        let short = shorten(&text, FAULT_VALUE_BYTES_MAX);
        text.clear();
        json::write_string(&short, &mut text);
    }
    text
}

/// Something odd about an entry that succeeds nevertheless.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryWarning {
    pub code: EntryWarningCode,
    /// RFC 6901 pointer into the entry.
    pub pointer: String,
    /// The oddity, how the value was taken, and which one was perhaps meant.
    pub detail: String,
    /// The value as JSON text, shortened if it is long.
    pub value: Vec<u8>,
}

impl EntryWarning {
    /// A warning with the value that it is about, shortened if it is long.
    pub(crate) fn new(
        code: EntryWarningCode,
        path: &ValuePath<'_>,
        detail: String,
        value: &Json<'_>,
    ) -> Self {
        Self { code, pointer: path.pointer(), detail, value: shown_value(value) }
    }

    /// The warning about an entry whose record an earlier entry of the file has changed. `field`
    /// names the record; `advice` begins in the imperative.
    pub(crate) fn repeated(field: &str, value: &Json<'_>, record: &str, advice: &str) -> Self {
        let detail = format!("an earlier entry of the file has changed {record} already: {advice}");
        Self::new(EntryWarningCode::RepeatedId, &ValuePath::field(field), detail, value)
    }
}

/// The records that an entry names, as far as it can be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NamedRecords {
    pub core_profile: Option<CoreProfileId>,
    pub app_profile: Option<String>,
    pub issue: Option<u64>,
    /// Each with its position in the entry.
    pub identities: Vec<(usize, IdentityKey)>,
}

/// Why an entry was rejected before anything was looked up. It changes nothing, but the planners
/// look up the records that it names, so that its record has those faults, too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejection {
    /// The entry's id as JSON text, if it has one.
    pub id: Option<Vec<u8>>,
    pub faults: Vec<EntryFault>,
    /// Whether the entry is a readable map of allowed size. If not, its record has `raw` instead of
    /// `entry`.
    pub readable: bool,
    /// The records to look up; `None` if there are none.
    pub named: Option<Box<NamedRecords>>,
}

/// An entry after validation: its request, or the reason for its rejection.
#[derive(Debug, Clone)]
pub struct PreparedEntry<T> {
    pub entry: Entry,
    pub item: Result<T, Rejection>,
    /// Oddities that validation found. The record has them if the entry succeeds.
    pub warnings: Vec<EntryWarning>,
}

impl<T> PreparedEntry<T> {
    /// Its warnings and further ones, as many as are listed.
    pub(crate) fn warnings_and(&self, further: &[EntryWarning]) -> Cow<'_, [EntryWarning]> {
        if further.is_empty() {
            return Cow::Borrowed(&self.warnings);
        }
        let mut all = [&self.warnings, further].concat();
        all.truncate(WARNINGS_MAX);
        Cow::Owned(all)
    }
}

/// The records of several entries in a row, as JSON lines, how many succeeded and failed, and their
/// effects. Those of a dry run are not logged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChunkRecords {
    pub results: Vec<u8>,
    pub errors: Vec<u8>,
    pub succeeded: u32,
    pub failed: u32,
    /// Warnings in the results.
    pub warnings: u32,
    /// The effects of the entries, in their order.
    pub effects: Vec<Effect>,
}

impl ChunkRecords {
    /// Adds the effect of an entry, and a result line that begins with the entry's position and
    /// outcome and ends with its warnings. Without an effect, the entry changes nothing. `rest`
    /// appends the members between them, each with its leading comma.
    pub fn outcome(
        &mut self,
        entry: &Entry,
        effect: Option<Effect>,
        warnings: &[EntryWarning],
        rest: impl FnOnce(&mut Vec<u8>),
    ) {
        let out = &mut self.results;
        write_position(entry, out);
        out.extend_from_slice(b",\"outcome\":\"");
        let outcome = effect.as_ref().map_or("unchanged", |effect| effect.action.as_str());
        out.extend_from_slice(outcome.as_bytes());
        out.push(b'"');
        rest(out);
        if !warnings.is_empty() {
            out.extend_from_slice(b",\"warnings\":");
            json::write_array(warnings, out, write_warning);
        }
        out.extend_from_slice(b"}\n");
        let index = Some(entry.index);
        self.effects.extend(effect.map(|effect| Effect { index, ..effect }));
        self.succeeded += 1;
        self.warnings += warnings.len() as u32;
    }

    /// Adds a result line that is a whole record, as get actions return it. `write` appends the
    /// record, or returns false if there is none.
    pub fn record<E>(
        &mut self,
        write: impl FnOnce(&mut Vec<u8>) -> Result<bool, E>,
    ) -> Result<bool, E> {
        let written = write(&mut self.results)?;
        if written {
            self.results.push(b'\n');
            self.succeeded += 1;
        }
        Ok(written)
    }

    /// Adds an error record. `id` is the entry's id as JSON text; `payload` is the buffer that
    /// `entry` points into.
    pub fn error(
        &mut self,
        action: Action,
        payload: &[u8],
        entry: &Entry,
        id: Option<&[u8]>,
        faults: &[EntryFault],
        readable: bool,
    ) {
        assert!(!faults.is_empty(), "an error record names at least one fault");
        let out = &mut self.errors;
        write_position(entry, out);
        if let Some(id) = id {
            out.extend_from_slice(format!(",\"{}\":", action.id_field()).as_bytes());
            out.extend_from_slice(id);
        }
        out.extend_from_slice(b",\"errors\":");
        json::write_array(faults, out, write_fault);
        write_entry(&payload[entry.range.clone()], readable, out);
        out.extend_from_slice(b"}\n");
        self.failed += 1;
    }

    /// Adds the error record of an entry that failed validation.
    pub fn rejected(
        &mut self,
        action: Action,
        payload: &[u8],
        entry: &Entry,
        rejected: &Rejection,
    ) {
        let id = rejected.id.as_deref();
        self.error(action, payload, entry, id, &rejected.faults, rejected.readable);
    }

    /// Adds the records of the entries that follow this run.
    pub fn append(&mut self, mut other: Self) {
        self.results.extend_from_slice(&other.results);
        self.errors.extend_from_slice(&other.errors);
        self.succeeded += other.succeeded;
        self.failed += other.failed;
        self.warnings += other.warnings;
        self.effects.append(&mut other.effects);
    }
}

/// Appends the members `errors` and `warnings` of an entry that was not run.
pub fn write_findings(faults: &[EntryFault], warnings: &[EntryWarning], out: &mut Vec<u8>) {
    out.extend_from_slice(b"\"errors\":");
    json::write_array(faults, out, write_fault);
    out.extend_from_slice(b",\"warnings\":");
    json::write_array(warnings, out, write_warning);
}

fn write_position(entry: &Entry, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"index\":");
    write_decimal(entry.index, out);
    out.extend_from_slice(b",\"line\":");
    write_decimal(entry.line, out);
}

pub(crate) fn write_warning(warning: &EntryWarning, out: &mut Vec<u8>) {
    let EntryWarning { code, pointer, detail, value } = warning;
    write_finding(code.as_str(), Some(pointer), detail, Some(value), out);
    out.push(b'}');
}

/// The members that faults and warnings share, without the closing brace.
fn write_finding(
    code: &str,
    pointer: Option<&str>,
    detail: &str,
    value: Option<&[u8]>,
    out: &mut Vec<u8>,
) {
    out.extend_from_slice(format!("{{\"code\":\"{code}\"").as_bytes());
    if let Some(pointer) = pointer {
        out.extend_from_slice(b",\"pointer\":");
        json::write_string(pointer, out);
    }
    out.extend_from_slice(b",\"detail\":");
    json::write_string(detail, out);
    if let Some(value) = value {
        out.extend_from_slice(b",\"value\":");
        out.extend_from_slice(value);
    }
}

pub(crate) fn write_fault(fault: &EntryFault, out: &mut Vec<u8>) {
    let (pointer, value) = (fault.pointer.as_deref(), fault.value.as_deref());
    write_finding(fault.code.as_str(), pointer, &fault.detail, value, out);
    let write_id = |id: &CoreProfileId, out: &mut Vec<u8>| {
        out.push(b'"');
        write_decimal(id.0, out);
        out.push(b'"');
    };
    match fault.owners.as_slice() {
        [] => {}
        several if fault.code == EntryErrorCode::AmbiguousIdentity => {
            out.extend_from_slice(b",\"core-profile-ids\":");
            json::write_array(several, out, write_id);
        }
        [owner, ..] => {
            out.extend_from_slice(b",\"core-profile-id\":");
            write_id(owner, out);
        }
    }
    out.push(b'}');
}

/// The entry as it was sent, or as shortened text if it is not a readable map.
fn write_entry(entry: &[u8], readable: bool, out: &mut Vec<u8>) {
    if readable {
        out.extend_from_slice(b",\"entry\":");
        if entry.iter().any(|b| matches!(b, b'\n' | b'\r')) {
            // A record is one line: an element of an array file may span several.
            if let Ok(tree) = json::parse(entry) {
                tree.write_to(out);
                return;
            }
        }
        out.extend_from_slice(entry.trim_ascii());
    } else {
        out.extend_from_slice(b",\"raw\":");
        json::write_string(&shorten(entry, RAW_ENTRY_BYTES_MAX), out);
    }
}

/// At most `bytes_max` bytes of `text`, with an ellipsis if something was cut off.
fn shorten(text: &[u8], bytes_max: usize) -> String {
    if text.len() <= bytes_max {
        return String::from_utf8_lossy(text).into_owned();
    }
    let mut end = bytes_max;
    while end > bytes_max - 4 && text[end] & 0xc0 == 0x80 {
        end -= 1;
    }
    format!("{}…", String::from_utf8_lossy(&text[..end]))
}
