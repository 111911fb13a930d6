//! Tests of countries: every row of the table in three letter cases, difficult real names, the
//! order that binary search needs, and hints.

use proptest::prelude::*;

use super::*;

/// "Côte d'Ivoire" as "cÔTE D'iVOIRE".
fn swapped(text: &str) -> String {
    let swap = |char: char| -> String {
        if char.is_lowercase() {
            char.to_uppercase().collect()
        } else {
            char.to_lowercase().collect()
        }
    };
    text.chars().map(swap).collect()
}

#[test]
fn every_code_and_every_name_is_a_country_in_any_case() {
    let names = NAMES.iter().map(|[_, name, _]| name);
    let long_codes = ALPHA_3.iter().map(|[code, _]| code);
    for text in ALPHA_2.iter().chain(long_codes).chain(names) {
        for written in [(*text).to_owned(), text.to_uppercase(), text.to_lowercase(), swapped(text)]
        {
            assert!(is_country(&written), "{written:?}, from {text:?}, is refused");
        }
    }
}

#[test]
fn the_table_has_249_countries_and_kosovo_and_is_sorted_as_the_look_up_compares() {
    assert!(ALPHA_2.is_sorted_by(|a, b| a < b) && ALPHA_3.is_sorted_by(|a, b| a[0] < b[0]));
    assert_eq!((ALPHA_2.len(), ALPHA_3.len()), (250, 250));
    assert!(ALPHA_2.iter().all(|code| code.len() == 2));
    assert!(ALPHA_3.iter().all(|[code, country]| code.len() == 3 && ALPHA_2.contains(country)));
    assert!(NAMES.is_sorted_by(|a, b| a[0] < b[0]));
    for [key, name, _] in &NAMES {
        assert_eq!(
            folded(name).collect::<String>(),
            *key,
            "the generator folds {name:?} otherwise"
        );
    }
}

#[test]
fn codes_and_names_lead_to_one_code() {
    for country in ALPHA_2 {
        let long = ALPHA_3.iter().filter(|[_, of]| *of == country).count();
        let names = NAMES.iter().filter(|[.., of]| *of == country).count();
        assert!(long == 1 && names >= 1, "{country} has {long} long codes and {names} names");
        assert_eq!(alpha_2(&country.to_lowercase()), Some(country));
    }
    for (text, country) in [
        ("Germany", "DE"),
        ("deu", "DE"),
        ("UK", "GB"),
        ("Turkey", "TR"),
        ("TÜRKİYE", "TR"),
        ("Congo - Kinshasa", "CD"),
        ("Swaziland", "SZ"),
        ("xkx", "XK"),
    ] {
        assert_eq!(alpha_2(text), Some(country), "{text}");
    }
    assert_eq!([alpha_2(""), alpha_2("Atlantis"), alpha_2("ZZZ")], [None; 3]);
}

#[test]
fn kosovo_is_a_country_by_code_and_by_name() {
    for text in ["XK", "xk", "XKX", "Xkx", "Kosovo", "KOSOVO", "Republic of Kosovo"] {
        assert!(is_country(text), "{text:?} is refused");
    }
    assert_eq!(nearest_country("Kosovoo"), Some("Kosovo"));
}

#[test]
fn names_that_simpler_tables_miss_are_countries() {
    for text in [
        "Türkiye",
        "TÜRKIYE",
        "TÜRKİYE",
        "türkiye",
        "Turkey",
        "Republic of Türkiye",
        "Côte d'Ivoire",
        "Côte d\u{2019}Ivoire",
        "CÔTE D'IVOIRE",
        "Ivory Coast",
        "Åland Islands",
        "åland islands",
        "RÉUNION",
        "Curaçao",
        "São Tomé & Príncipe",
        "United States",
        "United States of America",
        "USA",
        "us",
        "UK", // No ISO code, but the short name that CLDR gives GB.
        "United Kingdom",
        "United Kingdom of Great Britain and Northern Ireland",
        "Bolivia",
        "Bolivia, Plurinational State of",
        "Plurinational State of Bolivia",
        "Viet Nam",
        "Vietnam",
        "Czechia",
        "Czech Republic",
        "Eswatini",
        "Swaziland",
        "North Macedonia",
        "Myanmar (Burma)",
        "Myanmar",
        "Hong Kong",
        "Hong Kong SAR China",
        "Taiwan",
        "Taiwan, Province of China",
        "South Korea",
        "Korea, Republic of",
        "North Korea",
        "Congo - Kinshasa",
        "Congo, The Democratic Republic of the",
        "Holy See (Vatican City State)",
        "Vatican City",
        "East Timor",
        "Timor-Leste",
        "Saint Barthélemy",
        "St. Barthélemy",
        "Cape Verde",
        "Cabo Verde",
    ] {
        assert!(is_country(text), "{text:?} is refused");
    }
}

#[test]
fn text_that_only_resembles_a_country_is_rejected() {
    for text in [
        "",
        " ",
        " US",
        "US ",
        "United  States",
        "U.S.",
        "XX",
        "ZZ",
        "EU",
        "UN",
        "AN", // The Netherlands Antilles left the standard in 2010.
        "JP-13",
        "840",
        "world",
        "Europe",
        "Turkiye",
        "Cote d'Ivoire",
        "United States\0",
        "ＵＳ",
        "ü",
        "éé",
        "🇺🇸",
    ] {
        assert!(!is_country(text), "{text:?} is accepted");
    }
}

#[test]
fn a_misspelt_country_gets_the_intended_name_as_a_hint() {
    for (text, hint) in [
        ("Turkiye", "Türkiye"),
        ("Cote d'Ivoire", "Côte d'Ivoire"),
        ("Brasil", "Brazil"),
        ("Untied States", "United States"),
        ("Phillipines", "Philippines"),
        ("germny", "Germany"),
        (" US", "US"),
        ("fra\n", "FRA"),
        ("japan ", "Japan"),
    ] {
        assert_eq!(nearest_country(text), Some(hint), "for {text:?}");
    }
}

#[test]
fn text_far_from_every_country_gets_no_hint() {
    let long = "Germany".repeat(1000);
    for text in ["", "XX", "QQQ", "Atlantis", "England", "Narnia", "12345678", &long] {
        assert_eq!(nearest_country(text), None, "for {text:?}");
    }
}

proptest! {
    #[test]
    fn the_binary_search_agrees_with_a_linear_search(text in "[A-ZéİıS' ]{0,4}|\\PC{0,12}") {
        let wanted: String = folded(&text).collect();
        let long_codes = ALPHA_3.iter().map(|[code, _]| code);
        let walked = NAMES.iter().any(|[key, ..]| *key == wanted)
            || ALPHA_2.iter().chain(long_codes).any(|code| code.eq_ignore_ascii_case(&text));
        prop_assert_eq!(is_country(&text), walked);
    }

    #[test]
    fn a_hint_is_itself_a_country(text in "\\PC{0,16}", row in 0..NAMES.len(), cut in 0..12_usize) {
        let mut damaged: Vec<char> = NAMES[row][1].chars().collect();
        damaged.remove(cut % damaged.len());
        for text in [text, damaged.into_iter().collect()] {
            prop_assert!(nearest_country(&text).is_none_or(is_country), "{:?}", text);
        }
    }
}
