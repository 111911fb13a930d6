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
    for [code, alpha_3, bibliographic, name] in &LANGUAGES {
        assert!(code.len() == 2 && code.bytes().all(|byte| byte.is_ascii_lowercase()), "{code}");
        assert!(alpha_3.len() == 3 && [0, 3].contains(&bibliographic.len()), "{code}");
        assert!(!name.is_empty(), "{code}");
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
fn locale_tags_long_codes_and_names_get_the_intended_code_as_a_hint() {
    for (text, hint) in [
        ("en-US", "en"),
        ("pt_BR", "pt"),
        ("zh-Hant-TW", "zh"),
        ("eng", "en"),
        ("DEU", "de"),
        ("ger", "de"),
        ("zho", "zh"),
        ("chi", "zh"),
        (" fr", "fr"),
        ("English", "en"),
        ("english (UK)", "en"),
        ("Portugese", "pt"),
        ("Castilian", "es"),
        ("Greek", "el"),
        ("dutch", "nl"),
    ] {
        assert_eq!(nearest_language(text), Some(hint), "for {text:?}");
        assert!(is_language(hint));
    }
}

#[test]
fn text_far_from_every_language_gets_no_hint() {
    let long = "German".repeat(1000);
    for text in ["", "-", "xx", "qqq", "Klingonese", "12345678", &long] {
        assert_eq!(nearest_language(text), None, "for {text:?}");
    }
}
