//! The values that a caller sends under one name, in a query or in a form. A scalar has one value.
//! A list comes as a JSON array, as members with commas between them, as the same name several
//! times, or as `name[]`, in any mixture. This module does not know the meaning of a member.

use crate::spelling::unbracketed;

/// How a value of a list that is not a JSON array is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListForm {
    /// Words and ids, which have no commas: members are separated by commas.
    Commas,
    /// Texts, which may have commas: the value is one member.
    Texts,
}

/// The values of one name.
#[derive(Debug)]
pub(crate) struct Given<'p> {
    /// The name as the caller first spelled it.
    pub(crate) spelled: &'p str,
    first: Value<'p>,
    more: Vec<Value<'p>>,
    /// Whether the name is given in both spellings.
    mixed: bool,
}

#[derive(Debug, Clone, Copy)]
struct Value<'p> {
    text: &'p str,
    /// Whether it came as `name[]`: such a value is not JSON.
    bracketed: bool,
}

/// A value of a list as the caller sent it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListValue<'p> {
    /// JSON, which should be an array of members.
    Json(&'p str),
    Member(&'p str),
}

impl<'p> Given<'p> {
    pub(crate) fn new(spelled: &'p str, text: &'p str) -> Self {
        let first = Value { text, bracketed: unbracketed(spelled).1 };
        Self { spelled, first, more: Vec::new(), mixed: false }
    }

    /// The first value.
    pub(crate) const fn text(&self) -> &'p str {
        self.first.text
    }

    /// Whether all values are empty texts, and none of them is `name[]`, a list without members.
    pub(crate) fn is_empty(&self) -> bool {
        self.values().all(|value| value.text.is_empty() && !value.bracketed)
    }

    /// Adds a further value of a list. Returns false if the name comes in both spellings with
    /// different values.
    pub(crate) fn add(&mut self, spelled: &'p str, text: &'p str) -> bool {
        let (name, bracketed) = unbracketed(spelled);
        self.mixed |= unbracketed(self.spelled).0 != name;
        if self.mixed && self.values().any(|value| value.text != text) {
            return false;
        }
        self.more.push(Value { text, bracketed });
        true
    }

    fn values(&self) -> impl Iterator<Item = Value<'p>> {
        std::iter::once(self.first).chain(self.more.iter().copied())
    }

    /// The values that did not come as `name[]`.
    pub(crate) fn bare(&self) -> impl Iterator<Item = &'p str> {
        self.values().filter(|value| !value.bracketed).map(|value| value.text)
    }

    /// The one JSON map that is given in place of a list. `Err` if there are further values.
    pub(crate) fn map(&self) -> Result<Option<&'p str>, ()> {
        let is_map = |value: &Value<'_>| !value.bracketed && begins_with(value.text, b"{");
        match self.values().find(is_map) {
            Some(map) if self.values().all(|value| value.text == map.text) => Ok(Some(map.text)),
            Some(_) => Err(()),
            None => Ok(None),
        }
    }

    /// The parts of a list, in order. A value `name[]` without a text has no member, because
    /// clients send an empty list in this way. The same JSON again adds nothing.
    pub(crate) fn list(&self, form: ListForm) -> Vec<ListValue<'p>> {
        let mut parts: Vec<ListValue<'p>> = Vec::new();
        for Value { text, bracketed } in self.values() {
            if bracketed && text.is_empty() {
                continue;
            }
            if !bracketed && begins_with(text, b"[{\"") {
                if !parts.contains(&ListValue::Json(text)) {
                    parts.push(ListValue::Json(text));
                }
                continue;
            }
            match form {
                ListForm::Commas => {
                    parts.extend(text.split(',').map(|member| ListValue::Member(member.trim())));
                }
                ListForm::Texts => parts.push(ListValue::Member(text)),
            }
        }
        parts
    }
}

/// Whether the first byte of `text`, apart from blanks, is one of `bytes`.
fn begins_with(text: &str, bytes: &[u8]) -> bool {
    text.trim_start().as_bytes().first().is_some_and(|first| bytes.contains(first))
}

#[cfg(test)]
mod tests {
    use super::ListValue::{Json, Member};
    use super::*;

    fn given<'p>(pairs: &[(&'p str, &'p str)]) -> Given<'p> {
        let mut given = Given::new(pairs[0].0, pairs[0].1);
        for (spelled, text) in &pairs[1..] {
            assert!(given.add(spelled, text), "{pairs:?}");
        }
        given
    }

    #[test]
    fn a_list_has_the_members_of_each_form_in_order() {
        for (pairs, commas, texts) in [
            (&[("a", "x")][..], &[Member("x")][..], &[Member("x")][..]),
            (&[("a", " x , y,")], &[Member("x"), Member("y"), Member("")], &[Member(" x , y,")]),
            (&[("a", "")], &[Member("")], &[Member("")]),
            (&[("a", " [1]"), ("a", " [1]")], &[Json(" [1]")], &[Json(" [1]")]),
            (
                &[("a", "[1]"), ("a", "[2]")],
                &[Json("[1]"), Json("[2]")],
                &[Json("[1]"), Json("[2]")],
            ),
            (&[("a", "\"x\"")], &[Json("\"x\"")], &[Json("\"x\"")]),
            (&[("a", "x"), ("a", "x")], &[Member("x"), Member("x")], &[Member("x"), Member("x")]),
            (
                &[("a[]", "x"), ("a[1]", "[y]")],
                &[Member("x"), Member("[y]")],
                &[Member("x"), Member("[y]")],
            ),
            (&[("a[]", "")], &[], &[]),
            (&[("a[]", ""), ("a[]", "x")], &[Member("x")], &[Member("x")]),
            (&[("a", "x"), ("a[]", "y")], &[Member("x"), Member("y")], &[Member("x"), Member("y")]),
        ] {
            assert_eq!(given(pairs).list(ListForm::Commas), commas, "{pairs:?}");
            assert_eq!(given(pairs).list(ListForm::Texts), texts, "{pairs:?}");
        }
    }

    #[test]
    fn both_spellings_of_a_name_go_together_only_with_one_value() {
        for (pairs, good) in [
            (&[("a-b", "x"), ("a_b", "x")][..], true),
            (&[("a-b", "x"), ("a_b", "y")], false),
            (&[("a-b", "x"), ("a-b", "y"), ("a_b", "x")], false),
            (&[("a-b", "x"), ("a_b", "x"), ("a-b", "y")], false),
            (&[("a-b", "x"), ("a-b[]", "y")], true),
        ] {
            let mut given = Given::new(pairs[0].0, pairs[0].1);
            let added = pairs[1..].iter().map(|(spelled, text)| given.add(spelled, text));
            assert_eq!(added.fold(true, |all, one| all & one), good, "{pairs:?}");
        }
    }

    #[test]
    fn a_map_in_place_of_a_list_is_the_only_value() {
        assert_eq!(given(&[("a", " {}"), ("a", " {}")]).map(), Ok(Some(" {}")));
        assert_eq!(given(&[("a", "{}"), ("a", "x")]).map(), Err(()));
        assert_eq!(given(&[("a", "x"), ("a", "{}")]).map(), Err(()));
        assert_eq!(given(&[("a", "x"), ("a[]", "{}")]).map(), Ok(None));
    }
}
