//! Identities: the values by which an end user is known. Each identity is a map with exactly one
//! identity type; its other members are metadata, stored as given. A pair of type and value belongs
//! to at most one core profile of a domain. [`IdentityKey`] is the form in which pairs are compared
//! and stored: equal keys are the same identity.

use std::borrow::Cow;
use std::collections::HashMap;

use sha2::{Digest, Sha256};

use super::checker::{Checker, longer_than, quoted};
use super::field::TEXT_CHARS_MAX;
use crate::error_code::{EntryErrorCode as Code, EntryWarningCode};
use crate::fold::fold;
use crate::ids::IdentityKey;
use crate::json::{Json, Member, ValuePath};
use crate::record::EntryWarning;
use crate::spelling::{nearest_word, trimmed};
use crate::task::words;

/// Longest value of an identity, in code points.
pub const IDENTITY_VALUE_CHARS_MAX: usize = 300;
/// Longest value of a `uid`, in code points.
pub const UID_VALUE_CHARS_MAX: usize = 750;
/// Longest key that has its value whole, in bytes.
const WHOLE_KEY_BYTES_MAX: usize = 1025;
/// Bytes of a longer key that stay. The mark and the SHA-256 of the key follow them.
const KEY_BEGINNING_BYTES: usize = 256;
/// Marks a digest; no text has this byte.
const DIGESTED: u8 = 0xff;
const DIGESTED_KEY_BYTES: usize = KEY_BEGINNING_BYTES + 1 + 32;

words! {
    /// The type of an identity.
    IdentityType {
        Uid = 1 "uid",
        Email = 2 "email",
        PhoneNumber = 3 "phone_number",
        FacebookId = 4 "facebook_id",
        DiscordId = 5 "discord_id",
        WhatsappId = 6 "whatsapp_id",
        GooglePlaystoreId = 7 "google_playstore_id",
        AppleGamecenterId = 8 "apple_gamecenter_id",
        NintendoId = 9 "nintendo_id",
        PsnId = 10 "psn_id",
        XboxLiveId = 11 "xbox_live_id",
        SteamId = 12 "steam_id",
    }
}

impl IdentityType {
    /// Longest value of this type, in code points.
    pub const fn value_chars_max(self) -> usize {
        match self {
            Self::Uid => UID_VALUE_CHARS_MAX,
            _ => IDENTITY_VALUE_CHARS_MAX,
        }
    }

    /// A value without what copying and spreadsheets leave around it: blanks, and the quote that
    /// marks a phone number as a text.
    pub fn cleaned(self, value: &str) -> &str {
        let text = trimmed(value);
        if self != Self::PhoneNumber {
            return text;
        }
        let is_number = |text: &&str| text.starts_with(|c: char| c == '+' || c.is_ascii_digit());
        text.strip_prefix('\'').filter(is_number).unwrap_or(text)
    }
}

/// Whether a character only groups the digits of a phone number.
pub(crate) fn is_separator(c: char) -> bool {
    c.is_whitespace() || matches!(c, '.' | '/' | '(' | ')') || is_dash(c)
}

/// Hyphens and dashes of Unicode.
const fn is_dash(c: char) -> bool {
    matches!(c, '-' | '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{ff0d}')
}

/// A phone number as it is compared: without separators, `00` as `+`. A value of separators alone
/// stays as it is, because every identity has a key of its own.
fn dialled(value: &str) -> String {
    let digits: String = value.chars().filter(|c| !is_separator(*c)).collect();
    match digits.strip_prefix("00") {
        _ if digits.is_empty() => value.to_owned(),
        Some(rest) if !rest.is_empty() => format!("+{rest}"),
        _ => digits,
    }
}

impl IdentityKey {
    /// The key of the identity `value` of type `kind`.
    pub fn new(kind: IdentityType, value: &str) -> Self {
        let mut bytes = Vec::with_capacity(1 + value.len());
        bytes.push(kind.code() as u8);
        match kind {
            IdentityType::Email if value.is_ascii() => {
                bytes.extend(value.bytes().map(|byte| byte.to_ascii_lowercase()));
            }
            IdentityType::Email => bytes.extend_from_slice(fold(value).as_bytes()),
            IdentityType::PhoneNumber => bytes.extend_from_slice(dialled(value).as_bytes()),
            _ => bytes.extend_from_slice(value.as_bytes()),
        }
        if bytes.len() > WHOLE_KEY_BYTES_MAX {
            // Two values never share a SHA-256.
            let digest = Sha256::digest(&bytes);
            bytes.truncate(KEY_BEGINNING_BYTES);
            bytes.push(DIGESTED);
            bytes.extend_from_slice(&digest);
        }
        Self(bytes.into_boxed_slice())
    }

    /// The key of a text that names an identity. `Err` is a sentence about the fault.
    pub(crate) fn of_text(kind: IdentityType, text: &str) -> Result<Self, String> {
        match kind.cleaned(text) {
            "" => Err(format!("the {} is empty; an identity needs a value", kind.as_str())),
            value => Ok(Self::new(kind, value)),
        }
    }

