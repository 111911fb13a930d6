//! The fields of a form: which names are known, in either spelling, and how single values and lists
//! are read. Every fault is collected and reading continues, so a caller gets all of them at once.
//! The value of a faulty field does not matter, because the form is rejected as a whole. A field
//! that may be empty and is empty reads as absent; the empty list is `[]` or `name[]=`.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::dialects::advice_and_names;
use crate::error_code::ErrorCode;
use crate::issue::IssuePart;
use crate::issue::reader::{Reader, shown};
use crate::json::{self, Json, Member, ValuePath};
use crate::parameters::ParameterFault;
use crate::parameters::given::{Given, ListForm, ListValue};
use crate::spelling::{boolean_word, same_name, unbracketed};
use crate::tags::{ADD_TAGS, REMOVE_TAGS};

/// The fields that are lists, of every form. Any other field has one value.
const LISTS: [(&str, ListForm); 5] = [
    ("tags", ListForm::Texts),
    (ADD_TAGS, ListForm::Texts),
    (REMOVE_TAGS, ListForm::Texts),
    ("cc", ListForm::Texts),
    ("issue-ids", ListForm::Commas),
];

/// A list of strings, as error messages describe it.
const TEXTS: &str = "a JSON array of strings such as [\"a\",\"b\"]";
/// Most faults of one form that are listed.
const FAULTS_MAX: usize = 100;

pub(super) fn is_list(name: &str) -> bool {
    LISTS.iter().any(|(list, _)| same_name(list, name))
}

pub(super) fn list_form(name: &str) -> ListForm {
    let list = LISTS.iter().find(|(list, _)| same_name(list, name));
    list.map_or(ListForm::Texts, |(_, form)| *form)
}

/// The fields of one form, by their documented names.
pub(crate) struct Fields<'f> {
    given: BTreeMap<&'static str, Given<'f>>,
    pub(crate) faults: Vec<ParameterFault>,
}

