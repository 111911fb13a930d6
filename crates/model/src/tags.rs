//! Changes of a list of tags that name only the tags to add and to remove. Two callers who each
//! add a tag of their own keep both; two who each send the whole list keep only the later one.

use std::collections::HashSet;

/// The member of an update, and the field of an edit, with the tags to add.
pub const ADD_TAGS: &str = "add_tags";
/// The same with the tags to remove.
pub const REMOVE_TAGS: &str = "remove_tags";

/// `tags` without those in `remove`, and then those of `add` that it does not have, each once. No
/// tag is in both lists.
pub(crate) fn changed<T: AsRef<str> + Clone>(tags: &[T], add: &[T], remove: &[T]) -> Vec<T> {
    let removed: HashSet<&str> = remove.iter().map(AsRef::as_ref).collect();
    let mut known: HashSet<&str> = tags.iter().map(AsRef::as_ref).collect();
    let kept = tags.iter().filter(|tag| !removed.contains(tag.as_ref()));
    let mut after: Vec<T> = kept.cloned().collect();
    for tag in add {
        if known.insert(tag.as_ref()) {
            after.push(tag.clone());
        }
    }
    after
}

/// The first tag of `remove` that is in `add`, too.
pub(crate) fn in_both<'t, T: AsRef<str>>(add: &[T], remove: &'t [T]) -> Option<&'t str> {
    let added: HashSet<&str> = add.iter().map(AsRef::as_ref).collect();
    remove.iter().map(AsRef::as_ref).find(|tag| added.contains(tag))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    type Change = (Vec<String>, Vec<String>);

    /// Changes of two writers of few tags. No change has a tag in both of its lists.
    fn changes() -> impl Strategy<Value = Vec<Change>> {
        let change = (prop::collection::vec("[a-f]", 0..4), prop::collection::vec("[a-f]", 0..4))
            .prop_map(|(add, mut remove)| {
                remove.retain(|tag| !add.contains(tag));
                (add, remove)
            });
        prop::collection::vec(change, 0..12)
    }

    proptest! {
        #[test]
        fn any_changes_end_in_the_set_that_they_give_one_by_one(
            stored in prop::collection::btree_set("[a-f]", 0..4),
            changes in changes(),
        ) {
            let mut set = stored.clone();
            let mut tags: Vec<String> = stored.into_iter().collect();
            for (add, remove) in &changes {
                let before = tags.clone();
                tags = changed(&tags, add, remove);
                let kept = before.iter().filter(|tag| !remove.contains(tag)).count();
                prop_assert!(before.iter().filter(|tag| !remove.contains(tag)).eq(&tags[..kept]));
                for tag in add {
                    set.insert(tag.clone());
                }
                for tag in remove {
                    set.remove(tag);
                }
            }
            prop_assert_eq!(tags.len(), set.len(), "no tag is there twice");
            prop_assert_eq!(tags.into_iter().collect::<BTreeSet<_>>(), set);
        }
    }

    #[test]
    fn new_tags_follow_in_their_order_and_stored_doubles_stay_or_go_together() {
        for (tags, add, remove, after) in [
            (&["b", "a"][..], &["d", "a", "c", "d"][..], &[][..], &["b", "a", "d", "c"][..]),
            (&["a", "b", "a"], &["a"], &["b"], &["a", "a"]),
            (&["a", "b", "a"], &[], &["a", "x"], &["b"]),
            (&["a"], &["A"], &["a"], &["A"]),
            (&[], &[], &["a"], &[]),
        ] {
            assert_eq!(changed(tags, add, remove), after, "{tags:?} {add:?} {remove:?}");
        }
        assert_eq!(in_both(&["a", "b"], &["c", "b", "a"]), Some("b"));
        assert_eq!(in_both(&["a"], &["A"]), None);
    }
}
