//! Tests of the table generator: the tables from its sources, and its errors about wrong sources
//! and options. The sources here are made up and small, and have each special case.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use serde_json::json;

use super::*;

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

fn map(value: Value) -> Map<String, Value> {
    serde_json::from_value(value).unwrap()
}

#[test]
fn a_country_gets_the_names_of_all_sources_once_each_and_foreign_regions_get_none() {
    let iso = json!({"3166-1": [
        {"alpha_2": "ZZ", "alpha_3": "ZZZ", "name": "Zedland", "official_name": "Realm of Zed"},
        {"alpha_2": "NL", "alpha_3": "NLD", "name": "Â’land", "common_name": "A"},
    ]});
    let english = map(json!({
        "001": "world", "NL": "Â’LAND", "ZZ": "zedland", "ZZ-alt-short": "Zed", "QQ": "Elsewhere",
    }));
    let own = [("ZZ", "Zett"), ("ZZ", "ZZ"), ("QQ", "Qu")].map(|(c, n)| (c.into(), n.into()));
    let table = country_table(&iso, &english, &own).unwrap();
    let codes = "pub(super) static ALPHA_2: [&str; 3] = [\n\"NL\",\n\"XK\",\n\"ZZ\",\n];";
    assert!(table.contains(codes), "{table}");
    // Holland is of the list of short forms.
    let names = "[[&str; 2]; 9] = [\n[\"A\", \"NL\"],\n[\"Holland\", \"NL\"],\n\
                 [\"Kosovo\", \"XK\"],\n[\"Realm of Zed\", \"ZZ\"],\n\
                 [\"Republic of Kosovo\", \"XK\"],\n[\"Zed\", \"ZZ\"],\n\
                 [\"Zedland\", \"ZZ\"],\n[\"Zett\", \"ZZ\"],\n[\"Â’land\", \"NL\"],\n];";
    assert!(table.contains(names), "{table}");
}

#[test]
fn kosovo_is_a_country_though_the_standard_does_not_list_it() {
    let iso = json!({"3166-1": []});
    let table = |name: &str| country_table(&iso, &map(json!({"XK": name})), &[]).unwrap();
    for row in [
        "ALPHA_2: [&str; 1] = [\n\"XK\",\n];",
        "ALPHA_3: [[&str; 2]; 1] = [\n[\"XKX\", \"XK\"],\n];",
        "NAMES: [[&str; 2]; 2] = [\n[\"Kosovo\", \"XK\"],\n[\"Republic of Kosovo\", \"XK\"],\n];",
    ] {
        assert!(table("Kosovo").contains(row), "{}", table("Kosovo"));
    }
    // A name that CLDR adds is one more.
    assert!(table("Kosova").contains("NAMES: [[&str; 2]; 3]"), "{}", table("Kosova"));
}

#[test]
fn a_country_has_the_names_of_its_official_languages_that_the_source_has() {
    let official = json!({"supplemental": {"territoryInfo": {
        "CH": {"languagePopulation": {
            "de": {"_officialStatus": "official"}, "en": {},
            "rm_Latn": {"_officialStatus": "de_facto_official"},
            "xx": {"_officialStatus": "official"},
            "it": {"_officialStatus": "official_regional"},
        }},
        "AQ": {},
    }}});
    let names_in = |language: &str| match language {
        "de" => Ok(Some(map(json!({"CH": "Schweiz", "FR": "Frankreich"})))),
        "rm-Latn" => Ok(Some(map(json!({"CH": "Svizra"})))),
        "xx" => Ok(None),
        other => panic!("{other} is not official"),
    };
    let own = own_names(&official, names_in).unwrap();
    assert_eq!(own, [("CH", "Schweiz"), ("CH", "Svizra")].map(|(c, n)| (c.into(), n.into())));
}

#[test]
fn languages_without_a_two_letter_code_are_left_out_and_so_are_names_of_several() {
    let first = json!({"639-2": [
        {"alpha_3": "eng", "alpha_2": "en", "name": "English"},
        {"alpha_3": "ell", "bibliographic": "gre", "alpha_2": "el",
         "name": "Greek, Modern (1453-)"},
        {"alpha_3": "nde", "alpha_2": "nd", "name": "Ndebele, North; North Ndebele"},
        {"alpha_3": "xyz", "name": "No short code"},
    ]});
    let second = json!({"639-3": [
        {"alpha_3": "oth", "alpha_2": "en", "name": "Other"},
        {"alpha_3": "nbl", "alpha_2": "nr", "name": "Ndebele, South"},
    ]});
    let english = map(json!({"en": "english", "en-GB": "British English", "xyz": "None"}));
    let table = language_table(&[first, second], &english).unwrap();
    let rows = "[[&str; 3]; 4] = [\n[\"el\", \"ell\", \"gre\"],\n[\"en\", \"eng\", \"\"],\n\
                [\"nd\", \"nde\", \"\"],\n[\"nr\", \"nbl\", \"\"],\n];";
    assert!(table.contains(rows), "{table}");
    let names: String = [
        ["British English", "en"],
        ["English", "en"],
        ["Greek", "el"],
        ["Greek, Modern", "el"],
        ["Modern Greek", "el"],
        ["Ndebele, North", "nd"],
        ["Ndebele, South", "nr"],
        ["North Ndebele", "nd"],
        ["Other", "en"],
        ["South Ndebele", "nr"],
    ]
    .map(|row| format!("{row:?},\n"))
    .concat();
    let names = format!("[[&str; 2]; 10] = [\n{names}];");
    assert!(table.contains(&names), "{table}");
}

#[test]
fn options_that_are_unknown_or_lack_a_value_or_a_file_are_named() {
    let root = Path::new("nowhere");
    for (line, message) in [
        ("--iso", "no option `--iso`"),
        ("--cldr", "--cldr needs a value"),
        ("", "--iso-codes FILE is missing"),
        ("--iso-codes nowhere.json", "--iso-codes: cannot read nowhere.json"),
    ] {
        let error = format!("{:#}", run(root, &words(line)).unwrap_err());
        assert!(error.contains(message), "`{line}` gave: {error}");
    }
}

#[test]
fn a_source_of_another_shape_is_refused_by_name() {
    let (empty, no_names) = (json!({}), Map::new());
    let error = country_table(&empty, &no_names, &[]).unwrap_err().to_string();
    assert!(error.contains("3166-1"), "{error}");
    let error = own_names(&empty, |_| Ok(None)).unwrap_err().to_string();
    assert!(error.contains("--official-languages"), "{error}");
    let error = language_table(std::slice::from_ref(&empty), &no_names).unwrap_err().to_string();
    assert!(error.contains("639-3"), "{error}");
}
