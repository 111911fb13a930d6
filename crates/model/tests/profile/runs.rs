//! Runs of entries as properties: a run has the effect of its entries one by one, chunk edges make
//! no difference, each identity has one owner, and every entry leaves one record.

use std::collections::{BTreeMap, HashMap};

use caseload_model::ids::CoreProfileId;
use caseload_model::payload::Block;
use caseload_model::profile::{
    IdentityKey, NewIds, Placeholders, identity_keys, plan_core_patches, plan_creates,
    prepare_core_gets, prepare_core_patches, prepare_creates, rejected_core_profiles,
    rejected_identities,
};
use caseload_model::record::ChunkRecords;
use caseload_model::task::Action;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use crate::support::{World, block, outcomes};

/// Few identities, so that entries conflict; two are spellings of one address.
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
    let id = select(vec![json!(1), json!("2"), json!(3), json!("4"), json!("99"), json!("x")]);
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

/// One entry at a time over plain values: the expected effect of each update.
fn naive_update(world: &mut BTreeMap<u64, Value>, entry: &Value) -> String {
    let given = entry["identities"].as_array().cloned().unwrap_or_default();
    let keys: Vec<_> = given.iter().map(key).collect();
    let mut faults = Vec::new();
    let id = match &entry["core-profile-id"] {
        Value::String(id) if id == "x" => {
            faults.push("wrong_type /core-profile-id".to_owned());
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
    let is_named = entry["core-profile-id"] != "x";
    if is_named && !world.contains_key(&id) {
        faults.push("not_found /core-profile-id".to_owned());
    }
    for (at, key) in keys.iter().enumerate() {
        let taken = world.iter().any(|(other, profile)| {
            let theirs = profile["identities"].as_array().unwrap();
            *other != id && theirs.iter().any(|identity| self::key(identity) == *key)
        });
        if taken && is_named {
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

/// Plans the updates of `slice` with the records that a store would read, and applies the plan as a
/// store would, removals first.
fn run_updates(world: &mut World, block: &Block, slice: std::ops::Range<usize>) -> ChunkRecords {
    let prepared =
        &prepare_core_patches(Action::UpdateCoreProfiles, block, &Placeholders::default())[slice];
    let items = || prepared.iter().filter_map(|p| p.item.as_ref().ok());
    let ids = items().filter_map(|patch| patch.id).chain(rejected_core_profiles(prepared));
    let ids: Vec<CoreProfileId> = ids.collect();
    let named = items().flat_map(|p| p.identities.iter().flatten());
    let named: Vec<&IdentityKey> = named.chain(rejected_identities(prepared)).collect();
    let mut records = world.fields.clone();
    records.retain(|id, _| ids.contains(id));
    let mut owners = world.owners.clone();
    owners.retain(|key, _| named.contains(&key));
    let plan = plan_core_patches(
        Action::UpdateCoreProfiles,
        &block.bytes,
        prepared,
        &records,
        &owners,
        None,
        &mut NewIds::From(1),
    );
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
    let prepared = &prepare_creates(block, &Placeholders::default())[slice];
    let first = world.fields.len() as u64 + 1;
    let plan = plan_creates(&block.bytes, prepared, &world.owners, NewIds::From(first));
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
    fn a_run_of_updates_has_the_effect_of_its_entries_one_by_one(
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
        both.append(run_updates(&mut parts, &block, cut..entries.len()));
        prop_assert_eq!(both, records);
        prop_assert_eq!(parts, whole);
    }

    #[test]
    fn each_identity_goes_to_its_first_entry_wherever_a_run_is_cut(
        all in prop::collection::vec(few_identities(), 1..14), cut in 0usize..14,
    ) {
        let entry = |identities| json!({"identities": identities}).to_string();
        let block = block(all.iter().map(entry));
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
        both.append(run_creates(&mut parts, &block, cut..all.len()));
        prop_assert_eq!(both, records);
        prop_assert_eq!(parts, whole);
    }

    #[test]
    fn every_entry_leaves_exactly_one_record(
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
