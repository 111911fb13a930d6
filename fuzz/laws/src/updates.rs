//! Updates of stored profiles. The first line is an entry that makes a profile, each further line
//! a patch of it. A patch does what RFC 7396 says, applied again it changes nothing, its outcome is
//! a good profile, and many patches in one task come to the same as one after another.

use std::collections::HashMap;

use caseload_model::ids::CoreProfileId;
use caseload_model::json::{self, Json, Member};
use caseload_model::payload::Block;
use caseload_model::profile::{
    CorePlan, NewIds, Placeholders, StoredAppProfile, identity_keys, plan_app_updates,
    plan_core_patches, prepare_app_updates, prepare_core_patches, prepare_creates, render_app,
    render_core,
};
use caseload_model::record::PreparedEntry;
use caseload_model::task::Action;
use caseload_model::task::Family;
use caseload_model::time::UnixMillis;

use crate::entries::{block_of, blocks_of, check, outcome, points_into, recorded};
use crate::second;

const ID: CoreProfileId = CoreProfileId(1_666_311_221_477_632);
const NOW: UnixMillis = UnixMillis(1_700_000_000_000);
const PID: &str = "p";

pub(crate) fn holds(data: &[u8]) {
    let mut lines = data.split(|byte| *byte == b'\n');
    let first = lines
        .next()
        .and_then(block_of)
        .map(|block| prepare_creates(&block, &Placeholders::default()));
    let patches: Vec<&[u8]> = lines.filter_map(inside).take(8).collect();
    let app = patches.iter().fold(Vec::new(), |fields, patch| app_update(fields, patch));
    app_changes_nothing(&app);
    let Some([PreparedEntry { item: Ok(profile), .. }]) = first.as_deref() else { return };
    let last =
        patches.iter().fold(profile.fields.clone(), |fields, patch| core_update(fields, patch));
    together(&profile.fields, &patches, &last);
}

/// The inside of a line that looks like a map.
fn inside(line: &[u8]) -> Option<&[u8]> {
    line.trim_ascii().strip_prefix(b"{")?.strip_suffix(b"}")
}

/// An entry with this id and these members.
fn entry(id: &str, members: &[u8]) -> Vec<u8> {
    let comma: &[u8] = if members.trim_ascii().is_empty() { b"" } else { b"," };
    [b"{", id.as_bytes(), comma, members, b"}"].concat()
}

fn core_entry(members: &[u8]) -> Vec<u8> {
    entry(&format!("\"core-profile-id\":\"{ID}\""), members)
}

fn plan(block: &Block, fields: &[u8]) -> CorePlan {
    let entries = prepare_core_patches(Action::UpdateCoreProfiles, block, &Placeholders::default());
    check(block, &entries);
    let records = HashMap::from([(ID, fields.to_vec())]);
    let owners: HashMap<_, _> = identity_keys(fields).into_iter().map(|key| (key, ID)).collect();
    let plan = plan_core_patches(
        Action::UpdateCoreProfiles,
        &block.bytes,
        &entries,
        &records,
        &owners,
        None,
        &mut NewIds::From(1),
    );
    recorded(&plan.records, entries.len());
    plan
}

/// The fields after one patch.
fn core_update(fields: Vec<u8>, patch: &[u8]) -> Vec<u8> {
    by_identity(&fields, patch);
    let sent = core_entry(patch);
    let Some(block) = block_of(&sent) else { return fields };
    let planned = plan(&block, &fields);
    let after = match planned.changed.as_slice() {
        [] => fields.clone(),
        [(id, after)] if *id == ID => after.clone(),
        other => panic!("one patch changes one profile, not {other:?}"),
    };
    match outcome(&planned.records).as_deref() {
        None => assert_eq!(after, fields, "an entry that fails changes nothing"),
        Some(word) => {
            assert_eq!(word == "updated", after != fields, "{word}");
            follows_the_rfc(&fields, &sent, &after);
            assert_eq!(plan(&block, &after).changed, [], "twice is once");
            changes_nothing(&after);
            let remade = block_of(&[b"{", &after[..], b"}"].concat()).expect("one line");
            let remade = prepare_creates(&remade, &Placeholders::default());
            check_remade(&remade[0], &after);
            moved(&planned, &fields, &after);
        }
    }
    after
}

