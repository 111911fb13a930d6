//! Entries of all actions on profiles. Each is accepted or has its faults named. An entry of a
//! create is accepted exactly if a naive list of rules accepts it, is stored as sent, and a get
//! returns it as an update that changes nothing.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;

use caseload_model::country::is_country;
use caseload_model::json::{self, Json};
use caseload_model::language::is_language;
use caseload_model::payload::Block;
use caseload_model::profile::{
    CORE_PROFILE_ID_MAX, NewCoreProfile, NewIds, Placeholders, identity_keys, plan_app_deletes,
    plan_app_updates, plan_core_deletes, plan_core_patches, plan_creates, prepare_app_deletes,
    prepare_app_gets, prepare_app_updates, prepare_core_deletes, prepare_core_gets,
    prepare_core_patches, prepare_creates, show_app_gets, show_core_gets,
};
use caseload_model::record::ChunkRecords;
use caseload_model::task::Action;
use caseload_model::task::Family;

use crate::entries::{blocks_of, check, recorded};
use crate::identities::{self, is_text};
use crate::updates;

pub(crate) fn holds(data: &[u8]) {
    for block in blocks_of(data, Family::Identity) {
        creates(&block);
        of_others(&block);
    }
}

fn creates(block: &Block) {
    let all = prepare_creates(block, &Placeholders::default());
    check(block, &all);
    for prepared in &all {
        let bytes = block.bytes_of(&prepared.entry);
        if let Some(expected) = json::parse(bytes).ok().and_then(|json| is_good(&json)) {
            assert_eq!(prepared.item.is_ok(), expected, "{:?}", prepared.item);
        }
        if let Ok(profile) = &prepared.item {
            stored(profile, bytes);
        }
    }
    let plan = plan_creates(&block.bytes, &all, &HashMap::new(), NewIds::From(7));
    recorded(&plan.records, all.len());
    assert_eq!(plan.inserts.len(), plan.records.succeeded as usize);
    assert_eq!(
        plan.ids,
        NewIds::From(7 + plan.inserts.len() as u64),
        "only a created profile takes an id"
    );
    let mut taken = HashSet::new();
    for (id, at) in &plan.inserts {
        assert!((7..=CORE_PROFILE_ID_MAX).contains(&id.0));
        let profile = all[*at].item.as_ref().expect("only accepted entries are made");
        assert!(profile.identities.iter().all(|key| taken.insert(key)), "one owner an identity");
    }
}

/// The fields text of an accepted entry.
fn stored(profile: &NewCoreProfile, entry: &[u8]) {
    let text = [b"{", &profile.fields[..], b"}"].concat();
    let record = json::parse(&text).expect("a fields text is the inside of a map");
    let entry = json::parse(entry).expect("an accepted entry is JSON");
    assert_eq!(identity_keys(&profile.fields), profile.identities);
    assert!(!profile.identities.is_empty(), "a core profile has an identity");
    let (Json::Object(members), Json::Object(sent)) = (&record, &entry) else {
        panic!("both are maps")
    };
    let given = sent.iter().filter(|(_, value)| *value != Json::Null);
    assert_eq!(members.len(), given.count(), "every field is stored once");
    for (name, value) in members {
        let sent = entry.get(name).expect("the stored profile was sent");
        let sent = updates::with_empty_maps(name, sent);
        assert!(updates::without_nulls(&sent).same(value), "{name} is stored as it was sent");
    }
    updates::changes_nothing(&profile.fields);
}

