//! Blocks of payload as they are stored. Any bytes are either refused as damaged or become entries
//! that lie one after another in those bytes, then the rows and the notes of these entries. Such a
//! block comes back from its stored form.

use caseload_model::payload::Block;

/// Index, line, length as sent and bytes of each entry.
pub(crate) type Row = (u32, u32, Option<u64>, Vec<u8>);

pub(crate) fn holds(data: &[u8]) {
    let Ok(block) = Block::decode(data.to_vec()) else { return };
    let mut end = block.entries.first().map_or(data.len(), |entry| entry.range.start);
    for entry in &block.entries {
        assert_eq!(entry.range.start, end, "entries follow each other");
        end = entry.range.end;
    }
    for side in block.rows.iter().chain(&block.notes) {
        assert_eq!(side.range.start, end, "rows and notes follow the entries");
        end = side.range.end;
        assert!(block.entries.iter().any(|entry| entry.index == side.index));
    }
    assert_eq!(end, data.len(), "entries end with the block");
    let places: Vec<_> = block.entries.iter().map(|entry| (entry.index, entry.line)).collect();
    assert!(places.windows(2).all(|two| two[0].0 < two[1].0 && two[0].1 < two[1].1));
    comes_back(&block);
}

/// Encoding a block and decoding it gives the same entries.
pub(crate) fn comes_back(block: &Block) {
    let stored = block.encode();
    let again = Block::decode(stored.clone()).expect("an encoded block can be decoded");
    assert_eq!(rows([&again]), rows([block]));
    assert_eq!(sides(&again), sides(block));
    assert_eq!(again.encode(), stored);
}

/// Index, line and bytes of each row and each note.
fn sides(block: &Block) -> Vec<(u32, u32, Vec<u8>)> {
    let sides = block.rows.iter().chain(&block.notes);
    sides.map(|side| (side.index, side.line, block.bytes[side.range.clone()].to_vec())).collect()
}

pub(crate) fn rows<'b>(blocks: impl IntoIterator<Item = &'b Block>) -> Vec<Row> {
    let of = |block: &Block| -> Vec<Row> {
        let row = |entry: &caseload_model::payload::Entry| {
            (entry.index, entry.line, entry.oversize, block.bytes_of(entry).to_vec())
        };
        block.entries.iter().map(row).collect()
    };
    blocks.into_iter().flat_map(of).collect()
}
