//! Collects the faults of one profile entry, each with its pointer, the faulty value and a sentence
//! that says what would be right. Here are the checks that all fields share: lengths, numbers of
//! elements and types. The rules of single fields are in `check` and `identity`.

use std::borrow::Cow;

use super::field::{COLLECTION_ELEMENTS_MAX, KEY_CHARS_MAX};
use crate::error_code::EntryErrorCode as Code;
use crate::json::{Json, ValuePath};
use crate::record::{EntryFault, EntryWarning, NamedRecords};

/// Most faults of one entry that are listed; the last of them says how many more there are. Without
/// this limit an entry full of faults would leave a record many times its size.
pub const FAULTS_MAX: usize = 100;
/// Code points of a caller's text that a message quotes.
const QUOTED_CHARS_MAX: usize = 60;

/// `text` in quotes, shortened if it is long.
pub(crate) fn quoted(text: &str) -> String {
    match text.char_indices().nth(QUOTED_CHARS_MAX) {
        Some((end, _)) => format!("\"{}…\"", &text[..end]),
        None => format!("\"{text}\""),
    }
}

/// Whether `text` has more than `max` code points.
pub(super) fn longer_than(text: &str, max: usize) -> bool {
    text.len() > max && text.chars().count() > max
}

/// The name of the value at `path` in a sentence.
pub(super) fn name_of(path: &ValuePath<'_>) -> String {
    match path {
        ValuePath::Root => "the entry".to_owned(),
        ValuePath::Key(ValuePath::Root, field) => (*field).to_owned(),
        ValuePath::Key(_, key) => quoted(key),
        ValuePath::Item(parent, at) => format!("element {at} of {}", name_of(parent)),
    }
}

/// The faults of one entry, while it is checked.
#[derive(Debug, Default)]
pub(crate) struct Checker {
    pub(crate) faults: Vec<EntryFault>,
    pub(crate) warnings: Vec<EntryWarning>,
    /// The records that the entry names, if it has faults.
    pub(super) named: NamedRecords,
    /// Faults beyond [`FAULTS_MAX`].
    unlisted: usize,
}

impl Checker {
    /// All faults, ready for a record.
    pub(crate) fn into_faults(mut self) -> Vec<EntryFault> {
        if let (Some(last), 1..) = (self.faults.last_mut(), self.unlisted) {
            let more = format!("; {} more faults of this entry are not listed", self.unlisted);
            last.detail.push_str(&more);
        }
        self.faults
    }

    /// Whether the list of faults is full; if so, counts one more fault that is not listed.
    pub(crate) fn is_full(&mut self) -> bool {
        let full = self.faults.len() >= FAULTS_MAX;
        self.unlisted += usize::from(full);
        full
    }

    /// Checks the length of a key; the key itself is the faulty value.
    pub(super) fn key(&mut self, path: &ValuePath<'_>, key: &str) {
        if longer_than(key, KEY_CHARS_MAX) {
            let value = Json::String(Cow::Borrowed(key));
            self.too_long(path, &value, &format!("the key {}", quoted(key)), key, KEY_CHARS_MAX);
        }
    }

    pub(super) fn length(
        &mut self,
        path: &ValuePath<'_>,
        value: &Json<'_>,
        text: &str,
        max: usize,
    ) {
        if longer_than(text, max) {
            self.too_long(path, value, &name_of(path), text, max);
        }
    }

    fn too_long(
        &mut self,
        path: &ValuePath<'_>,
        value: &Json<'_>,
        name: &str,
        text: &str,
        max: usize,
    ) {
        let chars = text.chars().count();
        let detail = format!("{name} has {chars} characters; at most {max} are allowed");
        self.fault(Code::TooLong, path, value, detail);
    }

    pub(super) fn count(&mut self, path: &ValuePath<'_>, value: &Json<'_>, elements: usize) {
        if elements > COLLECTION_ELEMENTS_MAX {
            let detail = format!(
                "{} has {elements} elements; at most {COLLECTION_ELEMENTS_MAX} are allowed",
                name_of(path)
            );
            self.fault(Code::TooMany, path, value, detail);
        }
    }

    pub(super) fn wrong_type(&mut self, path: &ValuePath<'_>, value: &Json<'_>, right: &str) {
        let detail = format!("{} must be {right}, not {}", name_of(path), value.type_name());
        self.fault(Code::WrongType, path, value, detail);
    }

    pub(crate) fn fault(
        &mut self,
        code: Code,
        path: &ValuePath<'_>,
        value: &Json<'_>,
        detail: String,
    ) {
        if !self.is_full() {
            self.faults.push(EntryFault::new(code, path.pointer(), detail).with_value(value));
        }
    }
}
