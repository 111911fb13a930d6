//! Stand-in for the reader of entries.

use crate::error_code::EntryErrorCode;
use crate::json::{self, Json};
use crate::payload::{Block, Entry};
use crate::record::{EntryFault, Rejected};
use crate::task::Action;

pub(super) fn read_entry<'a>(
    action: Action,
    block: &'a Block,
    entry: &Entry,
) -> Result<Json<'a>, Rejected> {
    let reject = |code, detail: String, pointer| Rejected {
        id: None,
        faults: vec![EntryFault { code, pointer, detail, value: None }],
        readable: false,
    };
    let _ = action;
    match json::parse(&block.bytes[entry.range.clone()]) {
        Ok(tree @ Json::Object(_)) => Ok(tree),
        Ok(_) => Err(reject(EntryErrorCode::NotAMap, "no map".to_owned(), None)),
        Err(_) => Err(reject(EntryErrorCode::InvalidJson, "no JSON".to_owned(), None)),
    }
}

pub(super) fn id_of(json: &Json<'_>, action: Action) -> Option<Vec<u8>> {
    let id = json.get(action.id_field())?;
    let mut text = Vec::new();
    id.write_to(&mut text);
    matches!(id, Json::String(_) | Json::Number(_)).then_some(text)
}
