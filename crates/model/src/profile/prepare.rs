//! Validates entries before anything is looked up: each becomes a typed item or is rejected with
//! all faults of its own. The entries of a block stay in order and none is dropped. The planners
//! check the rules that depend on stored records: the owners of identities, whether an id exists,
//! and the limits of merged records. A rejected entry says which records it names, because the
//! planners check it as well.

use super::check::Purpose;
use super::checker::Checker;
use super::clean::{Digits, clean};
use super::doubts::doubts;
use super::field::{APP, CORE, CORE_PROFILE_ID_MAX, Table};
use super::placeholders::Placeholders;
use super::record::write_fields;
use super::tag_changes::tags_after;
use crate::decimal::is_integer;
use crate::entry::{id_of, read_entry};
use crate::error_code::EntryErrorCode as Code;
use crate::ids::{CoreProfileId, IdentityKey};
use crate::json::{Json, Member, ValuePath};
use crate::payload::{Block, Entry};
use crate::record::{EntryFault, EntryWarning, NamedRecords, PreparedEntry, Rejection};
use crate::task::Action;

/// Either of two fields, of which an entry needs one.
const ID_OR_IDENTITIES: &str = "core-profile-id or identities";

/// A core profile to create.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewCoreProfile {
    /// The fields text: members of the record without braces, id and times.
    pub fields: Vec<u8>,
    /// The keys of its identities, in order; at least one.
    pub identities: Vec<IdentityKey>,
}

/// An update or upsert of a core profile. The patch itself is the entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CorePatch {
    /// `None` if the profile is found by the identities.
    pub id: Option<CoreProfileId>,
    /// The keys of the identities in the patch, in order; `None` if it has no identities.
    pub identities: Option<Vec<IdentityKey>>,
    /// Of an upsert without id: the fields text of the profile, if it is created.
    pub new_fields: Option<Vec<u8>>,
}

/// The core profile that an entry deletes: the one with this id, or that has any of the identities.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoreTarget {
    pub id: Option<CoreProfileId>,
    pub identities: Vec<IdentityKey>,
}

/// An update of an app profile. The patch itself is the entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppPatch {
    pub pid: String,
}

/// Validates the entries of a `create_core_profiles` task.
pub fn prepare_creates(
    block: &Block,
    placeholders: &Placeholders,
) -> Vec<PreparedEntry<NewCoreProfile>> {
    prepare(block, Action::CreateCoreProfiles, |entry, json, members, checker| {
        let identities = checker.members(&CORE, Purpose::Create, members);
        let given = json.get("identities");
        match given {
            None | Some(Json::Null) => checker.required("identities", given),
            Some(Json::Array(items)) if items.is_empty() => {
                checker.required("identities", given);
            }
            _ => {}
        }
        if !checker.faults.is_empty() {
            checker.named.identities = identities.unwrap_or_default();
            return None;
        }
        checker.warnings.extend(doubts(json, placeholders));
        let mut fields = Vec::with_capacity(entry.range.len());
        write_fields(&CORE, &CORE.slots(json), &mut fields);
        Some(NewCoreProfile { fields, identities: keys(identities?) })
    })
}

/// Whether an entry names its core profile by id; null counts as absent.
pub(super) fn has_core_id(json: &Json<'_>) -> bool {
    json.get(CORE.id_field).is_some_and(|id| *id != Json::Null)
}

/// Validates the entries of an action that patches core profiles.
pub fn prepare_core_patches(
    action: Action,
    block: &Block,
    placeholders: &Placeholders,
) -> Vec<PreparedEntry<CorePatch>> {
    let upserts = action == Action::UpsertCoreProfiles;
    prepare(block, action, |entry, json, members, checker| {
        let by_id = has_core_id(json);
        let id = if by_id { core_profile_id(json, checker) } else { None };
        let identities = checker.members(&CORE, Purpose::Update, members);
        let given = json.get("identities");
        let none_given = match given {
            None | Some(Json::Null) => true,
            Some(Json::Array(items)) => items.is_empty(),
            Some(_) => false,
        };
        match given {
            Some(value) if none_given && by_id => {
                let detail = "a core profile needs at least one identity; leave identities out to \
                              keep the present ones, or give the new ones";
                let path = ValuePath::field("identities");
                checker.fault(Code::LastIdentity, &path, value, detail.to_owned());
            }
            _ if none_given && upserts && !by_id => checker.required("identities", given),
            _ if none_given && !by_id => {
                checker.required(ID_OR_IDENTITIES, json.get(CORE.id_field));
            }
            _ => {}
        }
        if !checker.faults.is_empty() {
            let identities = identities.unwrap_or_default();
            checker.named =
                NamedRecords { core_profile: id, identities, ..NamedRecords::default() };
            return None;
        }
        checker.warnings.extend(doubts(json, placeholders));
        let new_fields = (upserts && !by_id).then(|| {
            let mut fields = Vec::with_capacity(entry.range.len());
            let (tags, mut slots) = (tags_after(&CORE, json, |_| None), CORE.slots(json));
            if let Some((at, tags)) = &tags {
                slots[*at] = Some(tags);
            }
            write_fields(&CORE, &slots, &mut fields);
            fields
        });
        Some(CorePatch { id, identities: identities.map(keys), new_fields })
    })
}