/// Actions whose entries only name a profile or change one: here there is none.
fn of_others(block: &Block) {
    let none = &HashMap::new();
    let (bytes, count) = (&block.bytes, block.entries.len());
    let patches = prepare_core_patches(Action::UpdateCoreProfiles, block, &Placeholders::default());
    check(block, &patches);
    let plan = plan_core_patches(
        Action::UpdateCoreProfiles,
        bytes,
        &patches,
        none,
        &HashMap::new(),
        None,
        &mut NewIds::From(1),
    );
    assert!(plan.changed.is_empty() && plan.records.succeeded == 0);
    recorded(&plan.records, count);
    upserts(block);
    let patches = prepare_app_updates(block);
    check(block, &patches);
    let plan = plan_app_updates(bytes, &patches, &HashMap::new(), None, false);
    assert!(plan.changed.is_empty() && plan.records.succeeded == 0);
    recorded(&plan.records, count);
    let ids = prepare_core_gets(block);
    check(block, &ids);
    let mut records = ChunkRecords::default();
    show_core_gets(bytes, &ids, &mut records, |_, _| Ok::<_, Infallible>(false))
        .expect("infallible");
    recorded(&records, count);
    let pids = prepare_app_gets(block);
    check(block, &pids);
    let mut records = ChunkRecords::default();
    show_app_gets(bytes, &pids, &mut records, |_, _| Ok::<_, Infallible>(false))
        .expect("infallible");
    recorded(&records, count);
}

/// Upserts of people who are all new. Each identity gets one owner, and the same entries
/// again change nothing, unless an earlier one had changed the profile since.
fn upserts(block: &Block) {
    let entries = prepare_core_patches(Action::UpsertCoreProfiles, block, &Placeholders::default());
    check(block, &entries);
    let (no_records, no_owners) = (HashMap::<_, Vec<u8>>::new(), HashMap::new());
    let mut ids = NewIds::From(7);
    let plan = plan_core_patches(
        Action::UpsertCoreProfiles,
        &block.bytes,
        &entries,
        &no_records,
        &no_owners,
        None,
        &mut ids,
    );
    recorded(&plan.records, block.entries.len());
    assert_eq!(ids, NewIds::From(7 + plan.created.len() as u64), "only a new profile takes an id");
    assert!(plan.changed.is_empty() && plan.identities_removed.is_empty());
    let deletions = prepare_core_deletes(block, &Placeholders::default());
    check(block, &deletions);
    let deleted = plan_core_deletes(&block.bytes, &deletions, &no_records, &no_owners);
    recorded(&deleted.records, block.entries.len());
    assert!(deleted.deleted.is_empty() && deleted.identities_removed.is_empty());
    let owned = plan.created.iter().flat_map(|(id, fields)| {
        updates::changes_nothing(fields);
        identity_keys(fields).into_iter().map(|key| (key, *id))
    });
    let mut owned: Vec<_> = owned.collect();
    owned.sort_unstable();
    assert_eq!(owned, plan.identities_added, "the identities are those of the profiles");
    let (made, owners): (HashMap<_, _>, HashMap<_, _>) =
        (plan.created.into_iter().collect(), owned.into_iter().collect());
    let deleted = plan_core_deletes(&block.bytes, &deletions, &made, &owners);
    recorded(&deleted.records, block.entries.len());
    assert!(deleted.deleted.iter().all(|id| made.contains_key(id)));
    let goes = |(_, owner): &&(_, _)| deleted.deleted.contains(owner);
    let of_deleted = plan.identities_added.iter().filter(goes);
    assert!(of_deleted.eq(&deleted.identities_removed), "the identities go with the profile");
    let pids = prepare_app_deletes(block);
    check(block, &pids);
    let none: HashMap<String, Vec<u8>> = HashMap::new();
    let of_apps = plan_app_deletes(&block.bytes, &pids, &none);
    recorded(&of_apps.records, block.entries.len());
    let again = plan_core_patches(
        Action::UpsertCoreProfiles,
        &block.bytes,
        &entries,
        &made,
        &owners,
        None,
        &mut ids,
    );
    assert!(again.created.is_empty(), "everyone is known now");
    if block.entries.len() == 1 {
        assert!(again.changed.is_empty(), "twice is once");
    }
}

/// An exponent beyond every limit.
const FAR: i64 = 1 << 40;

