//! Tests of languages: every code in any case, texts that people send by mistake, and the hints
//! that these get.

use super::*;

#[test]
fn every_code_is_a_language_in_any_case() {
    for [code, ..] in &LANGUAGES {
        let mixed = format!("{}{}", code[..1].to_uppercase(), &code[1..]);
        for written in [(*code).to_owned(), code.to_uppercase(), mixed] {
            assert!(is_language(&written), "{written:?} is refused");
        }
    }
}

#[test]
fn the_table_has_every_code_of_the_standard_once_and_in_order() {
    assert!(LANGUAGES.is_sorted_by(|a, b| a[0] < b[0]));
    // 183 in force, and `bh` and `sh`, which were retired but are still written.
    assert_eq!(LANGUAGES.len(), 185);
    for [code, alpha_3, bibliographic] in &LANGUAGES {
        assert!(code.len() == 2 && code.bytes().all(|byte| byte.is_ascii_lowercase()), "{code}");
        assert!(alpha_3.len() == 3 && [0, 3].contains(&bibliographic.len()), "{code}");
        assert!(NAMES.iter().any(|[_, of]| of == code), "{code}");
    }
}

#[test]
fn common_languages_are_accepted() {
    for code in ["en", "EN", "En", "de", "fr", "es", "pt", "zh", "ja", "ko", "ar", "he", "nb", "sw"]
    {
        assert!(is_language(code), "{code:?} is refused");
    }
}

#[test]
fn everything_except_a_two_letter_code_is_rejected() {
    let refused = [
        "", " ", "e", "eng", "en-GB", "en_US", "English", " en", "en ", "xx", "qq", "iw", "é",
        "日", "1a",
    ];
    for text in refused {
        assert!(!is_language(text), "{text:?} is accepted");
    }
}

#[test]
fn a_two_letter_code_is_read_as_it_is_and_everything_else_is_reduced() {
    for (text, code) in [("en", "en"), ("DE", "de"), (" fr\u{a0}", "fr"), ("\u{feff}sh", "sh")] {
        assert_eq!(read(text), Some(Language { code, reduced: false }), "{text:?}");
    }
    for (text, code) in [
        ("en-US", "en"),
        ("pt_BR", "pt"),
        ("EN-us", "en"),
        ("zh-Hant-TW", "zh"),
        ("zh-Hans", "zh"),
        ("es-419", "es"),
        ("de-CH-1996", "de"),
        ("deu-DE", "de"),
        ("sl-IT-nedis", "sl"),
        ("eng", "en"),
        ("DEU", "de"),
        ("ger", "de"),
        ("zho", "zh"),
        ("chi", "zh"),
        ("iw", "he"),
        ("in_ID", "id"),
        ("English", "en"),
        (" english ", "en"),
        ("english (UK)", "en"),
        ("Chinese (Simplified)", "zh"),
        ("Brazilian Portuguese", "pt"),
        ("Norwegian Bokmal", "nb"),
        ("Castilian", "es"),
        ("Greek", "el"),
        ("Greek, Modern (1453-)", "el"),
        ("dutch", "nl"),
        ("Farsi", "fa"),
        ("Lao", "lo"),
    ] {
        assert_eq!(read(text), Some(Language { code, reduced: true }), "{text:?}");
        assert!(is_language(code));
    }
}

#[test]
fn every_name_and_every_long_code_leads_to_its_language() {
    for [name, code] in &NAMES {
        assert_eq!(read(name).map(|read| read.code), Some(*code), "{name}");
    }
    for [code, long @ ..] in &LANGUAGES {
        for text in long.iter().filter(|text| !text.is_empty()) {
            assert_eq!(read(text), Some(Language { code, reduced: true }), "{text}");
        }
    }
}

#[test]
fn text_that_names_no_language_or_several_is_not_read() {
    let long = "German".repeat(1000);
    for text in [
        "",
        "-",
        "en-",
        "-US",
        "en--US",
        "en US",
        "en/US",
        "en-toolongpart",
        "en-é",
        "xx",
        "xx-DE",
        "qqq",
        "tlh",
        "und",
        "e.n",
        "Ndebele",
        "Klingonese",
        "English, French",
        "en\0",
        "é",
        &long,
    ] {
        assert_eq!(read(text), None, "{text:?}");
    }
}

#[test]
fn a_misspelt_language_gets_its_code_as_a_hint_and_a_strange_text_gets_none() {
    for (text, hint) in [("Portugese", "pt"), ("Germn", "de"), ("eng", "en")] {
        assert_eq!(nearest_language(text), Some(hint), "for {text:?}");
    }
    let long = "German".repeat(1000);
    for text in ["", "-", "xx", "qqq", "Klingonese", "12345678", &long] {
        assert_eq!(nearest_language(text), None, "for {text:?}");
    }
}
