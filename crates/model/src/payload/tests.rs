//! Tests of reading payloads: tables of small payloads, cut at every position, and property tests
//! against naive readers.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::fmt::Write as _;

use proptest::prelude::*;

use super::array::{ArraySplitter, PayloadPosition};
use super::*;
use crate::task::PAYLOAD_ENTRIES_MAX;

const MIB: usize = 1 << 20;

/// Index, line, oversize and bytes of each entry.
type Row = (u32, u32, Option<u64>, Vec<u8>);

fn rows(blocks: &[Block]) -> Vec<Row> {
    let row = |b: &Block, e: &Entry| (e.index, e.line, e.oversize, b.bytes_of(e).to_vec());
    blocks.iter().flat_map(|b| b.entries.iter().map(|e| row(b, e))).collect()
}

/// Feeds the pieces to the reader and checks that the blocks hold the number of entries that it
/// returns.
fn drive(mut reader: PayloadReader, pieces: &[&[u8]]) -> Result<Vec<Block>, PayloadFault> {
    let mut blocks = Vec::new();
    for piece in pieces {
        reader.push(piece, &mut blocks)?;
    }
    let total = reader.finish(&mut blocks)?;
    assert_eq!(blocks.iter().map(|b| b.entries.len()).sum::<usize>(), total as usize);
    assert!(blocks.iter().all(|b| !b.entries.is_empty()), "a block holds entries");
    Ok(blocks)
}

/// Reads `payload` whole, byte by byte and cut in two at every position; all results must be equal.
fn read(new: impl Fn() -> PayloadReader, payload: &[u8]) -> Result<Vec<Row>, PayloadFault> {
    let whole = drive(new(), &[payload]).map(|blocks| rows(&blocks));
    let bytes: Vec<&[u8]> = payload.chunks(1).collect();
    assert_eq!(drive(new(), &bytes).map(|blocks| rows(&blocks)), whole, "byte by byte");
    for cut in 0..=payload.len() {
        let (a, b) = payload.split_at(cut);
        assert_eq!(drive(new(), &[a, b]).map(|b| rows(&b)), whole, "cut at {cut}");
    }
    whole
}

fn file(payload: &[u8]) -> Result<Vec<Row>, PayloadFault> {
    read(|| PayloadReader::new(MIB), payload)
}

fn form(payload: &[u8]) -> Result<Vec<Row>, PayloadFault> {
    read(|| PayloadReader::array(MIB), payload)
}