    /// The beginning of the value, for messages.
    pub(super) fn beginning(&self) -> Cow<'_, str> {
        let value = self.value();
        String::from_utf8_lossy(value.split(|byte| *byte == DIGESTED).next().unwrap_or(value))
    }

    /// Whether the identity is of this type.
    pub fn is(&self, kind: IdentityType) -> bool {
        self.type_code() == kind.code()
    }

    /// The code of its [`IdentityType`].
    pub fn type_code(&self) -> i64 {
        self.0.first().copied().map_or(0, i64::from)
    }

    /// The key with these bytes; `None` if no key has them.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (code, value) = bytes.split_first()?;
        IdentityType::from_code(i64::from(*code))?;
        let is_whole = !value.is_empty() && bytes.len() <= WHOLE_KEY_BYTES_MAX;
        let is_digest = bytes.len() == DIGESTED_KEY_BYTES && bytes[KEY_BEGINNING_BYTES] == DIGESTED;
        let is_key = is_digest || is_whole && std::str::from_utf8(value).is_ok();
        is_key.then(|| Self(bytes.into()))
    }
}

pub(super) fn key_of(identity: &Json<'_>) -> Option<IdentityKey> {
    typed_value(identity).map(|(kind, _, text)| IdentityKey::new(kind, text))
}

/// The identity type of a map, its value, and the text of the value.
pub(super) fn typed_value<'j, 't>(
    identity: &'j Json<'t>,
) -> Option<(IdentityType, &'j Json<'t>, &'j str)> {
    let Json::Object(members) = identity else { return None };
    members
        .iter()
        .find_map(|(name, value)| Some((IdentityType::parse(name)?, value, value.as_str()?)))
}

/// Identity `n` of an entry.
pub(super) fn nth<'j, 't>(
    entry: &'j Json<'t>,
    n: usize,
) -> Option<(IdentityType, &'j Json<'t>, &'j str)> {
    let Some(Json::Array(items)) = entry.get("identities") else { return None };
    typed_value(items.get(n)?)
}

/// A warning about the value of identity `n` of an entry.
pub(super) fn warning(
    code: EntryWarningCode,
    (n, kind): (usize, IdentityType),
    detail: String,
    value: &Json<'_>,
) -> EntryWarning {
    let identities = ValuePath::field("identities");
    let item = ValuePath::Item(&identities, n);
    EntryWarning::new(code, &ValuePath::Key(&item, kind.as_str()), detail, value)
}

