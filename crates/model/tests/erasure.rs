//! Erasing a person from stored payloads and records: every byte of anybody else stays.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeSet;

use caseload_model::erasure::{Person, Traces, erase_entries};
use caseload_model::ids::{CoreProfileId, IdentityKey};
use caseload_model::payload::{Block, Entry, Side};
use caseload_model::profile::IdentityType;
use caseload_model::task::Action;
use proptest::prelude::*;
use serde_json::Value;

fn ada() -> Person {
    Person {
        identities: [
            IdentityKey::new(IdentityType::Email, "ada.l@example.org"),
            IdentityKey::new(IdentityType::PhoneNumber, "+49 30 1234567"),
            IdentityKey::new(IdentityType::Uid, "u-7/é"),
        ]
        .into(),
        core_profile_ids: [CoreProfileId(160_000_000_007)].into(),
        pids: ["p7".to_owned(), "p8".to_owned()].into(),
        issue_ids: [7].into(),
    }
}

fn block(entries: &[&str]) -> Block {
    let mut block = Block { base_urls: vec!["http://a".to_owned()], ..Block::default() };
    for (index, entry) in (0..).zip(entries) {
        let range = add(&mut block, entry);
        block.entries.push(Entry { index, line: index + 1, range, oversize: None, of_row: false });
    }
    block
}

fn add(block: &mut Block, text: &str) -> std::ops::Range<usize> {
    let start = block.bytes.len();
    block.bytes.extend_from_slice(text.as_bytes());
    start..block.bytes.len()
}

