//! What real files hold: blanks around values, placeholders, addresses that are none, and two
//! people who would become one.

use caseload_model::ids::CoreProfileId;
use caseload_model::profile::{IdentityKey, IdentityType, NewIds, Placeholders, prepare_creates};
use serde_json::{Value, json};

use crate::support::{World, block, faults, lines, outcomes};

/// Each of these may be around a value.
const BLANKS: [&str; 7] =
    [" ", "\t", "\u{a0}", "\u{2007}", "\u{feff}", "\u{200b}", "\u{3000} \r\n"];

fn identity(kind: &str, value: &str) -> Value {
    json!({"identities": [{kind: value}]})
}

/// Runs upserts of these entries.
fn upsert(world: &mut World, entries: &[Value]) -> Vec<Value> {
    let entries: Vec<_> = entries.iter().map(Value::to_string).collect();
    let plan = world.run("upsert", &entries, &mut NewIds::From(9));
    assert!(plan.records.errors.is_empty(), "{}", String::from_utf8_lossy(&plan.records.errors));
    lines(&plan.records.results)
}

/// The codes and pointers of the warnings of a result.
fn warnings(result: &Value) -> Vec<(&str, &str)> {
    let all = result["warnings"].as_array().map_or(&[][..], Vec::as_slice);
    all.iter().map(|w| (w["code"].as_str().unwrap(), w["pointer"].as_str().unwrap())).collect()
}

#[test]
fn blanks_around_an_identity_make_no_other_person() {
    for kind in IdentityType::ALL {
        let mut world = World::default();
        let plain = identity(kind.as_str(), "a@b.example");
        assert_eq!(upsert(&mut world, &[plain])[0]["outcome"], "created");
        for blank in BLANKS {
            let around = identity(kind.as_str(), &format!("{blank}a@b.example{blank}"));
            let result = &upsert(&mut world, &[around])[0];
            assert_eq!(result["outcome"], "unchanged", "{} {blank:?}", kind.as_str());
        }
        assert_eq!(world.fields.len(), 1);
    }
}

#[test]
fn trimmed_values_are_stored_and_an_entry_sent_again_changes_nothing() {
    let mut world = World::default();
    let entry = json!({
        "identities": [{"email": "\u{feff}ann@x.example\u{a0}", "label": " home "}],
        "last_city": " Köln ",
        "last_country": "\tGermany ",
        "preferred_language": " de\u{200b}",
    });
    let results = upsert(&mut world, &[entry.clone(), entry]);
    assert_eq!(
        (&results[0]["outcome"], &results[1]["outcome"]),
        (&json!("created"), &json!("unchanged"))
    );
    let stored = String::from_utf8(world.fields[&CoreProfileId(9)].clone()).unwrap();
    assert_eq!(
        stored,
        concat!(
            r#""identities":[{"email":"ann@x.example","label":" home "}],"#,
            r#""last_country":"Germany","last_city":" Köln ","preferred_language":"de""#
        ),
        "other texts stay as they are"
    );
}

#[test]
fn an_identity_of_blanks_alone_is_a_fault() {
    for blank in BLANKS {
        let entry = identity("uid", blank).to_string();
        let prepared = prepare_creates(&block([entry]), &Placeholders::default());
        assert_eq!(faults(&prepared[0]), [("invalid_identity", "/identities/0/uid")], "{blank:?}");
    }
}

