//! Reads an entry field by field. A fault is recorded with its pointer and reading continues, so an
//! entry gets all of its faults at once. The value of a faulty field does not matter, because the
//! entry is rejected as a whole. `null` reads as absent.

use super::limits::IssuePart;
use crate::dialects::advice;
use crate::error_code::{EntryErrorCode, EntryWarningCode};
use crate::ids::FOREIGN_ID_CHARS_MAX;
use crate::json::{Json, Member, ValuePath};
use crate::record::{EntryFault, EntryWarning, WARNINGS_MAX, shown_value};
use crate::task::Family;
use crate::time::UnixMillis;
use crate::time::read::{InvalidMoment, parse_moment};

/// Most faults of one entry that are listed; the last of them says how many more there are.
pub(super) const FAULTS_MAX: usize = 100;
/// Bytes of the longest pointer of a fault, without escapes. Together with the limit on faults this
/// keeps the error record of an entry from growing far beyond the entry.
const POINTER_BYTES_MAX: usize = 4096;
/// Characters of a text that a message quotes.
const TEXT_CHARS_SHOWN: usize = 100;

/// A map with a fixed set of keys.
pub(super) struct Map<'j, 'p, const N: usize> {
    names: &'static [&'static str; N],
    values: [Option<&'j Json<'j>>; N],
    pub(super) at: &'p ValuePath<'p>,
}

impl<'j, const N: usize> Map<'j, '_, N> {
    /// The value under `name`, which must be one of the map's names.
    pub(super) fn get(&self, name: &str) -> Option<&'j Json<'j>> {
        let known = self.names.iter().position(|n| *n == name);
        known.and_then(|n| self.values[n])
    }
}

/// The faults of one entry, while it is read.
#[derive(Default)]
pub(super) struct Reader {
    faults: Vec<EntryFault>,
    /// Faults beyond [`FAULTS_MAX`].
    unlisted: usize,
    pub(super) warnings: Vec<EntryWarning>,
}

impl Reader {
    pub(super) fn fault(
        &mut self,
        code: EntryErrorCode,
        at: &ValuePath<'_>,
        detail: impl Into<String>,
        value: Option<&Json<'_>>,
    ) {
        if self.is_full() {
            self.unlisted += 1;
            return;
        }
        let mut fault = EntryFault {
            code,
            pointer: at.pointer_within(POINTER_BYTES_MAX),
            detail: detail.into(),
            value: None,
            owners: Vec::new(),
        };
        if let Some(value) = value {
            fault = fault.with_value(value);
        }
        self.faults.push(fault);
    }

    /// Whether the entry has no fault so far.
    pub(super) fn is_good(&self) -> bool {
        self.faults.is_empty()
    }

    /// Adds a fault of the entry as a whole.
    pub(super) fn add(&mut self, fault: EntryFault) {
        if self.is_full() {
            self.unlisted += 1;
        } else {
            self.faults.push(fault);
        }
    }

    /// All faults, ready for a record.
    pub(super) fn take_faults(&mut self) -> Vec<EntryFault> {
        if let (Some(last), 1..) = (self.faults.last_mut(), self.unlisted) {
            let more = format!("; {} more faults of this entry are not listed", self.unlisted);
            last.detail.push_str(&more);
        }
        std::mem::take(&mut self.faults)
    }

    /// A part of which there are more than an issue may have is one fault.
    pub(super) fn check_count(&mut self, part: IssuePart, count: usize, at: &ValuePath<'_>) {
        if let Some(detail) = part.too_many(count) {
            self.fault(EntryErrorCode::TooMany, at, detail, None);
        }
    }

    fn is_full(&self) -> bool {
        self.faults.len() >= FAULTS_MAX
    }

    pub(super) fn wrong_type(&mut self, expected: &str, at: &ValuePath<'_>, json: &Json<'_>) {
        let detail = format!("{expected} is expected here, not {}", json.type_name());
        self.fault(EntryErrorCode::WrongType, at, detail, Some(json));
    }

