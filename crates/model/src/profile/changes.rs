//! The changes of a profile, as the result records of dry runs show them: each field that an update
//! would change, before and after. Custom fields are compared one by one, under dotted names. A
//! record shows a limited number of bytes, because one short entry may remove long values.

use super::field::{Rule, Table};
use super::record::{braced, parse_stored};
use crate::json::{Json, write_string};

/// The most bytes of changes in one record. Fields that do not fit are counted instead.
pub const CHANGES_BYTES_MAX: usize = 16 << 10;

/// Appends the member `changes`, with its leading comma: the fields in which the fields texts
/// differ. If some do not fit, their number follows as `changes_left_out`.
pub(super) fn write_changes(table: &Table, before: &[u8], after: &[u8], out: &mut Vec<u8>) {
    let (before, after) = (braced(before), braced(after));
    let (before, after) = (parse_stored(&before), parse_stored(&after));
    let (before, after) = (table.slots(&before), table.slots(&after));
    let mut changes = Changes { text: Vec::new(), left_out: 0 };
    for ((field, from), to) in table.fields.iter().zip(before).zip(after) {
        let of_map = field.rule == Rule::CustomFields && changes.add_members(field.name, from, to);
        if !of_map {
            changes.add(field.name, from, to);
        }
    }
    out.extend_from_slice(b",\"changes\":{");
    out.extend_from_slice(&changes.text);
    out.push(b'}');
    if changes.left_out > 0 {
        out.extend_from_slice(format!(",\"changes_left_out\":{}", changes.left_out).as_bytes());
    }
}

struct Changes {
    text: Vec<u8>,
    left_out: usize,
}

impl Changes {
    /// Adds a field if its values differ.
    fn add(&mut self, name: &str, from: Option<&Json<'_>>, to: Option<&Json<'_>>) {
        let is_same = match (from, to) {
            (Some(from), Some(to)) => from.same(to),
            (from, to) => from.is_none() && to.is_none(),
        };
        if is_same {
            return;
        }
        let mut change = if self.text.is_empty() { Vec::new() } else { vec![b','] };
        write_string(name, &mut change);
        change.extend_from_slice(b":{\"from\":");
        from.unwrap_or(&Json::Null).write_to(&mut change);
        change.extend_from_slice(b",\"to\":");
        to.unwrap_or(&Json::Null).write_to(&mut change);
        change.push(b'}');
        if self.text.len() + change.len() > CHANGES_BYTES_MAX {
            self.left_out += 1;
        } else {
            self.text.append(&mut change);
        }
    }

    /// Adds the members in which two maps differ. Returns false if they have none to compare.
    fn add_members(&mut self, name: &str, from: Option<&Json<'_>>, to: Option<&Json<'_>>) -> bool {
        let (before, after) = (members(from), members(to));
        for (key, from) in before {
            let to = after.iter().find(|(other, _)| other == key).map(|(_, to)| to);
            self.add(&format!("{name}.{key}"), Some(from), to);
        }
        for (key, to) in after {
            if before.iter().all(|(other, _)| other != key) {
                self.add(&format!("{name}.{key}"), None, Some(to));
            }
        }
        !before.is_empty() || !after.is_empty()
    }
}

fn members<'j, 'a>(map: Option<&'j Json<'a>>) -> &'j [crate::json::Member<'a>] {
    match map {
        Some(Json::Object(members)) => members,
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::super::field::CORE;
    use super::*;

    fn changes(before: &str, after: &str) -> String {
        let mut out = Vec::new();
        write_changes(&CORE, before.as_bytes(), after.as_bytes(), &mut out);
        String::from_utf8(out).expect("changes are text")
    }

    #[test]
    fn only_fields_that_differ_are_shown_with_their_digits() {
        let before = r#""tags":["a"],"custom_fields":{"plan":"x","n":1.10,"gone":[1]},"age":3"#;
        let after = r#""tags":["a"],"custom_fields":{"plan":"y","n":1.10,"a.b":2},"age":1e1"#;
        assert_eq!(
            changes(before, after),
            concat!(
                r#","changes":{"custom_fields.plan":{"from":"x","to":"y"},"#,
                r#""custom_fields.gone":{"from":[1],"to":null},"#,
                r#""custom_fields.a.b":{"from":null,"to":2},"#,
                r#""age":{"from":3,"to":1e1}}"#
            )
        );
        assert_eq!(changes(before, before), r#","changes":{}"#);
        assert_eq!(
            changes("", r#""custom_fields":{}"#),
            r#","changes":{"custom_fields":{"from":null,"to":{}}}"#
        );
    }

    #[test]
    fn fields_that_do_not_fit_are_counted() {
        let long = format!(r#""last_city":"{}","age":3"#, "x".repeat(CHANGES_BYTES_MAX));
        let shown = r#","changes":{"age":{"from":3,"to":null}},"changes_left_out":1"#;
        assert_eq!(changes(&long, ""), shown);
    }
}
