//! The round trip as a property: a profile comes back exactly as it was sent, and sending it again
//! changes nothing, as JSON and as the row of a table.

use std::collections::{BTreeMap, HashMap};

use caseload_model::ids::CoreProfileId;
use caseload_model::json;
use caseload_model::profile::{
    Cell, NewIds, OtherColumns, Placeholders, RowColumns, RowEntry, RowRules, StoredAppProfile,
    identity_keys, plan_app_updates, plan_core_patches, prepare_app_updates, prepare_core_patches,
    prepare_creates, render_app, render_core, written_cell,
};
use caseload_model::task::Action;
use caseload_model::time::UnixMillis;
use proptest::prelude::*;
use proptest::sample::select;

use crate::support::{block, outcomes};

/// JSON strings of any code points, including U+0000 and those beyond the basic plane.
fn text() -> impl Strategy<Value = String> {
    let char =
        prop_oneof![any::<char>(), select(vec!['\0', '"', '\\', '/', '😀', 'é', '\u{7f}', ' '])];
    let any_text = prop::collection::vec(char, 0..12).prop_map(String::from_iter);
    // Texts that a reader of tables takes for something else.
    let special = select(vec!["#N/A", "=\"x\"", "=\"a\"\"\"", " x\u{a0}", "\ty", "[", "007", ""]);
    let text = prop_oneof![9 => any_text, 1 => special.prop_map(str::to_owned)];
    (text, any::<bool>()).prop_map(|(text, escaped)| {
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

/// Members of a valid core profile except identities, in any order, each present or not.
fn core_members() -> impl Strategy<Value = Vec<String>> {
    let names = select(vec![
        r#"{"first_name":"A","last_name":""}"#,
        "{}",
        r#"{"display_name":"😀","full_name":null}"#,
    ]);
    let tags = prop::collection::vec(text(), 0..3).prop_map(|tags| format!("[{}]", tags.join(",")));
    let fields: Vec<(&str, BoxedStrategy<String>)> = vec![
        ("names", names.prop_map(str::to_owned).boxed()),
        ("tags", tags.boxed()),
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

/// The members of a returned record that have a value, by the bytes of their values.
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

fn unchanged(entries: u64) -> Vec<(u64, String)> {
    (0..entries).map(|index| (index, "unchanged".to_owned())).collect()
}

/// The entry of the row that a table has for a record. Custom fields are one column, or one each.
fn row_of(action: Action, record: &[u8], spread: bool) -> String {
    let json::Json::Object(members) = json::parse(record).unwrap() else { panic!("no map") };
    let mut row: Vec<(String, String)> = Vec::new();
    for (name, value) in &members {
        match value {
            json::Json::Null => {}
            json::Json::Object(fields) if spread && name == "custom_fields" => {
                // A column needs a name, so a field without one is not in such a table.
                for (key, value) in fields.iter().filter(|(key, _)| !key.is_empty()) {
                    let of = if value.as_str().is_some() { "text" } else { "number" };
                    row.push((format!("custom_fields.{key}:{of}"), cell_of(value)));
                }
            }
            value => row.push((name.to_string(), cell_of(value))),
        }
    }
    let cells: Vec<_> =
        row.iter().flat_map(|(name, cell)| [written_cell(name), written_cell(cell)]).collect();
    let cell = |at: usize| Cell { text: &cells[at].0, quoted: cells[at].1 };
    let header: Vec<Cell<'_>> = (0..row.len()).map(|at| cell(2 * at)).collect();
    let (columns, faults) = RowColumns::read(action, &header, &[], OtherColumns::Refuse);
    assert_eq!(faults, []);
    let mut entry = Vec::new();
    let written = columns.write_entry(&RowRules::default(), |at| cell(2 * at + 1), &mut entry);
    assert_eq!(written, RowEntry::Entry(vec![]));
    String::from_utf8(entry).unwrap()
}

/// A text as it is, and any other value as JSON text.
fn cell_of(value: &json::Json<'_>) -> String {
    let mut text = Vec::new();
    value.write_to(&mut text);
    value.as_str().map_or_else(|| String::from_utf8(text).unwrap(), str::to_owned)
}

const T: UnixMillis = UnixMillis(1_700_000_000_000);

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_created_core_profile_is_returned_as_sent_and_updates_itself_unchanged(
        members in core_members(), identities in identities(),
    ) {
        let mut members = members;
        members.push(identities);
        let entry = format!("{{{}}}", members.join(", "));
        let prepared = prepare_creates(&block([&entry]), &Placeholders::default());
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

        let action = Action::UpdateCoreProfiles;
        let table = row_of(action, &shown, false);
        let spread = row_of(action, &shown, true);
        let again = block([String::from_utf8(shown).unwrap(), table, spread]);
        let records = HashMap::from([(id, profile.fields.clone())]);
        let owners: HashMap<_, _> = profile.identities.iter().map(|k| (k.clone(), id)).collect();
        let (bytes, mut ids) = (&again.bytes, NewIds::From(1));
        let patches = prepare_core_patches(action, &again, &Placeholders::default());
        let plan =
            plan_core_patches(action, bytes, &patches, &records, &owners, None, &mut ids);
        prop_assert_eq!(outcomes(&plan.records), unchanged(3));
        prop_assert!(plan.changed.is_empty());
    }

    #[test]
    fn an_updated_app_profile_is_returned_as_sent_and_updates_itself_unchanged(
        members in app_members(),
    ) {
        let members = [vec![r#""pid":"p""#.to_owned()], members].concat();
        let entry = format!("{{{}}}", members.join(","));
        let sent = block([&entry]);
        let mut records = HashMap::from([("p".to_owned(), Vec::new())]);
        let prepared = prepare_app_updates(&sent);
        let plan = plan_app_updates(&sent.bytes, &prepared, &records, None, false);
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
        let action = Action::UpdateAppProfiles;
        let table = row_of(action, &shown, false);
        let spread = row_of(action, &shown, true);
        let again = block([String::from_utf8(shown).unwrap(), table, spread]);
        let prepared = prepare_app_updates(&again);
        let plan = plan_app_updates(&again.bytes, &prepared, &records, None, false);
        prop_assert_eq!(outcomes(&plan.records), unchanged(3));
    }
}