#[test]
fn each_line_that_is_not_blank_is_an_entry() {
    type Lines<'a> = &'a [(u32, &'a [u8])];
    let cases: [(&[u8], Lines<'_>); 13] = [
        (b"{}", &[(1, b"{}")]),
        (b"{}\n", &[(1, b"{}")]),
        (b"{}\r\n{}\r\n", &[(1, b"{}"), (2, b"{}")]),
        (b"\xef\xbb\xbf{}\n[]", &[(1, b"{}"), (2, b"[]")]),
        (b"\xef\xbb\xbf\xef\xbb\xbf{}", &[(1, b"\xef\xbb\xbf{}")]),
        (b"\n \t\r\n\n{}\n\n\n1", &[(4, b"{}"), (7, b"1")]),
        (b"a\rb\r\r\nc\r", &[(1, b"a\rb\r"), (2, b"c\r")]),
        (b"\xef\xbb{}", &[(1, b"\xef\xbb{}")]),
        (b"\xef[", &[(1, b"\xef[")]),
        (b"\xef", &[(1, b"\xef")]),
        (b"\0\n\xff\xfe\n\xc3\xa4", &[(1, b"\0"), (2, b"\xff\xfe"), (3, b"\xc3\xa4")]),
        (b" {} \n", &[(1, b" {} ")]),
        (b"x\n\xef\xbb\xbfy\n\r", &[(1, b"x"), (2, b"\xef\xbb\xbfy")]),
    ];
    for (payload, expected) in cases {
        let expected: Vec<Row> = (0..)
            .zip(expected)
            .map(|(index, (line, bytes))| (index, *line, None, bytes.to_vec()))
            .collect();
        assert_eq!(file(payload).unwrap(), expected, "{:?}", payload.escape_ascii().to_string());
    }
}

#[test]
fn a_payload_without_entries_is_empty_in_every_form() {
    for payload in
        ["", " ", "\n\r\n \t\n", "\u{feff}", "\u{feff}\n", "[]", " [ \n ] ", "\u{feff}[]"]
    {
        for outcome in [file(payload.as_bytes()), form(payload.as_bytes())] {
            let fault = outcome.unwrap_err();
            assert_eq!((fault.code, fault.line), (ErrorCode::EmptyPayload, None), "{payload:?}");
        }
    }
}

#[test]
fn each_element_of_an_array_is_an_entry_with_its_number() {
    let payload = "\u{feff}\n [{\"a\":[1,\"]\"]} ,\n\"ä\\\"\",null, [] ,\t-0.0e+1\n]\r\n";
    let texts = ["{\"a\":[1,\"]\"]}", "\"ä\\\"\"", "null", "[]", "-0.0e+1"];
    let expected: Vec<Row> =
        (0..).zip(texts).map(|(n, text)| (n, n + 1, None, text.as_bytes().to_vec())).collect();
    assert_eq!(file(payload.as_bytes()).unwrap(), expected);
    assert_eq!(form(payload.as_bytes()).unwrap(), expected);
}

/// The first byte decides, also if a reject file has such a line of a task of JSON lines.
#[test]
fn a_file_whose_first_line_begins_with_a_bracket_is_an_array() {
    let row = |index, text: &[u8]| (index, index + 1, None, text.to_vec());
    assert_eq!(file(b"[1,{}]\n").unwrap(), [row(0, b"1"), row(1, b"{}")]);
    let fault = file(b"[1,2]\n{\"created_at\":1}\n").unwrap_err();
    assert_eq!((fault.code, fault.line), (ErrorCode::InvalidPayload, Some(2)));
    assert!(fault.detail.contains("not JSON lines"), "{}", fault.detail);
    assert_eq!(file(b"{}\n[1,2]\n").unwrap(), [row(0, b"{}"), row(1, b"[1,2]")]);
}

#[test]
fn a_broken_array_is_rejected_with_the_position_of_the_break() {
    let cases: [(&[u8], &str, u32); 14] = [
        (b"[", "unexpected end of the payload at byte 1 (line 1, column 2, element 1)", 1),
        (b"[{}", "unexpected end of the payload at byte 3 (line 1, column 4, element 1)", 1),
        (b"[{},]", "unexpected `]` at byte 4 (line 1, column 5, element 2): a JSON value", 1),
        (b"[,{}]", "unexpected `,` at byte 1 (line 1, column 2, element 1): a JSON value", 1),
        (b"[{} {}]", "unexpected `{` at byte 4 (line 1, column 5, element 1): a comma", 1),
        (b"\n\n[{}\n;]", "unexpected `;` at byte 6 (line 4, column 1, element 1): a comma", 4),
        (b"[\n  {\"a\" 1}]", "unexpected `1` at byte 9 (line 2, column 8, element 1): a colon", 2),
        (b"[{'a':1}]", "unexpected `'` at byte 2 (line 1, column 3, element 1): a key", 1),
        (b"[1]\n[2]\n", "unexpected `[` at byte 4 (line 2, column 1): the array has ended", 2),
        (b"[1]x", "unexpected `x` at byte 3 (line 1, column 4): the array has ended", 1),
        ("\u{feff} [\"ä\u{1f600}\", x]".as_bytes(), "byte 15 (line 1, column 9, element 2)", 1),
        (b"[\"a\nb\"]", "(line 1, column 4, element 1): a string contains", 1),
        (
            b"[\"\xc3\"]",
            "unexpected byte 0xc3 at byte 2 (line 1, column 3): the bytes are not UTF-8",
            1,
        ),
        (b"[01]", "unexpected `1` at byte 2 (line 1, column 3, element 1): a number begins", 1),
    ];
    for (payload, expected, line) in cases {
        for outcome in [file(payload), form(payload)] {
            let fault = outcome.unwrap_err();
            assert_eq!((fault.code, fault.line), (ErrorCode::InvalidPayload, Some(line)));
            assert!(fault.detail.contains(expected), "{expected:?} is not in {:?}", fault.detail);
        }
    }
}

#[test]
fn an_array_may_nest_deeper_than_an_entry_but_not_without_limit() {
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    let deep = nested(ARRAY_DEPTH_MAX);
    let blocks = drive(PayloadReader::new(MIB), &[deep.as_bytes()]).unwrap();
    assert_eq!(rows(&blocks), [(0, 1, None, nested(ARRAY_DEPTH_MAX - 1).into_bytes())]);
    for levels in [ARRAY_DEPTH_MAX + 1, MIB] {
        let deep = nested(levels);
        let fault = drive(PayloadReader::new(MIB), &[deep.as_bytes()]).unwrap_err();
        assert!(fault.detail.contains("nest too deep"), "{}", fault.detail);
    }
}

#[test]
fn a_form_field_that_is_not_an_array_is_rejected_at_its_first_byte() {
    for payload in [&b"{\"a\":1}"[..], b" \n x", b"\xef\xbb\xbf{}", b"\xef", b"\xef\xbb[]", b"\xff"]
    {
        let fault = form(payload).unwrap_err();
        assert_eq!(fault.code, ErrorCode::InvalidPayload);
        assert!(fault.detail.starts_with("the payload is not a JSON array"), "{}", fault.detail);
    }
    let fault = form(b" \n x").unwrap_err();
    assert_eq!(fault.line, Some(2));
    assert!(fault.detail.contains("`x` at byte 3 (line 2, column 2)"), "{}", fault.detail);
}

#[test]
fn an_entry_over_its_limit_is_stored_as_its_length_and_its_beginning() {
    let limit = 5000;
    let text = |len: usize| format!("\"{}\"", "x".repeat(len - 2));
    for (len, oversize) in [(limit, None), (limit + 1, Some(5001)), (60_000, Some(60_000))] {
        let stored = if oversize.is_some() { OVERSIZE_PREFIX_BYTES } else { len };
        let expected: Vec<Row> = vec![
            (0, 1, None, b"1".to_vec()),
            (1, 2, oversize, text(len).as_bytes()[..stored].to_vec()),
            (2, 3, None, b"3".to_vec()),
        ];
        let lines = format!("1\r\n{}\r\n3", text(len));
        let array = format!("[1,{},\n3]", text(len));
        for payload in [lines, array] {
            for size in [1, 7, 4096, payload.len()] {
                let pieces: Vec<&[u8]> = payload.as_bytes().chunks(size).collect();
                let blocks = drive(PayloadReader::new(limit), &pieces).unwrap();
                assert_eq!(rows(&blocks), expected, "{len} in pieces of {size}");
            }
        }
    }
}

#[test]
fn a_limit_below_the_length_of_the_stored_beginning_holds_too() {
    let blocks = drive(PayloadReader::new(3), &[b"1234\n123\n"]).unwrap();
    let expected: Vec<Row> = vec![(0, 1, Some(4), b"1234".to_vec()), (1, 2, None, b"123".to_vec())];
    assert_eq!(rows(&blocks), expected);
}

#[test]
fn an_array_is_split_as_it_arrives_and_an_endless_element_takes_bounded_memory() {
    let builder = BlockBuilder::new(4096, PAYLOAD_ENTRIES_MAX);
    let position = PayloadPosition { offset: 0, line: 1, column: 1 };
    let mut array = ArraySplitter::new(builder, position);
    let mut blocks = Vec::new();
    array.push(b"[", &mut blocks).unwrap();
    let element = format!("\"{}\",", "y".repeat(4000));
    for n in 1..=600 {
        array.push(element.as_bytes(), &mut blocks).unwrap();
        assert_eq!(blocks.len(), n / BLOCK_BYTES.div_ceil(element.len() - 1), "after {n} elements");
    }
    array.push(b"[\"", &mut blocks).unwrap();
    for _ in 0..16 {
        array.push(&vec![b'x'; MIB], &mut blocks).unwrap();
    }
    assert!(array.bytes_held() <= 3 * MIB, "{}", array.bytes_held());
    array.push(b"\"]]", &mut blocks).unwrap();
    assert_eq!(array.finish(&mut blocks), Ok(601));
    let last = blocks.last().unwrap().entries.last().unwrap();
    assert_eq!((last.line, last.oversize), (601, Some(16 * MIB as u64 + 4)));
}

#[test]
fn endless_lines_and_blanks_take_bounded_memory() {
    for byte in [b' ', b'x', b'\r'] {
        let piece = vec![byte; MIB];
        let mut splitter = JsonlSplitter::new(4096);
        let mut blocks = Vec::new();
        for _ in 0..16 {
            splitter.push(&piece, &mut blocks);
        }
        assert!(splitter.bytes_held() <= 2 * MIB, "{byte}: {}", splitter.bytes_held());
        let outcome = splitter.finish(&mut blocks);
        if byte == b'x' {
            assert_eq!(outcome, Ok(1));
            assert_eq!(blocks[0].entries[0].oversize, Some(16 * MIB as u64));
        } else {
            assert_eq!(outcome.unwrap_err().code, ErrorCode::EmptyPayload);
        }
    }
}

#[test]
fn ten_thousand_entries_are_accepted_and_any_more_are_counted_to_the_end() {
    for (count, passes) in
        [(PAYLOAD_ENTRIES_MAX, true), (PAYLOAD_ENTRIES_MAX + 1, false), (123_456, false)]
    {
        let lines = "{}\n\n".repeat(count);
        let array = format!("[{}1]", "1,".repeat(count - 1));
        for payload in [lines, array] {
            let mut blocks = Vec::new();
            let mut reader = PayloadReader::new(MIB);
            reader.push(payload.as_bytes(), &mut blocks).unwrap();
            match reader.finish(&mut blocks) {
                Ok(total) => assert!(passes && total as usize == count),
                Err(fault) => {
                    assert!(!passes);
                    assert_eq!(fault.code, ErrorCode::TooManyEntries);
                    let both = fault.detail.contains(&format!("{count} entries"))
                        && fault.detail.contains("10000");
                    assert!(both, "{}", fault.detail);
                }
            }
        }
    }
}

#[test]
fn a_block_is_returned_as_soon_as_it_is_full() {
    let line = format!("\"{}\"\n", "y".repeat(24_997));
    let mut splitter = JsonlSplitter::new(MIB);
    let mut blocks = Vec::new();
    for n in 1..=100 {
        splitter.push(line.as_bytes(), &mut blocks);
        assert_eq!(blocks.len(), n / 11, "after {n} lines");
    }
    assert_eq!(splitter.finish(&mut blocks), Ok(100));
    assert_eq!(blocks.len(), 10);
    let indices: Vec<u32> = blocks.iter().flat_map(|b| &b.entries).map(|e| e.index).collect();
    assert_eq!(indices, (0..100).collect::<Vec<_>>());
    assert!(blocks[..9].iter().all(|b| b.bytes.len() >= BLOCK_BYTES));
}

#[test]
fn decoding_a_stored_block_reuses_its_buffer() {
    let blocks = drive(PayloadReader::new(MIB), &[b"{}\n{}\n"]).unwrap();
    let stored = blocks[0].encode();
    assert_eq!(stored, b"\x01\x02\x00\x01\x04\x00\x00\x04{}{}");
    let buffer = stored.as_ptr();
    let back = Block::decode(stored).unwrap();
    assert_eq!(back.bytes.as_ptr(), buffer, "no byte was copied");
    assert_eq!(rows(&[back]), rows(&blocks));
}

#[test]
fn a_stored_block_has_the_base_urls_that_its_entries_may_contain() {
    let mut blocks = drive(PayloadReader::new(MIB), &[b"{}\n{}\n"]).unwrap();
    blocks[0].base_urls = vec!["http://h:1".to_owned(), "https://desk.example/x".to_owned()];
    let stored = blocks[0].encode();
    assert!(stored.starts_with(b"\x02\x02\x0ahttp://h:1\x16https://desk.example/x\x02\x00\x01"));
    let back = Block::decode(stored.clone()).unwrap();
    assert_eq!(back.base_urls, blocks[0].base_urls);
    assert_eq!(rows(&[back]), rows(&blocks));
    for end in 0..stored.len() {
        assert!(Block::decode(stored[..end].to_vec()).is_err(), "{end}");
    }
}

#[test]
fn a_stored_block_has_the_rows_and_notes_of_its_entries_and_of_no_others() {
    let mut builder = BlockBuilder::new(MIB, PAYLOAD_ENTRIES_MAX);
    let mut blocks = Vec::new();
    let rows: [&[(u32, &[u8])]; 4] = [&[(2, b"a,b")], &[(3, b"c"), (4, b"")], &[], &[(9, b"d")]];
    for (rows, notes) in rows.into_iter().zip([&b""[..], b"{}", b"{\"x\":1}", b""]) {
        builder.append(b"{}");
        let line = rows.first().map_or(5, |row| row.0);
        builder.close(line, Source { rows, notes }, &mut blocks);
    }
    assert_eq!(builder.finish(&mut blocks), Ok(4));
    let of = |block: &Block| -> Vec<_> {
        let of = |entry: &Entry| {
            let rows: Vec<_> = block.rows_of(entry).map(|(l, row)| (l, row.to_vec())).collect();
            (entry.index, rows, block.notes_of(entry).map(<[u8]>::to_vec))
        };
        block.entries.iter().map(of).collect()
    };
    let mut block = blocks.remove(0);
    block.base_urls = vec!["http://h".to_owned()];
    let all = of(&block);
    assert_eq!(all[1], (1, vec![(3, b"c".to_vec()), (4, Vec::new())], Some(b"{}".to_vec())));
    assert_eq!(all[2], (2, Vec::new(), Some(b"{\"x\":1}".to_vec())));
    let stored = block.encode();
    let mut back = Block::decode(stored.clone()).unwrap();
    assert_eq!((of(&back), &back.base_urls), (all.clone(), &block.base_urls));
    for end in 0..stored.len() {
        assert!(Block::decode(stored[..end].to_vec()).is_err(), "{end}");
    }
    back.entries.retain(|entry| entry.index % 3 == 0);
    let cut = Block::decode(back.encode()).unwrap();
    assert_eq!(of(&cut), [all[0].clone(), all[3].clone()]);
    assert_eq!((cut.rows.len(), cut.notes.len()), (2, 0));
    back.entries.retain(|entry| entry.index == 9);
    back.base_urls.clear();
    assert_eq!(back.encode(), b"\x01\x00", "nothing is left of the third form");
}

#[test]
fn a_block_of_an_import_ends_with_each_task() {
    let count = 2 * PAYLOAD_ENTRIES_MAX + 1;
    let mut reader = PayloadReader::import(MIB);
    let mut blocks = Vec::new();
    reader.push("{\"name\":\"of some length\"}\n".repeat(count).as_bytes(), &mut blocks).unwrap();
    assert_eq!(reader.count(), count as u64);
    assert_eq!(reader.finish(&mut blocks), Ok(count as u32));
    let task = |entry: &Entry| entry.index / PAYLOAD_ENTRIES_MAX as u32;
    let ends = |b: &Block| (task(&b.entries[0]), task(b.entries.last().unwrap()));
    assert!(blocks.iter().map(ends).all(|(first, last)| first == last));
    assert_eq!(blocks.last().unwrap().entries.len(), 1);
}

#[test]
fn each_kind_of_damage_to_a_stored_block_has_its_own_message() {
    let cases: [(&[u8], &str); 16] = [
        (b"\x02\x11", "too many base URLs"),
        (b"\x02\x01\xff\x7f", "too long"),
        (b"\x02\x01\x02h", "cannot be read"),
        (b"", "ends within its head"),
        (b"\x04\x00", "version"),
        (b"\x03\x00\x01\x00\x01\x00\x01\x01\x01\x00\x00", "belongs to no entry"),
        (b"\x03\x00\x00\x00\x01\x00\x00", "belongs to no entry"),
        (b"\x03\x00\x01\x00\x01\x00\x01\x00\x01\x01\x00", "length differs"),
        (b"\x03\x00\x01\x00\x01\x00\x7f", "shorter than"),
        (b"\x01", "ends within its head"),
        (b"\x01\xff\xff\xff\xff\x0f", "shorter than its entries"),
        (b"\x01\x01\x00\x01\x04{", "length differs"),
        (b"\x01\x01\x00\x01\x04{}}", "length differs"),
        (b"\x01\x01\xff\xff\xff\xff\x10\x01\x00", "position"),
        (b"\x01\x01\x00\x01\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01", "length differs"),
        (b"\x01\x01\x00\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", "too large"),
    ];
    for (bytes, why) in cases {
        let fault = Block::decode(bytes.to_vec()).unwrap_err().to_string();
        assert!(fault.contains(why), "{fault:?} for {bytes:?}");
    }
}

#[test]
#[should_panic(expected = "the positions of entries ascend")]
fn encoding_a_block_whose_positions_do_not_ascend_panics() {
    let entry = Entry { index: 1, line: 1, range: 0..0, oversize: None, of_row: false };
    let _ = Block { entries: vec![entry.clone(), entry], ..Block::default() }.encode();
}

/// The rules of JSON lines applied to the whole payload at once.
fn split_naively(mut payload: &[u8], limit: usize) -> Vec<Row> {
    if let Some(rest) = payload.strip_prefix(b"\xef\xbb\xbf") {
        payload = rest;
    }
    let lines: Vec<&[u8]> = payload.split(|&byte| byte == b'\n').collect();
    let last = lines.len();
    let mut rows = Vec::new();
    for (line, bytes) in (1..).zip(lines) {
        let bytes = bytes.strip_suffix(b"\r").filter(|_| line != last).unwrap_or(bytes);
        if bytes.iter().copied().all(is_space) {
            continue;
        }
        let oversize = (bytes.len() > limit).then_some(bytes.len() as u64);
        let stored =
            if oversize.is_some() { bytes.len().min(OVERSIZE_PREFIX_BYTES) } else { bytes.len() };
        rows.push((rows.len() as u32, line as u32, oversize, bytes[..stored].to_vec()));
    }
    rows
}

fn any_block() -> impl Strategy<Value = Block> {
    let entry = (
        prop_oneof![0_u32..3, 0_u32..40_000_000],
        prop_oneof![0_u32..3, 0_u32..40_000_000],
        prop::option::of(any::<u64>()),
        prop::collection::vec(any::<u8>(), 0..40),
    );
    prop::collection::vec(entry, 0..60).prop_map(|entries| {
        let mut block = Block::default();
        let (mut index, mut line) = (0, 0);
        for (index_gap, line_gap, oversize, bytes) in entries {
            (index, line) = (index + index_gap, line + line_gap);
            block.bytes.extend_from_slice(b"gap");
            let start = block.bytes.len();
            block.bytes.extend_from_slice(&bytes);
            block.entries.push(Entry {
                index,
                line,
                range: start..block.bytes.len(),
                oversize,
                of_row: false,
            });
            (index, line) = (index + 1, line + 1);
        }
        block
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn lines_are_split_alike_wherever_the_pieces_are_cut(
        parts in prop::collection::vec(
            prop::sample::select(vec![
                &b"\n"[..], b"\r", b"\r\n", b" ", b"{}", b"\xef", b"\xbb", b"\xbf",
                b"\xef\xbb\xbf", b"\t", b"long enough", b"\xf0\x9f", b"\x0c",
            ]),
            0..40,
        ),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let payload = parts.concat();
        let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(payload.len() + 1)).collect();
        at.extend([0, payload.len()]);
        at.sort_unstable();
        let pieces: Vec<&[u8]> = at.windows(2).map(|pair| &payload[pair[0]..pair[1]]).collect();
        let expected = split_naively(&payload, 8);
        match drive(PayloadReader::new(8), &pieces) {
            Ok(blocks) => prop_assert_eq!(rows(&blocks), expected),
            Err(fault) => {
                prop_assert_eq!(fault.code, ErrorCode::EmptyPayload);
                prop_assert!(expected.is_empty());
            }
        }
    }

    #[test]
    fn an_array_yields_the_elements_that_serde_json_finds(
        elements in prop::collection::vec(
            "[ \n]{0,2}(\\{\"k\":\"[a-z\\]},]{0,6}\"\\}|-?[1-9]{1,3}|\\[\\]|null)[ \n]{0,2}",
            1..20,
        ),
        damage in prop::option::of((any::<prop::sample::Index>(), any::<u8>())),
    ) {
        let mut text = String::from("[");
        write!(text, "{}]", elements.join(",")).unwrap();
        let mut payload = text.into_bytes();
        if let Some((index, byte)) = damage {
            let at = index.index(payload.len() - 1) + 1;
            payload[at] = byte;
        }
        let ours = drive(PayloadReader::array(MIB), &[&payload]);
        let theirs = serde_json::from_slice::<Vec<&serde_json::value::RawValue>>(&payload);
        match (ours, theirs) {
            (Ok(blocks), Ok(raw)) => {
                let texts: Vec<Vec<u8>> = rows(&blocks).into_iter().map(|row| row.3).collect();
                let raw: Vec<Vec<u8>> = raw.iter().map(|r| r.get().into()).collect();
                prop_assert_eq!(texts, raw);
            }
            (Err(fault), Ok(raw)) => {
                prop_assert_eq!(fault.code, ErrorCode::EmptyPayload);
                prop_assert!(raw.is_empty());
            }
            (Ok(_), Err(e)) => prop_assert!(false, "accepted what another refuses: {}", e),
            (Err(_), Err(_)) => {}
        }
    }

    #[test]
    fn a_stored_block_decodes_to_itself(block in any_block()) {
        let back = Block::decode(block.encode()).unwrap();
        prop_assert_eq!(rows(&[back]), rows(&[block]));
    }

    #[test]
    fn a_damaged_block_never_panics(
        block in any_block(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        len in any::<prop::sample::Index>(),
    ) {
        let mut stored = block.encode();
        for (index, byte) in damage {
            let at = index.index(stored.len());
            stored[at] = byte;
        }
        let cut = len.index(stored.len() + 1);
        for bytes in [stored[..cut].to_vec(), stored] {
            if let Ok(back) = Block::decode(bytes) {
                let _ = rows(&[back]);
            }
        }
    }

    #[test]
    fn no_bytes_make_the_payload_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Block::decode(bytes.clone());
        let _ = drive(PayloadReader::new(16), &[&bytes]);
        let _ = drive(PayloadReader::array(16), &[b"[", &bytes]);
    }
}