/// An entry that names the profile by one of its identities: those that it has stay, with their
/// values.
fn by_identity(before: &[u8], patch: &[u8]) {
    let sent = [b"{", patch, b"}"].concat();
    if json::parse(&sent).is_ok_and(|json| json.get("core-profile-id").is_some()) {
        return;
    }
    let Some(block) = block_of(&sent) else { return };
    let planned = plan(&block, before);
    let [(_, after)] = planned.changed.as_slice() else { return };
    assert!(planned.identities_removed.is_empty(), "an identity is removed");
    let (had, has) = (identity_keys(before), identity_keys(after));
    assert_eq!(had[..], has[..had.len()], "identities are added after those that are there");
    assert_eq!(plan(&block, after).changed, [], "twice is once");
    changes_nothing(after);
}

/// The outcome of a good patch of a good profile is a good profile, stored the same way.
fn check_remade(remade: &PreparedEntry<caseload_model::profile::NewCoreProfile>, after: &[u8]) {
    match &remade.item {
        Ok(profile) => assert_eq!(profile.fields, after),
        Err(rejected) => panic!("an update left a profile that no create makes: {rejected:?}"),
    }
}

/// Identities that change hands are the difference of the profile before and after.
fn moved(plan: &CorePlan, before: &[u8], after: &[u8]) {
    let (before, after) = (identity_keys(before), identity_keys(after));
    assert!(plan.identities_removed.iter().all(|(key, _)| before.contains(key)));
    assert!(plan.identities_added.iter().all(|(key, _)| !before.contains(key)));
    let mut left: Vec<_> = before
        .into_iter()
        .filter(|key| !plan.identities_removed.iter().any(|(removed, _)| removed == key))
        .chain(plan.identities_added.iter().map(|(key, _)| key.clone()))
        .collect();
    let mut after = after;
    left.sort_unstable();
    after.sort_unstable();
    assert_eq!(left, after);
}

fn follows_the_rfc(before: &[u8], patch: &[u8], after: &[u8]) {
    let texts = [before, after].map(|fields| [b"{", fields, b"}"].concat());
    let [before, after] = texts.each_ref().map(|text| json::parse(text).expect("stored JSON"));
    let Ok(Json::Object(members)) = json::parse(patch) else { panic!("a good patch is a map") };
    let ids = ["core-profile-id", "created_at", "updated_at"];
    let mut fields: Vec<_> = members
        .into_iter()
        .filter(|(name, _)| !ids.contains(&name.as_ref()))
        .map(|(name, value)| (name.clone(), with_empty_maps(&name, &value)))
        .collect();
    with_all_tags(&before, &mut fields);
    let expected = second::merged(&second::value(&before), &second::value(&Json::Object(fields)));
    assert_eq!(second::value(&after), expected, "RFC 7396 says so");
}

/// Makes a patch that adds or removes tags one that has all tags of its outcome.
fn with_all_tags<'a>(before: &Json<'a>, patch: &mut Vec<Member<'a>>) {
    let list = |value: Option<&Json<'a>>| match value {
        Some(Json::Array(items)) => items.clone(),
        _ => Vec::new(),
    };
    let [add, remove] = ["add_tags", "remove_tags"].map(|name| {
        let at = patch.iter().position(|(known, _)| known == name);
        list(at.map(|at| patch.remove(at).1).as_ref())
    });
    if add.is_empty() && remove.is_empty() {
        return;
    }
    let mut tags = list(before.get("tags"));
    tags.retain(|tag| !remove.contains(tag));
    for tag in add {
        if !tags.contains(&tag) {
            tags.push(tag);
        }
    }
    if before.get("tags").is_some() || !tags.is_empty() {
        patch.push(("tags".into(), Json::Array(tags)));
    }
}

