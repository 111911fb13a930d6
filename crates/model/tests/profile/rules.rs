//! Every rule of profile entries, as tables of entries with their faults.

use caseload_model::profile::{
    CORE_PROFILE_ID_MAX, FAULTS_MAX, IdentityKey, IdentityType, Placeholders, prepare_app_gets,
    prepare_app_updates, prepare_core_gets, prepare_core_patches, prepare_creates,
};
use caseload_model::record::Rejection;
use caseload_model::task::Action;

use crate::support::{block, faults};

type Faults = &'static [(&'static str, &'static str)];

/// Members to add to one good identity, and the faults of the whole entry.
const FIELDS: &[(&str, Faults)] = &[
    (r#""names":{"first_name":"A","last_name":"","full_name":"A B","display_name":"a"}"#, &[]),
    (r#""names":{}"#, &[]),
    (r#""names":[]"#, &[]),
    (r#""names":["Ann"]"#, &[("wrong_type", "/names")]),
    (r#""names":null"#, &[]),
    (r#""names":{"first_name":null}"#, &[]),
    (r#""names":"Ann""#, &[("wrong_type", "/names")]),
    (r#""names":{"first_name":7}"#, &[("wrong_type", "/names/first_name")]),
    (
        r#""names":{"firstname":"A","nick/~":"B"}"#,
        &[("unknown_field", "/names/firstname"), ("unknown_field", "/names/nick~1~0")],
    ),
    (r#""tags":["a","a",""]"#, &[]),
    (r#""tags":[]"#, &[]),
    (r#""tags":"a""#, &[("wrong_type", "/tags")]),
    (r#""tags":{"a":1}"#, &[("wrong_type", "/tags")]),
    (r#""tags":["a",1,null]"#, &[("wrong_type", "/tags/1"), ("wrong_type", "/tags/2")]),
    (r#""custom_fields":{"a":"x","b":1e400,"":"empty key","c":null}"#, &[]),
    (r#""custom_fields":[]"#, &[]),
    (r#""custom_fields":["a"]"#, &[("wrong_type", "/custom_fields")]),
    (
        r#""custom_fields":{"a":true,"b":[],"c":{"d":1}}"#,
        &[
            ("wrong_type", "/custom_fields/a"),
            ("wrong_type", "/custom_fields/b"),
            ("wrong_type", "/custom_fields/c"),
        ],
    ),
    (r#""full_privacy_enabled":true,"accepted_t_and_c":false"#, &[]),
    (
        r#""full_privacy_enabled":"true","accepted_t_and_c":1"#,
        &[("wrong_type", "/full_privacy_enabled"), ("wrong_type", "/accepted_t_and_c")],
    ),
    (r#""last_country":"gErMaNy","last_city":"Köln \u0000""#, &[]),
    (r#""last_country":"DE""#, &[]),
    (r#""last_country":"Gerrmanie""#, &[("unknown_country", "/last_country")]),
    (r#""last_country":"""#, &[("unknown_country", "/last_country")]),
    (r#""last_country":49"#, &[("wrong_type", "/last_country")]),
    (r#""last_city":["Köln"]"#, &[("wrong_type", "/last_city")]),
    (r#""age":30"#, &[]),
    (r#""age":0"#, &[]),
    (r#""age":150"#, &[]),
    (r#""age":1.5e2"#, &[]),
    (r#""age":33.25"#, &[]),
    (r#""age":null"#, &[]),
    (r#""age":"30""#, &[("wrong_type", "/age")]),
    (r#""age":-1"#, &[("out_of_range", "/age")]),
    (r#""age":151"#, &[("out_of_range", "/age")]),
    (r#""age":150.00000000000000000001"#, &[("out_of_range", "/age")]),
    (r#""age":1e99999999999999999999"#, &[("out_of_range", "/age")]),
    (r#""lifetime_value":-12345678901234567890.12"#, &[]),
    (r#""lifetime_value":"1023.99""#, &[("wrong_type", "/lifetime_value")]),
    (r#""user_persona":"","user_vip_segment":"b","user_support_status":"c""#, &[]),
    (
        r#""user_persona":1,"user_vip_segment":true,"user_support_status":{}"#,
        &[
            ("wrong_type", "/user_persona"),
            ("wrong_type", "/user_vip_segment"),
            ("wrong_type", "/user_support_status"),
        ],
    ),
    (r#""preferred_language":"EN""#, &[]),
    (r#""preferred_language":"Elvish""#, &[("unknown_language", "/preferred_language")]),
    (r#""preferred_language":false"#, &[("wrong_type", "/preferred_language")]),
    (r#""last_active_date":0"#, &[]),
    (r#""last_active_date":253402300799999"#, &[]),
    (r#""last_active_date":253402300800000"#, &[("out_of_range", "/last_active_date")]),
    (r#""last_active_date":-1"#, &[("out_of_range", "/last_active_date")]),
    (r#""last_active_date":1.5"#, &[("wrong_type", "/last_active_date")]),
    (r#""last_active_date":1e3"#, &[]),
    (r#""last_active_date":"0""#, &[]),
    (r#""last_active_date":"soon""#, &[("wrong_type", "/last_active_date")]),
    (
        r#""agee":1,"Tags":null,"a/b~c":2"#,
        &[("unknown_field", "/agee"), ("unknown_field", "/Tags"), ("unknown_field", "/a~1b~0c")],
    ),
    // Fields that only app profiles have are unknown here.
    (
        r#""user_level":1,"country":"DE""#,
        &[("unknown_field", "/user_level"), ("unknown_field", "/country")],
    ),
];

#[test]
fn fields_of_a_new_core_profile_follow_their_rules() {
    let entries =
        FIELDS.iter().map(|(fields, _)| format!(r#"{{"identities":[{{"uid":"u"}}],{fields}}}"#));
    for (prepared, (fields, wanted)) in
        prepare_creates(&block(entries), &Placeholders::default()).iter().zip(FIELDS)
    {
        assert_eq!(faults(prepared), *wanted, "{fields}");
    }
}

#[test]
fn fields_of_a_core_profile_patch_follow_the_same_rules() {
    let entries = FIELDS.iter().map(|(fields, _)| format!(r#"{{"core-profile-id":1,{fields}}}"#));
    for (prepared, (fields, wanted)) in
        prepare_core_patches(Action::UpdateCoreProfiles, &block(entries), &Placeholders::default())
            .iter()
            .zip(FIELDS)
    {
        assert_eq!(faults(prepared), *wanted, "{fields}");
    }
}

#[test]
fn fields_of_an_app_profile_patch_follow_their_rules() {
    let table: &[(&str, Faults)] = &[
        (
            r#""custom_fields":{"a":1},"user_persona":"a","user_paying_segment":"b",
            "user_vip_segment":"c","user_level":7,"accepted_t_and_c":true,"app_status":"d",
            "user_support_status":"e","country":"JPN","city":"f","language":"ja",
            "app_rating":4.50,"lifetime_value":0.1"#,
            &[],
        ),
        (r#""app_id":1,"name":[],"emails":{},"created_at":"x","updated_at":null"#, &[]),
        (
            r#""user_level":"7","app_rating":true,"country":"Nowhere","language":"xx","city":1,
            "app_status":null,"user_paying_segment":2"#,
            &[
                ("wrong_type", "/user_level"),
                ("wrong_type", "/app_rating"),
                ("unknown_country", "/country"),
                ("unknown_language", "/language"),
                ("wrong_type", "/city"),
                ("wrong_type", "/user_paying_segment"),
            ],
        ),
        (
            r#""identities":[],"tags":[],"add_tags":[],"core-profile-id":1,"user_levels":1"#,
            &[
                ("unknown_field", "/identities"),
                ("unknown_field", "/tags"),
                ("unknown_field", "/add_tags"),
                ("unknown_field", "/core-profile-id"),
                ("unknown_field", "/user_levels"),
            ],
        ),
    ];
    for (fields, wanted) in table {
        let entry = format!(r#"{{"pid":"p",{}}}"#, fields.replace('\n', " "));
        let prepared = prepare_app_updates(&block([entry]));
        assert_eq!(faults(&prepared[0]), *wanted, "{fields}");
    }
}

#[test]
fn identities_follow_their_rules() {
    let table: &[(&str, Faults)] = &[
        (r#"[{"uid":"a"},{"uid":"b"},{"email":"a","verified":"true","":""}]"#, &[]),
        (r#"{"uid":"a"}"#, &[("wrong_type", "/identities")]),
        (r#""a""#, &[("wrong_type", "/identities")]),
        (
            r#"["a",null,{"uid":"a"}]"#,
            &[("wrong_type", "/identities/0"), ("wrong_type", "/identities/1")],
        ),
        (r"[{}]", &[("invalid_identity", "/identities/0")]),
        (r#"[{"uid":"a"},{"mail":"x"}]"#, &[("invalid_identity", "/identities/1")]),
        (r#"[{"uid":"a","email":"b"}]"#, &[("invalid_identity", "/identities/0")]),
        (r#"[{"uid":""}]"#, &[("invalid_identity", "/identities/0/uid")]),
        (r#"[{"uid":" "}]"#, &[("invalid_identity", "/identities/0/uid")]),
        (
            r#"[{"uid":7},{"email":null}]"#,
            &[("wrong_type", "/identities/0/uid"), ("wrong_type", "/identities/1/email")],
        ),
        (
            r#"[{"email":"a","verified":true,"x/y":null}]"#,
            &[("wrong_type", "/identities/0/verified"), ("wrong_type", "/identities/0/x~1y")],
        ),
        (
            r#"[{"email":"A@b"},{"uid":"A@b"},{"email":"a@B","verified":"true"},{"email":"a@b"}]"#,
            &[("duplicate_identity", "/identities/2"), ("duplicate_identity", "/identities/3")],
        ),
        (r#"[{"uid":"A"},{"uid":"a"}]"#, &[]),
    ];
    for (identities, wanted) in table {
        let create = format!(r#"{{"identities":{identities}}}"#);
        assert_eq!(
            faults(&prepare_creates(&block([create]), &Placeholders::default())[0]),
            *wanted,
            "{identities}"
        );
        let update = format!(r#"{{"core-profile-id":"1","identities":{identities}}}"#);
        assert_eq!(
            faults(
                &prepare_core_patches(
                    Action::UpdateCoreProfiles,
                    &block([update]),
                    &Placeholders::default()
                )[0]
            ),
            *wanted,
            "{identities}"
        );
    }
}

#[test]
fn every_identity_type_is_known_and_makes_its_key() {
    for kind in IdentityType::ALL {
        let entry = format!(r#"{{"identities":[{{"x":"meta","{}":"Ü1"}}]}}"#, kind.as_str());
        let prepared = prepare_creates(&block([entry]), &Placeholders::default());
        let profile = prepared[0].item.as_ref().unwrap();
        assert_eq!(profile.identities, [IdentityKey::new(*kind, "Ü1")]);
    }
}

#[test]
fn a_repeated_identity_is_found_among_many() {
    let mut maps: Vec<String> = (0..40).map(|n| format!(r#"{{"uid":"{n}"}}"#)).collect();
    maps.push(r#"{"uid":"7"}"#.to_owned());
    let entry = format!(r#"{{"identities":[{}]}}"#, maps.join(","));
    let prepared = prepare_creates(&block([entry]), &Placeholders::default());
    assert_eq!(faults(&prepared[0]), [("duplicate_identity", "/identities/40")]);
    let detail = &prepared[0].item.as_ref().unwrap_err().faults[0].detail;
    assert!(detail.contains("element 7"), "{detail}");
}

/// Each limit: an entry at it and the same entry one beyond.
#[test]
fn limits_count_code_points_and_elements() {
    let chars = |n: usize| "😀".repeat(n);
    let with = |field: String| format!(r#"{{"identities":[{{"uid":"u"}}],{field}}}"#);
    let identity = |kind: &str, n| format!(r#"{{"identities":[{{"{kind}":"{}"}}]}}"#, chars(n));
    let texts = |n| vec![r#""t""#; n].join(",");
    let custom = |n| (0..n).map(|n| format!(r#""k{n}":1"#)).collect::<Vec<_>>().join(",");
    let uids = |n| (0..n).map(|n| format!(r#"{{"uid":"{n}"}}"#)).collect::<Vec<_>>().join(",");
    let metadata = |n| (0..n).map(|n| format!(r#""k{n}":"""#)).collect::<Vec<_>>().join(",");
    let long = "x".repeat(256);
    let too_long_key = format!("/custom_fields/{long}");
    let too_long_metadata = format!("/identities/0/{long}");
    let table: Vec<(String, String, &str, &str)> = vec![
        (identity("uid", 750), identity("uid", 751), "too_long", "/identities/0/uid"),
        (identity("email", 300), identity("email", 301), "too_long", "/identities/0/email"),
        (
            with(format!(r#""tags":["{}"]"#, chars(100))),
            with(format!(r#""tags":["{}"]"#, chars(101))),
            "too_long",
            "/tags/0",
        ),
        (
            with(format!(r#""user_persona":"{}""#, "x".repeat(100_000))),
            with(format!(r#""user_persona":"{}""#, "x".repeat(100_001))),
            "too_long",
            "/user_persona",
        ),
        (
            with(format!(r#""custom_fields":{{"a":"{}"}}"#, "ö".repeat(100_000))),
            with(format!(r#""custom_fields":{{"a":"{}"}}"#, "ö".repeat(100_001))),
            "too_long",
            "/custom_fields/a",
        ),
        (
            with(format!(r#""custom_fields":{{"{}":1}}"#, chars(255))),
            with(format!(r#""custom_fields":{{"{long}":1}}"#)),
            "too_long",
            &too_long_key,
        ),
        (
            format!(r#"{{"identities":[{{"uid":"u","{}":"m"}}]}}"#, chars(255)),
            format!(r#"{{"identities":[{{"uid":"u","{long}":"m"}}]}}"#),
            "too_long",
            &too_long_metadata,
        ),
        (
            with(format!(r#""tags":[{}]"#, texts(100))),
            with(format!(r#""tags":[{}]"#, texts(101))),
            "too_many",
            "/tags",
        ),
        (
            with(format!(r#""custom_fields":{{{},"gone":null}}"#, custom(100))),
            with(format!(r#""custom_fields":{{{}}}"#, custom(101))),
            "too_many",
            "/custom_fields",
        ),
        (
            format!(r#"{{"identities":[{}]}}"#, uids(100)),
            format!(r#"{{"identities":[{}]}}"#, uids(101)),
            "too_many",
            "/identities",
        ),
        (
            format!(r#"{{"identities":[{{"uid":"u",{}}}]}}"#, metadata(100)),
            format!(r#"{{"identities":[{{"uid":"u",{}}}]}}"#, metadata(101)),
            "too_many",
            "/identities/0",
        ),
    ];
    for (good, bad, code, pointer) in &table {
        let prepared = prepare_creates(&block([good, bad]), &Placeholders::default());
        assert_eq!(faults(&prepared[0]), [], "{pointer}");
        assert_eq!(faults(&prepared[1]), [(*code, *pointer)]);
    }
}

#[test]
fn a_new_core_profile_needs_an_identity_and_must_not_have_an_id() {
    let table: &[(&str, Faults)] = &[
        ("{}", &[("required", "/identities")]),
        (r#"{"identities":null}"#, &[("required", "/identities")]),
        (r#"{"identities":[]}"#, &[("required", "/identities")]),
        (r#"{"age":"1"}"#, &[("wrong_type", "/age"), ("required", "/identities")]),
        (
            r#"{"core-profile-id":"1","created_at":1,"updated_at":1,"identities":[{"uid":"u"}]}"#,
            &[
                ("unknown_field", "/core-profile-id"),
                ("unknown_field", "/created_at"),
                ("unknown_field", "/updated_at"),
            ],
        ),
    ];
    for (entry, wanted) in table {
        assert_eq!(
            faults(&prepare_creates(&block([entry]), &Placeholders::default())[0]),
            *wanted,
            "{entry}"
        );
    }
}

#[test]
fn a_core_profile_id_is_digits_as_string_or_integer() {
    let table: &[(&str, Faults)] = &[
        (r#"{"core-profile-id":"188474421477632"}"#, &[]),
        (r#"{"core-profile-id":188474421477632}"#, &[]),
        (r#"{"core-profile-id":"9223372036854775807"}"#, &[]),
        (r#"{"core-profile-id":"9223372036854775808"}"#, &[("not_found", "/core-profile-id")]),
        (r#"{"core-profile-id":99999999999999999999999}"#, &[("not_found", "/core-profile-id")]),
        (r#"{"core-profile-id":"01"}"#, &[("not_found", "/core-profile-id")]),
        (r#"{"core-profile-id":""}"#, &[("wrong_type", "/core-profile-id")]),
        (r#"{"core-profile-id":"12x"}"#, &[("wrong_type", "/core-profile-id")]),
        (r#"{"core-profile-id":"+12"}"#, &[("wrong_type", "/core-profile-id")]),
        (r#"{"core-profile-id":"١٢"}"#, &[("wrong_type", "/core-profile-id")]),
        (r#"{"core-profile-id":1.0}"#, &[("wrong_type", "/core-profile-id")]),
        (r#"{"core-profile-id":1e3}"#, &[("wrong_type", "/core-profile-id")]),
        (r#"{"core-profile-id":true}"#, &[("wrong_type", "/core-profile-id")]),
        (r#"{"core-profile-id":[1]}"#, &[("wrong_type", "/core-profile-id")]),
        (r#"{"core-profile-id":-1}"#, &[("out_of_range", "/core-profile-id")]),
        (r#"{"core-profile-id":null}"#, &[("required", "/core-profile-id")]),
        ("{}", &[("required", "/core-profile-id")]),
    ];
    assert_eq!(CORE_PROFILE_ID_MAX, 9_223_372_036_854_775_807);
    for (entry, wanted) in table {
        let block = block([entry]);
        assert_eq!(faults(&prepare_core_gets(&block)[0]), *wanted, "{entry}");
        assert_eq!(
            faults(
                &prepare_core_patches(Action::UpdateCoreProfiles, &block, &Placeholders::default())
                    [0]
            ),
            *wanted,
            "{entry}"
        );
        let of_upsert = match wanted {
            [("required", _)] => &[("required", "/identities")],
            other => *other,
        };
        assert_eq!(
            faults(
                &prepare_core_patches(Action::UpsertCoreProfiles, &block, &Placeholders::default())
                    [0]
            ),
            of_upsert,
            "{entry}"
        );
    }
}

#[test]
fn a_pid_is_a_string() {
    let table: &[(&str, Faults)] = &[
        (r#"{"pid":"acme_profile_1"}"#, &[]),
        ("{}", &[("required", "/pid")]),
        (r#"{"pid":null}"#, &[("required", "/pid")]),
        (r#"{"pid":7}"#, &[("wrong_type", "/pid")]),
    ];
    for (entry, wanted) in table {
        let block = block([entry]);
        assert_eq!(faults(&prepare_app_gets(&block)[0]), *wanted, "{entry}");
        assert_eq!(faults(&prepare_app_updates(&block)[0]), *wanted, "{entry}");
    }
}

/// A space before the name changes nothing, except that the JSON reader reads the entry.
#[test]
fn an_id_is_read_alike_by_the_fast_path_and_the_json_reader() {
    let mut ids: Vec<String> = (0..22).map(|digits| format!("9{}", "9".repeat(digits))).collect();
    ids.extend((0..22).map(|zeros| format!("1{}", "0".repeat(zeros))));
    ids.extend(
        ["0", "00", "01", "7", "-7", "7.0", "1e3", "+1", "", "7a", "a", "7\u{663}"].map(Into::into),
    );
    ids.push((CORE_PROFILE_ID_MAX).to_string());
    ids.push((CORE_PROFILE_ID_MAX + 1).to_string());
    let spellings = ids.iter().flat_map(|id| [id.clone(), format!("\"{id}\""), format!("\"{id}")]);
    for given in spellings {
        for (before, after) in [("", ""), (" ", ""), ("  ", ""), ("", " "), ("", "}"), ("", ",")] {
            let members = format!("\"core-profile-id\":{before}{given}{after}}}");
            let block = block([format!("{{{members}"), format!("{{ {members}")]);
            let [short, long] = prepare_core_gets(&block).try_into().expect("two entries");
            let codes = |rejected: Rejection| {
                rejected.faults.iter().map(|fault| fault.code).collect::<Vec<_>>()
            };
            assert_eq!(short.item.map_err(codes), long.item.map_err(codes), "{members}");
        }
    }
}

#[test]
fn a_get_entry_has_only_the_id() {
    let core = prepare_core_gets(&block([r#"{"core-profile-id":1,"age":1,"pid":"p","x":null}"#]));
    assert_eq!(
        faults(&core[0]),
        [("unknown_field", "/age"), ("unknown_field", "/pid"), ("unknown_field", "/x")]
    );
    let app = prepare_app_gets(&block([r#"{"pid":"p","created_at":1}"#]));
    assert_eq!(faults(&app[0]), [("unknown_field", "/created_at")]);
}

#[test]
fn an_update_must_leave_an_identity_and_ignores_read_only_members() {
    let table: &[(&str, Faults)] = &[
        (r#"{"core-profile-id":1,"identities":null}"#, &[("last_identity", "/identities")]),
        (r#"{"core-profile-id":1,"identities":[]}"#, &[("last_identity", "/identities")]),
        (r#"{"core-profile-id":1,"created_at":"x","updated_at":[]}"#, &[]),
        (r#"{"core-profile-id":1,"app_id":"x"}"#, &[("unknown_field", "/app_id")]),
        (
            r#"{"identities":[],"age":200}"#,
            &[("out_of_range", "/age"), ("required", "/core-profile-id")],
        ),
    ];
    for (entry, wanted) in table {
        assert_eq!(
            faults(
                &prepare_core_patches(
                    Action::UpdateCoreProfiles,
                    &block([entry]),
                    &Placeholders::default()
                )[0]
            ),
            *wanted,
            "{entry}"
        );
    }
}

#[test]
fn faults_say_what_is_wrong_and_what_would_be_right() {
    let table = [
        (r#"{"agee":1}"#, "\"agee\" is not a field of a core profile; did you mean age?"),
        (r#"{"core_profile_id":1}"#, "did you mean core-profile-id?"),
        (r#"{"age":"30"}"#, "age must be a number from 0 to 150, not a string"),
        (r#"{"age":151}"#, "age must be a number from 0 to 150"),
        (r#"{"tags":[7]}"#, "element 0 of tags must be a string, not a number"),
        (
            r#"{"email":"a@x"}"#,
            "\"email\" is not a field of a core profile; did you mean identities?",
        ),
        (
            r#"{"satisfaction":1}"#,
            "\"satisfaction\" is not a field of a core profile; leave it out",
        ),
        (r#"{"names":{"frist_name":"x"}}"#, "did you mean first_name? (known: first_name"),
        (
            r#"{"names":{"nick":"x"}}"#,
            "leave it out (known: first_name, last_name, full_name, display_name",
        ),
        (r#"{"last_country":"Gemrany"}"#, "code of ISO 3166-1"),
        (r#"{"preferred_language":"Elvish"}"#, "code of ISO 639-1"),
        (r#"{"identities":[{"uid":"a","email":"b"}]}"#, "this one has 2: uid, email"),
        (r#"{"identities":[{"emial":"b"}]}"#, "\"emial\" may be a misspelling of email"),
        (r#"{"identities":[{"x":"b"}]}"#, "uid, email, phone_number, facebook_id, discord_id"),
        (
            r#"{"core-profile-id":1,"identities":null}"#,
            "needs at least one identity; leave identities out",
        ),
    ];
    for (entry, words) in table {
        let prepared = prepare_core_patches(
            Action::UpdateCoreProfiles,
            &block([entry]),
            &Placeholders::default(),
        );
        let rejected = prepared[0].item.as_ref().unwrap_err();
        let details: Vec<&str> = rejected.faults.iter().map(|f| f.detail.as_str()).collect();
        assert!(details.iter().any(|detail| detail.contains(words)), "{entry}: {details:?}");
    }
}

#[test]
fn faults_carry_the_value_and_long_text_is_shortened() {
    let long = "n".repeat(5000);
    let entry = format!(r#"{{"core-profile-id":7,"age":1.50e9,"{long}":"v","tags":[ 1 ]}}"#);
    let prepared =
        prepare_core_patches(Action::UpdateCoreProfiles, &block([entry]), &Placeholders::default());
    let rejected = prepared[0].item.as_ref().unwrap_err();
    assert_eq!(rejected.id.as_deref(), Some(&b"\"7\""[..]));
    let values: Vec<&[u8]> = rejected.faults.iter().map(|f| f.value.as_deref().unwrap()).collect();
    assert_eq!(values, [&b"1.50e9"[..], b"\"v\"", b"1"]);
    assert!(rejected.faults[1].detail.len() < 300, "{}", rejected.faults[1].detail);
}

#[test]
fn an_entry_full_of_faults_leaves_a_bounded_record() {
    let unknown: Vec<String> = (0..5000).map(|n| format!(r#""field{n}":1"#)).collect();
    let entry = format!(r#"{{"pid":7,{},"city":1}}"#, unknown.join(","));
    let prepared = prepare_app_updates(&block([entry]));
    let told = &prepared[0].item.as_ref().unwrap_err().faults;
    assert_eq!(told.len(), FAULTS_MAX);
    assert_eq!(told[0].pointer.as_deref(), Some("/pid"));
    let unknown = "\"field0\" is not a field of an app profile; leave it out";
    assert!(told[1].detail.starts_with(unknown), "{}", told[1].detail);
    let last = &told[FAULTS_MAX - 1].detail;
    assert!(last.ends_with("4902 more faults of this entry are not listed"), "{last}");
}

#[test]
fn stored_fields_have_the_order_of_the_table_and_the_bytes_that_were_sent() {
    let entry = r#" { "age" : 1.50e1, "custom_fields":{"z":"\u00e9\/\u0000","a":1023.990,"n":null},
        "names":{"last_name":null}, "user_persona":null, "last_country":"gErMaNy",
        "identities":[{"verified":"t","email":"A@B"}, {"uid":"x"}] }"#;
    let prepared = prepare_creates(&block([entry.replace('\n', " ")]), &Placeholders::default());
    let profile = prepared[0].item.as_ref().unwrap();
    assert_eq!(
        std::str::from_utf8(&profile.fields).unwrap(),
        concat!(
            r#""identities":[{"verified":"t","email":"A@B"},{"uid":"x"}],"names":{},"#,
            r#""custom_fields":{"z":"é/\u0000","a":1023.990},"last_country":"gErMaNy","age":1.50e1"#
        )
    );
    let keys =
        [IdentityKey::new(IdentityType::Email, "a@b"), IdentityKey::new(IdentityType::Uid, "x")];
    assert_eq!(profile.identities, keys);
}
