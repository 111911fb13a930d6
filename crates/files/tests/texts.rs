//! Formats by content, and bytes as text. A file is cut at every byte, and each cut gives the same
//! text or the same fault.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use caseload_files::{
    Encoding, Format, Packing, Record, TableOptions, TableReader, TextDecoder, detect, packing,
};

fn decoded(pieces: &[&[u8]], label: Option<&str>) -> Result<String, String> {
    let mut decoder = TextDecoder::new(label.map(|label| label.parse().unwrap()));
    let mut text = String::new();
    for piece in pieces {
        decoder.feed(piece, &mut text).map_err(|fault| fault.to_string())?;
    }
    for _ in 0..2 {
        decoder.finish(&mut text).map_err(|fault| fault.to_string())?;
    }
    Ok(text)
}

fn utf_16(text: &str, to_bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    "\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(to_bytes).collect()
}

#[test]
fn the_first_bytes_show_the_format() {
    let zip = |name: &[u8]| [b"PK\x03\x04", &[0; 26][..], name].concat();
    let workbook = [zip(b"[Content_Types].xml"), zip(b"xl/workbook.xml")].concat();
    for (head, expected) in [
        (&b""[..], Ok(Format::Lines)),
        (b" \n{\"a\":1}", Ok(Format::Lines)),
        (b"\xef\xbb\xbf{}", Ok(Format::Lines)),
        (b"[{}]", Ok(Format::Array)),
        (b"\xef\xbb\xbf\n [ \n", Ok(Format::Array)),
        (b"[null]", Ok(Format::Array)),
        (b"[id];[name]\n", Ok(Format::Table)),
        (b"email\na@b", Ok(Format::Table)),
        (b"\xff\xfe{\0}\0", Ok(Format::Lines)),
        (b"\xfe\xff\0a\0,\0b", Ok(Format::Table)),
        (b"a,b\n\xfc,1\n", Ok(Format::Table)),
        (&workbook, Ok(Format::Workbook)),
        (&zip(b"a.csv"), Err("a zip file")),
        (
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0",
            Err("an old workbook (.xls), or one with a password"),
        ),
        (b"%PDF-1.7", Err("a PDF document")),
        (b"\x89PNG\r\n\x1a\n\0", Err("an image (PNG)")),
        (b"\xff\xd8\xff\xe0", Err("an image (JPEG)")),
        (b"GIF89a", Err("an image (GIF)")),
        (b"<html><table>", Err("HTML or XML")),
        (b"ab\0\0\0cd", Err("a binary file")),
        (b"uid,last_city\r\n1,a\0b\r\n", Ok(Format::Table)),
        (b"a\0,\0b\0", Err("UTF-16 without a byte order mark")),
        (b"\x1f\x8b\x08", Err("a gzip file inside another one")),
    ] {
        let found = detect(head, None).map_err(|fault| fault.looks_like);
        assert_eq!(found, expected, "{}", head.escape_ascii());
    }
    let named = detect(b"a\0,\0b\0", Some("utf-16le".parse().unwrap()));
    assert_eq!(named, Ok(Format::Table));
    assert_eq!(
        detect(b"%PDF-", None).unwrap_err().to_string(),
        "it looks like a PDF document: export the records as CSV or as JSON lines"
    );
    assert_eq!(packing(b"\x1f\x8b\x08\0"), Some(Packing::Gzip));
    assert_eq!(packing(b"\x28\xb5\x2f\xfd"), Some(Packing::Zstd));
    assert_eq!(packing(b"a,b"), None);
}

#[test]
fn encodings_are_read_wherever_the_bytes_are_cut() {
    let text = "email\tname\r\na@b\tJürgen €𝄞\n";
    let western = b"email\tJ\xfcrgen \x80\n";
    let cases = [
        (text.as_bytes().to_vec(), None, text),
        ([b"\xef\xbb\xbf", text.as_bytes()].concat(), None, text),
        (utf_16(text, u16::to_le_bytes), None, text),
        (utf_16(text, u16::to_be_bytes), None, text),
        (utf_16(text, u16::to_le_bytes), Some("windows-1252"), text),
        (western.to_vec(), Some("windows-1252"), "email\tJürgen €\n"),
        (b"\xa4".to_vec(), Some("iso-8859-15"), "€"),
    ];
    for (bytes, label, expected) in cases {
        for at in 0..=bytes.len() {
            let (head, tail) = bytes.split_at(at);
            assert_eq!(decoded(&[head, tail], label).unwrap(), expected, "{label:?} at {at}");
        }
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(decoded(&single, label).unwrap(), expected, "{label:?}");
    }
    let unknown = "klingon".parse::<Encoding>().unwrap_err().to_string();
    assert!(unknown.contains("no encoding is called \"klingon\""), "{unknown}");
}

#[test]
fn bytes_of_another_encoding_are_a_fault_with_a_line_and_a_guess() {
    let half = &utf_16("ab", u16::to_le_bytes)[..5];
    for (bytes, expected) in [
        (
            &b"a\r\nb\rc\n\nJ\xfcrgen Gr\xf6\xdfe\n"[..],
            "line 5: these bytes are not UTF-8 and look like windows-1252",
        ),
        (b"caf\xe9", "line 1: these bytes are not UTF-8 and look like windows-1252"),
        (b"\xcf\xf0\xe8\xe2\xe5\xf2\n", "line 1: these bytes are not UTF-8: save the file"),
        (
            "J\u{fc}rgen, caf\u{e9}".as_bytes().split_last().unwrap().1,
            "line 1: the file ends in the middle of a character of UTF-8",
        ),
        (half, "line 1: the file ends in the middle of a character of UTF-16LE"),
    ] {
        let fault = decoded(&[bytes], None).unwrap_err();
        assert!(fault.starts_with(expected), "{fault}");
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(decoded(&single, None).unwrap_err(), fault);
        for at in 0..bytes.len() {
            let (head, tail) = bytes.split_at(at);
            assert_eq!(decoded(&[head, tail], None).unwrap_err(), fault, "at {at}");
        }
    }
}

#[test]
fn a_table_in_utf_16_is_a_table() {
    let bytes = utf_16("email\tname\r\na@b\tJürgen\r\n", u16::to_le_bytes);
    for piece in 1..8 {
        let mut reader = TableReader::new(TableOptions::default());
        let mut rows = Vec::new();
        let mut each = |record: Record<'_>| match record {
            Record::Row(row) => rows.push((row.line, row.raw.to_owned())),
            Record::Fault(fault) => panic!("{fault:?}"),
        };
        for piece in bytes.chunks(piece) {
            reader.feed(piece, &mut each).unwrap();
        }
        reader.finish(&mut each).unwrap();
        assert_eq!(rows, [(1, "email\tname".to_owned()), (2, "a@b\tJürgen".to_owned())]);
        assert_eq!(reader.delimiter(), Some(b'\t'));
        assert_eq!(reader.encoding().name(), "utf-16le");
    }
}
