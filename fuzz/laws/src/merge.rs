//! JSON Merge Patch on any values. The first line is the target, the rest is the patch. The outcome
//! is what RFC 7396 says, and applying the patch again changes nothing.

use caseload_model::json::{self, Json};
use caseload_model::profile::merge_patch;

use crate::second;

pub(crate) fn holds(data: &[u8]) {
    let at = data.iter().position(|byte| *byte == b'\n').unwrap_or(data.len());
    let (target, patch) = data.split_at(at);
    let Ok(patch) = json::parse(patch) else { return };
    let target = json::parse(target).ok();
    let once = merge_patch(target.as_ref(), &patch);
    let before = target.as_ref().map_or(serde_json::Value::Null, second::value);
    assert_eq!(second::value(&once), second::merged(&before, &second::value(&patch)));
    assert_eq!(merge_patch(Some(&once), &patch), once, "twice is once");
    assert_eq!(second::text(&once), second::text(&merge_patch(Some(&once), &empty(&once))));
}

/// The patch that changes nothing: an empty map for a map, the value itself for all others.
fn empty<'a>(value: &Json<'a>) -> Json<'a> {
    match value {
        Json::Object(_) => Json::Object(Vec::new()),
        other => other.clone(),
    }
}
