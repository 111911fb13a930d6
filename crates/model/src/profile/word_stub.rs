//! Stand-in for the tables of countries and languages.

pub(super) fn is_country(text: &str) -> bool {
    ["de", "deu", "germany", "us", "jp", "jpn"].contains(&text.to_lowercase().as_str())
}

pub(super) fn nearest_country(text: &str) -> Option<&'static str> {
    text.starts_with("Ger").then_some("Germany")
}

pub(super) fn is_language(text: &str) -> bool {
    ["de", "en", "ja"].contains(&text.to_lowercase().as_str())
}

pub(super) fn nearest_language(text: &str) -> Option<&'static str> {
    (text.to_lowercase() == "english").then_some("en")
}
