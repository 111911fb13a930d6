//! The laws of profiles as properties: what goes in comes out, what comes out changes nothing when
//! it goes in again, a run of entries does what its entries do one by one, and chunk edges show
//! nowhere.

use std::collections::{BTreeMap, HashMap};

use caseload_model::ids::CoreProfileId;
use caseload_model::json;
use caseload_model::payload::Block;
use caseload_model::profile::{
    IdentityKey, StoredAppProfile, identity_keys, plan_app_updates, plan_core_updates,
    plan_creates, prepare_app_updates, prepare_core_gets, prepare_core_updates, prepare_creates,
    render_app, render_core,
};
use caseload_model::record::ChunkRecords;
use caseload_model::time::UnixMillis;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use crate::support::{World, block, outcomes};

/// Text of any code points, U+0000 and those beyond the basic plane included, as JSON.
fn text() -> impl Strategy<Value = String> {
    let char = prop_oneof![any::<char>(), select(vec!['\0', '"', '\\', '/', '😀', 'é', '\u{7f}'])];
    (prop::collection::vec(char, 0..12), any::<bool>()).prop_map(|(chars, escaped)| {
        let text: String = chars.into_iter().collect();
        if !escaped {
            return serde_json::to_string(&text).unwrap();
        }
        let units: Vec<String> = text.encode_utf16().map(|u| format!("\\u{u:04X}")).collect();
        format!("\"{}\"", units.concat())
    })
}

fn number() -> impl Strategy<Value = String> {
    prop_oneof![
        select(vec!["1023.990", "1e400", "12345678901234567890.12", "-0", "-0.0E+00", "1E-9999"])
            .prop_map(str::to_owned),
        "-?(0|[1-9][0-9]{0,30})(\\.[0-9]{1,20})?([eE][+-]?[0-9]{1,4})?",
    ]
}

fn map(value: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    prop::collection::btree_map("[a-z😀\"]{0,4}", value, 0..4).prop_map(|members| {
        let members: Vec<String> = members
            .into_iter()
            .map(|(key, value)| format!("{}:{value}", serde_json::to_string(&key).unwrap()))
            .collect();
        format!("{{{}}}", members.join(" , "))
    })
}

fn boolean() -> impl Strategy<Value = String> {
    any::<bool>().prop_map(|b| b.to_string())
}

fn one_of(values: &[&str]) -> impl Strategy<Value = String> + use<> {
    select(values.iter().map(|value| format!("\"{value}\"")).collect::<Vec<_>>())
}

fn custom_fields() -> impl Strategy<Value = String> {
    map(prop_oneof![text(), number(), Just("null".to_owned())])
}

/// Members of a valid core profile, identities aside, in any order, each present or not.
fn core_members() -> impl Strategy<Value = Vec<String>> {
    let names = select(vec![
        r#"{"first_name":"A","last_name":""}"#,
        "{}",
        r#"{"display_name":"😀","full_name":null}"#,
    ]);
    let fields: Vec<(&str, BoxedStrategy<String>)> = vec![
        ("names", names.prop_map(str::to_owned).boxed()),
        (
            "tags",
            prop::collection::vec(text(), 0..3).prop_map(|t| format!("[{}]", t.join(","))).boxed(),
        ),
        ("custom_fields", custom_fields().boxed()),
        ("full_privacy_enabled", boolean().boxed()),
        ("last_country", one_of(&["Germany", "de", "JPN"]).boxed()),
        ("last_city", text().boxed()),
        ("age", select(vec!["0", "33.50", "1.5e2", "-0"]).prop_map(str::to_owned).boxed()),
        ("lifetime_value", number().boxed()),
        ("user_persona", prop_oneof![text(), Just("null".to_owned())].boxed()),
        ("preferred_language", one_of(&["de", "EN"]).boxed()),
        ("last_active_date", (0u64..253_402_300_800_000).prop_map(|n| n.to_string()).boxed()),
    ];
    members(fields)
}

