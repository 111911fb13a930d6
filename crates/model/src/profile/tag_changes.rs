//! Updates of a core profile that name only the tags to add and to remove.

use std::borrow::Cow;

use super::checker::{Checker, quoted};
use super::field::{Rule, Table};
use crate::error_code::EntryErrorCode as Code;
use crate::json::{Json, Member, ValuePath};
use crate::tags::{ADD_TAGS, REMOVE_TAGS, changed, in_both};

/// The tags of a profile after an entry that adds or removes some, and the index of their field.
/// `stored` reads the present ones. `None` if the entry leaves them alone.
pub(super) fn tags_after<'a>(
    table: &Table,
    entry: &Json<'a>,
    stored: impl FnOnce(usize) -> Option<Json<'a>>,
) -> Option<(usize, Json<'a>)> {
    let [add, remove] = [ADD_TAGS, REMOVE_TAGS].map(|name| texts(entry.get(name)));
    if table.tag_changes.is_empty() || (add.is_empty() && remove.is_empty()) {
        return None;
    }
    let at = table.fields.iter().position(|field| field.rule == Rule::Tags)?;
    let before = stored(at);
    let after = changed(&texts(before.as_ref()), &add, &remove);
    let has_list = before.is_some() || !after.is_empty();
    has_list.then(|| (at, Json::Array(after.into_iter().map(Json::String).collect())))
}

/// The texts of a list; none if it is absent or null.
fn texts<'a>(list: Option<&Json<'a>>) -> Vec<Cow<'a, str>> {
    let Some(Json::Array(items)) = list else { return Vec::new() };
    let text = |item: &Json<'a>| match item {
        Json::String(text) => Some(text.clone()),
        _ => None,
    };
    items.iter().filter_map(text).collect()
}

impl Checker {
    /// Checks that an entry either replaces all tags or changes some, and neither adds nor removes
    /// the same tag.
    pub(super) fn tag_changes(&mut self, members: &[Member<'_>]) {
        let given = |name: &str| {
            let member = members.iter().find(|(key, _)| key == name);
            member.map(|(_, value)| value)
        };
        let change = |name: &'static str| Some((name, given(name).filter(|v| **v != Json::Null)?));
        let (add, remove) = (change(ADD_TAGS), change(REMOVE_TAGS));
        if given("tags").is_some() {
            for (name, value) in add.into_iter().chain(remove) {
                let detail = format!("tags replaces all tags; leave {name} out, or leave tags out");
                self.fault(Code::UnknownField, &ValuePath::field(name), value, detail);
            }
            return;
        }
        let [added, removed] = [add, remove].map(|list| texts(list.map(|(_, value)| value)));
        let Some(tag) = in_both(&added, &removed) else { return };
        let Some((_, Json::Array(items))) = remove else { return };
        let Some(at) = items.iter().position(|item| item.as_str() == Some(tag)) else { return };
        let (list, tag) = (ValuePath::field(REMOVE_TAGS), quoted(tag));
        let detail = format!("the tag {tag} is in {ADD_TAGS} as well; leave it in one of them");
        self.fault(Code::OutOfRange, &ValuePath::Item(&list, at), &items[at], detail);
    }
}
