//! Compares the content of issues: first the bytes of fragments, which are nearly always equal or
//! decide the matter, then JSON trees, in which the order of keys does not count and numbers are
//! equal if their digits are.

use crate::issue::fragments::IssueFragments;
use crate::json::{self, Json, Member};

/// The names of the fields in which two issues differ; empty if their content is equal.
pub(super) fn differences(a: &IssueFragments<'_>, b: &IssueFragments<'_>) -> Vec<String> {
    let mut names = Vec::new();
    members(Some(a.head), Some(b.head), &mut names);
    for (name, a, b) in [
        ("messages", Some(a.messages), Some(b.messages)),
        ("meta", Some(a.meta), Some(b.meta)),
        ("custom_fields", Some(a.custom_fields), Some(b.custom_fields)),
        ("queue", a.queue, b.queue),
        ("private_notes", a.private_notes, b.private_notes),
        ("sentiment_analysis", a.sentiment_analysis, b.sentiment_analysis),
        ("smart_intents", a.smart_intents, b.smart_intents),
    ] {
        if !is_same(a, b) {
            names.push(name.to_owned());
        }
    }
    members(a.feedback, b.feedback, &mut names);
    members(a.predict_labels, b.predict_labels, &mut names);
    names
}

fn is_same(a: Option<&[u8]>, b: Option<&[u8]>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => {
            a == b
                || match (json::parse(a), json::parse(b)) {
                    (Ok(a), Ok(b)) => a.same(&b),
                    _ => false,
                }
        }
        (a, b) => a == b,
    }
}

/// Compares two runs of members without braces, name by name.
fn members(a: Option<&[u8]>, b: Option<&[u8]>, names: &mut Vec<String>) {
    if a == b {
        return;
    }
    let wrap = |run: Option<&[u8]>| [b"{", run.unwrap_or_default(), b"}"].concat();
    let (a, b) = (wrap(a), wrap(b));
    let (Ok(Json::Object(a)), Ok(Json::Object(b))) = (json::parse(&a), json::parse(&b)) else {
        names.push("an unreadable stored issue".to_owned());
        return;
    };
    let find = |members: &[Member<'_>], key: &str| members.iter().position(|(k, _)| k == key);
    for (key, value) in &a {
        if !find(&b, key).is_some_and(|n| value.same(&b[n].1)) {
            names.push(key.clone().into_owned());
        }
    }
    let added = b.iter().filter(|(key, _)| find(&a, key).is_none());
    names.extend(added.map(|(key, _)| key.clone().into_owned()));
}