fn app_members() -> impl Strategy<Value = Vec<String>> {
    members(vec![
        ("custom_fields", custom_fields().boxed()),
        ("user_level", number().boxed()),
        ("accepted_t_and_c", boolean().boxed()),
        ("country", one_of(&["Germany", "us"]).boxed()),
        ("city", text().boxed()),
        ("app_rating", number().boxed()),
    ])
}

fn members(
    fields: Vec<(&'static str, BoxedStrategy<String>)>,
) -> impl Strategy<Value = Vec<String>> {
    let fields: Vec<_> = fields
        .into_iter()
        .map(|(name, value)| {
            prop::option::of(value.prop_map(move |value| format!("\"{name}\": {value}")))
        })
        .collect();
    fields.prop_map(|members| members.into_iter().flatten().collect::<Vec<_>>()).prop_shuffle()
}

fn identities() -> impl Strategy<Value = String> {
    prop::collection::btree_map("[a-zÄ😀]{1,6}", prop::option::of(text()), 1..4).prop_map(|all| {
        let maps: Vec<String> = all
            .into_iter()
            .enumerate()
            .map(|(n, (value, note))| {
                let kind = ["uid", "steam_id", "email"][n % 3];
                let note = note.map_or_else(String::new, |note| format!(",\"note\":{note}"));
                format!(r#"{{"{kind}":"{value}"{note}}}"#)
            })
            .collect();
        format!("\"identities\":[{}]", maps.join(","))
    })
}

/// The members of a shown record that hold a value, by the bytes of their values.
fn digest(record: &[u8]) -> BTreeMap<String, String> {
    let json::Json::Object(members) = json::parse(record).unwrap() else { panic!("no map") };
    members
        .iter()
        .filter(|(_, value)| *value != json::Json::Null)
        .map(|(key, value)| {
            let kept = match value {
                json::Json::Object(inner) => json::Json::Object(
                    inner.iter().filter(|(_, v)| *v != json::Json::Null).cloned().collect(),
                ),
                other => other.clone(),
            };
            let mut out = Vec::new();
            kept.write_to(&mut out);
            (key.clone().into_owned(), String::from_utf8(out).unwrap())
        })
        .collect()
}

const T: UnixMillis = UnixMillis(1_700_000_000_000);

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_created_core_profile_is_shown_as_sent_and_is_its_own_update(
        members in core_members(), identities in identities(),
    ) {
        let mut members = members;
        members.push(identities);
        let entry = format!("{{{}}}", members.join(", "));
        let prepared = prepare_creates(&block([&entry]));
        let profile = match &prepared[0].item {
            Ok(profile) => profile,
            Err(rejected) => return Err(TestCaseError::fail(format!("{entry}: {rejected:?}"))),
        };
        prop_assert_eq!(&identity_keys(&profile.fields), &profile.identities);
        let id = CoreProfileId(1_666_311_221_477_632);
        let mut shown = Vec::new();
        render_core(id, T, &profile.fields, T, &mut shown);

        let mut kept = digest(&shown);
        for added in ["core-profile-id", "created_at", "updated_at"] {
            prop_assert!(kept.remove(added).is_some());
        }
        prop_assert_eq!(kept, digest(entry.as_bytes()));

        let again = block([String::from_utf8(shown).unwrap()]);
        let records = HashMap::from([(id, profile.fields.clone())]);
        let owners: HashMap<_, _> = profile.identities.iter().map(|k| (k.clone(), id)).collect();
        let plan = plan_core_updates(&again.bytes, &prepare_core_updates(&again), &records, &owners);
        prop_assert_eq!(outcomes(&plan.records), [(0, "unchanged".to_owned())]);
        prop_assert!(plan.changed.is_empty());
    }

    #[test]
    fn an_updated_app_profile_is_shown_as_sent_and_is_its_own_update(members in app_members()) {
        let entry = format!("{{\"pid\":\"p\"{}}}", members.iter().map(|m| format!(",{m}")).collect::<String>());
        let sent = block([&entry]);
        let mut records = HashMap::from([("p".to_owned(), Vec::new())]);
        let plan = plan_app_updates(&sent.bytes, &prepare_app_updates(&sent), &records);
        prop_assert_eq!(plan.records.failed, 0);
        records.extend(plan.changed);
        let profile = StoredAppProfile {
            app_id: "a".to_owned(), name: "n".to_owned(), emails: b"[]".to_vec(),
            fields: records["p"].clone(), created_at: T, updated_at: T,
        };
        let mut shown = Vec::new();
        render_app("p", &profile, &mut shown);
        let mut kept = digest(&shown);
        for added in ["app_id", "name", "emails", "created_at", "updated_at"] {
            prop_assert!(kept.remove(added).is_some());
        }
        prop_assert_eq!(kept, digest(entry.as_bytes()));
        let again = block([String::from_utf8(shown).unwrap()]);
        let plan = plan_app_updates(&again.bytes, &prepare_app_updates(&again), &records);
        prop_assert_eq!(outcomes(&plan.records), [(0, "unchanged".to_owned())]);
    }
}

/// Identities of a small world, so that they meet. Two spellings of one address are among them.
fn few_identities() -> impl Strategy<Value = Value> {
    let one = select(vec![
        json!({"uid": "a"}),
        json!({"uid": "b"}),
        json!({"uid": "c"}),
        json!({"steam_id": "a"}),
        json!({"email": "X@y"}),
        json!({"email": "x@y", "verified": "t"}),
        json!({"psn_id": "q"}),
    ]);
    prop::collection::vec(one, 1..3).prop_map(Value::from)
}

fn small_patch() -> impl Strategy<Value = Value> {
    let id = select(vec![json!(1), json!("2"), json!(3), json!("4"), json!("99"), json!(null)]);
    let custom = prop_oneof![
        Just(json!(null)),
        (0..3).prop_map(|n| json!({"k": n, "l": null})),
        (0..3).prop_map(|n| json!({"l": n})),
    ];
    let age = select(vec![json!(null), json!(1), json!(2), json!("3")]);
    (
        id,
        prop::option::weighted(0.7, few_identities()),
        prop::option::weighted(0.2, age),
        prop::option::weighted(0.3, custom),
    )
        .prop_map(|(id, identities, age, custom)| {
            let mut entry = json!({"core-profile-id": id});
            for (name, value) in
                [("identities", identities), ("age", age), ("custom_fields", custom)]
            {
                if let Some(value) = value {
                    entry[name] = value;
                }
            }
            entry
        })
}

fn key(identity: &Value) -> (String, String) {
    let (kind, value) = identity.as_object().unwrap().iter().next().unwrap();
    let value = value.as_str().unwrap();
    let value = if kind == "email" { value.to_lowercase() } else { value.to_owned() };
    (kind.clone(), value)
}

/// One entry at a time over plain values: what each update must do.
fn naive_update(world: &mut BTreeMap<u64, Value>, entry: &Value) -> String {
    let given = entry["identities"].as_array().cloned().unwrap_or_default();
    let keys: Vec<_> = given.iter().map(key).collect();
    let mut faults = Vec::new();
    let id = match &entry["core-profile-id"] {
        Value::Null => {
            faults.push("required /core-profile-id".to_owned());
            0
        }
        Value::String(id) => id.parse().unwrap(),
        number => number.as_u64().unwrap(),
    };
    for at in (1..keys.len()).filter(|at| keys[..*at].contains(&keys[*at])) {
        faults.push(format!("duplicate_identity /identities/{at}"));
    }
    if entry["age"].is_string() {
        faults.push("wrong_type /age".to_owned());
    }
    if !faults.is_empty() {
        return faults.join(", ");
    }
    if !world.contains_key(&id) {
        return "not_found /core-profile-id".to_owned();
    }
    for (at, key) in keys.iter().enumerate() {
        let taken = world.iter().any(|(other, profile)| {
            let theirs = profile["identities"].as_array().unwrap();
            *other != id && theirs.iter().any(|identity| self::key(identity) == *key)
        });
        if taken {
            faults.push(format!("identity_conflict /identities/{at}"));
        }
    }
    if !faults.is_empty() {
        return faults.join(", ");
    }
    let before = world[&id].clone();
    let after = world.get_mut(&id).unwrap();
    for (name, change) in entry.as_object().unwrap() {
        match (name.as_str(), change) {
            ("core-profile-id", _) => {}
            (_, Value::Null) => {
                after.as_object_mut().unwrap().remove(name);
            }
            (_, Value::Object(changes)) => {
                if after.get(name).is_none() {
                    after[name] = json!({});
                }
                for (key, value) in changes {
                    if value.is_null() {
                        after[name].as_object_mut().unwrap().remove(key);
                    } else {
                        after[name][key] = value.clone();
                    }
                }
            }
            _ => after[name] = change.clone(),
        }
    }
    if *after == before { "unchanged".to_owned() } else { "updated".to_owned() }
}

fn small_world() -> BTreeMap<u64, Value> {
    BTreeMap::from([
        (1, json!({"identities": [{"uid": "a"}, {"email": "x@Y"}]})),
        (2, json!({"identities": [{"uid": "b"}], "age": 1})),
        (3, json!({"identities": [{"steam_id": "a"}], "custom_fields": {"k": 0}})),
        (4, json!({"identities": [{"psn_id": "z"}, {"uid": "z"}], "custom_fields": {}})),
    ])
}

fn stored(world: &BTreeMap<u64, Value>) -> World {
    let fields: HashMap<CoreProfileId, Vec<u8>> = world
        .iter()
        .map(|(id, profile)| {
            let text = profile.to_string();
            (CoreProfileId(*id), text.as_bytes()[1..text.len() - 1].to_vec())
        })
        .collect();
    let owners = owners_by_records(&fields);
    World { fields, owners }
}

fn owners_by_records(
    fields: &HashMap<CoreProfileId, Vec<u8>>,
) -> HashMap<IdentityKey, CoreProfileId> {
    let mut owners = HashMap::new();
    for (id, fields) in fields {
        for key in identity_keys(fields) {
            assert_eq!(owners.insert(key, *id), None, "two profiles have one identity");
        }
    }
    owners
}

/// Plans the updates of `slice` over what a store would read for it, and applies the plan as a
/// store would: removals first.
fn run_updates(world: &mut World, block: &Block, slice: std::ops::Range<usize>) -> ChunkRecords {
    let prepared = &prepare_core_updates(block)[slice];
    let items = || prepared.iter().filter_map(|p| p.item.as_ref().ok());
    let ids: Vec<CoreProfileId> = items().map(|patch| patch.id).collect();
    let named: Vec<&IdentityKey> = items().flat_map(|p| p.identities.iter().flatten()).collect();
    let mut records = world.fields.clone();
    records.retain(|id, _| ids.contains(id));
    let mut owners = world.owners.clone();
    owners.retain(|key, _| named.contains(&key));
    let plan = plan_core_updates(&block.bytes, prepared, &records, &owners);
    for (key, id) in plan.identities_removed {
        assert_eq!(world.owners.remove(&key), Some(id));
    }
    for (key, id) in plan.identities_added {
        assert_eq!(world.owners.insert(key, id), None);
    }
    for (id, fields) in plan.changed {
        assert!(world.fields.insert(id, fields).is_some());
    }
    assert_eq!((plan.records.succeeded + plan.records.failed) as usize, prepared.len());
    plan.records
}

fn run_creates(world: &mut World, block: &Block, slice: std::ops::Range<usize>) -> ChunkRecords {
    let prepared = &prepare_creates(block)[slice];
    let first = world.fields.len() as u64 + 1;
    let plan = plan_creates(&block.bytes, prepared, &world.owners, first, None);
    for (id, at) in &plan.inserts {
        let profile = prepared[*at].item.as_ref().unwrap();
        assert!(world.fields.insert(*id, profile.fields.clone()).is_none());
        for key in &profile.identities {
            assert_eq!(world.owners.insert(key.clone(), *id), None);
        }
    }
    assert_eq!((plan.records.succeeded + plan.records.failed) as usize, prepared.len());
    plan.records
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_run_of_updates_does_what_its_entries_do_one_by_one(
        entries in prop::collection::vec(small_patch(), 1..14), cut in 0usize..14,
    ) {
        let mut naive = small_world();
        let wanted: Vec<(u64, String)> =
            entries.iter().zip(0..).map(|(e, n)| (n, naive_update(&mut naive, e))).collect();
        let block = block(entries.iter().map(ToString::to_string));

        let mut whole = stored(&small_world());
        let records = run_updates(&mut whole, &block, 0..entries.len());
        prop_assert_eq!(outcomes(&records), wanted);
        let after: BTreeMap<u64, Value> = whole
            .fields
            .iter()
            .map(|(id, fields)| {
                let text = format!("{{{}}}", std::str::from_utf8(fields).unwrap());
                (id.0, serde_json::from_str(&text).unwrap())
            })
            .collect();
        prop_assert_eq!(after, naive);
        prop_assert_eq!(&owners_by_records(&whole.fields), &whole.owners);

        let cut = cut.min(entries.len());
        let mut parts = stored(&small_world());
        let mut both = run_updates(&mut parts, &block, 0..cut);
        both.append(&run_updates(&mut parts, &block, cut..entries.len()));
        prop_assert_eq!(both, records);
        prop_assert_eq!(parts, whole);
    }

    #[test]
    fn a_run_of_creations_gives_each_identity_to_its_first_entry_wherever_it_is_cut(
        all in prop::collection::vec(few_identities(), 1..14), cut in 0usize..14,
    ) {
        let block = block(all.iter().map(|identities| json!({"identities": identities}).to_string()));
        let mut whole = World::default();
        let records = run_creates(&mut whole, &block, 0..all.len());
        prop_assert_eq!(&owners_by_records(&whole.fields), &whole.owners);

        let mut taken: Vec<(String, String)> = Vec::new();
        for ((_, outcome), identities) in outcomes(&records).iter().zip(&all) {
            let keys: Vec<_> = identities.as_array().unwrap().iter().map(key).collect();
            let repeated = (1..keys.len()).any(|n| keys[..n].contains(&keys[n]));
            let conflicts = keys.iter().any(|key| taken.contains(key));
            let wanted = match (repeated, conflicts) {
                (true, _) => "duplicate_identity",
                (_, true) => "identity_conflict",
                _ => "created",
            };
            prop_assert!(outcome.starts_with(wanted), "{outcome} for {identities}");
            if wanted == "created" {
                taken.extend(keys);
            }
        }

        let cut = cut.min(all.len());
        let mut parts = World::default();
        let mut both = run_creates(&mut parts, &block, 0..cut);
        both.append(&run_creates(&mut parts, &block, cut..all.len()));
        prop_assert_eq!(both, records);
        prop_assert_eq!(parts, whole);
    }

    #[test]
    fn every_entry_leaves_one_record_whatever_it_holds(
        entries in prop::collection::vec(junk(), 1..8),
    ) {
        let block = block(&entries);
        let mut world = stored(&small_world());
        run_updates(&mut world, &block, 0..entries.len());
        run_creates(&mut world, &block, 0..entries.len());
        prop_assert_eq!(prepare_core_gets(&block).len(), entries.len());
        prop_assert_eq!(&owners_by_records(&world.fields), &world.owners);
    }
}

/// Entries with known names and values of any type.
fn junk() -> impl Strategy<Value = String> {
    let leaf = select(vec![
        json!(null),
        json!(true),
        json!(1),
        json!(-1.5),
        json!(""),
        json!("de"),
        json!("2"),
    ]);
    let name = select(vec![
        "identities",
        "names",
        "tags",
        "custom_fields",
        "age",
        "core-profile-id",
        "uid",
        "email",
        "first_name",
        "last_country",
        "last_active_date",
        "created_at",
        "x/~",
    ]);
    let value = leaf.prop_recursive(3, 20, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::vec((name.clone(), inner), 0..5).prop_map(|members| {
                Value::Object(members.into_iter().map(|(k, v)| (k.to_owned(), v)).collect())
            }),
        ]
    });
    value.prop_map(|value| value.to_string())
}
