//! The options of an import: how its file is read, and what happens to its entries. All faults are
//! found at once.

use caseload_files::Encoding;
use caseload_model::error_code::ErrorCode;
use caseload_model::json::{Json, parse};
use caseload_model::profile::OtherColumns;
use caseload_model::spelling::same_name;
use caseload_model::task::{Action, Family};
use caseload_model::time::zone::Zone;
use caseload_store::EntryContext;
use sha2::{Digest, Sha256};

use super::file_reader::ReadOptions;
use crate::bulk_actions::{BulkPath, SubjectKind, read_boolean};
use crate::http::auth::Caller;
use crate::http::problem::{Fault, Problem};
use crate::http::query::unknown;

/// The part with the file.
pub(crate) const FILE: &str = "file";
/// The options and the part with the file; the last one only of the path of issues.
pub(crate) const FIELDS: [&str; 14] = [
    "action",
    "dry_run",
    "columns",
    "others",
    "faulty_fields",
    "separator",
    "delimiter",
    "encoding",
    "timezone",
    "null",
    "sheet",
    "again",
    FILE,
    "upsert",
];

/// The separator of lists in a cell.
const SEPARATOR: &str = "|";
/// The words for the bytes between cells.
const DELIMITERS: [(&str, u8); 6] = [
    ("comma", b','),
    ("semicolon", b';'),
    ("tab", b'\t'),
    ("\\t", b'\t'),
    ("bar", b'|'),
    ("pipe", b'|'),
];

/// The fields of a path.
pub(super) fn fields_of(family: Family) -> &'static [&'static str] {
    if family == Family::Issues { &FIELDS } else { &FIELDS[..13] }
}

/// Valid options.
#[derive(Debug, Clone)]
pub(super) struct Options {
    pub(super) dry_run: bool,
    pub(super) upsert: bool,
    /// Whether to send a file again that was imported before.
    pub(super) again: bool,
    pub(super) read: ReadOptions,
    /// SHA-256 of all options that change the effect of an entry.
    hash: Sha256,
}

impl Options {
    /// Reads the options of a request to the path of `family`. A key without the required access
    /// receives that refusal only.
    pub(super) fn read(
        pairs: &[(String, String)],
        family: Family,
        (caller, is_preview): (&Caller, bool),
        context: EntryContext,
        mut faults: Vec<Fault>,
    ) -> Result<Self, Problem> {
        let mut given = Given { pairs, family, faults: &mut faults };
        given.check_names();
        let action = given.action(caller);
        let dry_run = given.boolean("dry_run", "the import writes nothing");
        if let Some(action) = action {
            caller.require(action.access_of(dry_run || is_preview), action.as_str())?;
        }
        let upsert = given.upsert(action);
        let again = given.boolean("again", "a file is imported again");
        let read = ReadOptions {
            action: action.unwrap_or(Action::ImportIssues),
            columns: given.columns(),
            others: given.word("others", &OTHERS).unwrap_or_default(),
            leave_out: given.word("faulty_fields", &FAULTY_FIELDS).unwrap_or_default(),
            separator: given.separator(),
            delimiter: given.delimiter(),
            encoding: given.encoding(),
            timezone: given.timezone(),
            null: given.text("null").map(str::to_owned),
            sheet: given.text("sheet").map(str::to_owned),
            context,
            bytes_max: 0,
            is_preview,
        };
        let hash = hash(&read, upsert);
        Problem::check(faults)?;
        Ok(Self { dry_run, upsert, again, read, hash })
    }

    /// SHA-256 of a file with these options. Neither the name of the file nor its compression
    /// counts.
    pub(super) fn digest(&self, file: &[u8; 32]) -> [u8; 32] {
        self.hash.clone().chain_update(file).finalize().into()
    }

    /// Whether a repeat of the same file is not imported again.
    pub(super) const fn is_once(&self) -> bool {
        let creates = match self.read.action {
            Action::CreateCoreProfiles => true,
            Action::ImportIssues => !self.upsert,
            _ => false,
        };
        creates && !self.again && !self.dry_run
    }
}

