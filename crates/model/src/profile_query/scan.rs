//! A first look at very many profiles for a query: it searches the stored bytes, without parsing
//! them, for texts that every match contains. Invariant: a profile that
//! [`ProfileQuery::matches`](crate::profile_query::ProfileQuery::matches) lets through passes here;
//! others may pass, too, so each profile that passes is judged.

use memchr::memmem::Finder;

use super::query::{ProfileKind, ProfileQuery};
use crate::country::alpha_2;
use crate::fold::fold_json_into;
use crate::json::write_string;

/// The parts of a query that the bytes of a profile can fail.
#[derive(Debug)]
pub struct ProfileScan {
    /// Of each list one text must occur.
    texts: Vec<Vec<Finder<'static>>>,
    /// The beginning of the country, and the countries of the query.
    country: Option<(Finder<'static>, Vec<String>)>,
    /// The beginning of the names, and a part of one of them.
    name: Option<(Finder<'static>, Finder<'static>)>,
    /// The folded names of the present profile.
    folded: Vec<u8>,
}

impl ProfileScan {
    pub fn of(query: &ProfileQuery) -> Self {
        let mut texts: Vec<Vec<Finder<'static>>> =
            query.tags.and.iter().map(|tag| vec![quoted(tag)]).collect();
        let alternatives = [
            query.tags.or.as_ref(),
            query.vip_segments.as_ref(),
            query.personas.as_ref(),
            query.support_statuses.as_ref(),
        ];
        texts.extend(
            alternatives
                .into_iter()
                .flatten()
                .map(|all| all.iter().map(|text| quoted(text)).collect::<Vec<_>>()),
        );
        let spellings = |codes: &Vec<String>| {
            codes.iter().flat_map(|code| spellings(code)).map(|code| quoted(&code)).collect()
        };
        let languages = query.languages.as_ref();
        texts.extend(languages.filter(|all| all.iter().all(|one| one.len() == 2)).map(spellings));
        let key = match query.kind {
            ProfileKind::Core => "\"last_country\":\"",
            ProfileKind::App => "\"country\":\"",
        };
        let begins = |key: &str| Finder::new(key).into_owned();
        let named = query.name.as_ref().filter(|_| query.kind == ProfileKind::Core);
        Self {
            texts,
            country: query.countries.clone().map(|countries| (begins(key), countries)),
            name: named.map(|name| (begins("\"names\":{"), within_quotes(name))),
            folded: Vec::new(),
        }
    }

    /// Whether the profile with these fields may match.
    pub fn may_match(&mut self, fields: &[u8]) -> bool {
        // This program writes each text in one way; a text with escapes is parsed nevertheless.
        let occurs = |text: &Finder<'_>| text.find(fields).is_some();
        self.texts.iter().all(|texts| texts.iter().any(occurs) || has_escape(fields))
            && self.may_have_country(fields)
            && self.may_have_name(fields)
    }

    fn may_have_country(&self, fields: &[u8]) -> bool {
        let Some((begins, countries)) = &self.country else { return true };
        begins.find_iter(fields).any(|at| {
            let text = &fields[at + begins.needle().len()..];
            let end = memchr::memchr2(b'"', b'\\', text).unwrap_or(text.len());
            text.get(end) == Some(&b'\\')
                || std::str::from_utf8(&text[..end])
                    .ok()
                    .and_then(alpha_2)
                    .is_some_and(|country| countries.iter().any(|one| one == country))
        })
    }

    fn may_have_name(&mut self, fields: &[u8]) -> bool {
        let Self { name: Some((begins, name)), folded, .. } = self else { return true };
        begins.find_iter(fields).any(|at| {
            let names = &fields[at + begins.needle().len()..];
            let end = memchr::memmem::find(names, b"\"}").map_or(names.len(), |end| end + 1);
            // An escaped quote may have been taken for the end.
            if has_escape(&names[..end]) {
                return true;
            }
            folded.clear();
            match std::str::from_utf8(&names[..end]) {
                Ok(names) => fold_json_into(names, folded),
                Err(_) => return true,
            }
            name.find(folded).is_some()
        })
    }
}

fn has_escape(json: &[u8]) -> bool {
    memchr::memchr(b'\\', json).is_some()
}

/// A text as stored JSON has it.
fn quoted(text: &str) -> Finder<'static> {
    let mut quoted = Vec::new();
    write_string(text, &mut quoted);
    Finder::new(&quoted).into_owned()
}

/// A folded text inside the quotes of stored JSON, whose escapes are in lower case.
fn within_quotes(text: &str) -> Finder<'static> {
    let mut quoted = Vec::new();
    write_string(text, &mut quoted);
    Finder::new(&quoted[1..quoted.len() - 1]).into_owned()
}

/// A code of two letters in every case.
fn spellings(code: &str) -> Vec<String> {
    code.chars().fold(vec![String::new()], |begun, letter| {
        let cases = [letter.to_ascii_lowercase(), letter.to_ascii_uppercase()];
        begun.iter().flat_map(|start| cases.map(|case| format!("{start}{case}"))).collect()
    })
}
