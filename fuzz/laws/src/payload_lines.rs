//! Payload files of JSON lines. Every line that is not blank is an entry, once, with its number and
//! its very bytes, as a splitter of five lines says too; and cuts change nothing.

use caseload_model::error_code::ErrorCode;
use caseload_model::payload::{
    Block, JsonlSplitter, OVERSIZE_PREFIX_BYTES, PayloadFault, PayloadReader,
};
use caseload_model::task::{Family, PAYLOAD_ENTRIES_MAX};

use crate::block::{Row, comes_back, rows};
use crate::pieces::cuts;

/// A limit that small inputs pass.
const SMALL_ENTRY_BYTES_MAX: usize = 24;

pub(crate) fn holds(data: &[u8]) {
    for limit in [SMALL_ENTRY_BYTES_MAX, Family::Identity.entry_bytes_read_max()] {
        let whole = read(limit, &[data]);
        for pieces in cuts(data) {
            assert_eq!(read(limit, &pieces), whole, "cuts do not matter");
        }
        assert_eq!(whole, naive(limit, data), "a naive splitter says the same");
        let trimmed = data.strip_prefix(b"\xef\xbb\xbf").unwrap_or(data).trim_ascii_start();
        if !trimmed.starts_with(b"[") && !trimmed.starts_with(b"\x0c") {
            assert_eq!(drive(PayloadReader::new(limit), &[data]), whole, "the reader finds lines");
        }
    }
}

fn read(limit: usize, pieces: &[&[u8]]) -> Result<Vec<Row>, PayloadFault> {
    let mut blocks = Vec::new();
    let mut splitter = JsonlSplitter::new(limit);
    for piece in pieces {
        splitter.push(piece, &mut blocks);
    }
    let total = splitter.finish(&mut blocks)?;
    Ok(counted(&blocks, total))
}

/// The outcome of a reader of either form for `pieces`.
pub(crate) fn drive(mut reader: PayloadReader, pieces: &[&[u8]]) -> Result<Vec<Row>, PayloadFault> {
    let mut blocks = Vec::new();
    for piece in pieces {
        reader.push(piece, &mut blocks)?;
    }
    let total = reader.finish(&mut blocks)?;
    Ok(counted(&blocks, total))
}

fn counted(blocks: &[Block], total: u32) -> Vec<Row> {
    blocks.iter().for_each(comes_back);
    let rows = rows(blocks);
    assert_eq!(rows.len(), total as usize, "every entry is counted once");
    assert!((0..).zip(&rows).all(|(n, (index, ..))| *index == n), "indexes have no gaps");
    rows
}

fn naive(limit: usize, data: &[u8]) -> Result<Vec<Row>, PayloadFault> {
    let data = data.strip_prefix(b"\xef\xbb\xbf").unwrap_or(data);
    let mut lines: Vec<&[u8]> = data.split(|byte| *byte == b'\n').collect();
    let last = lines.pop().unwrap_or_default();
    let ended = lines.into_iter().map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let entries: Vec<(u32, &[u8])> = (1..).zip(ended.chain([last])).filter(has_content).collect();
    if entries.is_empty() || entries.len() > PAYLOAD_ENTRIES_MAX {
        return read(limit, &[data]).map(|_| Vec::new()).inspect_err(|fault| {
            let expected = [ErrorCode::EmptyPayload, ErrorCode::TooManyEntries];
            assert_eq!(fault.code, expected[usize::from(!entries.is_empty())]);
        });
    }
    let row = |(index, (line, bytes)): (u32, (u32, &[u8]))| {
        let is_over = bytes.len() > limit;
        let kept = if is_over { bytes.len().min(OVERSIZE_PREFIX_BYTES) } else { bytes.len() };
        (index, line, is_over.then_some(bytes.len() as u64), bytes[..kept].to_vec())
    };
    Ok((0..).zip(entries).map(row).collect())
}

fn has_content(line: &(u32, &[u8])) -> bool {
    !line.1.iter().all(|byte| b" \t\r\n".contains(byte))
}
