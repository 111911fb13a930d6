//! Upserts, updates by identity, and deletions: single rules as tables, and runs of random entries
//! compared with a naive store of people.

use std::collections::HashMap;

use caseload_model::ids::CoreProfileId;
use caseload_model::profile::{
    CorePlan, NewIds, Placeholders, identity_keys, plan_core_deletes, plan_core_patches,
    prepare_core_deletes, prepare_core_patches,
};
use caseload_model::task::Action;
use caseload_testdata::{People, SplitMix};
use serde_json::Value;

use crate::support::{World, block, lines, outcomes};

/// A store with these profiles.
fn world(stored: &[(u64, &str)]) -> World {
    let mut world = World::default();
    for (id, fields) in stored {
        world.write(CoreProfileId(*id), fields.as_bytes().to_vec());
    }
    world
}

impl World {
    fn write(&mut self, id: CoreProfileId, fields: Vec<u8>) {
        for key in identity_keys(&fields) {
            assert_eq!(*self.owners.entry(key).or_insert(id), id, "an identity has one owner");
        }
        self.fields.insert(id, fields);
    }

    /// Applies a plan as a store does.
    fn apply(&mut self, plan: &CorePlan) {
        for (key, id) in &plan.identities_removed {
            assert_eq!(self.owners.remove(key), Some(*id));
        }
        for (key, id) in &plan.identities_added {
            assert_eq!(self.owners.insert(key.clone(), *id), None);
        }
        for (id, fields) in &plan.created {
            assert_eq!(self.fields.insert(*id, fields.clone()), None);
        }
        for (id, fields) in &plan.changed {
            assert!(self.fields.insert(*id, fields.clone()).is_some());
        }
        for id in &plan.deleted {
            assert!(self.fields.remove(id).is_some());
        }
    }

    /// Plans entries and applies the plan.
    pub(crate) fn run(&mut self, action: &str, entries: &[String], ids: &mut NewIds) -> CorePlan {
        let block = block(entries);
        let plan = if action == "delete" {
            let prepared = prepare_core_deletes(&block, &Placeholders::default());
            plan_core_deletes(&block.bytes, &prepared, &self.fields, &self.owners)
        } else if action == "upsert" {
            let prepared =
                prepare_core_patches(Action::UpsertCoreProfiles, &block, &Placeholders::default());
            plan_core_patches(
                Action::UpsertCoreProfiles,
                &block.bytes,
                &prepared,
                &self.fields,
                &self.owners,
                None,
                ids,
            )
        } else {
            let prepared =
                prepare_core_patches(Action::UpdateCoreProfiles, &block, &Placeholders::default());
            plan_core_patches(
                Action::UpdateCoreProfiles,
                &block.bytes,
                &prepared,
                &self.fields,
                &self.owners,
                None,
                &mut NewIds::From(1),
            )
        };
        self.apply(&plan);
        plan
    }

    fn texts(&self) -> HashMap<u64, String> {
        let text = |fields: &Vec<u8>| String::from_utf8(fields.clone()).unwrap();
        self.fields.iter().map(|(id, fields)| (id.0, text(fields))).collect()
    }
}

