//! Files that are made to cost much, or that end in the middle.

use caseload_model::payload::{BLOCK_BYTES, BLOCK_ENTRIES};
use caseload_model::task::PAYLOAD_ENTRIES_MAX;

use super::*;

#[test]
fn quotes_and_columns_without_end_are_faults_of_one_row_or_of_the_header() {
    let quotes = "uid\n".to_owned() + &"\"".repeat((8 << 20) + 1) + "\nu\n";
    let (blocks, found) = read(&upsert(), &quotes).unwrap();
    let outcomes = outcomes(&upsert(), &blocks);
    assert_eq!((found.entries, outcomes.len()), (2, 2));
    assert_eq!(outcomes[1], (3, vec![]));
    let held: usize = blocks.iter().map(|block| block.bytes.len()).sum();
    assert!(held <= 2 << 20, "{held} bytes of a row are held");
    let header = refused(&upsert(), "uid,".repeat(10_000) + "\n1\n");
    assert!(header.detail.contains("10001 columns; at most 1000"), "{}", header.detail);
    let open = refused(&upsert(), "\"".repeat((8 << 20) + 1));
    assert_eq!((open.code, open.line), (ErrorCode::InvalidPayload, Some(1)));
}

#[test]
fn a_file_that_is_cut_short_is_refused() {
    let lines = "{\"a\":1}\n".repeat(5000);
    for packed in [gzip(lines.as_bytes()), zstd(lines.as_bytes())] {
        for end in [5, packed.len() / 2, packed.len() - 1] {
            let fault = refused(&upsert(), &packed[..end]);
            assert!(fault.detail.contains("cut short"), "{end}: {fault:?}");
        }
    }
    let damaged = [&gzip(b"{}\n")[..], b"junk"].concat();
    assert!(refused(&upsert(), damaged).detail.contains("damaged"));
    for text in ["uid\nu\u{1f600}", "{\"a\":\"\u{1f600}"] {
        let mut bytes = utf_16(text, false);
        bytes.pop();
        let fault = refused(&upsert(), &bytes);
        assert!(fault.detail.contains("a part is missing"), "{fault:?}");
    }
}

#[test]
fn a_file_that_unpacks_to_very_much_is_refused_or_read_in_parts() {
    let blanks = vec![b' '; 32 << 20];
    let fault = refused(&upsert(), zstd(&blanks));
    assert_eq!(fault.code, ErrorCode::TooLarge);
    let lines = gzip("{}\n".repeat(600_000).as_bytes());
    let mut reader = FileReader::new(upsert());
    let (mut most, mut entries) = (0, 0);
    let mut piece = &lines[..];
    loop {
        let blocks = reader.push(piece).unwrap();
        most = most.max(blocks.len());
        entries += blocks.iter().map(|block| block.entries.len()).sum::<usize>();
        piece = &[];
        if !reader.has_more() {
            break;
        }
    }
    let (last, read) = reader.finish().unwrap();
    entries += last.iter().map(|block| block.entries.len()).sum::<usize>();
    assert_eq!((entries, read.entries), (600_000, 600_000));
    // The head of the file is read at once.
    assert!(most < 400, "{most} blocks at once");
}

#[test]
fn blocks_are_full_at_a_limit_and_have_entries_of_one_task() {
    let small = "uid\n".to_owned() + &lines(25_000, "x");
    let large = "uid,city\n".to_owned() + &lines(200, &format!("x,{}", "c".repeat(9000)));
    for table in [small, large] {
        let (blocks, _) = read(&upsert(), table).unwrap();
        for (at, block) in blocks.iter().enumerate() {
            let task = |entry: &Entry| entry.index as usize / PAYLOAD_ENTRIES_MAX;
            let (first, last) = (&block.entries[0], block.entries.last().unwrap());
            assert_eq!(task(first), task(last));
            let next = blocks.get(at + 1).map(|next| task(&next.entries[0]));
            let is_full = block.entries.len() == BLOCK_ENTRIES || block.bytes.len() >= BLOCK_BYTES;
            assert!(is_full || next != Some(task(last)), "block {at} is full");
        }
        assert!(blocks.len() > 5);
    }
}

/// Numbers, each with the same end.
fn lines(count: usize, end: &str) -> String {
    let lines: Vec<String> = (0..count).map(|n| format!("{n}{end}\n")).collect();
    lines.concat()
}