const OTHERS: [(&str, OtherColumns); 3] = [
    ("refuse", OtherColumns::Refuse),
    ("ignore", OtherColumns::Ignore),
    ("custom", OtherColumns::Custom),
];
const FAULTY_FIELDS: [(&str, bool); 2] = [("fail", false), ("leave_out", true)];

fn hash(read: &ReadOptions, upsert: bool) -> Sha256 {
    let ReadOptions { action, columns, others, leave_out, separator, delimiter, .. } = read;
    let ReadOptions { encoding, timezone, null, sheet, .. } = read;
    let encoding = encoding.map(Encoding::name);
    let action = action.as_str();
    Sha256::new_with_prefix(format!(
        "{:?}",
        (
            (action, upsert, columns, others, leave_out),
            (separator, delimiter, encoding, timezone, null, sheet),
        )
    ))
}

/// The options as they were sent.
struct Given<'o> {
    pairs: &'o [(String, String)],
    family: Family,
    faults: &'o mut Vec<Fault>,
}

impl<'o> Given<'o> {
    fn fault(&mut self, name: &str, code: ErrorCode, detail: impl Into<String>) {
        self.faults.push(Fault::parameter(name, code, detail));
    }

    /// Refuses unknown options, and options with two values.
    fn check_names(&mut self) {
        let known = fields_of(self.family);
        for (at, (name, value)) in self.pairs.iter().enumerate() {
            if !known.iter().any(|known| same_name(known, name)) {
                self.faults.push(unknown(name, known, "option"));
                continue;
            }
            let before = self.pairs[..at].iter().find(|(other, _)| same_name(other, name));
            if before.is_some_and(|(_, other)| other != value) {
                let detail = format!(
                    "the option {name} is given more than once, with different values; send it once"
                );
                self.fault(name, ErrorCode::ConflictingParameter, detail);
            }
        }
    }

