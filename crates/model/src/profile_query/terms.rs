//! The terms of core profiles: the values by which a store finds them without reading each one.
//! This is the only definition of the terms that come from a profile's fields; writes and
//! `caseload check` use it. The kinds and the terms of times are those of issues. Invariant: the
//! fields of a profile alone determine these terms.

use super::query::ProfileQuery;
use crate::country::alpha_2;
use crate::issue::{OptionalField, TermKind, with_text_term};
use crate::json::{self, Json};
use crate::profile::braced;

impl ProfileQuery {
    /// Whether a filter is left that no term decides.
    pub fn reads_beyond_terms(&self) -> bool {
        self.identities.is_some() || !self.custom_fields.is_empty() || self.name.is_some()
    }
}

/// More members than a core profile usually has.
const MEMBERS: usize = 24;

/// Passes each term of a core profile with these fields to `visit`; a term may come twice.
pub fn visit_profile_terms(fields: &[u8], visit: &mut impl FnMut(TermKind, &[u8])) {
    let mut found = Vec::with_capacity(MEMBERS);
    if members(fields, &mut found).is_some() {
        for (name, value) in found {
            visit_plain(name, value, visit);
        }
        return;
    }
    let text = braced(fields);
    let Ok(Json::Object(fields)) = json::parse(&text) else { return };
    for (name, value) in &fields {
        match (&**name, value) {
            ("tags", Json::Array(tags)) if !tags.is_empty() => {
                visit(TermKind::Presence, &OptionalField::Tags.term());
                let texts = tags.iter().filter_map(Json::as_str);
                texts.for_each(|tag| visit_text(TermKind::Tag, tag, visit));
            }
            (name, value) => {
                if let Some(text) = value.as_str() {
                    visit_value(name.as_bytes(), text, visit);
                }
            }
        }
    }
}

fn visit_text(kind: TermKind, text: &str, visit: &mut impl FnMut(TermKind, &[u8])) {
    with_text_term(text, |term| visit(kind, term));
}

/// The value of a member whose value is a text.
fn visit_value(name: &[u8], text: &str, visit: &mut impl FnMut(TermKind, &[u8])) {
    match name {
        b"last_country" => {
            if let Some(country) = alpha_2(text) {
                visit_text(TermKind::Country, country, visit);
            }
        }
        b"preferred_language" => {
            if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
                visit_text(TermKind::Language, &text.to_ascii_lowercase(), visit);
            } else {
                visit_text(TermKind::Language, text, visit);
            }
        }
        b"user_vip_segment" => visit_text(TermKind::VipSegment, text, visit),
        b"user_persona" => visit_text(TermKind::Persona, text, visit),
        b"user_support_status" => visit_text(TermKind::SupportStatus, text, visit),
        _ => {}
    }
}

/// The value of a member without escapes, as it is stored.
fn visit_plain(name: &[u8], value: &[u8], visit: &mut impl FnMut(TermKind, &[u8])) {
    match value {
        [b'"', text @ .., b'"'] => {
            if let Ok(text) = str::from_utf8(text) {
                visit_value(name, text, visit);
            }
        }
        [b'[', tags @ .., b']'] if name == b"tags" && !tags.is_empty() => {
            visit(TermKind::Presence, &OptionalField::Tags.term());
            // Tags are texts, and without escapes each second piece between quotes is one.
            for tag in tags.split(|byte| *byte == b'"').skip(1).step_by(2) {
                if let Ok(tag) = str::from_utf8(tag) {
                    visit_text(TermKind::Tag, tag, visit);
                }
            }
        }
        _ => {}
    }
}

/// The members of stored fields in the form that this program writes: names, and values as they
/// are stored. `None` if the fields have an escape or another form, and then they are parsed.
fn members<'f>(fields: &'f [u8], found: &mut Vec<(&'f [u8], &'f [u8])>) -> Option<()> {
    if memchr::memchr(b'\\', fields).is_some() {
        return None;
    }
    let mut rest = fields;
    while !rest.is_empty() {
        let name = rest.strip_prefix(b"\"")?;
        let (name, after) = name.split_at(memchr::memchr(b'"', name)?);
        let value = after.strip_prefix(b"\":")?;
        let (value, after) = value.split_at(value_end(value)?);
        found.push((name, value));
        rest = match after {
            [b',', further @ ..] if !further.is_empty() => further,
            [] => after,
            _ => return None,
        };
    }
    Some(())
}

/// The end of the value with which the text begins.
fn value_end(text: &[u8]) -> Option<usize> {
    match text.first()? {
        b'"' => Some(memchr::memchr(b'"', &text[1..])? + 2),
        b'[' | b'{' => {
            let (mut depth, mut at) = (0, 0);
            loop {
                match text.get(at)? {
                    b'"' => at += memchr::memchr(b'"', &text[at + 1..])? + 1,
                    b'[' | b'{' => depth += 1,
                    b']' | b'}' => depth -= 1,
                    _ => {}
                }
                at += 1;
                if depth == 0 {
                    return Some(at);
                }
            }
        }
        _ => Some(memchr::memchr(b',', text).unwrap_or(text.len())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(fields: &str) -> Vec<(TermKind, String)> {
        let mut found = Vec::new();
        visit_profile_terms(fields.as_bytes(), &mut |kind, value| {
            found.push((kind, String::from_utf8_lossy(value).into_owned()));
        });
        found
    }

    #[test]
    fn the_terms_of_a_profile_are_its_values() {
        use TermKind::{Country, Language, Persona, Presence, SupportStatus, Tag, VipSegment};
        let fields = concat!(
            r#""identities":[{"email":"a@b.c","tags":"x"}],"names":{"first_name":"Ada"},"#,
            r#""tags":["vip","a, b"],"custom_fields":{"user_persona":"no","n":[1,{"a":"}"}]},"#,
            r#""last_country":"Germany","age":7,"user_persona":"builder","#,
            r#""user_vip_segment":"gold","user_support_status":"active","#,
            r#""accepted_t_and_c":true,"preferred_language":"DE","last_active_date":1"#
        );
        let expected = [
            (Presence, "\u{1}"),
            (Tag, "vip"),
            (Tag, "a, b"),
            (Country, "DE"),
            (Persona, "builder"),
            (VipSegment, "gold"),
            (SupportStatus, "active"),
            (Language, "de"),
        ]
        .map(|(kind, value)| (kind, value.to_owned()));
        assert_eq!(terms(fields), expected);
        // An escape anywhere has the fields parsed.
        assert_eq!(terms(&format!("{fields},\"last_city\":\"a\\\"b\"")), expected);
        assert_eq!(terms(r#""tags":[],"last_country":"Nowhere""#), []);
        assert_eq!(terms(""), []);
        assert_eq!(
            terms(r#""tags":["a\"b"]"#),
            [(Presence, "\u{1}".to_owned()), (Tag, "a\"b".to_owned())]
        );
    }
}