fn keys(identities: Vec<(usize, IdentityKey)>) -> Vec<IdentityKey> {
    identities.into_iter().map(|(_, key)| key).collect()
}

/// Validates the entries of an `update_app_profiles` task.
pub fn prepare_app_updates(block: &Block) -> Vec<PreparedEntry<AppPatch>> {
    prepare(block, Action::UpdateAppProfiles, |_, json, members, checker| {
        let pid = app_profile_id(json, checker);
        checker.members(&APP, Purpose::Update, members);
        if !checker.faults.is_empty() {
            checker.named.app_profile = pid;
            return None;
        }
        Some(AppPatch { pid: pid? })
    })
}

/// Validates the entries of a `delete_core_profiles` task.
pub fn prepare_core_deletes(
    block: &Block,
    placeholders: &Placeholders,
) -> Vec<PreparedEntry<CoreTarget>> {
    prepare(block, Action::DeleteCoreProfiles, |_, json, members, checker| {
        let by_id = has_core_id(json);
        let id = if by_id { core_profile_id(json, checker) } else { None };
        let identities = checker.members(&CORE, Purpose::Delete, members);
        let given = json.get("identities").filter(|given| **given != Json::Null);
        match given {
            Some(value) if by_id => {
                let detail = "core-profile-id says which profile to delete; leave identities out";
                let path = ValuePath::field("identities");
                checker.fault(Code::UnknownField, &path, value, detail.to_owned());
            }
            Some(Json::Array(items)) if items.is_empty() => {
                checker.required("identities", given);
            }
            None if !by_id => checker.required(ID_OR_IDENTITIES, json.get(CORE.id_field)),
            _ => {}
        }
        let identities = identities.unwrap_or_default();
        if !checker.faults.is_empty() {
            checker.named =
                NamedRecords { core_profile: id, identities, ..NamedRecords::default() };
            return None;
        }
        checker.warnings.extend(doubts(json, placeholders));
        Some(CoreTarget { id, identities: keys(identities) })
    })
}

/// Validates the entries of a `delete_app_profiles` task.
pub fn prepare_app_deletes(block: &Block) -> Vec<PreparedEntry<String>> {
    prepare(block, Action::DeleteAppProfiles, |_, json, members, checker| {
        let pid = app_profile_id(json, checker);
        checker.members(&APP, Purpose::Delete, members);
        pid
    })
}

/// Validates the entries of a `get_core_profiles` task.
pub fn prepare_core_gets(block: &Block) -> Vec<PreparedEntry<CoreProfileId>> {
    let read = |_: &Entry, json: &Json<'_>, members: &[Member<'_>], checker: &mut Checker| {
        let id = core_profile_id(json, checker);
        checker.members(&CORE, Purpose::Get, members);
        checker.named.core_profile = id;
        id
    };
    each(block, |entry| match plain_core_get(block.bytes_of(entry)) {
        Some(id) => (Ok(id), Vec::new()),
        None => prepare_one(block, entry, Action::GetCoreProfiles, read),
    })
}

/// The id of a get entry in the form that nearly all of them have: an id that is plainly good, and
/// nothing else. This saves such a get most of its validation.
fn plain_core_get(entry: &[u8]) -> Option<CoreProfileId> {
    /// Every number with up to this many digits is a valid id.
    const DIGITS_MAX: usize = 18;
    let given = entry.strip_prefix(b"{\"core-profile-id\":")?.strip_suffix(b"}")?;
    let given = given.strip_prefix(b" ").unwrap_or(given);
    let digits = match given.strip_prefix(b"\"") {
        Some(rest) => rest.strip_suffix(b"\"")?,
        None => given,
    };
    let is_plain = matches!(digits, [b'1'..=b'9', rest @ ..] if rest.len() < DIGITS_MAX
        && rest.iter().all(u8::is_ascii_digit));
    let id = || digits.iter().fold(0, |id, digit| id * 10 + u64::from(digit - b'0'));
    is_plain.then(|| CoreProfileId(id()))
}

/// Validates the entries of a `get_app_profiles` task.
pub fn prepare_app_gets(block: &Block) -> Vec<PreparedEntry<String>> {
    prepare(block, Action::GetAppProfiles, |_, json, members, checker| {
        let pid = app_profile_id(json, checker);
        checker.members(&APP, Purpose::Get, members);
        if !checker.faults.is_empty() {
            checker.named.app_profile = pid;
            return None;
        }
        pid
    })
}