#[test]
fn rows_and_notes_of_an_erased_entry_go_with_it() {
    let mut block = block(&[r#"{"names":{"first_name":"A"}}"#, r#"{"names":{}}"#]);
    for (index, row, notes) in [
        (0, "A;ada.l@example.org,x", Some(r#"{"errors":[],"warnings":[{"value":"ada.l@"}]}"#)),
        (1, "B;ada.l@example.org.uk", Some("{}")),
    ] {
        let range = add(&mut block, row);
        block.rows.push(Side { index, line: index + 1, range });
        if let Some(notes) = notes {
            let range = add(&mut block, notes);
            block.notes.push(Side { index, line: index + 1, range });
        }
    }
    let mut found = BTreeSet::new();
    Traces::of(&ada()).find_entries(Action::CreateCoreProfiles, &block, &mut found);
    assert_eq!(found, [0].into());
    let erased = erase_entries(&Block::decode(block.encode()).unwrap(), &found).unwrap();
    let erased = Block::decode(erased.encode()).unwrap();
    let of = |n: usize| {
        let entry = &erased.entries[n];
        let rows: Vec<_> = erased.rows_of(entry).map(|(l, row)| (l, row.to_vec())).collect();
        let text = String::from_utf8_lossy(erased.bytes_of(entry)).into_owned();
        (text, rows, erased.notes_of(entry).map(<[u8]>::to_vec))
    };
    assert_eq!(of(0), (r#"{"erased":true}"#.into(), vec![(1, Vec::new())], None));
    let row = b"B;ada.l@example.org.uk".to_vec();
    assert_eq!(of(1), (r#"{"names":{}}"#.into(), vec![(2, row)], Some(b"{}".to_vec())));
    assert!(erase_entries(&erased, &found).is_none(), "twice is once");
}

#[test]
fn a_line_that_cannot_be_read_is_searched_for_identities_as_words() {
    for (line, holds) in [
        (r#"{"email":"ADA.L@example.org""#, true),
        (r#"{"email":"\u0041da.l@ex\u0061mple.org""#, true),
        (r#"{"email":"x\nada.l@example.org" "#, true),
        ("Ada <mailto:ada.l@example.org>", true),
        ("Mada.l@example.org", false),
        ("m.ada.l@example.org", false),
        ("ada.l@example.org.", true),
        ("ada.l@example.organ", false),
        ("tel 0049 (30) 123-45.67 ", true),
        ("tel +49 30 123456", false),
        (r#"["u-7/é"]"#, true),
        (r#"{"uid":"u-7\/\u00e9""#, true),
        ("u-7/éa", false),
        ("p7\tp70", true),
        ("p70;p-7", false),
        ("160000000007", false),
        ("\u{212a}", false),
    ] {
        let (bytes, mut found) = (block(&[line]), BTreeSet::new());
        Traces::of(&ada()).find_entries(Action::UpsertCoreProfiles, &bytes, &mut found);
        assert_eq!(!found.is_empty(), holds, "{line}");
        let raw = Value::from(line);
        let record = format!("{{\"index\":0,\"line\":1,\"errors\":[],\"raw\":{raw}}}\n");
        let mut found = BTreeSet::new();
        Traces::of(&ada()).find_records(Action::UpsertCoreProfiles, record.as_bytes(), &mut found);
        assert_eq!(!found.is_empty(), holds, "{record}");
    }
}

#[test]
fn an_import_is_found_by_the_id_of_the_issue_as_well() {
    let lines = "{\"index\":4,\"line\":9,\"outcome\":\"created\",\"id\":7}\n\
                 {\"index\":5,\"line\":10,\"outcome\":\"created\",\"id\":70}\n";
    for (action, expected) in [
        (Action::ImportIssues, &[4][..]),
        (Action::DeleteIssues, &[]),
        (Action::GetAppProfiles, &[]),
    ] {
        let mut found = BTreeSet::new();
        Traces::of(&ada()).find_records(action, lines.as_bytes(), &mut found);
        assert!(found.iter().eq(expected), "{action:?}");
        let entries = block(&[" {\"title\":\"id\",\"id\":\"7\"}", "{\"id\":70}", "{\"id\":7"]);
        let mut found = BTreeSet::new();
        Traces::of(&ada()).find_entries(action, &entries, &mut found);
        assert_eq!(found.len(), 2 * expected.len(), "{action:?}");
    }
    let erased = Traces::of(&ada()).erase_records(lines.as_bytes(), &[4].into()).unwrap();
    let second = lines.lines().nth(1).unwrap();
    let expected =
        format!("{{\"index\":4,\"line\":9,\"erased\":true,\"outcome\":\"erased\"}}\n{second}\n");
    assert_eq!((String::from_utf8(erased.lines).unwrap(), erased.erased), (expected.clone(), 1));
    assert!(Traces::of(&ada()).erase_records(expected.as_bytes(), &[4].into()).is_none());
}

/// A person, by values of which those of others have the same beginning or end.
struct Known {
    email: &'static str,
    phone: &'static str,
    uid: &'static str,
    pid: &'static str,
    core: &'static str,
}

const ADA: Known = Known {
    email: "ada.l@example.org",
    phone: "0049-30-123 45 67",
    uid: "u-7/é",
    pid: "p7",
    core: "160000000007",
};
const BOB: Known = Known {
    email: "b.ada.l@example.org",
    phone: "+49 30 123456",
    uid: "u-7/è",
    pid: "p77",
    core: "1600000000071",
};

/// One of several entries or profiles that name a person, and Ada in places that are left alone.
fn text_about(form: usize, who: &Known, respelled: usize) -> String {
    let Known { phone, uid, pid, core, .. } = who;
    let email = match respelled {
        0 => who.email.to_owned(),
        1 => who.email.to_uppercase(),
        2 => format!(" {}\u{a0}", who.email),
        _ => who.email.replace('a', "\\u0061"),
    };
    match form {
        0 => format!(
            r#"{{"identities":[{{"uid":"x"}},{{"email":"{email}","n":"1"}}],"tags":["p7"]}}"#
        ),
        1 => {
            format!(r#"{{"core-profile-id":"{core}","custom_fields":{{"email":"{}"}}}}"#, ADA.email)
        }
        2 => format!(r#" {{"tags":["\n"],"core-profile-id":{core}}}"#),
        3 => format!(r#"{{"pid":"{pid}","user_persona":"p7"}}"#),
        4 => format!(r#"{{"created_at":1,"cc":["{}"],"author_email":"{email}"}}"#, ADA.email),
        5 => format!(r#"{{"hs_user_id":"{pid}","meta":{{"pid":"p7"}},"title":"p7 \" \\"}}"#),
        6 => format!(
            r#"{{"messages":[{{"origin":"helpshift","author":{{"id":"p7"}}}},
                {{"body":"ada","author":{{"id":"{pid}"}}}}]}}"#
        ),
        7 => format!(r#"{{"messages":[{{"author":{{"emails":["y","{email}"]}}}}]}}"#),
        8 => format!(r#"{{"identities":[{{"phone_number":"{phone}"}}]}}"#),
        9 => format!(r#"{{"identities":[{{"uid":"{uid}"}}]}}"#),
        10 => format!(r#"{{"identities":[{{"email":"{email}"}}"#),
        _ => format!(r#"{{"pid":"q","emails":["{email}"],"created_at":1}}"#),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn exactly_the_entries_and_records_of_the_person_are_erased(
        made in prop::collection::vec((0_usize..12, any::<bool>(), 0_usize..4), 1..12),
        many in any::<bool>(),
    ) {
        let mut person = ada();
        if many {
            // More than are searched for.
            person.pids.extend((0..40).map(|n| format!("other-{n}")));
        }
        let traces = Traces::of(&person);
        let texts: Vec<String> = made
            .iter()
            .map(|(form, is_ada, respelled)| {
                text_about(*form, if *is_ada { &ADA } else { &BOB }, *respelled)
            })
            .collect();
        let expected: BTreeSet<u32> =
            (0..).zip(&made).filter(|(_, (_, is_ada, _))| *is_ada).map(|(at, _)| at).collect();
        let action = Action::UpsertCoreProfiles;

        let block = block(&texts.iter().map(String::as_str).collect::<Vec<_>>());
        let mut found = BTreeSet::new();
        traces.find_entries(action, &block, &mut found);
        prop_assert_eq!(&found, &expected);
        let erased = erase_entries(&block, &found);
        prop_assert_eq!(erased.is_some(), !expected.is_empty());
        let erased = Block::decode(erased.unwrap_or(block).encode()).unwrap();
        prop_assert_eq!(&erased.base_urls[..], &["http://a".to_owned()][..]);
        for ((entry, text), index) in erased.entries.iter().zip(&texts).zip(0..) {
            let wanted = if expected.contains(&index) { r#"{"erased":true}"# } else { text };
            prop_assert_eq!(String::from_utf8_lossy(erased.bytes_of(entry)), wanted);
            prop_assert_eq!((entry.index, entry.line), (index, index + 1));
        }

        // The same texts as error records, and as profiles that a get action returned.
        let (mut lines, mut wanted) = (String::new(), String::new());
        for (index, text) in (0_u32..).zip(&texts) {
            let text = text.trim().replace('\n', " ");
            let head = format!("{{\"index\":{index},\"line\":{}", index + 1);
            let is_map = serde_json::from_str::<Value>(&text).is_ok();
            let rest = if is_map { format!(",\"errors\":[{{}}],\"entry\":{text}}}") } else {
                format!(",\"errors\":[{{}}],\"raw\":{}}}", Value::from(text.as_str()))
            };
            let both = format!("{head}{rest}\n{text}\n");
            let gone = format!("{head},\"erased\":true,\"errors\":[]}}\n{{\"erased\":true}}\n");
            lines.push_str(&both);
            wanted.push_str(if expected.contains(&index) { &gone } else { &both });
        }
        let mut found = BTreeSet::new();
        traces.find_records(action, lines.as_bytes(), &mut found);
        prop_assert_eq!(&found, &expected);
        let erased = traces.erase_records(lines.as_bytes(), &found);
        let count = 2 * expected.len() as u64;
        prop_assert_eq!(erased.as_ref().map_or(0, |erased| erased.erased), count);
        let after = erased.map_or(lines, |erased| String::from_utf8(erased.lines).unwrap());
        prop_assert_eq!(&after, &wanted);
        prop_assert!(traces.erase_records(after.as_bytes(), &found).is_none());
    }
}
