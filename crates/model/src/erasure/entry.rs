//! The entry of a task that erases a person. The server writes it when it accepts the task, and
//! only the task reads it. Invariant: an entry that is written and read is the same erasure.

use super::form::IssuesOfErased;
use super::person::Person;
use crate::entry::read_entry;
use crate::error_code::EntryErrorCode;
use crate::json::{self, Json};
use crate::payload::{Block, Entry};
use crate::record::{EntryFault, PreparedEntry, Rejection};
use crate::task::Action;

const DELETE: &str = "delete";
const REDACT: &str = "redact";

/// The person whom a task erases, and whether their issues stay.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Erasure {
    pub person: Person,
    pub issues: IssuesOfErased,
}

impl Erasure {
    /// The payload of its task.
    pub fn block(&self) -> Block {
        let word = if self.issues == IssuesOfErased::Deleted { DELETE } else { REDACT };
        let mut bytes = format!("{{\"issues\":\"{word}\",\"person\":").into_bytes();
        self.person.write(&mut bytes);
        bytes.push(b'}');
        let range = 0..bytes.len();
        let entry = Entry { index: 0, line: 1, range, oversize: None, of_row: false };
        Block { bytes, entries: vec![entry], ..Block::default() }
    }

    /// The erasure that an entry is; `None` of any other text.
    pub(super) fn read(text: &[u8]) -> Option<Self> {
        Self::of_json(&json::parse(text).ok()?)
    }

    fn of_json(json: &Json<'_>) -> Option<Self> {
        let issues = match json.get("issues")?.as_str()? {
            REDACT => IssuesOfErased::Redacted,
            DELETE => IssuesOfErased::Deleted,
            _ => return None,
        };
        Some(Self { person: Person::of_json(json.get("person")?)?, issues })
    }
}

/// Reads every entry of a block.
pub fn prepare_erasures(block: &Block) -> Vec<PreparedEntry<Erasure>> {
    let one = |entry: &Entry| PreparedEntry {
        entry: entry.clone(),
        item: prepare(block, entry),
        warnings: Vec::new(),
    };
    block.entries.iter().map(one).collect()
}

fn prepare(block: &Block, entry: &Entry) -> Result<Erasure, Rejection> {
    let tree = read_entry(Action::ErasePerson, block, entry)?;
    Erasure::of_json(&tree).ok_or_else(|| {
        let detail = "the person is unknown: a later erasure erased the entry, or it is \
                      damaged; send the erasure again";
        let fault = EntryFault::of_row(EntryErrorCode::NotProcessed, detail.to_owned());
        Rejection { id: None, faults: vec![fault], readable: true, named: None }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::erasure::{Traces, erase_entries};
    use crate::ids::IdentityKey;
    use crate::profile::{IdentityType, Placeholders};

    fn person(email: &str) -> Person {
        let identities = [IdentityKey::new(IdentityType::Email, email)].into();
        Person { identities, pids: ["p1".to_owned()].into(), ..Person::default() }
    }

    #[test]
    fn an_erasure_is_read_from_its_entry() {
        for issues in [IssuesOfErased::Redacted, IssuesOfErased::Deleted] {
            let erasure = Erasure { person: person("ada@x"), issues };
            let prepared = prepare_erasures(&erasure.block());
            assert_eq!(prepared.len(), 1);
            assert_eq!(prepared[0].item.as_ref().ok(), Some(&erasure));
        }
    }

    #[test]
    fn a_later_erasure_of_the_person_finds_one_that_did_not_end() {
        let block = Erasure { person: person("ada@x"), ..Erasure::default() }.block();
        let found = |other: &Person| {
            let mut found = std::collections::BTreeSet::new();
            Traces::of(other).find_entries(Action::ErasePerson, &block, &mut found);
            found
        };
        let stranger = Person { pids: ["p2".to_owned()].into(), ..Person::default() };
        assert_eq!(found(&stranger).len(), 0);
        let erased = erase_entries(&block, &found(&person("other@x")));
        let prepared = prepare_erasures(&erased.expect("the pid is that of both"));
        assert!(prepared[0].item.is_err());
    }

    #[test]
    fn a_placeholder_identifies_no_one() {
        let mut ada = person("noreply@example.org");
        ada.identities.insert(IdentityKey::new(IdentityType::Email, "ada@x"));
        ada.pids.insert(crate::erasure::REDACTED.to_owned());
        ada.drop_placeholders(&Placeholders::default());
        assert_eq!(ada, person("ada@x"));
    }
}