/// Reads every entry of `block` as [`prepare_one`] does.
fn prepare<T>(
    block: &Block,
    action: Action,
    read: impl Fn(&Entry, &Json<'_>, &[Member<'_>], &mut Checker) -> Option<T>,
) -> Vec<PreparedEntry<T>> {
    each(block, |entry| prepare_one(block, entry, action, &read))
}

fn each<T>(
    block: &Block,
    one: impl Fn(&Entry) -> (Result<T, Rejection>, Vec<EntryWarning>),
) -> Vec<PreparedEntry<T>> {
    let prepared = |entry: &Entry| {
        let (item, warnings) = one(entry);
        PreparedEntry { entry: entry.clone(), item, warnings }
    };
    block.entries.iter().map(prepared).collect()
}

/// Reads an entry and lets `read` make an item of it, or add faults and warnings.
fn prepare_one<T>(
    block: &Block,
    entry: &Entry,
    action: Action,
    read: impl Fn(&Entry, &Json<'_>, &[Member<'_>], &mut Checker) -> Option<T>,
) -> (Result<T, Rejection>, Vec<EntryWarning>) {
    let mut json = match read_entry(action, block, entry) {
        Ok(json) => json,
        Err(rejected) => return (Err(rejected), Vec::new()),
    };
    let digits = Digits::new();
    let mut checker = Checker::default();
    checker.warnings = clean(action, &mut json, &digits);
    let Json::Object(members) = &json else { unreachable!("the reader lets only maps through") };
    match read(entry, &json, members, &mut checker) {
        Some(item) if checker.faults.is_empty() => (Ok(item), checker.warnings),
        _ => {
            let named = std::mem::take(&mut checker.named);
            let named = (named != NamedRecords::default()).then(|| Box::new(named));
            let faults = checker.into_faults();
            let id = id_of(&json, action);
            (Err(Rejection { id, faults, readable: true, named }), Vec::new())
        }
    }
}

/// The id of the core profile that an entry names.
fn core_profile_id(json: &Json<'_>, checker: &mut Checker) -> Option<CoreProfileId> {
    let path = ValuePath::field(CORE.id_field);
    let value = match json.get(CORE.id_field) {
        Some(value) if *value != Json::Null => value,
        given => {
            checker.required(CORE.id_field, given);
            return None;
        }
    };
    let text = match value {
        Json::Number(number) if is_integer(number) => {
            if number.starts_with('-') {
                let detail = "core-profile-id must not be negative".to_owned();
                checker.fault(Code::OutOfRange, &path, value, detail);
                return None;
            }
            *number
        }
        Json::String(text) if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) => text,
        Json::String(_) | Json::Number(_) => {
            let detail = "core-profile-id must be digits alone, as a string or an integer";
            checker.fault(Code::WrongType, &path, value, detail.to_owned());
            return None;
        }
        _ => {
            checker.wrong_type(&path, value, "a string of digits or an integer");
            return None;
        }
    };
    // An id has one spelling; digits that no id can have belong to no profile.
    let id = text.parse::<u64>().ok().filter(|id| *id <= CORE_PROFILE_ID_MAX);
    if let Some(id) = id.filter(|_| text == "0" || !text.starts_with('0')) {
        return Some(CoreProfileId(id));
    }
    checker.faults.push(not_found(&CORE, value));
    None
}

/// The id of the app profile that an entry names.
fn app_profile_id(json: &Json<'_>, checker: &mut Checker) -> Option<String> {
    match json.get(APP.id_field) {
        None => checker.required(APP.id_field, None),
        Some(Json::String(pid)) => return Some(pid.clone().into_owned()),
        Some(Json::Null) => checker.required(APP.id_field, Some(&Json::Null)),
        Some(value) => checker.wrong_type(&ValuePath::field(APP.id_field), value, "a string"),
    }
    None
}

/// The fault of an entry whose id no profile of the domain has.
pub(super) fn not_found(table: &Table, id: &Json<'_>) -> EntryFault {
    let mut shown = Vec::new();
    id.write_to(&mut shown);
    let shown: String = String::from_utf8_lossy(&shown).chars().take(300).collect();
    let detail = format!("there is no {} with the {} {shown}", table.noun, table.id_field);
    EntryFault::new(Code::NotFound, ValuePath::field(table.id_field).pointer(), detail)
        .with_value(id)
}

impl Checker {
    fn required(&mut self, name: &str, given: Option<&Json<'_>>) {
        let (name, detail) = match name {
            "identities" => (name, "a core profile needs at least one identity".to_owned()),
            ID_OR_IDENTITIES => {
                let detail = "core-profile-id or identities are required: they say which profile \
                              the entry is about";
                (CORE.id_field, detail.to_owned())
            }
            _ => (name, format!("{name} is required: it says which profile the entry is about")),
        };
        let fault = EntryFault::new(Code::Required, ValuePath::field(name).pointer(), detail);
        self.faults.push(match given {
            Some(value) => fault.with_value(value),
            None => fault,
        });
    }
}
