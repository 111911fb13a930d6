//! The sets of core profiles from which a store reads lists without reading each profile: for each
//! value of a filter the profiles that have it, and the profiles in the order of their creation and
//! of their last update. One function names the sets of a profile, another one those that a query
//! asks for, so that both agree. Invariant: a profile matches the filters that [`conditions`] lists
//! exactly if its sets fulfil them.

use super::query::{ProfileKind, ProfileQuery};
use crate::country::alpha_2;
use crate::issue::{text_term, with_text_term};
use crate::json::{self, Json};
use crate::profile::braced;
use crate::task::words;

words! {
    /// The kind of a set.
    ProfileSetKind {
        Created = 1 "created",
        Updated = 2 "updated",
        Tag = 3 "tag",
        Tagged = 4 "tagged",
        Country = 5 "country",
        Language = 6 "language",
        VipSegment = 7 "vip segment",
        Persona = 8 "persona",
        SupportStatus = 9 "support status",
    }
}

/// A set: its kind and the value that its profiles have.
pub type ProfileSet = (ProfileSetKind, Vec<u8>);

/// A condition on the sets of a profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetCondition {
    /// The profile is in one of these; in none of them if `negated`.
    pub any: Vec<ProfileSet>,
    pub negated: bool,
    /// No profile is in two of the sets.
    pub disjoint: bool,
}

/// The filters of a query that sets decide; all conditions must hold.
pub fn conditions(query: &ProfileQuery) -> Vec<SetCondition> {
    let mut conditions = Vec::new();
    if query.kind == ProfileKind::App {
        return conditions;
    }
    let tag = |tag: &String| (ProfileSetKind::Tag, text_term(tag));
    let mut add = |any: Vec<ProfileSet>, negated, disjoint| {
        conditions.push(SetCondition { any, negated, disjoint });
    };
    query.tags.and.iter().for_each(|wanted| add(vec![tag(wanted)], false, true));
    if let Some(any) = &query.tags.or {
        add(any.iter().map(tag).collect(), false, any.len() < 2);
    }
    query.tags.nor.iter().for_each(|unwanted| add(vec![tag(unwanted)], true, true));
    if let Some(exists) = query.tags.exists {
        add(vec![(ProfileSetKind::Tagged, Vec::new())], !exists, true);
    }
    for (kind, values) in [
        (ProfileSetKind::Country, &query.countries),
        (ProfileSetKind::Language, &query.languages),
        (ProfileSetKind::VipSegment, &query.vip_segments),
        (ProfileSetKind::Persona, &query.personas),
        (ProfileSetKind::SupportStatus, &query.support_statuses),
    ] {
        if let Some(values) = values {
            add(values.iter().map(|value| (kind, text_term(value))).collect(), false, true);
        }
    }
    conditions
}

impl ProfileQuery {
    /// Whether a filter is left that no set decides.
    pub fn reads_beyond_sets(&self) -> bool {
        self.identities.is_some() || !self.custom_fields.is_empty() || self.name.is_some()
    }
}

/// More members than a core profile usually has.
const MEMBERS: usize = 24;

/// Passes each value that a core profile with these fields has in a set to `visit`; a value may
/// come twice.
pub fn visit_sets(fields: &[u8], visit: &mut impl FnMut(ProfileSetKind, &[u8])) {
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
                visit(ProfileSetKind::Tagged, b"");
                let texts = tags.iter().filter_map(Json::as_str);
                texts.for_each(|tag| visit_text(ProfileSetKind::Tag, tag, visit));
            }
            (name, value) => {
                if let Some(text) = value.as_str() {
                    visit_value(name.as_bytes(), text, visit);
                }
            }
        }
    }
}

fn visit_text(kind: ProfileSetKind, text: &str, visit: &mut impl FnMut(ProfileSetKind, &[u8])) {
    with_text_term(text, |term| visit(kind, term));
}

/// The value of a member whose value is a text.
fn visit_value(name: &[u8], text: &str, visit: &mut impl FnMut(ProfileSetKind, &[u8])) {
    match name {
        b"last_country" => {
            if let Some(country) = alpha_2(text) {
                visit_text(ProfileSetKind::Country, country, visit);
            }
        }
        b"preferred_language" => {
            if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
                visit_text(ProfileSetKind::Language, &text.to_ascii_lowercase(), visit);
            } else {
                visit_text(ProfileSetKind::Language, text, visit);
            }
        }
        b"user_vip_segment" => visit_text(ProfileSetKind::VipSegment, text, visit),
        b"user_persona" => visit_text(ProfileSetKind::Persona, text, visit),
        b"user_support_status" => visit_text(ProfileSetKind::SupportStatus, text, visit),
        _ => {}
    }
}

/// The value of a member without escapes, as it is stored.
fn visit_plain(name: &[u8], value: &[u8], visit: &mut impl FnMut(ProfileSetKind, &[u8])) {
    match value {
        [b'"', text @ .., b'"'] => {
            if let Ok(text) = str::from_utf8(text) {
                visit_value(name, text, visit);
            }
        }
        [b'[', tags @ .., b']'] if name == b"tags" && !tags.is_empty() => {
            visit(ProfileSetKind::Tagged, b"");
            // Tags are texts, and without escapes each second piece between quotes is one.
            for tag in tags.split(|byte| *byte == b'"').skip(1).step_by(2) {
                if let Ok(tag) = str::from_utf8(tag) {
                    visit_text(ProfileSetKind::Tag, tag, visit);
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

    fn sets(fields: &str) -> Vec<(ProfileSetKind, String)> {
        let mut found = Vec::new();
        visit_sets(fields.as_bytes(), &mut |kind, value| {
            found.push((kind, String::from_utf8_lossy(value).into_owned()));
        });
        found
    }

    #[test]
    fn the_sets_of_a_profile_are_those_of_its_values() {
        use ProfileSetKind::{Country, Language, Persona, SupportStatus, Tag, Tagged, VipSegment};
        let fields = concat!(
            r#""identities":[{"email":"a@b.c","tags":"x"}],"names":{"first_name":"Ada"},"#,
            r#""tags":["vip","a, b"],"custom_fields":{"user_persona":"no","n":[1,{"a":"}"}]},"#,
            r#""last_country":"Germany","age":7,"user_persona":"builder","#,
            r#""user_vip_segment":"gold","user_support_status":"active","#,
            r#""accepted_t_and_c":true,"preferred_language":"DE","last_active_date":1"#
        );
        let expected = [
            (Tagged, ""),
            (Tag, "vip"),
            (Tag, "a, b"),
            (Country, "DE"),
            (Persona, "builder"),
            (VipSegment, "gold"),
            (SupportStatus, "active"),
            (Language, "de"),
        ]
        .map(|(kind, value)| (kind, value.to_owned()));
        assert_eq!(sets(fields), expected);
        // An escape anywhere has the fields parsed.
        assert_eq!(sets(&format!("{fields},\"last_city\":\"a\\\"b\"")), expected);
        assert_eq!(sets(r#""tags":[],"last_country":"Nowhere""#), []);
        assert_eq!(sets(""), []);
        assert_eq!(sets(r#""tags":["a\"b"]"#), [(Tagged, String::new()), (Tag, "a\"b".to_owned())]);
    }
}