const ANN: (u64, &str) = (1, r#""identities":[{"uid":"a"},{"email":"Ann@x.y","m":"1"}],"age":30"#);
const BOB: (u64, &str) = (2, r#""identities":[{"uid":"b"}]"#);

#[test]
fn an_upsert_adds_identities_merges_metadata_and_leaves_the_spelling() {
    let table = [
        (r#"{"identities":[{"uid":"a"}]}"#, "unchanged", ANN.1),
        (r#"{"identities":[{"email":"ann@X.Y"}]}"#, "unchanged", ANN.1),
        (
            r#"{"identities":[{"psn_id":"p"},{"email":"ann@x.y","n":"2"}]}"#,
            "updated",
            concat!(
                r#""identities":[{"uid":"a"},{"email":"Ann@x.y","m":"1","n":"2"},"#,
                r#"{"psn_id":"p"}],"age":30"#
            ),
        ),
        (
            r#"{"core-profile-id":1,"identities":[{"m":"3","email":"ANN@x.y"}],"age":null}"#,
            "updated",
            r#""identities":[{"uid":"a"},{"email":"Ann@x.y","m":"3"}]"#,
        ),
        (r#"{"core-profile-id":"1","created_at":5,"updated_at":5}"#, "unchanged", ANN.1),
    ];
    for (entry, outcome, fields) in table {
        let mut world = world(&[ANN, BOB]);
        let entries = [entry.to_owned(), entry.to_owned()];
        let plan = world.run("upsert", &entries, &mut NewIds::From(9));
        let given = outcomes(&plan.records);
        assert_eq!(given[0].1, outcome, "{entry}");
        assert_eq!(given[1].1, "unchanged", "the same entry again changes nothing: {entry}");
        assert_eq!(world.texts()[&1], fields, "{entry}");
        assert_eq!(world.texts()[&2], BOB.1);
    }
}

#[test]
fn the_first_entry_of_a_new_person_creates_and_the_next_one_updates() {
    let mut world = World::default();
    let entries = [
        r#"{"identities":[{"uid":"n"}],"custom_fields":{"k":1,"l":null}}"#,
        r#"{"identities":[{"psn_id":"p"},{"uid":"n"}],"age":7}"#,
        r#"{"identities":[{"psn_id":"p"}],"age":7}"#,
    ];
    let plan = world.run("upsert", &entries.map(str::to_owned), &mut NewIds::From(9));
    let given: Vec<_> = outcomes(&plan.records).into_iter().map(|(_, outcome)| outcome).collect();
    assert_eq!(given, ["created", "updated", "unchanged"]);
    let fields = r#""identities":[{"uid":"n"},{"psn_id":"p"}],"custom_fields":{"k":1},"age":7"#;
    assert_eq!(world.texts(), HashMap::from([(9, fields.to_owned())]));
    assert!(lines(&plan.records.results).iter().all(|line| line["core-profile-id"] == "9"));
}

#[test]
fn faults_of_entries_without_an_id_name_the_profiles() {
    let table = [
        ("upsert", r#"{"identities":[{"uid":"b"},{"uid":"a"}]}"#, "ambiguous_identity /identities"),
        ("update", r#"{"identities":[{"uid":"b"},{"uid":"a"}]}"#, "ambiguous_identity /identities"),
        ("update", r#"{"identities":[{"uid":"z"}]}"#, "not_found /identities"),
        (
            "update",
            r#"{"identities":[{"uid":"z"}],"age":"x"}"#,
            "wrong_type /age, not_found /identities",
        ),
        ("update", r#"{"identities":[{"uid":"z"},{"uid":5}]}"#, "wrong_type /identities/1/uid"),
        (
            "upsert",
            r#"{"identities":[{"uid":"b"},{"uid":"a"}],"aeg":1}"#,
            "unknown_field /aeg, ambiguous_identity /identities",
        ),
        ("upsert", r#"{"identities":[{"uid":"a","m":null}]}"#, "wrong_type /identities/0/m"),
        (
            "upsert",
            r#"{"core-profile-id":"1","identities":[{"uid":"b"}]}"#,
            "identity_conflict /identities/0",
        ),
        (
            "upsert",
            r#"{"core-profile-id":"9","identities":[{"uid":"b"}]}"#,
            "not_found /core-profile-id, identity_conflict /identities/0",
        ),
    ];
    for (action, entry, wanted) in table {
        let mut world = world(&[ANN, BOB]);
        let plan = world.run(action, &[entry.to_owned()], &mut NewIds::From(9));
        assert_eq!(outcomes(&plan.records)[0].1, wanted, "{entry}");
        if wanted.contains("ambiguous") {
            let error = &lines(&plan.records.errors)[0]["errors"];
            let fault = error.as_array().unwrap().last().unwrap();
            assert_eq!(fault["core-profile-ids"], serde_json::json!(["2", "1"]));
            let detail = fault["detail"].as_str().unwrap();
            for part in
                ["uid \"b\" belongs to core profile 2", "uid \"a\" belongs to core profile 1"]
            {
                assert!(detail.contains(part), "{detail}");
            }
        }
    }
}

#[test]
fn limits_apply_to_added_identities_and_merged_metadata() {
    let list = |from: usize, count: usize| {
        let all: Vec<_> = (from..from + count).map(|n| format!(r#"{{"uid":"u{n}"}}"#)).collect();
        format!(r#""identities":[{}]"#, all.join(","))
    };
    let metadata = |from: usize, count: usize| {
        let all: Vec<_> = (from..from + count).map(|n| format!(r#""k{n}":"v""#)).collect();
        format!(r#""identities":[{{"uid":"m",{}}}]"#, all.join(","))
    };
    let mut world = world(&[(1, &list(0, 60)), (2, &metadata(0, 60))]);
    let entries = [
        format!("{{{}}}", list(59, 41)),
        format!("{{{}}}", list(99, 2)),
        format!("{{{}}}", metadata(40, 61)),
        format!("{{{}}}", metadata(40, 60)),
        format!("{{{}}}", metadata(100, 1)),
    ];
    let plan = world.run("update", &entries, &mut NewIds::DryRun);
    let given: Vec<_> = outcomes(&plan.records).into_iter().map(|(_, outcome)| outcome).collect();
    let too_many = "too_many /identities";
    assert_eq!(given, ["updated", too_many, too_many, "updated", too_many]);
}

#[test]
fn a_dry_run_finds_the_people_that_its_earlier_entries_would_create() {
    let mut dry = world(&[ANN]);
    let entries = [
        r#"{"identities":[{"uid":"n"}]}"#,
        r#"{"identities":[{"uid":"n"}],"age":1}"#,
        r#"{"identities":[{"uid":"n"},{"uid":"a"}]}"#,
        r#"{"core-profile-id":"1","identities":[{"uid":"n"}]}"#,
    ];
    let plan = dry.run("upsert", &entries.map(str::to_owned), &mut NewIds::DryRun);
    let results = lines(&plan.records.results);
    assert_eq!(results[0], serde_json::json!({"index":0,"line":1,"outcome":"created"}));
    let changes = serde_json::json!({"age": {"from": null, "to": 1}});
    let updated = serde_json::json!({"index":1,"line":2,"outcome":"updated","changes":changes});
    assert_eq!(results[1], updated);
    let errors = lines(&plan.records.errors);
    let fault = |n: usize| &errors[n]["errors"][0];
    for (n, code) in [(0, "ambiguous_identity"), (1, "identity_conflict")] {
        assert_eq!(fault(n)["code"], code);
        assert!(fault(n)["detail"].as_str().unwrap().contains("entry 0 of this dry run"));
    }
    assert_eq!(fault(0)["core-profile-ids"], serde_json::json!(["1"]), "the one that exists");
    assert_eq!(fault(1).get("core-profile-id"), None);
}

#[test]
fn an_entry_adds_and_removes_tags_or_replaces_them() {
    const TAGGED: (u64, &str) = (1, r#""identities":[{"uid":"a"}],"tags":["a","b"],"age":1"#);
    let unchanged =
        [r#""add_tags":["b"]"#, r#""add_tags":[]"#, r#""add_tags":null,"tags":["a","b"]"#];
    let unchanged = unchanged.map(|entry| (entry, "unchanged", r#"["a","b"]"#));
    let table = [
        (r#""add_tags":["d","a","c","d"],"remove_tags":["x"]"#, "updated", r#"["a","b","d","c"]"#),
        (r#""remove_tags":["a"],"add_tags":["A"]"#, "updated", r#"["b","A"]"#),
        (r#""remove_tags":["b","a"]"#, "updated", "[]"),
        (r#""tags":["c"],"add_tags":["d"]"#, "unknown_field /add_tags", r#"["a","b"]"#),
        (
            r#""tags":null,"add_tags":["d"],"remove_tags":["a"]"#,
            "unknown_field /add_tags, unknown_field /remove_tags",
            r#"["a","b"]"#,
        ),
        (
            r#""add_tags":["d","c"],"remove_tags":["a","c","d"]"#,
            "out_of_range /remove_tags/1",
            r#"["a","b"]"#,
        ),
        (
            r#""add_tags":["d",5],"remove_tags":"a""#,
            "wrong_type /add_tags/1, wrong_type /remove_tags",
            r#"["a","b"]"#,
        ),
        (
            r#""add_tags":["d"],"remove_tags":[null,"d"]"#,
            "wrong_type /remove_tags/0, out_of_range /remove_tags/1",
            r#"["a","b"]"#,
        ),
        (r#""add_tagss":["d"]"#, "unknown_field /add_tagss", r#"["a","b"]"#),
    ];
    for (members, outcome, tags) in table.into_iter().chain(unchanged) {
        for action in ["update", "upsert"] {
            let mut world = world(&[TAGGED]);
            let entry = format!(r#"{{"identities":[{{"uid":"a"}}],{members}}}"#);
            let plan = world.run(action, std::slice::from_ref(&entry), &mut NewIds::From(9));
            assert_eq!(outcomes(&plan.records)[0].1, outcome, "{action} {entry}");
            let fields = TAGGED.1.replace(r#"["a","b"]"#, tags);
            assert_eq!(world.texts()[&1], fields, "{action} {entry}");
        }
    }
}

#[test]
fn a_new_profile_has_the_added_tags_and_a_profile_without_tags_gets_no_empty_list() {
    let mut world = world(&[ANN]);
    let entries = [
        r#"{"identities":[{"uid":"n"}],"add_tags":["b","a","b"],"remove_tags":["c"],"age":7}"#,
        r#"{"identities":[{"uid":"m"}],"remove_tags":["c"]}"#,
        r#"{"identities":[{"uid":"a"}],"remove_tags":["c"],"add_tags":[]}"#,
    ];
    let plan = world.run("upsert", &entries.map(str::to_owned), &mut NewIds::From(8));
    let given: Vec<_> = outcomes(&plan.records).into_iter().map(|(_, outcome)| outcome).collect();
    assert_eq!(given, ["created", "created", "unchanged"]);
    let tagged = r#""identities":[{"uid":"n"}],"tags":["b","a"],"age":7"#.to_owned();
    let untagged = r#""identities":[{"uid":"m"}]"#.to_owned();
    let wanted = HashMap::from([(1, ANN.1.to_owned()), (8, tagged), (9, untagged)]);
    assert_eq!(world.texts(), wanted);
}

#[test]
fn the_limit_of_tags_holds_for_the_outcome_and_a_dry_run_shows_it() {
    let tags = |range: std::ops::Range<usize>| {
        range.map(|n| format!(r#""t{n}""#)).collect::<Vec<_>>().join(",")
    };
    let stored = format!(r#""identities":[{{"uid":"a"}}],"tags":[{}]"#, tags(0..99));
    let mut world = world(&[(1, &stored)]);
    let entries = [
        format!(r#"{{"core-profile-id":1,"add_tags":[{}]}}"#, tags(98..101)),
        format!(r#"{{"core-profile-id":1,"add_tags":[{}]}}"#, tags(90..100)),
        r#"{"core-profile-id":1,"add_tags":["x"],"remove_tags":["t0"]}"#.to_owned(),
        r#"{"core-profile-id":1,"add_tags":["y"],"aeg":1}"#.to_owned(),
    ];
    let plan = world.run("upsert", &entries, &mut NewIds::DryRun);
    let given: Vec<_> = outcomes(&plan.records).into_iter().map(|(_, outcome)| outcome).collect();
    let too_many = "too_many /add_tags";
    let both = format!("unknown_field /aeg, {too_many}");
    assert_eq!(given, [too_many, "updated", "updated", &both]);
    let detail = &lines(&plan.records.errors)[0]["errors"][0]["detail"];
    assert_eq!(detail, "the profile would have 101 tags; at most 100 are allowed");
    let changes = &lines(&plan.records.results)[1]["changes"];
    let all = |text: &str| serde_json::from_str::<Value>(&format!("[{text}]")).unwrap();
    let after = all(&format!(r#"{},"x""#, tags(1..100)));
    assert_eq!(*changes, serde_json::json!({"tags": {"from": all(&tags(0..100)), "to": after}}));
}

#[test]
fn random_runs_agree_with_a_naive_store_of_people() {
    for seed in 0..300 {
        let mut random = SplitMix::new(seed);
        let (mut people, mut world) = (People::default(), World::default());
        let mut ids = NewIds::From(100);
        for _ in 0..6 {
            let action = random.pick(&["upsert", "upsert", "update", "delete"]);
            let count = 1 + random.below(8);
            let entry = match action {
                "delete" => People::deletion,
                _ => People::entry,
            };
            let entries: Vec<Value> = (0..count).map(|_| entry(&people, &mut random)).collect();
            let wanted: Vec<_> = entries.iter().map(|entry| people.apply(action, entry)).collect();
            let texts: Vec<String> = entries.iter().map(ToString::to_string).collect();
            let plan = world.run(action, &texts, &mut ids);
            let given = outcomes(&plan.records);
            for ((_, given), (wanted, _)) in given.iter().zip(&wanted) {
                assert_eq!(given, wanted, "seed {seed}: {action} {texts:#?}");
            }
            for line in lines(&plan.records.results) {
                if let Some(number) = wanted[line["index"].as_u64().unwrap() as usize].1 {
                    people.name(number, line["core-profile-id"].as_str().unwrap());
                }
            }
            let texts = world.texts();
            let known: Vec<_> = people.people().iter().filter(|one| one.record.is_some()).collect();
            assert_eq!(known.len(), texts.len());
            for one in known {
                let id: u64 = one.id.as_ref().unwrap().parse().unwrap();
                let stored: Value = serde_json::from_str(&format!("{{{}}}", texts[&id])).unwrap();
                assert_eq!(Some(stored), one.record, "seed {seed}: {action} {entries:#?}");
            }
        }
    }
}
