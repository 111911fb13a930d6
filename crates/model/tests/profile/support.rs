//! Helpers for the tests of profiles: blocks from lines, and records as values.

use std::collections::HashMap;

use caseload_model::ids::CoreProfileId;
use caseload_model::payload::{Block, Entry};
use caseload_model::profile::IdentityKey;
use caseload_model::record::{ChunkRecords, PreparedEntry};
use serde_json::Value;

/// A block with one entry per line.
pub(crate) fn block<S: AsRef<str>>(lines: impl IntoIterator<Item = S>) -> Block {
    let mut block = Block::default();
    for (n, line) in lines.into_iter().enumerate() {
        let start = block.bytes.len();
        block.bytes.extend_from_slice(line.as_ref().as_bytes());
        let range = start..block.bytes.len();
        block.bytes.push(b'\n');
        let index = u32::try_from(n).unwrap();
        block.entries.push(Entry { index, line: index + 1, range, oversize: None, of_row: false });
    }
    block
}

/// Codes and pointers of the faults of an entry; empty if it is good.
pub(crate) fn faults<T>(prepared: &PreparedEntry<T>) -> Vec<(&str, &str)> {
    let Err(rejected) = &prepared.item else { return Vec::new() };
    assert!(rejected.readable, "the entry could not be read");
    let of = |fault: &'_ caseload_model::record::EntryFault| fault.code.as_str();
    rejected.faults.iter().map(|f| (of(f), f.pointer.as_deref().unwrap_or("none"))).collect()
}

/// The records of one kind as values, one per line.
pub(crate) fn lines(records: &[u8]) -> Vec<Value> {
    records
        .split(|b| *b == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect()
}

/// `(index, outcome or first code, pointer)` of every entry, in payload order.
pub(crate) fn outcomes(records: &ChunkRecords) -> Vec<(u64, String)> {
    let results = lines(&records.results);
    let errors = lines(&records.errors);
    assert_eq!(results.len(), records.succeeded as usize);
    assert_eq!(errors.len(), records.failed as usize);
    let mut all: Vec<(u64, String)> = results
        .iter()
        .map(|r| (r["index"].as_u64().unwrap(), r["outcome"].as_str().unwrap().to_owned()))
        .chain(errors.iter().map(|e| {
            let faults: Vec<String> = e["errors"]
                .as_array()
                .unwrap()
                .iter()
                .map(|f| {
                    let code = f["code"].as_str().unwrap();
                    format!("{code} {}", f["pointer"].as_str().unwrap())
                })
                .collect();
            (e["index"].as_u64().unwrap(), faults.join(", "))
        }))
        .collect();
    all.sort();
    all
}

/// A naive store of core profiles: fields texts, and the owners of identities.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct World {
    pub(crate) fields: HashMap<CoreProfileId, Vec<u8>>,
    pub(crate) owners: HashMap<IdentityKey, CoreProfileId>,
}