/// The result of a get is an update that changes nothing.
pub(crate) fn changes_nothing(fields: &[u8]) {
    let mut shown = Vec::new();
    render_core(ID, NOW, fields, NOW, &mut shown);
    let block = block_of(&shown).expect("a record is one line");
    let plan = plan(&block, fields);
    assert_eq!(plan.changed, []);
    assert_eq!(outcome(&plan.records).as_deref(), Some("unchanged"));
    assert!(plan.identities_added.is_empty() && plan.identities_removed.is_empty());
}

/// Many patches in one task have the effect that they have one after another.
fn together(fields: &[u8], patches: &[&[u8]], expected: &[u8]) {
    let lines: Vec<Vec<u8>> = patches
        .iter()
        .map(|patch| core_entry(patch))
        .filter(|line| block_of(line).is_some())
        .collect();
    if let [block] = blocks_of(&lines.join(&b'\n'), Family::Identity).as_slice() {
        let plan = plan(block, fields);
        let last = plan.changed.first().map_or(fields, |(_, last)| last);
        assert_eq!(last, expected, "together is one after another");
    }
}

/// The fields of an app profile after one patch.
fn app_update(fields: Vec<u8>, patch: &[u8]) -> Vec<u8> {
    let Some(block) = block_of(&entry("\"pid\":\"p\"", patch)) else { return fields };
    let entries = prepare_app_updates(&block);
    check(&block, &entries);
    let plan = |fields: &[u8]| {
        let records = HashMap::from([(PID.to_owned(), fields.to_vec())]);
        let plan = plan_app_updates(&block.bytes, &entries, &records, None, false);
        recorded(&plan.records, 1);
        plan
    };
    let planned = plan(&fields);
    let Some((_, after)) = planned.changed.into_iter().next() else { return fields };
    assert_eq!(plan(&after).changed, [], "twice is once");
    app_changes_nothing(&after);
    after
}

fn app_changes_nothing(fields: &[u8]) {
    let profile = StoredAppProfile {
        app_id: "a".to_owned(),
        name: "n".to_owned(),
        emails: b"[\"e\"]".to_vec(),
        fields: fields.to_vec(),
        created_at: NOW,
        updated_at: NOW,
    };
    let mut shown = Vec::new();
    render_app(PID, &profile, &mut shown);
    let block = block_of(&shown).expect("a record is one line");
    let entries = prepare_app_updates(&block);
    if let [PreparedEntry { item: Err(rejected), .. }] = entries.as_slice() {
        let json = json::parse(&shown).expect("a record is JSON");
        rejected.faults.iter().for_each(|fault| points_into(fault, &json));
        panic!("the result of a get is not an update: {rejected:?}");
    }
    let records = HashMap::from([(PID.to_owned(), fields.to_vec())]);
    let plan = plan_app_updates(&block.bytes, &entries, &records, None, false);
    assert_eq!(outcome(&plan.records).as_deref(), Some("unchanged"));
}

/// The value of a field; an empty array in place of a map is the empty map.
pub(crate) fn with_empty_maps<'a>(name: &str, value: &Json<'a>) -> Json<'a> {
    match (name, value) {
        ("names" | "custom_fields", Json::Array(items)) if items.is_empty() => {
            Json::Object(Vec::new())
        }
        (_, value) => value.clone(),
    }
}

/// A map without the members that are null; anything else as it is.
pub(crate) fn without_nulls<'a>(json: &Json<'a>) -> Json<'a> {
    let Json::Object(members) = json else { return json.clone() };
    Json::Object(members.iter().filter(|(_, value)| *value != Json::Null).cloned().collect())
}
