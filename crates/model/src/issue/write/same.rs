//! The fields of a form in one spelling, by which a request and its repeat are compared. A list is
//! the same in every form in which callers send it, blanks in lists and maps do not count, and an
//! equal field that is sent twice counts once. A value that breaks a rule stays as it was sent,
//! because its request is refused.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::fields::{is_list, list_form};
use super::kinds::{FieldKind, field_kind};
use crate::json::{self, Json};
use crate::parameters::given::{Given, ListForm, ListValue};
use crate::spelling::unbracketed;

/// The fields by name, with hyphens. The order of texts of one name is that of the form.
pub fn in_one_spelling(pairs: &[(String, String)]) -> Vec<(String, Cow<'_, str>)> {
    let mut lists: BTreeMap<String, Given<'_>> = BTreeMap::new();
    let mut fields: Vec<(String, Cow<'_, str>)> = Vec::new();
    for (spelled, value) in pairs {
        let name = unbracketed(spelled).0.replace('_', "-");
        if is_list(&name) {
            if let Some(given) = lists.get_mut(&name) {
                given.add(spelled, value);
            } else {
                lists.insert(name, Given::new(spelled, value));
            }
            continue;
        }
        let compact = match field_kind(&name) {
            Some(FieldKind::Structured) => compact_json(value),
            _ => None,
        };
        fields.push((name, compact.map_or(Cow::Borrowed(value), Cow::Owned)));
    }
    for (name, given) in lists.into_iter().filter(|(_, given)| !given.is_empty()) {
        let list = list_json(&given.list(list_form(&name)), list_form(&name));
        fields.push((name, Cow::Owned(list)));
    }
    fields.sort_by(|(a, _), (b, _)| a.cmp(b));
    fields.dedup();
    fields
}

fn compact_json(text: &str) -> Option<String> {
    let mut compact = Vec::with_capacity(text.len());
    json::parse(text.as_bytes()).ok()?.write_to(&mut compact);
    String::from_utf8(compact).ok()
}

/// The members as a JSON array. In a list of ids, a number is the text with its digits.
fn list_json(parts: &[ListValue<'_>], form: ListForm) -> String {
    let mut members: Vec<Json<'_>> = Vec::new();
    for part in parts {
        match part {
            ListValue::Member("") => {}
            ListValue::Member(text) => members.push(Json::String(Cow::Borrowed(text))),
            ListValue::Json(text) => match json::parse(text.as_bytes()) {
                Ok(Json::Array(items)) => members.extend(items),
                _ => return (*text).to_owned(),
            },
        }
    }
    if form == ListForm::Commas {
        for member in &mut members {
            if let Json::Number(id) = *member {
                *member = Json::String(Cow::Borrowed(id));
            }
        }
    }
    let mut out = Vec::new();
    Json::Array(members).write_to(&mut out);
    String::from_utf8(out).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_same(one: &[(&str, &str)], other: &[(&str, &str)]) -> bool {
        let owned = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        in_one_spelling(&owned(one)) == in_one_spelling(&owned(other))
    }

    #[test]
    fn fields_that_mean_the_same_are_the_same_in_every_form_of_a_list() {
        for (one, other, same) in [
            (&[("issue-ids", "1, 2")][..], &[("issue_ids", r#"["1",2]"#)][..], true),
            (&[("issue-ids", "1,2")], &[("issue-ids[]", "1"), ("issue-ids[]", "2")], true),
            (&[("issue-ids", "1,2")], &[("issue-ids", "2,1")], false),
            (&[("tags", "a,b")], &[("tags", r#"["a,b"]"#)], true),
            (&[("tags", "a,b")], &[("tags", "a"), ("tags", "b")], false),
            (&[("tags", "[1]")], &[("tags", r#"["1"]"#)], false),
            (&[("tags", ""), ("title", "t")], &[("title", "t"), ("title", "t")], true),
            (&[("tags", "")], &[("tags[]", "")], false),
            (&[("meta", r#"{"a": 1.0}"#)], &[("meta", r#"{"a":1.0}"#)], true),
            (&[("meta", r#"{"a":1.0}"#)], &[("meta", r#"{"a":1}"#)], false),
            (&[("title", "[ 1 ]")], &[("title", "[1]")], false),
            (&[("tags", "[")], &[("tags", "{")], false),
        ] {
            assert_eq!(is_same(one, other), same, "{one:?} and {other:?}");
        }
    }
}
