//! Plans of runs of entries: ids, conflicts, sequences of updates, and records.

use std::collections::HashMap;
use std::convert::Infallible;

use caseload_model::ids::CoreProfileId;
use caseload_model::profile::{
    AppUpdatePlan, CorePlan, IdentityKey, IdentityType, NewIds, Placeholders, StoredAppProfile,
    identity_keys, plan_app_updates, plan_core_patches, plan_creates, plan_optimistic_creates,
    prepare_app_gets, prepare_app_updates, prepare_core_gets, prepare_core_patches,
    prepare_creates, render_app, render_core, show_app_gets, show_core_gets,
};
use caseload_model::record::ChunkRecords;
use caseload_model::task::Action;
use caseload_model::time::UnixMillis;

use crate::support::{block, lines, outcomes};

fn uid(value: &str) -> IdentityKey {
    IdentityKey::new(IdentityType::Uid, value)
}

fn texts<K: Copy>(changed: &[(K, Vec<u8>)]) -> Vec<(K, &str)> {
    changed.iter().map(|(id, fields)| (*id, std::str::from_utf8(fields).unwrap())).collect()
}

const fn id(n: u64) -> CoreProfileId {
    CoreProfileId(n)
}

/// Plans updates of the profiles `stored`, which own their identities.
fn updates(stored: &[(u64, &str)], entries: &[&str]) -> CorePlan {
    let records: HashMap<_, _> =
        stored.iter().map(|(n, fields)| (id(*n), fields.as_bytes().to_vec())).collect();
    let owners: HashMap<_, _> = records
        .iter()
        .flat_map(|(id, fields)| identity_keys(fields).into_iter().map(|key| (key, *id)))
        .collect();
    let block = block(entries);
    plan_core_patches(
        Action::UpdateCoreProfiles,
        &block.bytes,
        &prepare_core_patches(Action::UpdateCoreProfiles, &block, &Placeholders::default()),
        &records,
        &owners,
        None,
        &mut NewIds::From(1),
    )
}

#[test]
fn an_optimistic_plan_equals_the_full_one_if_every_identity_is_free() {
    let block = block([
        r#"{"identities":[{"uid":"a"}]}"#,
        r#"{"identities":[]}"#,
        r#"{"identities":[{"uid":"b"},{"email":"X@y"}],"age":7}"#,
        "[]",
    ]);
    let prepared = prepare_creates(&block, &Placeholders::default());
    let looked_up = plan_creates(&block.bytes, &prepared, &HashMap::new(), NewIds::From(100));
    let optimistic =
        plan_optimistic_creates(&block.bytes, &prepared, &HashMap::new(), NewIds::From(100));
    assert_eq!(optimistic, looked_up);
}

#[test]
fn new_profiles_get_ids_in_order_and_failed_entries_take_none() {
    let block = block([
        r#"{"identities":[{"uid":"a"}]}"#,
        r#"{"identities":[{"uid":"a"},{"uid":"b"}]}"#,
        r#"{"identities":[]}"#,
        r#"{"identities":[{"uid":"b"}],"age":7}"#,
        r#"{"identities":[{"uid":"c"},{"email":"X@y"},{"uid":"old"}]}"#,
    ]);
    let owners =
        HashMap::from([(uid("old"), id(3)), (IdentityKey::new(IdentityType::Email, "x@Y"), id(4))]);
    let plan = plan_creates(
        &block.bytes,
        &prepare_creates(&block, &Placeholders::default()),
        &owners,
        NewIds::From(100),
    );
    assert_eq!(plan.inserts, [(id(100), 0), (id(101), 3)]);
    assert_eq!(plan.ids, NewIds::From(102));
    let wanted = [
        "created",
        "identity_conflict /identities/0",
        "required /identities",
        "created",
        "identity_conflict /identities/1, identity_conflict /identities/2",
    ];
    let given = outcomes(&plan.records);
    assert_eq!(given.iter().map(|(_, o)| o.as_str()).collect::<Vec<_>>(), wanted);
    assert_eq!(
        std::str::from_utf8(&plan.records.results).unwrap(),
        concat!(
            r#"{"index":0,"line":1,"outcome":"created","core-profile-id":"100"}"#,
            "\n",
            r#"{"index":3,"line":4,"outcome":"created","core-profile-id":"101"}"#,
            "\n"
        )
    );
    let errors = lines(&plan.records.errors);
    assert!(errors[0]["errors"][0]["detail"].as_str().unwrap().contains("core profile 100"));
    assert_eq!(errors[0]["errors"][0]["value"], serde_json::json!({"uid": "a"}));
    assert!(errors[2]["errors"][0]["detail"].as_str().unwrap().contains("core profile 4"));
    assert!(errors[2]["errors"][1]["detail"].as_str().unwrap().contains("core profile 3"));
}