/// Whether a map is a good entry of a create by a plain list of rules; `None` if these cannot
/// decide.
fn is_good(entry: &Json<'_>) -> Option<bool> {
    let Json::Object(members) = entry else { return Some(false) };
    let mut good = true;
    let mut has_identities = false;
    for (name, value) in members {
        if *value == Json::Null {
            good &= FIELDS.contains(&name.as_ref());
            continue;
        }
        good &= match name.as_ref() {
            "identities" => {
                has_identities = true;
                identities::are_good(value)?
            }
            "names" => all_members(value, |name, value| {
                NAMES.contains(&name) && (*value == Json::Null || is_text(value, 100_000))
            }),
            "tags" => match value {
                Json::Array(tags) => tags.len() <= 100 && tags.iter().all(|tag| is_text(tag, 100)),
                _ => false,
            },
            "custom_fields" => are_custom_fields(value),
            "full_privacy_enabled" | "accepted_t_and_c" => matches!(value, Json::Bool(_)),
            "last_country" => value.as_str().is_some_and(is_country),
            "preferred_language" => value.as_str().is_some_and(is_language),
            "last_city" | "user_persona" | "user_vip_segment" | "user_support_status" => {
                is_text(value, 100_000)
            }
            "age" => is_within(value, "150"),
            "lifetime_value" => matches!(value, Json::Number(_)),
            "last_active_date" => {
                let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit() || b == b'-');
                matches!(value, Json::Number(text) if digits(text))
                    && is_within(value, "253402300799999")
            }
            _ => false,
        };
    }
    Some(good && has_identities)
}

const NAMES: [&str; 4] = ["first_name", "last_name", "full_name", "display_name"];

const FIELDS: [&str; 15] = [
    "identities",
    "names",
    "tags",
    "custom_fields",
    "full_privacy_enabled",
    "last_country",
    "last_city",
    "age",
    "lifetime_value",
    "user_persona",
    "user_vip_segment",
    "user_support_status",
    "accepted_t_and_c",
    "preferred_language",
    "last_active_date",
];

fn are_custom_fields(value: &Json<'_>) -> bool {
    let given = match value {
        Json::Object(members) => members.iter().filter(|(_, value)| *value != Json::Null).count(),
        _ => 0,
    };
    given <= 100
        && all_members(value, |key, value| {
            let known = matches!(value, Json::Null | Json::Number(_)) || is_text(value, 100_000);
            known && key.chars().count() <= 255
        })
}

/// The members of a map, or the empty array that some clients send for an empty one.
fn all_members(value: &Json<'_>, good: impl Fn(&str, &Json<'_>) -> bool) -> bool {
    if *value == Json::Array(Vec::new()) {
        return true;
    }
    let Json::Object(members) = value else { return false };
    members.iter().all(|(name, value)| good(name, value))
}

/// Whether a number is at least 0 and at most `max`, a whole number: its point is moved as the
/// exponent says, then the digits are compared as text.
fn is_within(value: &Json<'_>, max: &str) -> bool {
    let Json::Number(number) = value else { return false };
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    if digits.bytes().all(|digit| digit == b'0') {
        return true;
    }
    if mantissa.starts_with('-') {
        return false;
    }
    let shift: i64 = exponent.parse().unwrap_or(if exponent.starts_with('-') { -FAR } else { FAR });
    let whole = mantissa.find('.').unwrap_or(mantissa.len()) as i64;
    let zeros = digits.bytes().take_while(|digit| *digit == b'0').count() as i64;
    let whole = whole.saturating_add(shift).saturating_sub(zeros);
    let significant = digits.trim_matches('0');
    // The number is 0.SIGNIFICANT times ten to the power of `whole`; texts of equal length compare
    // as the numbers do.
    whole < max.len() as i64
        || (whole == max.len() as i64 && significant <= max.trim_end_matches('0'))
}
