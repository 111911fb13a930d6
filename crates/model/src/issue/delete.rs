//! Deletions of issues: reads entries of `delete_issues`, which have an id and nothing else, and
//! plans them. An issue that is not there is not a fault, because a deletion may be sent again: the
//! outcome is `unchanged`.

use std::collections::{BTreeSet, HashMap};
use std::hash::BuildHasher;

use super::import::issue_id;
use super::reader::Reader;
use crate::change::{ChangeAction, Effect, Resource};
use crate::entry::{id_of, read_entry};
use crate::error_code::EntryErrorCode;
use crate::json::ValuePath;
use crate::payload::{Block, Entry};
use crate::record::{ChunkRecords, PreparedEntry, Rejection};
use crate::task::Action;

/// The fields of an entry.
const FIELDS: [&str; 1] = ["id"];

/// Reads every entry of a block.
pub fn prepare_issue_deletes(block: &Block) -> Vec<PreparedEntry<u64>> {
    let one = |entry: &Entry| {
        let (entry, item) = (entry.clone(), prepare(block, entry));
        PreparedEntry { entry, item, warnings: Vec::new() }
    };
    block.entries.iter().map(one).collect()
}

fn prepare(block: &Block, entry: &Entry) -> Result<u64, Rejection> {
    let action = Action::DeleteIssues;
    let tree = read_entry(action, block, entry)?;
    let mut reader = Reader::default();
    let id = reader.map(&tree, &FIELDS, &ValuePath::Root).and_then(|map| {
        if map.get("id").is_none() {
            let detail = "id is missing: it says which issue to delete";
            reader.fault(EntryErrorCode::Required, &map.at.key("id"), detail, None);
        }
        issue_id(&map, &mut reader)
    });
    match id {
        Some(id) if reader.is_good() => Ok(id),
        _ => Err(Rejection {
            id: id_of(&tree, action),
            faults: reader.take_faults(),
            readable: true,
            named: None,
        }),
    }
}

/// The changes of a slice of deletions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IssueDeletePlan {
    /// The ids of the issues that are deleted, ascending.
    pub deleted: Vec<u64>,
    pub records: ChunkRecords,
}

/// Plans `entries`, whose bytes are in `payload`. `stored` has an element for every issue that they
/// name, if it exists. A dry run is planned in the same way.
pub fn plan_issue_deletes<V, S: BuildHasher>(
    payload: &[u8],
    entries: &[PreparedEntry<u64>],
    stored: &HashMap<u64, V, S>,
) -> IssueDeletePlan {
    let mut out = ChunkRecords::default();
    let mut deleted = BTreeSet::new();
    for PreparedEntry { entry, item, warnings } in entries {
        match item {
            Err(rejected) => out.rejected(Action::DeleteIssues, payload, entry, rejected),
            Ok(id) => {
                let is_there = stored.contains_key(id) && deleted.insert(*id);
                let effect = || Effect::new(Resource::Issue, *id, ChangeAction::Deleted);
                out.outcome(entry, is_there.then(effect), warnings, |out| {
                    out.extend_from_slice(format!(",\"id\":{id}").as_bytes());
                });
            }
        }
    }
    IssueDeletePlan { deleted: deleted.into_iter().collect(), records: out }
}