    /// A map with the given names; other names are faults.
    pub(super) fn map<'j, 'p, const N: usize>(
        &mut self,
        json: &'j Json<'j>,
        names: &'static [&'static str; N],
        at: &'p ValuePath<'p>,
    ) -> Option<Map<'j, 'p, N>> {
        let mut map = Map { names, values: [None; N], at };
        for (field, value) in self.members(json, at)? {
            if let Some(n) = names.iter().position(|name| name == field) {
                map.values[n] = Some(value).filter(|value| **value != Json::Null);
            } else if self.is_full() {
                self.unlisted += 1;
            } else {
                let (key, advice) = (shown(field), advice(field, names));
                let detail = format!("{key:?} is not a field here; {advice}");
                let field_at = at.key(field);
                self.fault(EntryErrorCode::UnknownField, &field_at, detail, Some(value));
            }
        }
        Some(map)
    }

    /// The members of a map with free keys, in order of arrival. An empty array has none.
    pub(super) fn members<'j>(
        &mut self,
        json: &'j Json<'j>,
        at: &ValuePath<'_>,
    ) -> Option<&'j [Member<'j>]> {
        if let Json::Object(members) = json.as_map_sent() {
            return Some(members);
        }
        self.wrong_type("a map", at, json);
        None
    }

    /// The elements of the array under `name`.
    pub(super) fn list<'j, const N: usize>(
        &mut self,
        map: &Map<'j, '_, N>,
        name: &str,
    ) -> Option<&'j [Json<'j>]> {
        match map.get(name)? {
            Json::Array(items) => Some(items),
            other => {
                self.wrong_type("an array", &map.at.key(name), other);
                None
            }
        }
    }

    /// The elements of a list of which each takes at least `least` bytes of an issue. A list with
    /// more elements than any issue can hold is one fault, and none of them is read: `{}` is short,
    /// but its rendered form is not.
    pub(super) fn list_with_room<'j, const N: usize>(
        &mut self,
        map: &Map<'j, '_, N>,
        name: &str,
        least: usize,
    ) -> Option<&'j [Json<'j>]> {
        let items = self.list(map, name)?;
        let most = Family::Issues.entry_bytes_max() / least;
        if items.len() <= most {
            return Some(items);
        }
        let detail =
            format!("{} {name} are more than the {most} that an issue can hold", items.len());
        self.fault(EntryErrorCode::TooLarge, &map.at.key(name), detail, None);
        None
    }

    /// The elements of a list of which an issue may have only so many. If there are more, that is
    /// one fault, and none of them is read.
    pub(super) fn limited_list<'j, const N: usize>(
        &mut self,
        map: &Map<'j, '_, N>,
        name: &str,
        part: IssuePart,
    ) -> Option<&'j [Json<'j>]> {
        let items = self.list(map, name)?;
        self.check_count(part, items.len(), &map.at.key(name));
        (items.len() <= part.limit()).then_some(items)
    }

    /// An array of strings; `null` elements are skipped.
    pub(super) fn texts<'j, const N: usize>(
        &mut self,
        map: &Map<'j, '_, N>,
        name: &str,
        chars_max: usize,
    ) -> Option<Vec<&'j str>> {
        let items = self.list(map, name)?;
        Some(self.texts_of(items, &map.at.key(name), chars_max))
    }

    /// The strings of an array; `null` elements are skipped.
    pub(super) fn texts_of<'j>(
        &mut self,
        items: &'j [Json<'j>],
        at: &ValuePath<'_>,
        chars_max: usize,
    ) -> Vec<&'j str> {
        let given = items.iter().enumerate().filter(|(_, item)| **item != Json::Null);
        given.filter_map(|(n, item)| self.text_value(item, &at.item(n), chars_max)).collect()
    }

    /// A string of at most `chars_max` code points.
    pub(super) fn text<'j, const N: usize>(
        &mut self,
        map: &Map<'j, '_, N>,
        name: &str,
        chars_max: usize,
    ) -> Option<&'j str> {
        self.text_value(map.get(name)?, &map.at.key(name), chars_max)
    }

    pub(super) fn text_value<'j>(
        &mut self,
        json: &'j Json<'j>,
        at: &ValuePath<'_>,
        chars_max: usize,
    ) -> Option<&'j str> {
        let Json::String(text) = json else {
            self.wrong_type("a string", at, json);
            return None;
        };
        // No text has more code points than bytes.
        if text.len() > chars_max {
            let chars = text.chars().count();
            if chars > chars_max {
                let detail =
                    format!("the text has {chars} characters; at most {chars_max} are allowed");
                self.fault(EntryErrorCode::TooLong, at, detail, Some(json));
            }
        }
        Some(text)
    }

    /// An identifier from elsewhere: 1 to [`FOREIGN_ID_CHARS_MAX`] code points.
    pub(super) fn id<'j, const N: usize>(
        &mut self,
        map: &Map<'j, '_, N>,
        name: &str,
    ) -> Option<&'j str> {
        let text = self.text(map, name, FOREIGN_ID_CHARS_MAX)?;
        if text.is_empty() {
            let detail =
                "an id is a text of 1 to 255 characters; to give none, leave the field out";
            self.fault(EntryErrorCode::OutOfRange, &map.at.key(name), detail, map.get(name));
        }
        Some(text)
    }

    /// An identifier that is required.
    pub(super) fn required_id<'j, const N: usize>(
        &mut self,
        map: &Map<'j, '_, N>,
        name: &str,
    ) -> Option<&'j str> {
        if map.get(name).is_none() {
            let detail = format!("{name} is missing: a text of 1 to 255 characters is required");
            self.fault(EntryErrorCode::Required, &map.at.key(name), detail, None);
        }
        self.id(map, name)
    }

    /// One of a list of words.
    pub(super) fn word<T: Copy, const N: usize>(
        &mut self,
        map: &Map<'_, '_, N>,
        name: &str,
        words: impl Iterator<Item = (&'static str, T)> + Clone,
    ) -> Option<T> {
        let text = self.text(map, name, usize::MAX)?;
        let found = words.clone().find(|(word, _)| *word == text);
        if found.is_none() {
            let accepted: Vec<&str> = words.map(|(word, _)| word).collect();
            let detail = format!("{:?} is not one of {}", shown(text), accepted.join(", "));
            self.fault(EntryErrorCode::OutOfRange, &map.at.key(name), detail, map.get(name));
        }
        found.map(|(_, value)| value)
    }

    pub(super) fn boolean<const N: usize>(
        &mut self,
        map: &Map<'_, '_, N>,
        name: &str,
    ) -> Option<bool> {
        match map.get(name)? {
            Json::Bool(value) => Some(*value),
            other => {
                self.wrong_type("true or false", &map.at.key(name), other);
                None
            }
        }
    }

    /// A whole number from `min` to `max`, written without fraction and exponent.
    pub(super) fn integer<const N: usize>(
        &mut self,
        map: &Map<'_, '_, N>,
        name: &str,
        (min, max): (i64, i64),
    ) -> Option<i64> {
        let json = map.get(name)?;
        self.integer_value(json, &map.at.key(name), (min, max))
    }

    pub(super) fn integer_value(
        &mut self,
        json: &Json<'_>,
        at: &ValuePath<'_>,
        (min, max): (i64, i64),
    ) -> Option<i64> {
        let digits = match json {
            Json::Number(digits) if is_whole(digits) => digits,
            Json::Number(digits) => {
                let detail = format!("{digits} is not written as a whole number");
                self.fault(EntryErrorCode::WrongType, at, detail, Some(json));
                return None;
            }
            _ => {
                self.wrong_type("a whole number", at, json);
                return None;
            }
        };
        let number = digits.parse().ok().filter(|number| (min..=max).contains(number));
        if number.is_none() {
            let detail = format!("{digits} is not within {min} to {max}");
            self.fault(EntryErrorCode::OutOfRange, at, detail, Some(json));
        }
        number
    }

    /// A time from 1970 on.
    pub(super) fn instant<const N: usize>(
        &mut self,
        map: &Map<'_, '_, N>,
        name: &str,
    ) -> Option<UnixMillis> {
        let json = map.get(name)?;
        let at = map.at.key(name);
        let instant = self.time_value(json, &at)?;
        if instant.0 < 0 {
            let detail = "the time is before 1970; a time from 1970 on is expected here";
            self.fault(EntryErrorCode::OutOfRange, &at, detail, Some(json));
        }
        Some(instant)
    }

    /// A time, given as a number or as a text.
    pub(super) fn time_value(&mut self, json: &Json<'_>, at: &ValuePath<'_>) -> Option<UnixMillis> {
        let text = match json {
            Json::Number(digits) => digits,
            Json::String(text) => &**text,
            _ => {
                self.wrong_type("a time, in Unix milliseconds or ISO 8601,", at, json);
                return None;
            }
        };
        let (code, detail) = match parse_moment(text) {
            Ok(moment) => {
                if let Some((code, detail)) = moment.oddity() {
                    self.warn(code, at, detail, json);
                }
                return Some(moment.at);
            }
            Err(InvalidMoment::NotATime(detail)) => (EntryErrorCode::WrongType, detail),
            Err(InvalidMoment::OutOfRange(detail)) => (EntryErrorCode::OutOfRange, detail),
        };
        self.fault(code, at, detail, Some(json));
        None
    }

    /// Warns of a value that is odd, or was changed or left out.
    pub(super) fn warn(
        &mut self,
        code: EntryWarningCode,
        at: &ValuePath<'_>,
        detail: impl Into<String>,
        value: &Json<'_>,
    ) {
        if self.warnings.len() < WARNINGS_MAX {
            // The place of a value under a very long key is the whole entry.
            let pointer = at.pointer_within(POINTER_BYTES_MAX).unwrap_or_default();
            let (detail, value) = (detail.into(), shown_value(value));
            self.warnings.push(EntryWarning { code, pointer, detail, value });
        }
    }
}

/// The beginning of a text, short enough for a message.
pub(super) fn shown(text: &str) -> &str {
    text.char_indices().nth(TEXT_CHARS_SHOWN).map_or(text, |(end, _)| &text[..end])
}

/// Whether a JSON number is written without fraction and exponent.
fn is_whole(digits: &str) -> bool {
    digits.bytes().all(|b| b.is_ascii_digit() || b == b'-')
}
