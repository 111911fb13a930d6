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
    let names = NAMES.iter().map(|[name, _]| name);
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
}

#[test]
fn no_two_countries_have_a_name_in_common_and_every_row_is_found() {
    for [name, country] in &NAMES {
        assert_eq!(alpha_2(name), Some(*country), "{name}");
    }
    let others: Vec<_> = BY_KEY.iter().filter(|(key, ..)| key.len() <= CODE_BYTES_MAX).collect();
    for (key, _, country) in others {
        assert_eq!(code(key), Some(*country), "the code {key} is another country's");
    }
}

#[test]
fn codes_and_names_lead_to_one_code() {
    for country in ALPHA_2 {
        let long = ALPHA_3.iter().filter(|[_, of]| *of == country).count();
        let names = NAMES.iter().filter(|[_, of]| *of == country).count();
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
fn short_forms_spellings_and_own_names_lead_to_their_country() {
    for (country, texts) in [
        ("US", &["U.S.", "u.s.a.", "U.S.A", "\u{feff}USA\u{200b}", " US\n", "United  States"][..]),
        ("GB", &["U.K.", "Great Britain", "England", "Scotland", "Northern Ireland"]),
        ("AE", &["UAE", "U.A.E.", "Emirates", "the Emirates"]),
        (
            "NL",
            &["Holland", "The Netherlands", "Netherlands, The", "Netherlands (the)", "Nederland"],
        ),
        ("KR", &["Korea", "Republic of Korea", "Korea, Republic of", "Korea (the Republic of)"]),
        ("KP", &["North Korea", "Korea, Democratic People's Republic of", "D.P.R.K."]),
        ("CD", &["DR Congo", "Congo, Democratic Republic of the", "DRC", "Congo (DRC)"]),
        ("CG", &["Congo", "The Republic of the Congo", "Congo-Brazzaville"]),
        ("CI", &["Ivory Coast", "Cote d'Ivoire", "COTE D IVOIRE", "Co\u{302}te d’Ivoire"]),
        ("TR", &["Turkiye", "Türkiye", "TÜRKİYE", "Turkey"]),
        ("BA", &["Bosnia & Herzegovina", "Bosnia-Herzegovina", "bosnia and herzegovina", "Bosnia"]),
        ("LC", &["St. Lucia", "St Lucia", "Saint Lucia", "SAINT-LUCIA"]),
        ("KN", &["St Kitts & Nevis", "Saint Kitts and Nevis"]),
        ("VN", &["Vietnam", "Viet Nam", "Viet-Nam", "Việt Nam"]),
        ("MM", &["Myanmar (Burma)", "Burma", "Myanmar"]),
        ("HK", &["Hong Kong SAR China", "Hongkong", "Hong Kong (SAR)", "Hong Kong, China"]),
        ("MO", &["Macau", "Macao", "Macao S.A.R., China"]),
        ("MK", &["Macedonia", "North Macedonia"]),
        ("BO", &["Bolivia (Plurinational State of)", "Bolivia, Plurinational State of"]),
        ("GM", &["The Gambia", "Gambia, the", "Gambia (The)"]),
        ("GW", &["Guinea Bissau", "Guinea-Bissau"]),
        ("ST", &["Sao Tome and Principe", "São Tomé & Príncipe"]),
        ("CZ", &["Czech Republic", "Czechia", "the Czech Republic", "Česko"]),
        ("AX", &["Aland Islands", "Åland"]),
        ("GR", &["EL", "Ελλάδα", "ΕΛΛΑΔΑ"]),
        ("DE", &["Deutschland", "GERMANY."]),
        ("AT", &["Österreich", "Osterreich"]),
        ("CH", &["Schweiz", "Suisse", "Svizzera"]),
        ("DK", &["Danmark"]),
        ("FO", &["Føroyar", "Foroyar"]),
        ("BR", &["Brasil"]),
        ("ES", &["España", "Espana"]),
        ("JP", &["日本"]),
        ("RU", &["Россия", "россия", "Russian Federation"]),
        ("IN", &["भारत"]),
    ] {
        for text in texts {
            assert_eq!(alpha_2(text), Some(country), "{text:?}");
        }
    }
}

#[test]
fn text_that_only_resembles_a_country_is_rejected() {
    let long = format!("{}Germany", "the ".repeat(100));
    for text in [
        "",
        " ",
        ".",
        "...",
        "the",
        "N/A",
        "n/a",
        "N A",
        "N-A",
        "D E",
        "U/K",
        "U K",
        "U-S-A",
        "(DE)",
        "Unknown",
        "XX",
        "ZZ",
        "EU",
        "UN",
        "AN", // The Netherlands Antilles left the standard in 2010.
        "JP-13",
        "840",
        "world",
        "Europe",
        "Germany 2",
        "Germany, France",
        "Republic of",
        "Ndebele",
        "United States\0",
        "United\tStates",
        "ＵＳ",
        "ü",
        "éé",
        "日",
        "🇺🇸",
        &long,
    ] {
        assert!(!is_country(text), "{text:?} is accepted");
    }
}

#[test]
fn a_misspelt_country_gets_the_intended_name_as_a_hint() {
    for (text, hint) in [
        ("Untied States", "United States"),
        ("Phillipines", "Philippines"),
        ("germny", "Germany"),
        ("Germanny", "Germany"),
        ("Turkyie", "Türkiye"),
        ("Kosovoo", "Kosovo"),
        ("Untied Sattes ", "United States"),
    ] {
        assert_eq!(nearest_country(text), Some(hint), "for {text:?}");
    }
}

#[test]
fn text_far_from_every_country_gets_no_hint() {
    let long = "Germany".repeat(1000);
    for text in ["", "XX", "QQQ", "DEX", "N/A", "Unknown", "Atlantis", "12345678", &long] {
        assert_eq!(nearest_country(text), None, "for {text:?}");
    }
}

proptest! {
    #[test]
    fn blanks_accents_and_the_sign_for_and_do_not_change_the_country(
        row in 0..NAMES.len(), at in 0..24_usize, blank in "[ \u{a0}.,'’-]",
    ) {
        let [name, country] = NAMES[row];
        prop_assume!(name.chars().count() > CODE_BYTES_MAX && !name.contains([',', '(']));
        let mut written = name.replace(" and ", " & ").replace('-', " ");
        if let Some((at, _)) = written.match_indices(' ').nth(at % 3) {
            written.insert_str(at, blank.trim_matches(','));
        }
        prop_assert_eq!(alpha_2(&format!("The {written} ")), Some(country), "{:?}", written);
    }

    #[test]
    fn a_hint_is_itself_a_country(text in "\\PC{0,16}", row in 0..NAMES.len(), cut in 0..12_usize) {
        let mut damaged: Vec<char> = NAMES[row][0].chars().collect();
        damaged.remove(cut % damaged.len());
        for text in [text, damaged.into_iter().collect()] {
            prop_assert!(nearest_country(&text).is_none_or(is_country), "{:?}", text);
        }
    }
}