/// The identity that a map with exactly one identity type gives. `Err` is a sentence about the
/// fault.
pub(crate) fn read_identity(members: &[Member<'_>]) -> Result<IdentityKey, String> {
    let mut types = members
        .iter()
        .filter_map(|(name, value)| IdentityType::parse(name).map(|kind| (kind, value)));
    let (Some((kind, value)), None) = (types.next(), types.next()) else {
        let types = members.iter().filter(|(name, _)| IdentityType::parse(name).is_some()).count();
        return Err(no_single_type(members, types));
    };
    match value.as_str() {
        Some(text) => IdentityKey::of_text(kind, text),
        None => Err(format!("the {} must be a string", kind.as_str())),
    }
}

/// Checks the identities of an entry. Returns the keys of those that are good, in order, each with
/// its position.
pub(super) fn check(
    checker: &mut Checker,
    path: &ValuePath<'_>,
    value: &Json<'_>,
    items: &[Json<'_>],
) -> Vec<(usize, IdentityKey)> {
    checker.count(path, value, items.len());
    let mut keys = Vec::with_capacity(items.len());
    for (at, item) in items.iter().enumerate() {
        let path = ValuePath::Item(path, at);
        match item {
            Json::Object(members) => {
                if let Some(key) = one(checker, &path, item, members) {
                    keys.push((at, key));
                }
            }
            _ => checker.wrong_type(&path, item, "a map with one identity"),
        }
    }
    duplicates(checker, path, items, &keys);
    keys
}

/// Checks one identity. Returns its key if type and value are good; the metadata may have faults.
fn one(
    checker: &mut Checker,
    path: &ValuePath<'_>,
    item: &Json<'_>,
    members: &[Member<'_>],
) -> Option<IdentityKey> {
    let mut first: Option<(IdentityType, &Json<'_>)> = None;
    let mut types = 0;
    for (name, value) in members {
        if let Some(kind) = IdentityType::parse(name) {
            types += 1;
            first = first.or(Some((kind, value)));
        } else {
            let path = ValuePath::Key(path, name);
            checker.key(&path, name);
            match value {
                Json::String(text) => checker.length(&path, value, text, TEXT_CHARS_MAX),
                _ => checker.wrong_type(&path, value, "a string, as all metadata"),
            }
        }
    }
    checker.count(path, item, members.len() - types);
    match first {
        Some((kind, value)) if types == 1 => checked_value(checker, path, kind, value),
        _ => {
            let detail = no_single_type(members, types);
            checker.fault(Code::InvalidIdentity, path, item, detail);
            None
        }
    }
}

fn checked_value(
    checker: &mut Checker,
    path: &ValuePath<'_>,
    kind: IdentityType,
    value: &Json<'_>,
) -> Option<IdentityKey> {
    let path = ValuePath::Key(path, kind.as_str());
    let Json::String(text) = value else {
        checker.wrong_type(&path, value, "a string");
        return None;
    };
    if kind == IdentityType::PhoneNumber && is_rounded(text) {
        checker.fault(Code::SpreadsheetError, &path, value, rounded(text));
        return None;
    }
    checker.length(&path, value, text, kind.value_chars_max());
    if longer_than(text, kind.value_chars_max()) {
        return None;
    }
    let key = IdentityKey::of_text(kind, text);
    key.map_err(|detail| checker.fault(Code::InvalidIdentity, &path, value, detail)).ok()
}

/// The fault of a text that [`is_rounded`].
pub(crate) fn rounded(text: &str) -> String {
    format!(
        "{} is a long number whose last digits a spreadsheet has dropped; make the column a text \
         there, and enter the number again",
        quoted(text)
    )
}

/// Whether a text is a number in the form `4.9E+12`.
pub(crate) fn is_rounded(text: &str) -> bool {
    let Some((mantissa, exponent)) = text.split_once(['e', 'E']) else { return false };
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, fraction) = mantissa.split_once(['.', ',']).unwrap_or((mantissa, "0"));
    is_number(whole) && is_number(fraction) && exponent.strip_prefix('+').is_some_and(is_number)
}

fn no_single_type(members: &[Member<'_>], types: usize) -> String {
    let known: Vec<&str> = IdentityType::ALL.iter().map(|kind| kind.as_str()).collect();
    if types > 0 {
        let given: Vec<&str> =
            members.iter().map(|(name, _)| name.as_ref()).filter(|n| known.contains(n)).collect();
        return format!(
            "an identity has exactly one identity type, but this one has {types}: {}. Give each \
             its own map",
            given.join(", ")
        );
    }
    let hint = members
        .iter()
        .map(|(name, _)| name.as_ref())
        .filter(|name| name.len() <= 64)
        .find_map(|name| Some((name, nearest_word(name, known.iter().copied())?)))
        .map_or_else(String::new, |(name, near)| {
            format!("; {} may be a misspelling of {near}", quoted(name))
        });
    format!("an identity needs exactly one identity type of: {}{hint}", known.join(", "))
}

/// Reports every identity that repeats an earlier one of the entry.
fn duplicates(
    checker: &mut Checker,
    path: &ValuePath<'_>,
    items: &[Json<'_>],
    keys: &[(usize, IdentityKey)],
) {
    /// Up to this many keys, comparing all pairs is faster than a map.
    const FEW: usize = 8;
    if keys.len() <= FEW {
        for (n, (at, key)) in keys.iter().enumerate() {
            if let Some((first, _)) = keys[..n].iter().find(|(_, earlier)| earlier == key) {
                duplicate(checker, path, items, *at, *first);
            }
        }
        return;
    }
    let mut seen: HashMap<&IdentityKey, usize> = HashMap::with_capacity(keys.len());
    for (at, key) in keys {
        let first = *seen.entry(key).or_insert(*at);
        if first != *at {
            duplicate(checker, path, items, *at, first);
        }
    }
}

fn duplicate(
    checker: &mut Checker,
    path: &ValuePath<'_>,
    items: &[Json<'_>],
    at: usize,
    first: usize,
) {
    let detail = format!("this identity is the same as element {first}; give it once");
    checker.fault(Code::DuplicateIdentity, &ValuePath::Item(path, at), &items[at], detail);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn emails_are_equal_in_any_case_and_other_types_are_not() {
        let email = |text| IdentityKey::new(IdentityType::Email, text);
        assert_eq!(email("Ann@Example.ORG"), email("ann@example.org"));
        assert_eq!(email("ÄNN@example.org"), email("änn@EXAMPLE.org"));
        let uid = |text| IdentityKey::new(IdentityType::Uid, text);
        assert_ne!(uid("Ann"), uid("ann"));
        assert_ne!(uid("ann"), email("ann"));
    }

    #[test]
    fn a_key_is_read_back_from_its_bytes_and_bad_bytes_are_rejected() {
        let key = IdentityKey::new(IdentityType::PsnId, "a\0b");
        assert_eq!(IdentityKey::from_bytes(key.as_bytes()), Some(key));
        for bad in [&b""[..], b"\x01", b"\x00a", b"\x0da", b"\x01\xff"] {
            assert_eq!(IdentityKey::from_bytes(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn the_key_of_a_long_value_is_short_and_its_own() {
        let uid = |text: &str| IdentityKey::new(IdentityType::Uid, text);
        let whole = "a".repeat(WHOLE_KEY_BYTES_MAX - 1);
        assert_eq!(uid(&whole).value(), whole.as_bytes());
        let (long, other) = (uid(&format!("{whole}a")), uid(&format!("{whole}b")));
        assert_ne!(long, other);
        assert_eq!(long.as_bytes().len(), DIGESTED_KEY_BYTES);
        assert!(long.beginning().starts_with("aaa"));
        assert_eq!(IdentityKey::from_bytes(long.as_bytes()), Some(long));
    }
}