impl<'f> Fields<'f> {
    /// Sorts the given pairs by name. Unknown names, and different values of a field that has one,
    /// are faults.
    pub(crate) fn new(pairs: &'f [(String, String)], known: &[&'static str]) -> Self {
        let mut fields = Self { given: BTreeMap::new(), faults: Vec::new() };
        for (spelled, value) in pairs {
            let (base, is_member) = unbracketed(spelled);
            let name = known.iter().find(|known| same_name(known, base));
            match name.filter(|name| !is_member || is_list(name)) {
                Some(name) => fields.add(name, spelled, value),
                None => fields.unknown(spelled, known),
            }
        }
        fields
    }

    fn add(&mut self, name: &'static str, spelled: &'f str, value: &'f str) {
        let Some(given) = self.given.get_mut(name) else {
            self.given.insert(name, Given::new(spelled, value));
            return;
        };
        let is_good = if is_list(name) { given.add(spelled, value) } else { given.text() == value };
        if !is_good {
            let detail = format!(
                "the field {spelled} is given more than once, with different values; send it once"
            );
            self.fault(spelled, ErrorCode::ConflictingParameter, detail);
        }
    }

    fn unknown(&mut self, spelled: &str, known: &[&'static str]) {
        let name = shown(spelled);
        let detail = format!("there is no field {name:?}; {}", advice_and_names(spelled, known));
        self.fault(name, ErrorCode::UnknownParameter, detail);
    }

    pub(crate) fn fault(&mut self, spelled: &str, code: ErrorCode, detail: impl Into<String>) {
        if self.faults.len() < FAULTS_MAX {
            let parameter = spelled.to_owned();
            self.faults.push(ParameterFault { parameter, code, detail: detail.into() });
        }
    }

    fn invalid(&mut self, spelled: &str, detail: impl Into<String>) {
        self.fault(spelled, ErrorCode::InvalidValue, detail);
    }

    /// The name as the caller spelled it, and the value, if it is not empty. A list is not empty if
    /// one of its values is not, or if it came as `name[]`.
    pub(crate) fn get(&self, name: &str) -> Option<(&'f str, &'f str)> {
        let given = self.given.get(name).filter(|given| !given.is_empty())?;
        Some((given.spelled, given.text()))
    }

    /// The name as the caller spelled it, and the value, even if it is empty.
    pub(super) fn sent(&self, name: &str) -> Option<(&'f str, &'f str)> {
        self.given.get(name).map(|given| (given.spelled, given.text()))
    }

    /// A text of at most `chars_max` code points.
    pub(super) fn text(&mut self, name: &str, chars_max: usize) -> Option<&'f str> {
        let (spelled, value) = self.get(name)?;
        self.check_chars(spelled, value, chars_max);
        Some(value)
    }

    pub(super) fn check_chars(&mut self, spelled: &str, value: &str, chars_max: usize) {
        self.check_chars_at(spelled, || spelled.to_owned(), value, chars_max);
    }

    /// Checks the length of a text at a place of the field.
    fn check_chars_at(
        &mut self,
        spelled: &str,
        place: impl FnOnce() -> String,
        value: &str,
        chars_max: usize,
    ) {
        if value.len() <= chars_max {
            return;
        }
        let chars = value.chars().count();
        if chars > chars_max {
            let place = place();
            let detail = format!("{place} has {chars} characters; at most {chars_max} are allowed");
            self.fault(spelled, ErrorCode::OutOfRange, detail);
        }
    }

    /// A required text of at most `bytes_max` bytes.
    pub(super) fn required(&mut self, name: &str, bytes_max: usize) -> &'f str {
        let Some((spelled, value)) = self.get(name) else {
            let detail = format!("the field {name} is required, with a text that is not empty");
            self.fault(name, ErrorCode::MissingField, detail);
            return "";
        };
        self.check_bytes(spelled, value, bytes_max);
        value
    }

    pub(super) fn check_bytes(&mut self, spelled: &str, value: &str, bytes_max: usize) {
        if value.len() > bytes_max {
            let detail = format!(
                "{spelled} has {} bytes; at most {bytes_max} are allowed; send a long text as an \
                 attachment",
                value.len()
            );
            self.fault(spelled, ErrorCode::TooLarge, detail);
        }
    }

    /// A JSON value; `expected` describes it in error messages.
    pub(crate) fn json(&mut self, name: &str, expected: &str) -> Option<(&'f str, Json<'f>)> {
        let (spelled, value) = self.get(name)?;
        Some((spelled, self.json_value(spelled, value, expected)?))
    }

    fn json_value(&mut self, spelled: &str, value: &'f str, expected: &str) -> Option<Json<'f>> {
        match json::parse(value.as_bytes()) {
            Ok(tree) => Some(tree),
            Err(faults) => {
                let details: Vec<&str> = faults.iter().map(|fault| &*fault.detail).collect();
                let why = details.join("; ");
                self.invalid(
                    spelled,
                    format!("{spelled} is not JSON ({why}); {expected} is expected"),
                );
                None
            }
        }
    }

    /// The members of a list, with the name as the caller spelled it. `expected` describes the list
    /// in error messages.
    pub(super) fn list(&mut self, name: &str, expected: &str) -> Option<(&'f str, Vec<Json<'f>>)> {
        let given = self.given.get(name).filter(|given| !given.is_empty())?;
        let (spelled, sent) = (given.spelled, given.list(list_form(name)));
        let mut members = Vec::new();
        for part in sent {
            match part {
                // Empty fields count as absent.
                ListValue::Member("") => {}
                ListValue::Member(text) => members.push(Json::String(Cow::Borrowed(text))),
                ListValue::Json(text) => match self.json_value(spelled, text, expected)? {
                    Json::Array(items) => members.extend(items),
                    other => {
                        self.unexpected(spelled, expected, &other);
                        return None;
                    }
                },
            }
        }
        Some((spelled, members))
    }

    /// A list of strings.
    pub(super) fn texts(&mut self, name: &str, chars_max: usize) -> Option<Vec<String>> {
        let (spelled, items) = self.list(name, TEXTS)?;
        Some(self.texts_of(spelled, items, chars_max))
    }

    /// A list of strings of which an issue may have only so many.
    pub(super) fn limited_texts(
        &mut self,
        name: &str,
        part: IssuePart,
        chars_max: usize,
    ) -> Option<Vec<String>> {
        let (spelled, items) = self.list(name, TEXTS)?;
        if !self.check_count(spelled, part, items.len()) {
            return Some(Vec::new());
        }
        Some(self.texts_of(spelled, items, chars_max))
    }

    /// Whether an issue may have so many of a part; otherwise that is a fault.
    pub(super) fn check_count(&mut self, spelled: &str, part: IssuePart, count: usize) -> bool {
        let Some(detail) = part.too_many(count) else { return true };
        self.fault(spelled, ErrorCode::TooMany, detail);
        false
    }

    fn texts_of(&mut self, spelled: &str, items: Vec<Json<'f>>, chars_max: usize) -> Vec<String> {
        let mut texts = Vec::with_capacity(items.len());
        for (at, item) in items.into_iter().enumerate() {
            match item {
                Json::String(text) => {
                    let place = || format!("{spelled} at /{at}");
                    self.check_chars_at(spelled, place, &text, chars_max);
                    texts.push(text.into_owned());
                }
                other => {
                    let found = other.type_name();
                    let detail = format!("{spelled} at /{at} holds {found}; {TEXTS} is expected");
                    self.invalid(spelled, detail);
                }
            }
        }
        texts
    }

    /// A JSON map in its order, with the name as the caller spelled it. An empty array is an empty
    /// map.
    pub(super) fn map(&mut self, name: &str) -> Option<(&'f str, Vec<Member<'f>>)> {
        const EXPECTED: &str = "a JSON map such as {\"a\":\"b\"}";
        let (spelled, tree) = self.json(name, EXPECTED)?;
        match tree {
            Json::Object(members) => Some((spelled, members)),
            Json::Array(items) if items.is_empty() => Some((spelled, Vec::new())),
            other => {
                self.unexpected(spelled, EXPECTED, &other);
                None
            }
        }
    }

    fn unexpected(&mut self, spelled: &str, expected: &str, found: &Json<'_>) {
        let detail = format!("{spelled} holds {}; {expected} is expected", found.type_name());
        self.invalid(spelled, detail);
    }

    /// Reads a value of this field as entries of an import are read; its faults become the field's.
    pub(super) fn read_as_entry<T>(
        &mut self,
        spelled: &str,
        read: impl FnOnce(&ValuePath<'_>, &mut Reader) -> T,
    ) -> T {
        let mut reader = Reader::default();
        let value = read(&ValuePath::Root, &mut reader);
        for fault in reader.take_faults() {
            let pointer = fault.pointer.unwrap_or_default();
            self.invalid(spelled, format!("{spelled} at {pointer}: {}", fault.detail));
        }
        value
    }

    pub(crate) fn boolean(&mut self, name: &str) -> Option<bool> {
        let (spelled, value) = self.get(name)?;
        let word = boolean_word(value);
        if word.is_none() {
            self.invalid(spelled, format!("{:?} is neither true nor false", shown(value)));
        }
        word
    }

    /// One of a list of words, in any case.
    pub(crate) fn word<T: Copy>(
        &mut self,
        name: &str,
        words: impl Iterator<Item = (&'static str, T)> + Clone,
    ) -> Option<T> {
        let (spelled, value) = self.get(name)?;
        let found = words.clone().find(|(word, _)| word.eq_ignore_ascii_case(value));
        if found.is_none() {
            let accepted: Vec<&str> = words.map(|(word, _)| word).collect();
            let detail =
                format!("{spelled} {:?} is not one of {}", shown(value), accepted.join(", "));
            self.invalid(spelled, detail);
        }
        found.map(|(_, value)| value)
    }
}
