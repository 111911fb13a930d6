//! Takes the titles of erased issues out of the log. Of all values in the log, only a title is a
//! text of an end user.

use std::collections::BTreeSet;

use super::{Batch, Effect, Resource};
use crate::json::members_at;

impl Batch {
    /// Removes the old and new titles of these issues. Returns whether there were any. The changes
    /// still say that the title changed.
    pub fn erase_titles(&mut self, issues: &BTreeSet<u64>) -> bool {
        let mut erased = false;
        for effect in &mut self.effects {
            let Effect { resource, id, values, .. } = effect;
            let is_one = id.number().is_some_and(|id| issues.contains(&id));
            if *resource == Resource::Issue && is_one && !values.is_empty() {
                let left = without_title(values);
                erased |= left != *values;
                *values = left;
            }
        }
        erased
    }
}

fn without_title(values: &[u8]) -> Vec<u8> {
    let map = [b"{", values, b"}"].concat();
    let mut left = Vec::new();
    for (key, value) in members_at(&map, 0).filter(|(key, _)| *key != b"title") {
        if !left.is_empty() {
            left.push(b',');
        }
        left.extend_from_slice(&[b"\"", key, b"\":", &map[value]].concat());
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::{Author, ChangeAction};
    use crate::time::UnixMillis;

    fn batch(values: [&str; 3]) -> Batch {
        let effect = |(id, values): (u64, &str)| {
            let effect = Effect::new(Resource::Issue, id, ChangeAction::Updated);
            Effect { values: values.into(), ..effect.of_fields(["title".into()]) }
        };
        let effects = (1..).zip(values).map(effect).collect();
        Batch::new(UnixMillis(1), Author::Unknown, effects)
    }

    #[test]
    fn titles_of_the_issues_go_and_everything_else_stays() {
        let title = r#""title":{"from":"a, \"title\":1","to":"b"}"#;
        let state = r#""state":{"from":"new","to":"resolved"}"#;
        let tags = r#""tags":{"from":["title"],"to":[]}"#;
        let all = format!("{state},{title},{tags}");
        let mut erased = batch([&all, title, &all]);
        assert!(erased.erase_titles(&[1, 2].into()));
        assert_eq!(erased, batch([&format!("{state},{tags}"), "", &all]));
        assert!(!erased.erase_titles(&[1, 2].into()), "twice is once");
        assert!(!erased.erase_titles(&[].into()));
    }

    #[test]
    fn a_profile_with_the_number_of_an_issue_is_not_that_issue() {
        let mut other = batch([r#""title":1"#, "", ""]);
        other.effects[0].resource = Resource::CoreProfile;
        assert!(!other.erase_titles(&[1].into()));
    }
}
