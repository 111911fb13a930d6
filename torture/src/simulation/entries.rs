//! The entries of simulated payloads. An entry knows its JSON and the content of its record, given
//! the entries that took effect before it.

use caseload_model::payload::{Block, Entry};
use caseload_model::task::Action;
use caseload_store::{PackedBlock, StoreError, pack_block};

use super::world::{BEGIN_MS, World};

/// Values of `uid` that all creations of a domain share, so that some conflict.
const UIDS: usize = 12;
/// Numbers whose digits must stay.
const DIGITS: [&str; 6] = ["0.10", "100e-2", "12345678901234567890.5", "-0", "7", "1.50"];
/// Creation times that imported issues share.
const INSTANTS: usize = 3;

/// An entry.
#[derive(Debug, Clone)]
pub(super) enum Planned {
    Create {
        uid: usize,
        digits: &'static str,
    },
    Update {
        id: String,
        mark: String,
    },
    Get {
        id: String,
    },
    Import {
        title: String,
        created_at: i64,
    },
    /// Not JSON.
    Broken,
}

impl Planned {
    /// An entry of an action, about one of the known profiles if there are any.
    pub(super) fn choose(world: &World, action: Action, known: &[String], mark: String) -> Self {
        if world.once_in(10) {
            return Self::Broken;
        }
        let id = || match known.len() {
            0 => "1".to_owned(),
            len => known[world.below(len)].clone(),
        };
        match action {
            Action::CreateCoreProfiles => {
                Self::Create { uid: world.below(UIDS), digits: world.pick(&DIGITS) }
            }
            Action::UpdateCoreProfiles => Self::Update { id: id(), mark },
            Action::ImportIssues => {
                Self::Import { title: mark, created_at: BEGIN_MS + world.below(INSTANTS) as i64 }
            }
            _ => Self::Get { id: id() },
        }
    }

    fn json(&self) -> String {
        match self {
            Self::Create { uid, digits } => format!(
                r#"{{"identities":[{{"uid":"ü-{uid}"}}],"custom_fields":{{"n":{digits}}}}}"#
            ),
            Self::Update { id, mark } => {
                format!(r#"{{"core-profile-id":"{id}","user_persona":"{mark}"}}"#)
            }
            Self::Get { id } => format!(r#"{{"core-profile-id":"{id}"}}"#),
            Self::Import { title, created_at } => {
                format!(r#"{{"title":"{title}","created_at":{created_at},"tags":["t","{title}"]}}"#)
            }
            Self::Broken => "{".to_owned(),
        }
    }
}

/// Blocks of one to three entries each, packed.
pub(super) fn blocks(world: &World, entries: &[Planned]) -> Result<Vec<PackedBlock>, StoreError> {
    let (mut blocks, mut rest, mut index) = (Vec::new(), entries, 0);
    while !rest.is_empty() {
        let (of_block, after) = rest.split_at(rest.len().min(1 + world.below(3)));
        let mut block = Block::default();
        for entry in of_block {
            let start = block.bytes.len();
            block.bytes.extend_from_slice(entry.json().as_bytes());
            let range = start..block.bytes.len();
            block.entries.push(Entry {
                index,
                line: index + 1,
                range,
                oversize: None,
                of_row: false,
            });
            index += 1;
        }
        blocks.push(pack_block(&block)?);
        rest = after;
    }
    Ok(blocks)
}
