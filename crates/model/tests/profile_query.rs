//! The parameters of lists of profiles and the meaning of queries, by examples. The store compares
//! random queries with the same judge.

use caseload_model::ids::{CoreProfileId, DomainName, app_profile_id};
use caseload_model::issue_query::{Sort, SortKey, SortOrder};
use caseload_model::profile_query::{
    AppPart, ProfileId, ProfileKind, ProfileListRequest, ProfilePosition, ProfileScan,
    SearchableProfile, parse_profile_list, parse_single_profile,
};
use caseload_model::time::UnixMillis;

const CORE: ProfileKind = ProfileKind::Core;
const APP: ProfileKind = ProfileKind::App;

fn owned(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn request(kind: ProfileKind, pairs: &[(&str, &str)]) -> ProfileListRequest {
    parse_profile_list(kind, &owned(pairs)).expect("good parameters")
}

fn faults(kind: ProfileKind, pairs: &[(&str, &str)]) -> Vec<String> {
    let faults = parse_profile_list(kind, &owned(pairs)).expect_err("faulty parameters");
    faults.into_iter().map(|fault| fault.detail).collect()
}

const ADA: &str = concat!(
    r#""identities":[{"email":"Ada@Example.org","verified":"true"},{"uid":"u-1"}],"#,
    r#""names":{"first_name":"Ada","last_name":"Lovelace"},"tags":["vip","early, bird"],"#,
    r#""custom_fields":{"plan":"Gold","seats":3,"size":"3"},"last_country":"Germany","#,
    r#""user_vip_segment":"gold","preferred_language":"DE""#
);

fn finds_core(pairs: &[(&str, &str)], fields: &str) -> bool {
    request(CORE, pairs).query.matches(&SearchableProfile {
        id: &ProfileId::Core(CoreProfileId(17)),
        created_at: UnixMillis(1000),
        updated_at: UnixMillis(2000),
        fields: fields.as_bytes(),
        app: None,
    })
}

#[test]
fn each_filter_of_core_profiles_finds_the_profiles_it_names() {
    for (name, found, missed) in [
        ("identity", "email:ada@EXAMPLE.org", "uid:U-1"),
        ("identity", r#"[{"email":"x"},{"uid":"u-1","note":"y"}]"#, r#"[{"psn_id":"u-1"}]"#),
        ("identity", r#"["uid:u-1"]"#, "[]"),
        ("identity", r#"{"uid":"u-1"}"#, r#"{"psn_id":"u-1"}"#),
        ("ids", "5,17", "5"),
        ("created-since", "1000", "1001"),
        ("created_until", "1000", "999"),
        ("updated-since", "2000", "2001"),
        ("updated-until", "2000", "1999"),
        ("tags", r#"{"and":["vip","early, bird"]}"#, r#"{"nor":["vip"]}"#),
        ("tags", "early, bird", "early"),
        ("country", "DE", "FR"),
        ("country", r#"["deu"]"#, "Austria"),
        ("country", "Germany, Federal Republic of", "Great Britain"),
        ("country", " DEUTSCHLAND ", "Österreich"),
        ("language", "de", "en"),
        ("language", "de-AT", "pt_BR"),
        ("language", "English,German", "English"),
        ("user_vip_segment", "gold", "Gold"),
        (
            "custom_fields",
            r#"{"text":{"and":{"plan":{"is":"Gold"}}}}"#,
            r#"{"text":{"and":{"plan":{"is":"gold"}}}}"#,
        ),
        (
            "custom_fields",
            r#"{"text":{"and":{"plan":{"contains":["OL"]}}}}"#,
            r#"{"text":{"and":{"seats":{"is_set":true}}}}"#,
        ),
        (
            "custom_fields",
            r#"{"number":{"or":{"seats":{"is_greater_than":2.5}}}}"#,
            r#"{"number":{"and":{"size":{"is":3}}}}"#,
        ),
        ("name", "LOVE", "ada lovelace"),
    ] {
        assert!(finds_core(&[(name, found)], ADA), "{name}={found}");
        assert!(!finds_core(&[(name, missed)], ADA), "{name}={missed}");
    }
    assert!(!finds_core(&[("country", "DE"), ("language", "en")], ADA), "filters are ANDed");
    let empty = r#""identities":[{"uid":"u-1"}]"#;
    for (name, value, found) in [
        ("tags", r#"{"exists":false}"#, true),
        ("tags", r#"{"nor":["vip"]}"#, true),
        ("country", "DE", false),
        ("name", "a", false),
        ("custom_fields", r#"{"text":{"and":{"plan":{"is_set":false}}}}"#, true),
    ] {
        assert_eq!(finds_core(&[(name, value)], empty), found, "{name}={value}");
    }
}

#[test]
fn an_app_profile_has_the_identities_of_its_addresses_and_of_its_identifier() {
    let domain = DomainName::parse("acme").expect("a domain name");
    let finds = |pid: &str, pairs: &[(&str, &str)]| {
        request(APP, pairs).query.matches(&SearchableProfile {
            id: &ProfileId::App(pid.to_owned()),
            created_at: UnixMillis(1),
            updated_at: UnixMillis(1),
            fields: br#""country":"FR""#,
            app: Some(AppPart {
                app_id: "shop",
                name: "Ada L",
                emails: br#"["Ada@Example.org"]"#,
                domain: &domain,
            }),
        })
    };
    let made = app_profile_id(&domain, b"identifier\0shop\0u-1");
    for (pid, name, value, found) in [
        ("p", "identity", "email:ADA@example.org", true),
        ("p", "identity", "uid:u-1", false),
        (&*made, "identity", "uid:u-1", true),
        (&*made, "identity", "psn_id:u-1", false),
        ("p", "pids", "p", true),
        ("p", "pids", "q, p", true),
        ("a,b", "pids", r#"["a,b"]"#, true),
        ("p", "pids", r#"["q"]"#, false),
        ("p", "app-ids", "mobile,shop", true),
        ("p", "country", "France", true),
        ("p", "name", "a l", true),
    ] {
        assert_eq!(finds(pid, &[(name, value)]), found, "{pid}: {name}={value}");
    }
}

#[test]
fn each_fault_says_what_would_be_right() {
    for (kind, name, value, said) in [
        (CORE, "identity", "ada@example.org", "has no identity type"),
        (CORE, "identity", "mail:a", "\"mail\" is not an identity type; the types are uid, email"),
        (CORE, "identity", "email:", "the email is empty"),
        (CORE, "identity", r#"[{"email":"a","uid":"b"}]"#, "at /0: an identity has exactly one"),
        (CORE, "identity", r#"[{"emial":"a"}]"#, "\"emial\" may be a misspelling of email"),
        (CORE, "identity", r#"{"emial":"a"}"#, "\"emial\" may be a misspelling of email"),
        (CORE, "ids", r#"{"id":"a"}"#, "a list of core profile ids"),
        (CORE, "country", "DE,FR", "for several countries, send a JSON array"),
        (CORE, "identity", "[7]", "at /0: 7 is not an element of a list of identities"),
        (CORE, "country", "Germanny", "the nearest one is \"Germany\""),
        (CORE, "language", "Germn", "the nearest one is \"de\""),
        (CORE, "language", "Klingonese", "\"Klingonese\" is not a language"),
        (CORE, "country", "N/A", "\"N/A\" is not a country"),
        (CORE, "custom-fields", r#"{"date":{}}"#, "accepted: text, number"),
        (
            CORE,
            "custom-fields",
            r#"{"number":{"and":{"a":{"contains":["x"]}}}}"#,
            "is_greater_than",
        ),
        (CORE, "sort-by", "state-change-time", "is not one of creation-time, update-time"),
        (CORE, "pids", "a", "is not a parameter here"),
        (CORE, "limit", "5", "page-size"),
        (CORE, "name", "", "name is empty"),
        (APP, "tags", "a", "is not a parameter here"),
        (APP, "includes", "app_profiles", "is not one of core_profile"),
        (APP, "columns", "tags", "is not a member of an app profile"),
        (APP, "cursor", "x", "the cursor is damaged"),
    ] {
        let faults = faults(kind, &[(name, value)]);
        assert!(faults.len() == 1 && faults[0].contains(said), "{name}={value}: {faults:?}");
    }
    let all = faults(CORE, &[("identity", "x"), ("country", "y"), ("sort-by", "z"), ("page", "0")]);
    assert_eq!(all.len(), 4, "{all:?}");
    assert!(parse_single_profile(APP, &owned(&[("includes", "core_profile")])).is_ok());
    assert!(parse_single_profile(CORE, &owned(&[("includes", "core_profile")])).is_err());
    assert!(parse_single_profile(APP, &owned(&[("page", "1")])).is_err());
}

#[test]
fn a_bound_on_update_times_sorts_by_them() {
    let sort = |pairs: &[(&str, &str)]| request(CORE, pairs).query.sort;
    let by = |key, order| Sort { key, order };
    assert_eq!(sort(&[]), by(SortKey::CreationTime, SortOrder::Descending));
    assert_eq!(sort(&[("updated-since", "1")]).key, SortKey::UpdateTime);
    let given = [("updated-since", "1"), ("sort-by", "creation-time"), ("sort-order", "asc")];
    assert_eq!(sort(&given), by(SortKey::CreationTime, SortOrder::Ascending));
}

#[test]
fn a_cursor_continues_its_own_list_of_either_kind() {
    use caseload_model::ids::DomainId;
    let ids = [ProfileId::Core(CoreProfileId(u64::MAX >> 1)), ProfileId::App("ü\0 p".to_owned())];
    for (kind, id) in [CORE, APP].into_iter().zip(ids) {
        let query = request(kind, &[("country", "DE")]).query;
        let after = ProfilePosition { at: UnixMillis(-5), id };
        let scope = query.scope(DomainId(1));
        let token = scope.cursor(after.clone(), 3);
        let again = request(kind, &[("country", "Germany"), ("cursor", &token)]);
        let cursor = again.cursor.expect("a cursor");
        assert_eq!((cursor.pages_before(), scope.position(&cursor)), (3, Ok(Some(after))));
        for (domain, pairs) in [(2, &[("country", "DE")][..]), (1, &[("country", "FR")]), (1, &[])]
        {
            let other = request(kind, pairs).query.scope(DomainId(domain));
            assert!(other.position(&cursor).is_err(), "{domain} {pairs:?}");
        }
        for begin in ["", "*"] {
            let cursor = request(kind, &[("cursor", begin)]).cursor.expect("a cursor");
            assert_eq!(scope.position(&cursor), Ok(None));
        }
        let half = &token[..token.len() - 2];
        assert!(parse_profile_list(kind, &owned(&[("cursor", half)])).is_err());
    }
}

#[test]
fn ids_are_sorted_as_numbers_and_pids_by_code_points() {
    let at = |id| ProfilePosition { at: UnixMillis(1), id };
    let core = |id| at(ProfileId::Core(CoreProfileId(id)));
    let app = |pid: &str| at(ProfileId::App(pid.to_owned()));
    let sort = Sort { key: SortKey::CreationTime, order: SortOrder::Ascending };
    assert!(sort.compare_positions(&core(9), &core(10)).is_lt());
    assert!(sort.compare_positions(&app("Z"), &app("a")).is_lt());
    assert!(sort.compare_positions(&app("\u{ffff}"), &app("\u{10000}")).is_lt());
}

#[test]
fn a_scan_passes_every_profile_that_matches_and_few_others() {
    let values = |name: &str| match name {
        "names" => vec![
            r#"{"first_name":"Ada","last_name":"Lovelace"}"#,
            r#"{"first_name":"a\"}b","last_name":"ÄDA"}"#,
            "{}",
        ],
        "tags" => vec![r#"["vip"]"#, r#"["vip","a\"b"]"#, "[]"],
        "custom_fields" => {
            vec![r#"{"last_country":"France","tags":"vip"}"#, r#"{"names":{"x":"Ada"}}"#]
        }
        "last_country" => vec![r#""DE""#, r#""Germany""#, r#""deu""#, r#""fr""#, r#""\u0046R""#],
        "user_vip_segment" => vec![r#""gold""#, r#""Gold""#],
        _ => vec![r#""de""#, r#""DE""#, r#""En""#],
    };
    let names = [
        "names",
        "tags",
        "custom_fields",
        "last_country",
        "user_vip_segment",
        "preferred_language",
    ];
    let queries = [
        ("tags", "vip"),
        ("tags", r#"{"and":["a\"b"]}"#),
        ("tags", r#"{"nor":["vip"]}"#),
        ("tags", r#"{"exists":false}"#),
        ("country", "DE"),
        ("country", r#"["FR","GB"]"#),
        ("language", "de"),
        ("language", "en,fr"),
        ("user_vip_segment", "gold"),
        ("name", "ADA"),
        ("name", "\"}B"),
        ("name", "love"),
    ];
    let (mut passed, mut matched, mut judged) = (0, 0, 0);
    // Every combination of a value, or none, for each member.
    for mut n in 0..4 * 4 * 3 * 6 * 3 * 4 {
        let mut members = Vec::new();
        for name in names {
            let values = values(name);
            if let Some(value) = values.get(n % (values.len() + 1)) {
                members.push(format!("\"{name}\":{value}"));
            }
            n /= values.len() + 1;
        }
        let fields = members.join(",");
        for query in queries {
            let matches = finds_core(&[query], &fields);
            let mut scan = ProfileScan::of(&request(CORE, &[query]).query);
            let may_match = scan.may_match(fields.as_bytes());
            assert!(may_match || !matches, "{query:?} {fields}");
            judged += 1;
            passed += u32::from(may_match);
            matched += u32::from(matches);
        }
    }
    assert!(matched * 5 > judged && passed < judged * 4 / 5, "{matched} {passed} {judged}");
}
