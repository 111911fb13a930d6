//! Tests of the table generator: the tables from its sources, and its errors about wrong sources
//! and options. The sources here are made up and small, and have each special case.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use serde_json::json;

use super::*;

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn a_country_gets_the_names_of_both_sources_once_each_and_foreign_regions_get_none() {
    let iso = json!({"3166-1": [
        {"alpha_2": "ZZ", "alpha_3": "ZZZ", "name": "Zedland", "official_name": "Realm of Zed"},
        {"alpha_2": "AA", "alpha_3": "AAA", "name": "Â’land", "common_name": "A"},
    ]});
    let cldr = json!({"main": {"en": {"localeDisplayNames": {"territories": {
        "001": "world", "AA": "Â'LAND", "ZZ": "zedland", "ZZ-alt-short": "Zed", "QQ": "Elsewhere",
    }}}}});
    let table = country_table(&iso, &cldr, "1", "2").unwrap();
    let codes = "pub(super) static ALPHA_2: [&str; 3] = [\n\"AA\",\n\"XK\",\n\"ZZ\",\n];";
    assert!(table.contains(codes), "{table}");
    let names = "[[&str; 3]; 7] = [\n[\"a\", \"A\", \"AA\"],\n\
                 [\"kosovo\", \"Kosovo\", \"XK\"],\n\
                 [\"realm of zed\", \"Realm of Zed\", \"ZZ\"],\n\
                 [\"republic of kosovo\", \"Republic of Kosovo\", \"XK\"],\n\
                 [\"zed\", \"Zed\", \"ZZ\"],\n[\"zedland\", \"Zedland\", \"ZZ\"],\n\
                 [\"â'land\", \"Â’land\", \"AA\"],\n];";
    assert!(table.contains(names), "{table}");
    assert!(table.contains("iso-codes 1 ") && table.contains("cldr-localenames-full 2 "));
}

#[test]
fn kosovo_is_a_country_though_the_standard_does_not_list_it() {
    let iso = json!({"3166-1": []});
    let cldr =
        |name: &str| json!({"main": {"en": {"localeDisplayNames": {"territories": {"XK": name}}}}});
    let table = country_table(&iso, &cldr("Kosovo"), "1", "2").unwrap();
    for row in [
        "ALPHA_2: [&str; 1] = [\n\"XK\",\n];",
        "ALPHA_3: [[&str; 2]; 1] = [\n[\"XKX\", \"XK\"],\n];",
        "NAMES: [[&str; 3]; 2] = [\n[\"kosovo\", \"Kosovo\", \"XK\"],\n\
         [\"republic of kosovo\", \"Republic of Kosovo\", \"XK\"],\n];",
    ] {
        assert!(table.contains(row), "{table}");
    }
    // A name that CLDR adds is one more.
    let table = country_table(&iso, &cldr("Kosova"), "1", "2").unwrap();
    assert!(table.contains("NAMES: [[&str; 3]; 3]"), "{table}");
}

#[test]
fn languages_without_a_two_letter_code_are_left_out_and_the_first_source_wins() {
    let first = json!({"639-2": [
        {"alpha_3": "eng", "alpha_2": "en", "name": "English"},
        {"alpha_3": "xyz", "name": "No short code"},
    ]});
    let second = json!({"639-3": [
        {"alpha_3": "eng", "alpha_2": "en", "name": "Other"},
        {"alpha_3": "hbs", "alpha_2": "sh", "name": "Serbo-Croatian"},
    ]});
    let table = language_table(&[first, second], "1").unwrap();
    let rows = "[[&str; 4]; 2] = [\n[\"en\", \"eng\", \"\", \"English\"],\n\
                [\"sh\", \"hbs\", \"\", \"Serbo-Croatian\"],\n];";
    assert!(table.contains(rows), "{table}");
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
    let empty = json!({});
    let error = country_table(&empty, &empty, "1", "2").unwrap_err().to_string();
    assert!(error.contains("--cldr"), "{error}");
    let error = language_table(std::slice::from_ref(&empty), "1").unwrap_err().to_string();
    assert!(error.contains("639-3"), "{error}");
}