#[test]
fn a_rejected_creation_has_its_conflicts_in_its_record_and_reserves_nothing() {
    let block = block([
        r#"{"identities":[{"uid":"a"},{"uid":5},{"uid":"old"}],"age":"30"}"#,
        r#"{"identities":[{"uid":"a"}]}"#,
        r#"{"identities":[{"uid":"a"}],"aeg":30}"#,
        r#"{"identities":[{"uid":"free"}],"age":151}"#,
    ]);
    let owners = HashMap::from([(uid("old"), id(3))]);
    let prepared = prepare_creates(&block, &Placeholders::default());
    let wanted = [
        "wrong_type /identities/1/uid, wrong_type /age, identity_conflict /identities/2",
        "created",
        "unknown_field /aeg, identity_conflict /identities/0",
        "out_of_range /age",
    ];
    let plans = [
        plan_optimistic_creates(&block.bytes, &prepared, &owners, NewIds::From(100)),
        plan_creates(&block.bytes, &prepared, &owners, NewIds::From(100)),
    ];
    for plan in plans {
        let given = outcomes(&plan.records);
        assert_eq!(given.iter().map(|(_, o)| o.as_str()).collect::<Vec<_>>(), wanted);
        assert_eq!((plan.inserts, plan.ids), (vec![(id(100), 1)], NewIds::From(101)));
        let errors = lines(&plan.records.errors);
        assert_eq!(errors[0]["errors"][2]["core-profile-id"], "3");
        assert_eq!(errors[1]["errors"][1]["core-profile-id"], "100");
    }
    let plan = plan_creates(&block.bytes, &prepared, &owners, NewIds::DryRun);
    assert_eq!(outcomes(&plan.records).len(), 4);
    let errors = lines(&plan.records.errors);
    assert!(errors[1]["errors"][1]["detail"].as_str().unwrap().contains("entry 1 of this dry run"));
}