#[test]
fn phone_numbers_are_equal_without_separators() {
    let phone = |text| IdentityKey::new(IdentityType::PhoneNumber, text);
    for text in ["+49 30 1234", "0049301234", "+49-30/1234", "+49 (30) 12.34", "00 49\u{a0}30‑1234"]
    {
        assert_eq!(phone(text), phone("+49301234"), "{text}");
    }
    assert_ne!(phone("030 1234"), phone("+49301234"));
    assert_ne!(phone("-"), phone("--"), "separators alone have keys of their own");
    let mut world = World::default();
    let first = upsert(&mut world, &[identity("phone_number", "'+49 30 1234")]);
    assert_eq!(first[0]["outcome"], "created");
    let stored = String::from_utf8(world.fields[&CoreProfileId(9)].clone()).unwrap();
    assert_eq!(stored, r#""identities":[{"phone_number":"+49 30 1234"}]"#, "the spelling stays");
    let again = upsert(&mut world, &[identity("phone_number", "0049301234")]);
    assert_eq!(again[0]["outcome"], "unchanged");
}

#[test]
fn a_phone_number_that_a_spreadsheet_rounded_is_a_fault() {
    for (text, is_rounded) in [
        ("4.9E+12", true),
        ("4,9e+12", true),
        ("5E+10", true),
        ("4.9E12", false),
        ("E+12", false),
        ("+4912", false),
    ] {
        let entry = identity("phone_number", text).to_string();
        let prepared = prepare_creates(&block([entry]), &Placeholders::default());
        let wanted: &[_] = &[("spreadsheet_error", "/identities/0/phone_number")];
        assert_eq!(faults(&prepared[0]), if is_rounded { wanted } else { &[] }, "{text}");
    }
}

#[test]
fn a_language_is_stored_without_its_region() {
    for (given, stored, code) in [
        ("en-US", "en", Some("reduced")),
        ("zh-Hans", "zh", Some("reduced")),
        ("German", "de", Some("reduced")),
        (" EN ", "EN", None),
    ] {
        let mut world = World::default();
        let entry = json!({"identities": [{"uid": "a"}], "preferred_language": given});
        let results = upsert(&mut world, &[entry.clone(), entry]);
        let found: Vec<_> = warnings(&results[0]);
        let wanted: Vec<_> = code.map(|code| (code, "/preferred_language")).into_iter().collect();
        assert_eq!(found, wanted, "{given}");
        assert_eq!(results[1]["outcome"], "unchanged", "{given}");
        let fields = String::from_utf8(world.fields[&CoreProfileId(9)].clone()).unwrap();
        assert!(fields.ends_with(&format!(r#""preferred_language":"{stored}""#)), "{fields}");
    }
}

#[test]
fn a_time_of_a_profile_is_read_in_all_forms_and_stored_as_milliseconds() {
    for given in [
        json!(1_767_225_600_000_u64),
        json!("1767225600000"),
        json!("2026-01-01"),
        json!("2026-01-01T00:00Z"),
        json!(" 2026-01-01 01:00:00.0000+01 "),
    ] {
        let mut world = World::default();
        let entry = json!({"identities": [{"uid": "a"}], "last_active_date": given});
        let results = upsert(&mut world, &[entry.clone(), entry]);
        assert_eq!((warnings(&results[0]), &results[1]["outcome"]), (vec![], &json!("unchanged")));
        let fields = String::from_utf8(world.fields[&CoreProfileId(9)].clone()).unwrap();
        assert!(fields.ends_with(r#","last_active_date":1767225600000"#), "{given}: {fields}");
    }
    let entry = json!({"identities": [{"uid": "a"}], "last_active_date": 1_767_225_600});
    let result = &upsert(&mut World::default(), &[entry])[0];
    assert_eq!(warnings(result), [("looks_like_seconds", "/last_active_date")]);
    for (given, code) in [
        (json!("03/05/2024"), "wrong_type"),
        (json!(""), "wrong_type"),
        (json!(true), "wrong_type"),
        (json!("1969-12-31"), "out_of_range"),
        (json!("99999999999999999"), "out_of_range"),
    ] {
        let entry = json!({"identities": [{"uid": "a"}], "last_active_date": given}).to_string();
        let prepared = prepare_creates(&block([entry]), &Placeholders::default());
        assert_eq!(faults(&prepared[0]), [(code, "/last_active_date")], "{given}");
    }
}

#[test]
fn odd_identities_are_warned_of() {
    for (kind, value, code) in [
        ("email", "N/A", "placeholder"),
        ("uid", " null ", "placeholder"),
        ("phone_number", "000-000", "placeholder"),
        ("email", "NoReply@shop.example", "placeholder"),
        ("email", "ann.example.org", "suspicious_identity"),
        ("email", "a@b@c", "suspicious_identity"),
        ("email", "Ann <ann@example.org>", "suspicious_identity"),
        ("email", "a@b.example;c@d.example", "suspicious_identity"),
        ("email", "a@b.example, c@d.example", "suspicious_identity"),
    ] {
        let result = &upsert(&mut World::default(), &[identity(kind, value)])[0];
        let pointer = format!("/identities/0/{kind}");
        assert_eq!(warnings(result), [(code, pointer.as_str())], "{value}");
        assert_eq!(result["warnings"][0]["value"], value.trim(), "{value}");
        assert!(result["warnings"][0]["detail"].as_str().unwrap().len() > 20);
    }
    for (kind, value) in [("email", "ann@example.org"), ("uid", "ann example"), ("psn_id", "a,b")] {
        let result = &upsert(&mut World::default(), &[identity(kind, value)])[0];
        assert_eq!(warnings(result), [], "{value}");
    }
}

#[test]
fn the_list_of_the_domain_replaces_the_usual_placeholders() {
    let own = Placeholders::of_list("keine,bot@");
    let warned = |value: &str| -> Vec<&str> {
        let entry = identity("email", value).to_string();
        let prepared = prepare_creates(&block([entry]), &own);
        prepared[0].warnings.iter().map(|warning| warning.code.as_str()).collect()
    };
    assert_eq!(warned("Keine"), ["placeholder"]);
    assert_eq!(warned("bot@example.org"), ["placeholder"]);
    assert_eq!(warned("noreply@example.org"), Vec::<&str>::new());
}

#[test]
fn an_upsert_that_joins_two_people_names_both() {
    let mut world = World::default();
    let ann = json!({"identities": [{"uid": "a"}, {"email": "n/a"}]});
    let bob = json!({"identities": [{"email": "N/A"}, {"uid": "b"}]});
    let results = upsert(&mut world, &[ann, bob.clone()]);
    assert_eq!(
        warnings(&results[1]),
        [("placeholder", "/identities/0/email"), ("joins_people", "/identities/1/uid")]
    );
    let detail = results[1]["warnings"][1]["detail"].as_str().unwrap();
    assert!(detail.contains("core profile 9") && detail.contains("\"a\""), "{detail}");
    assert!(detail.contains("\"b\""), "{detail}");
    let again = upsert(&mut world, &[bob]);
    assert_eq!(warnings(&again[0]), [("placeholder", "/identities/0/email")], "nothing is added");
    let by_id = json!({"core-profile-id": "9", "identities": [{"uid": "c"}]});
    assert_eq!(warnings(&upsert(&mut world, &[by_id])[0]), [("joins_people", "/identities/0/uid")]);
    for more in [json!({"email": "ann@work.example"}), json!({"phone_number": "+1"})] {
        let entry = json!({"identities": [{"uid": "a"}, more]});
        assert_eq!(warnings(&upsert(&mut world, std::slice::from_ref(&entry))[0]), [], "{entry}");
    }
}

#[test]
fn a_faulty_entry_is_shown_as_it_was_sent() {
    let entry = r#"{"identities":[{"email":" a@b "}],"age":-1}"#;
    let plan = World::default().run("upsert", &[entry.to_owned()], &mut NewIds::From(9));
    assert_eq!(outcomes(&plan.records)[0].1, "out_of_range /age");
    assert!(String::from_utf8(plan.records.errors).unwrap().contains(entry));
}
