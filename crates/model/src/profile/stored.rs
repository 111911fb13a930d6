//! A stored record, cut into its members. An update parses only the members that its entry names;
//! it copies the others as they are, because a parser and a writer for each of them would take
//! longer than all other work on the profile. Invariant: the fields text was written by
//! [`write_fields`](super::record::write_fields), so a copied member has the form in which it would
//! be written again.

use super::field::{COLLECTION_ELEMENTS_MAX, CORE, FIELDS_MAX, Rule, Table};
use super::identity::key_of;
use crate::ids::IdentityKey;
use crate::json::{self, DEPTH_MAX, Json};

/// The fewest bytes that an element of a map or an array has, with its comma: `"":0,`.
const ELEMENT_BYTES_MIN: usize = 5;

/// The members of a stored record, each at the index of its field.
pub(super) struct StoredRecord<'t> {
    table: &'static Table,
    members: [Option<Member<'t>>; FIELDS_MAX],
    bytes: usize,
}

/// The text of a member, and the place of its value in it.
#[derive(Clone, Copy)]
struct Member<'t> {
    text: &'t [u8],
    value: usize,
}

impl<'t> StoredRecord<'t> {
    /// Cuts a fields text. It was valid when it was written; if it is not, the store is damaged and
    /// the process must not build on it.
    pub(super) fn of(table: &'static Table, fields: &'t [u8]) -> Self {
        let mut members = [None; FIELDS_MAX];
        let (mut rest, mut guess) = (fields, 0);
        while !rest.is_empty() {
            let (at, member, after) =
                first(table, guess, rest).expect("a stored profile is valid JSON");
            if let Some(at) = at {
                members[at] = Some(member);
                guess = at + 1;
            }
            rest = after;
        }
        Self { table, members, bytes: fields.len() }
    }

    /// The length of the fields text.
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// The value of the field at this index as it is written.
    fn text(&self, at: usize) -> Option<&'t [u8]> {
        self.members[at].map(|Member { text, value }| &text[value..])
    }

    /// Appends the member at this index to a fields text.
    pub(super) fn copy(&self, at: usize, fields: &mut Vec<u8>) {
        if let Some(Member { text, .. }) = self.members[at] {
            if !fields.is_empty() {
                fields.push(b',');
            }
            fields.extend_from_slice(text);
        }
    }

    /// The value of the field at this index.
    pub(super) fn value(&self, at: usize) -> Option<Json<'t>> {
        self.text(at).map(|text| json::parse(text).expect("a stored profile is valid JSON"))
    }

    /// The same if the value may have more elements than an update allows.
    pub(super) fn long_value(&self, at: usize) -> Option<Json<'t>> {
        let may_be_long =
            matches!(self.table.fields[at].rule, Rule::CustomFields | Rule::Identities)
                && self.text(at)?.len() > COLLECTION_ELEMENTS_MAX * ELEMENT_BYTES_MIN;
        if may_be_long { self.value(at) } else { None }
    }

    /// The keys of the identities of a core profile, in its order.
    pub(super) fn identity_keys(&self) -> Vec<IdentityKey> {
        let mut rules = self.table.fields.iter().map(|field| field.rule);
        let at = rules.position(|rule| rule == Rule::Identities);
        match at.and_then(|at| self.value(at)) {
            Some(Json::Array(items)) => items.iter().filter_map(key_of).collect(),
            _ => Vec::new(),
        }
    }
}

/// The keys of the identities in a stored profile's `fields` text, in its order.
pub fn identity_keys(fields: &[u8]) -> Vec<IdentityKey> {
    StoredRecord::of(&CORE, fields).identity_keys()
}

/// The first member of a fields text: the index of its field, its text, and the text after it. The
/// field is likely to be `guess` or one of the few after it, because records have the order of the
/// table.
fn first<'t>(
    table: &Table,
    guess: usize,
    text: &'t [u8],
) -> Option<(Option<usize>, Member<'t>, &'t [u8])> {
    let named = text.strip_prefix(b"\"")?;
    let mut likely = table.fields.iter().enumerate().skip(guess).filter_map(|(at, field)| {
        let rest = named.strip_prefix(field.name.as_bytes())?.strip_prefix(b"\":")?;
        Some((Some(at), rest))
    });
    let (at, rest) = if let Some(found) = likely.next() {
        found
    } else {
        let end = named.iter().position(|byte| *byte == b'"')?;
        let name = std::str::from_utf8(&named[..end]).ok()?;
        (table.position(0, name), named[end..].strip_prefix(b"\":")?)
    };
    let value = text.len() - rest.len();
    let end = value + json::skip_value(rest, DEPTH_MAX).ok()?;
    let member = Member { text: &text[..end], value };
    match &text[end..] {
        [] => Some((at, member, &[])),
        [b',', after @ ..] if !after.is_empty() => Some((at, member, after)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_into_its_members() {
        let text =
            r#""identities":[{"uid":"a\",b"}],"custom_fields":{"n":[1,{}]},"other":7,"age":3"#;
        let stored = StoredRecord::of(&CORE, text.as_bytes());
        let found: Vec<_> = (0..CORE.fields.len())
            .filter_map(|at| Some((CORE.fields[at].name, stored.text(at)?)))
            .collect();
        let wanted: [(&str, &[u8]); 3] = [
            ("identities", br#"[{"uid":"a\",b"}]"#),
            ("custom_fields", br#"{"n":[1,{}]}"#),
            ("age", b"3"),
        ];
        assert_eq!(found, wanted);
        assert_eq!(stored.value(7), Some(Json::Number("3")));
        assert!(StoredRecord::of(&CORE, b"").value(0).is_none());
    }

    #[test]
    fn damage_is_not_taken_for_a_text() {
        for text in ["\"age\"", "\"age\":", "\"age\":3,", "\"age\":3 ", "age:3", "\"age\":[", "x"] {
            assert!(first(&CORE, 0, text.as_bytes()).is_none(), "{text}");
        }
    }
}