#[test]
fn a_rejected_update_has_the_faults_of_stored_records_in_its_record() {
    let many = |count: usize| {
        let fields = (0..count).map(|n| format!(r#""k{n}":1"#)).collect::<Vec<_>>();
        fields.join(",")
    };
    let full = format!(r#""identities":[{{"uid":"a"}}],"custom_fields":{{{}}}"#, many(100));
    let records = HashMap::from([(id(1), full.into_bytes())]);
    let owners = HashMap::from([(uid("a"), id(1)), (uid("b"), id(2))]);
    let block = block([
        r#"{"core-profile-id":"1","aeg":1,"identities":[{"uid":"a"},{"uid":"b"}]}"#,
        r#"{"core-profile-id":"9","age":"x","identities":[{"uid":"b"}]}"#,
        r#"{"core-profile-id":"9","identities":[{"uid":"b"}]}"#,
        r#"{"core-profile-id":"1","age":"x","custom_fields":{"new":1}}"#,
        r#"{"core-profile-id":"x","identities":[{"uid":"b"}]}"#,
        r#"{"core-profile-id":"1","age":"x"}"#,
    ]);
    let prepared =
        prepare_core_patches(Action::UpdateCoreProfiles, &block, &Placeholders::default());
    let plan = plan_core_patches(
        Action::UpdateCoreProfiles,
        &block.bytes,
        &prepared,
        &records,
        &owners,
        None,
        &mut NewIds::From(1),
    );
    let wanted = [
        "unknown_field /aeg, identity_conflict /identities/1",
        "wrong_type /age, not_found /core-profile-id, identity_conflict /identities/0",
        "not_found /core-profile-id, identity_conflict /identities/0",
        "wrong_type /age, too_many /custom_fields",
        "wrong_type /core-profile-id",
        "wrong_type /age",
    ];
    let given = outcomes(&plan.records);
    assert_eq!(given.iter().map(|(_, o)| o.as_str()).collect::<Vec<_>>(), wanted);
    assert!(plan.changed.is_empty() && plan.identities_added.is_empty());
    let errors = lines(&plan.records.errors);
    assert_eq!(errors[0]["errors"][1]["core-profile-id"], "2");
}

#[test]
fn a_dry_run_names_earlier_entries_across_its_slices_and_no_id() {
    let block = block([
        r#"{"identities":[{"uid":"a"}]}"#,
        r#"{"identities":[{"uid":"a"}]}"#,
        r#"{"identities":[{"uid":"b"}]}"#,
        r#"{"identities":[{"uid":"b"},{"uid":"old"}]}"#,
    ]);
    let mut owners = HashMap::from([(uid("old"), id(3))]);
    let prepared = prepare_creates(&block, &Placeholders::default());
    let mut records = ChunkRecords::default();
    for slice in prepared.chunks(3) {
        let plan = plan_creates(&block.bytes, slice, &owners, NewIds::DryRun);
        owners.extend(plan.taken(slice).map(|(key, owner)| (key.clone(), owner)));
        records.append(plan.records);
    }
    assert_eq!(
        lines(&records.results)[0],
        serde_json::json!({"index":0,"line":1,"outcome":"created"})
    );
    let errors = lines(&records.errors);
    let detail = |n: usize, m: usize| errors[n]["errors"][m]["detail"].as_str().unwrap().to_owned();
    assert!(detail(0, 0).contains("entry 0 of this dry run"), "{}", detail(0, 0));
    assert!(detail(1, 0).contains("entry 2 of this dry run"), "{}", detail(1, 0));
    assert!(detail(1, 1).contains("core profile 3"), "{}", detail(1, 1));
}

const ANN: (u64, &str) = (1, r#""identities":[{"uid":"a"}],"names":{"first_name":"Ann"},"age":30"#);
const BOB: (u64, &str) = (2, r#""identities":[{"uid":"b"}],"tags":["x"]"#);

#[test]
fn an_update_merges_into_the_stored_record() {
    let table = [
        (r#""age":31"#, r#""identities":[{"uid":"a"}],"names":{"first_name":"Ann"},"age":31"#),
        (r#""age":30.0"#, r#""identities":[{"uid":"a"}],"names":{"first_name":"Ann"},"age":30.0"#),
        (r#""age":null"#, r#""identities":[{"uid":"a"}],"names":{"first_name":"Ann"}"#),
        (r#""names":null,"age":null"#, r#""identities":[{"uid":"a"}]"#),
        (
            r#""names":{"last_name":"Lee"}"#,
            r#""identities":[{"uid":"a"}],"names":{"first_name":"Ann","last_name":"Lee"},"age":30"#,
        ),
        (r#""names":{"first_name":null}"#, r#""identities":[{"uid":"a"}],"names":{},"age":30"#),
        (
            r#""custom_fields":{"k":1,"gone":null},"names":null"#,
            r#""identities":[{"uid":"a"}],"custom_fields":{"k":1},"age":30"#,
        ),
        (
            r#""tags":["b","a"]"#,
            r#""identities":[{"uid":"a"}],"names":{"first_name":"Ann"},"tags":["b","a"],"age":30"#,
        ),
    ];
    for (patch, wanted) in table {
        let plan = updates(&[ANN], &[&format!(r#"{{"core-profile-id":"1",{patch}}}"#)]);
        assert_eq!(texts(&plan.changed), [(id(1), wanted)], "{patch}");
        assert_eq!(outcomes(&plan.records), [(0, "updated".to_owned())]);
        assert!(plan.identities_added.is_empty() && plan.identities_removed.is_empty());
    }
}

#[test]
fn an_update_that_changes_nothing_is_unchanged() {
    for patch in [
        r#"{"core-profile-id":1}"#,
        r#"{"core-profile-id":"1","age":30,"created_at":5}"#,
        r#"{"core-profile-id":1,"names":{}}"#,
        r#"{"core-profile-id":1,"last_city":null,"names":{"last_name":null}}"#,
        r#"{"core-profile-id":1,"identities":[{"uid":"\u0061"}]}"#,
    ] {
        let plan = updates(&[ANN], &[patch]);
        assert_eq!(outcomes(&plan.records), [(0, "unchanged".to_owned())], "{patch}");
        assert!(plan.changed.is_empty());
        assert_eq!(
            lines(&plan.records.results)[0],
            serde_json::json!({"index":0,"line":1,"outcome":"unchanged","core-profile-id":"1"})
        );
    }
}

#[test]
fn an_identity_released_by_one_entry_may_be_taken_by_a_later_one() {
    let plan = updates(
        &[ANN, BOB],
        &[
            r#"{"core-profile-id":2,"identities":[{"uid":"b"},{"uid":"a"}]}"#,
            r#"{"core-profile-id":1,"identities":[{"uid":"c"}]}"#,
            r#"{"core-profile-id":2,"identities":[{"uid":"b"},{"uid":"a"},{"uid":"c"}]}"#,
            r#"{"core-profile-id":2,"identities":[{"uid":"a"}]}"#,
            r#"{"core-profile-id":1,"identities":[{"uid":"b"},{"uid":"c"}]}"#,
        ],
    );
    let wanted = [
        "identity_conflict /identities/1",
        "updated",
        "identity_conflict /identities/2",
        "updated",
        "updated",
    ];
    let given = outcomes(&plan.records);
    assert_eq!(given.iter().map(|(_, o)| o.as_str()).collect::<Vec<_>>(), wanted);
    assert_eq!(plan.identities_removed, [(uid("a"), id(1)), (uid("b"), id(2))]);
    assert_eq!(plan.identities_added, [(uid("a"), id(2)), (uid("b"), id(1)), (uid("c"), id(1))]);
    assert_eq!(
        texts(&plan.changed),
        [
            (
                id(1),
                r#""identities":[{"uid":"b"},{"uid":"c"}],"names":{"first_name":"Ann"},"age":30"#
            ),
            (id(2), r#""identities":[{"uid":"a"}],"tags":["x"]"#),
        ]
    );
}

#[test]
fn an_identity_that_returns_to_its_owner_is_not_a_change() {
    let plan = updates(
        &[ANN],
        &[
            r#"{"core-profile-id":1,"identities":[{"uid":"z"}]}"#,
            r#"{"core-profile-id":1,"identities":[{"uid":"a"}]}"#,
        ],
    );
    assert_eq!(outcomes(&plan.records).len(), 2);
    assert!(plan.identities_added.is_empty() && plan.identities_removed.is_empty());
    assert_eq!(plan.changed.len(), 1);
}

#[test]
fn an_email_in_other_case_changes_the_record_and_not_the_identity() {
    let stored = [(1, r#""identities":[{"email":"ann@x"}]"#)];
    let plan = updates(&stored, &[r#"{"core-profile-id":1,"identities":[{"email":"Ann@X"}]}"#]);
    assert_eq!(texts(&plan.changed), [(id(1), r#""identities":[{"email":"Ann@X"}]"#)]);
    assert!(plan.identities_added.is_empty() && plan.identities_removed.is_empty());
}

#[test]
fn limits_apply_to_the_merged_record_and_all_faults_are_reported() {
    let custom: Vec<String> = (0..99).map(|n| format!(r#""k{n}":1"#)).collect();
    let ann = format!(r#""identities":[{{"uid":"a"}}],"custom_fields":{{{}}}"#, custom.join(","));
    let plan = updates(
        &[(1, &ann), BOB],
        &[
            r#"{"core-profile-id":1,"custom_fields":{"x":1,"y":2},"identities":[{"uid":"b"}]}"#,
            r#"{"core-profile-id":1,"custom_fields":{"x":1,"y":2,"k0":null}}"#,
            r#"{"core-profile-id":1,"custom_fields":{"z":1}}"#,
        ],
    );
    let given = outcomes(&plan.records);
    assert_eq!(given[0].1, "too_many /custom_fields, identity_conflict /identities/0");
    assert_eq!(given[1].1, "updated");
    assert_eq!(given[2].1, "too_many /custom_fields");
}

#[test]
fn a_merged_record_stays_small_enough_to_be_an_entry() {
    let text = "x".repeat(99_000);
    let ann =
        format!(r#""identities":[{{"uid":"a"}}],"last_city":"{text}","user_persona":"{text}""#);
    let more = format!(r#"{{"core-profile-id":1,"user_vip_segment":"{text}"}}"#);
    let plan = updates(&[(1, &ann)], &[&more, r#"{"core-profile-id":1,"age":1}"#]);
    let given = outcomes(&plan.records);
    assert_eq!((given[0].1.as_str(), given[1].1.as_str()), ("too_large ", "updated"));
}

#[test]
fn an_update_of_an_unknown_profile_reports_its_id_as_a_string() {
    let plan = updates(&[ANN], &[r#"{"core-profile-id":77,"age":1}"#]);
    assert_eq!(
        lines(&plan.records.errors)[0],
        serde_json::json!({
            "index": 0, "line": 1, "core-profile-id": "77",
            "errors": [{
                "code": "not_found", "pointer": "/core-profile-id",
                "detail": "there is no core profile with the core-profile-id 77", "value": 77
            }],
            "entry": {"core-profile-id": 77, "age": 1}
        })
    );
    assert!(plan.changed.is_empty());
}

#[test]
fn updates_of_an_app_profile_apply_in_sequence() {
    let block = block([
        r#"{"pid":"p\"1","user_level":1,"name":"ignored"}"#,
        r#"{"pid":"p\"1","user_level":1}"#,
        r#"{"pid":"nobody","user_level":1}"#,
        r#"{"pid":"p\"1","city":"Bonn","custom_fields":{"a":1}}"#,
        r#"{"pid":"p\"1","user_level":"x"}"#,
        r#"{"pid":"q","city":null}"#,
    ]);
    let records = HashMap::from([
        ("p\"1".to_owned(), Vec::new()),
        ("q".to_owned(), br#""city":"X""#.to_vec()),
    ]);
    let AppUpdatePlan { changed, records } =
        plan_app_updates(&block.bytes, &prepare_app_updates(&block), &records, None, false);
    let given = outcomes(&records);
    assert_eq!(
        given.iter().map(|(_, o)| o.as_str()).collect::<Vec<_>>(),
        ["updated", "unchanged", "not_found /pid", "updated", "wrong_type /user_level", "updated"]
    );
    let changed: Vec<(&str, &str)> = changed
        .iter()
        .map(|(pid, fields)| (pid.as_str(), std::str::from_utf8(fields).unwrap()))
        .collect();
    assert_eq!(
        changed,
        [("p\"1", r#""custom_fields":{"a":1},"user_level":1,"city":"Bonn""#), ("q", "")]
    );
    assert_eq!(lines(&records.results)[0]["pid"], "p\"1");
    assert_eq!(lines(&records.errors)[0]["pid"], "nobody");
}

#[test]
fn gets_show_the_whole_profile_between_id_and_times() {
    let block = block([
        r#"{"core-profile-id":1}"#,
        r#"{"core-profile-id":"2"}"#,
        r#"{"core-profile-id":"x"}"#,
        r#"{"core-profile-id":"1"}"#,
    ]);
    let mut records = ChunkRecords::default();
    let there = |asked: &CoreProfileId, out: &mut Vec<u8>| {
        let found = *asked == id(1);
        if found {
            render_core(id(1), UnixMillis(5), ANN.1.as_bytes(), UnixMillis(6), out);
        }
        Ok::<_, Infallible>(found)
    };
    show_core_gets(&block.bytes, &prepare_core_gets(&block), &mut records, there).unwrap();
    let shown = concat!(
        r#"{"core-profile-id":"1","identities":[{"uid":"a"}],"names":{"first_name":"Ann"},"#,
        r#""age":30,"created_at":5,"updated_at":6}"#,
        "\n"
    );
    assert_eq!(std::str::from_utf8(&records.results).unwrap(), shown.repeat(2));
    assert_eq!((records.succeeded, records.failed), (2, 2));
    let errors = lines(&records.errors);
    assert_eq!(errors[0]["errors"][0]["code"], "not_found");
    assert_eq!(errors[1]["errors"][0]["code"], "wrong_type");
}

#[test]
fn app_profiles_are_shown_with_and_without_fields() {
    let block = block([r#"{"pid":"p"}"#, r#"{"pid":"q"}"#, r#"{"pid":"r"}"#]);
    let profile = |fields: &[u8]| StoredAppProfile {
        app_id: "app".to_owned(),
        name: "Ann \"A\"".to_owned(),
        emails: br#"["a@x"]"#.to_vec(),
        fields: fields.to_vec(),
        created_at: UnixMillis(5),
        updated_at: UnixMillis(6),
    };
    let profiles = HashMap::from([
        ("p".to_owned(), profile(b"")),
        ("q".to_owned(), profile(br#""user_level":1.0"#)),
    ]);
    let mut records = ChunkRecords::default();
    let there = |pid: &String, out: &mut Vec<u8>| {
        let found = profiles.get(pid);
        if let Some(profile) = found {
            render_app(pid, profile, out);
        }
        Ok::<_, Infallible>(found.is_some())
    };
    show_app_gets(&block.bytes, &prepare_app_gets(&block), &mut records, there).unwrap();
    assert_eq!(
        std::str::from_utf8(&records.results).unwrap(),
        concat!(
            r#"{"pid":"p","app_id":"app","name":"Ann \"A\"","emails":["a@x"],"#,
            r#""created_at":5,"updated_at":6}"#,
            "\n",
            r#"{"pid":"q","app_id":"app","name":"Ann \"A\"","emails":["a@x"],"user_level":1.0,"#,
            r#""created_at":5,"updated_at":6}"#,
            "\n"
        )
    );
    assert_eq!(outcomes_of_errors(&records), ["not_found /pid"]);
}

fn outcomes_of_errors(records: &ChunkRecords) -> Vec<String> {
    lines(&records.errors)
        .iter()
        .map(|e| {
            let fault = &e["errors"][0];
            format!("{} {}", fault["code"].as_str().unwrap(), fault["pointer"].as_str().unwrap())
        })
        .collect()
}
