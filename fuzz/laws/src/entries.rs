//! The law of the entries of every action: each is either accepted or refused with faults that
//! point into it, and each leaves one record that is one line of JSON.

use caseload_model::error_code::EntryErrorCode as Code;
use caseload_model::json::{self, Json};
use caseload_model::payload::{Block, PayloadReader};
use caseload_model::profile::PROFILE_BYTES_MAX;
use caseload_model::record::{
    ChunkRecords, EntryFault, FAULT_VALUE_BYTES_MAX, PreparedEntry, Rejection,
};
use caseload_model::task::Family;

use crate::second;

/// The listed faults of one entry, and one more place that says there are others.
const FAULTS_MAX: usize = 1001;

/// The blocks of `data` as a payload file; none if it is refused as a whole.
pub(crate) fn blocks_of(data: &[u8], family: Family) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut reader = PayloadReader::new(family.entry_bytes_read_max());
    if reader.push(data, &mut blocks).is_err() || reader.finish(&mut blocks).is_err() {
        blocks.clear();
    }
    blocks
}

/// One entry as a block.
pub(crate) fn block_of(entry: &[u8]) -> Option<Block> {
    if entry.contains(&b'\n') || entry.ends_with(b"\r") {
        return None;
    }
    let entry = [entry, b"\n"].concat();
    blocks_of(&entry, Family::Identity).pop().filter(|block| block.entries.len() == 1)
}

/// Checks the outcome of every entry of `block`.
pub(crate) fn check<T>(block: &Block, all: &[PreparedEntry<T>]) {
    let entries: Vec<_> = all.iter().map(|prepared| prepared.entry.clone()).collect();
    assert_eq!(entries, block.entries, "every entry is there, in order");
    for prepared in all {
        let bytes = block.bytes_of(&prepared.entry);
        let read = json::parse(bytes);
        let of_limit = prepared.entry.oversize.is_some() || bytes.len() > PROFILE_BYTES_MAX;
        match (&prepared.item, &read) {
            (Ok(_), Ok(Json::Object(_))) => {}
            (Ok(_), _) => panic!("an entry that is not a map is accepted"),
            (Err(rejected), Ok(map @ Json::Object(_))) if rejected.readable || !of_limit => {
                assert!(rejected.readable);
                refused(rejected, map);
            }
            (Err(rejected), _) => unreadable(rejected, of_limit),
        }
    }
}

fn refused(rejected: &Rejection, map: &Json<'_>) {
    assert!((1..=FAULTS_MAX).contains(&rejected.faults.len()), "a refusal has faults");
    assert!(rejected.id.as_deref().is_none_or(second::is_json));
    for fault in &rejected.faults {
        points_into(fault, map);
    }
}

fn unreadable(rejected: &Rejection, is_oversize: bool) {
    assert!(!rejected.readable && rejected.id.is_none() && !rejected.faults.is_empty());
    for fault in &rejected.faults {
        let expected = match fault.code {
            Code::TooLarge => is_oversize,
            Code::InvalidJson | Code::InvalidUtf8 | Code::NotAMap => !is_oversize,
            _ => false,
        };
        assert!(expected && !fault.detail.is_empty() && fault.value.is_none(), "{fault:?}");
    }
}

/// A fault points at the value that it shows, or at the place of one that is missing.
pub(crate) fn points_into(fault: &EntryFault, map: &Json<'_>) {
    assert!(!fault.detail.is_empty(), "{fault:?}");
    let pointer = fault.pointer.as_deref().expect("a fault of a readable entry has a pointer");
    match (second::at(map, pointer), &fault.value) {
        (Some(found), Some(shown)) => shows(fault, found, shown),
        (Some(_), None) => {}
        (None, shown) => {
            assert_eq!(fault.code, Code::Required, "{fault:?} points nowhere");
            assert_eq!(*shown, None, "a missing member has no value");
            let (parent, _) = pointer.rsplit_once('/').expect("a pointer begins with a slash");
            let parent = second::at(map, parent);
            assert!(matches!(parent, Some(Json::Object(_))), "{fault:?} has no place");
        }
    }
}

fn shows(fault: &EntryFault, found: &Json<'_>, shown: &[u8]) {
    assert!(second::is_json(shown), "a value is JSON");
    let text = second::text(found);
    if text.len() <= FAULT_VALUE_BYTES_MAX {
        // A key that is too long is its own faulty value.
        let last = fault.pointer.as_deref().and_then(|pointer| pointer.rsplit('/').next());
        let of_key = fault.code == Code::TooLong && last.is_some_and(|key| key.len() > 255);
        assert!(shown == text || of_key, "{fault:?} shows another value than it points at");
    } else {
        assert!(shown.len() <= 7 * FAULT_VALUE_BYTES_MAX, "a long value is shortened");
    }
}

/// Checks the records of `entries` entries: one each, every one a line of JSON.
pub(crate) fn recorded(records: &ChunkRecords, entries: usize) {
    assert_eq!((records.succeeded + records.failed) as usize, entries, "one record an entry");
    for (lines, count) in [(&records.results, records.succeeded), (&records.errors, records.failed)]
    {
        let split = lines.split_inclusive(|byte| *byte == b'\n');
        assert_eq!(split.clone().count(), count as usize);
        for line in split {
            assert!(line.ends_with(b"\n") && second::is_json(line), "a record is a line of JSON");
        }
    }
}

/// The word after `"outcome":` of the only result; `None` if the entry failed.
pub(crate) fn outcome(records: &ChunkRecords) -> Option<String> {
    let json = json::parse(&records.results).ok()?;
    Some(json.get("outcome")?.as_str()?.to_owned())
}