    fn text(&self, name: &str) -> Option<&'o str> {
        let pair = self.pairs.iter().find(|(given, _)| same_name(name, given));
        pair.map(|(_, value)| value.as_str())
    }

    fn action(&mut self, caller: &Caller) -> Option<Action> {
        let writing = Action::of_family(self.family).filter(|action| action.writes());
        let accepted = writing.map(Action::as_str).collect::<Vec<_>>().join(", ");
        let Some(word) = self.text("action").filter(|word| !word.is_empty()) else {
            let detail =
                format!("the option action is missing, before the file; send one of {accepted}");
            self.fault("action", ErrorCode::MissingField, detail);
            return None;
        };
        let domain = &caller.domain_name;
        let detail = match Action::parse(word) {
            Some(action) if action.is_taken_by(self.family) && action.writes() => {
                return Some(action);
            }
            Some(Action::ErasePerson) => format!(
                "a person is erased by POST /v1/{domain}/erasures; this path accepts {accepted}"
            ),
            Some(action) if action.family() == self.family => format!(
                "{word} changes nothing, and a file of ids is a task; send it to {}. This path \
                 accepts {accepted}",
                BulkPath::of(domain, self.family, SubjectKind::Task)
            ),
            Some(action) => format!(
                "{word} belongs to the path {}; this path accepts {accepted}",
                BulkPath::of(domain, action.family(), SubjectKind::Import)
            ),
            None => format!("there is no action {:?}; this path accepts {accepted}", shown(word)),
        };
        self.fault("action", ErrorCode::UnknownAction, detail);
        None
    }

    fn boolean(&mut self, name: &str, meaning: &str) -> bool {
        let read = read_boolean(name, self.text(name).map(str::as_bytes), meaning);
        read.unwrap_or_else(|fault| {
            self.faults.push(fault);
            false
        })
    }

    /// Whether an import replaces issues. Other actions do not know the option, and the path of
    /// profiles refuses its name.
    fn upsert(&mut self, action: Option<Action>) -> bool {
        if self.family != Family::Issues || self.text("upsert").is_none() {
            return false;
        }
        if let Some(action) = action.filter(|action| *action != Action::ImportIssues) {
            let (action, import) = (action.as_str(), Action::ImportIssues.as_str());
            let detail = format!("{action} does not take the option upsert, only {import} does");
            self.fault("upsert", ErrorCode::UnknownParameter, detail);
            return false;
        }
        self.boolean("upsert", "an entry replaces the issue that has its id")
    }

    fn word<T: Copy>(&mut self, name: &str, words: &[(&str, T)]) -> Option<T> {
        let given = self.text(name)?;
        let found = words.iter().find(|(word, _)| same_name(word, given));
        if found.is_none() {
            let accepted = words.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ");
            let detail = format!("{name} is one of {accepted}, not {:?}", shown(given));
            self.fault(name, ErrorCode::InvalidValue, detail);
        }
        found.map(|(_, value)| *value)
    }

    /// The map from columns to fields.
    fn columns(&mut self) -> Vec<(String, Option<String>)> {
        let Some(text) = self.text("columns") else { return Vec::new() };
        let parsed = parse(text.as_bytes());
        let Ok(Json::Object(members)) = parsed.as_ref().map(Json::as_map_sent) else {
            let detail = "columns is a JSON map from the name of a column, or #3 for the third, to \
                          a field, or to null to leave it out: {\"E-mail\":\"identities.email\"}; \
                          no name occurs twice";
            self.fault("columns", ErrorCode::InvalidValue, detail);
            return Vec::new();
        };
        let mut columns = Vec::new();
        for (name, field) in members {
            match field {
                Json::Null => columns.push((name.to_string(), None)),
                Json::String(field) => columns.push((name.to_string(), Some(field.to_string()))),
                other => {
                    let detail = format!(
                        "the field of the column {:?} is a text or null, not {}",
                        shown(name),
                        other.type_name()
                    );
                    self.fault("columns", ErrorCode::InvalidValue, detail);
                }
            }
        }
        columns
    }

    fn separator(&mut self) -> String {
        let given = self.text("separator").unwrap_or(SEPARATOR);
        if given.is_empty() || given.contains(['\r', '\n']) {
            let detail = "separator is the text between the values of a list in a cell, such as | \
                          or a comma, on one line";
            self.fault("separator", ErrorCode::InvalidValue, detail);
        }
        given.to_owned()
    }

    fn delimiter(&mut self) -> Option<u8> {
        let given = self.text("delimiter")?;
        if let Some((_, byte)) = DELIMITERS.iter().find(|(word, _)| same_name(word, given)) {
            return Some(*byte);
        }
        if let &[byte] = given.as_bytes()
            && (byte == b'\t' || byte == b' ' || byte.is_ascii_punctuation() && byte != b'"')
        {
            return Some(byte);
        }
        let detail = format!(
            "delimiter is the sign between two cells, one of ASCII other than a quote, a letter or \
             a digit, or one of the words comma, semicolon, tab, bar; not {:?}",
            shown(given)
        );
        self.fault("delimiter", ErrorCode::InvalidValue, detail);
        None
    }

    fn encoding(&mut self) -> Option<Encoding> {
        let given = self.text("encoding")?;
        match given.trim().parse() {
            Ok(encoding) => Some(encoding),
            Err(fault) => {
                self.fault("encoding", ErrorCode::InvalidValue, fault.to_string());
                None
            }
        }
    }

    fn timezone(&mut self) -> Option<Zone> {
        let given = self.text("timezone")?;
        let zone = Zone::read(given);
        zone.map_err(|detail| self.fault("timezone", ErrorCode::InvalidValue, detail)).ok()
    }
}

/// A value as an error repeats it.
fn shown(value: &str) -> String {
    value.chars().take(100).collect()
}
