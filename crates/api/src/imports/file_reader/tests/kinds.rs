//! Kinds of files: forms of tables and JSON, faults of rows, and files that are refused. However
//! the bytes are cut, the blocks are the same.

use caseload_testdata::SplitMix;
use proptest::prelude::*;

use super::*;

const TABLE: &str = "email,first name,Age\nada@x.org,Ada,36\n\"b@x.org\",\"B \"\"6\"\"\",7\n";

fn two_people() -> Vec<(u32, u32, String)> {
    let person = |email, name, age| {
        format!(
            "{{\"identities\":[{{\"email\":\"{email}\"}}],\
             \"names\":{{\"first_name\":\"{name}\"}},\"age\":{age}}}"
        )
    };
    vec![(0, 2, person("ada@x.org", "Ada", 36)), (1, 3, person("b@x.org", r#"B \"6\""#, 7))]
}

#[test]
fn a_table_is_read_in_any_form_and_packing() {
    let semicolons = TABLE.replace(',', ";");
    let latin = b"email,city\na@x.org,K\xf6ln\n";
    for (bytes, encoding, delimiter) in [
        (TABLE.into(), "utf-8", b','),
        (format!("\u{feff}{TABLE}").into(), "utf-8", b','),
        (TABLE.replace('\n', "\r\n").into_bytes(), "utf-8", b','),
        (TABLE.replace('\n', "\r").into_bytes(), "utf-8", b','),
        (semicolons.clone().into(), "utf-8", b';'),
        (TABLE.replace(',', "\t").into(), "utf-8", b'\t'),
        (utf_16(TABLE, false), "utf-16le", b','),
        (utf_16(TABLE, true), "utf-16be", b','),
        (gzip(TABLE.as_bytes()), "utf-8", b','),
        (zstd(TABLE.as_bytes()), "utf-8", b','),
        ([gzip(&TABLE.as_bytes()[..30]), gzip(&TABLE.as_bytes()[30..])].concat(), "utf-8", b','),
    ] {
        let (blocks, read) = read(&upsert(), &bytes).unwrap();
        assert_eq!(entries(&blocks), two_people(), "{encoding}");
        assert_eq!((read.entries, read.format.encoding.as_str()), (2, encoding));
        assert_eq!(read.format.delimiter, Some(delimiter));
        let columns = [("email", "email"), ("first name", "names.first_name"), ("Age", "age")];
        let columns = columns.map(|(name, field)| (name.to_owned(), Some(field.to_owned())));
        assert_eq!(read.columns, columns);
        assert_eq!(outcomes(&upsert(), &blocks), [(2, vec![]), (3, vec![])]);
        let raw = each_entry(&blocks).map(|(b, e)| b.rows_of(e).map(|r| text(r.1)).collect());
        let raw: Vec<Vec<String>> = raw.collect();
        assert!(raw.iter().all(|rows| rows.len() == 1), "{raw:?}");
    }
    let (blocks, found) = read(&upsert(), format!("sep=;\n{semicolons}")).unwrap();
    let lines: Vec<u32> = each_entry(&blocks).map(|(_, entry)| entry.line).collect();
    assert_eq!((lines, found.header.as_deref()), (vec![3, 4], Some("email;first name;Age")));
    let fault = refused(&upsert(), latin);
    assert_eq!((fault.code, fault.line), (ErrorCode::InvalidPayload, Some(2)));
    assert!(fault.detail.contains("windows-1252"), "{}", fault.detail);
    let western = ReadOptions { encoding: Some("windows-1252".parse().unwrap()), ..upsert() };
    let (blocks, found) = read(&western, latin).unwrap();
    assert!(entries(&blocks)[0].2.contains("Köln") && found.format.encoding == "windows-1252");
}

#[test]
fn json_is_read_in_any_encoding_and_faulty_lines_fail_alone() {
    let lines = "{\"email\":\"ö\"}\n\n{}\n";
    let array = "[{\"email\":\"ö\"},\n{}]";
    for (bytes, second, word, encoding) in [
        (lines.as_bytes().to_vec(), 3, "jsonl", "utf-8"),
        (format!("\u{feff}{lines}").into_bytes(), 3, "jsonl", "utf-8"),
        (utf_16(lines, false), 3, "jsonl", "utf-16le"),
        (utf_16(lines, true), 3, "jsonl", "utf-16be"),
        (array.as_bytes().to_vec(), 2, "json", "utf-8"),
        (utf_16(array, false), 2, "json", "utf-16le"),
        (gzip(array.as_bytes()), 2, "json", "utf-8"),
    ] {
        let (blocks, read) = read(&upsert(), &bytes).unwrap();
        let right = [(0, 1, "{\"email\":\"ö\"}".to_owned()), (1, second, "{}".to_owned())];
        assert_eq!(entries(&blocks), right);
        assert_eq!(
            (read.format.file_type.as_str(), read.format.encoding.as_str()),
            (word, encoding)
        );
        assert!(blocks.iter().all(|block| block.rows.is_empty() && block.notes.is_empty()));
        let plain = if bytes.starts_with(b"\x1f") { array.len() } else { bytes.len() };
        assert_eq!(read.content_length, plain as u64);
    }
    let (blocks, _) = read(&options(Action::ImportIssues), b"{\"a\":\"\xff\"}\n{}\n").unwrap();
    let faults = outcomes(&options(Action::ImportIssues), &blocks);
    assert_eq!((faults[0].1[0], faults.len()), ("invalid_utf8", 2));
    let broken = refused(&upsert(), "[{},\n{}\n");
    assert_eq!((broken.code, broken.line), (ErrorCode::InvalidPayload, Some(3)));
}

#[test]
fn a_row_that_cannot_be_read_fails_alone_with_its_line() {
    let table = "email,city\na@x.org,Paris\nb@x.org,\"Lyon\nc@x.org,Nice,France\nd@x.org\n , \n\
                 e@x.org,#N/A\nnot an id,\n,Metz\nn/a,Brest\nf@x.org,Caen\n";
    let (blocks, found) = read(&upsert(), table).unwrap();
    let right: [(u32, &[&str]); 9] = [
        (2, &[]),
        (3, &["open_quote"]),
        (4, &["too_many_cells"]),
        (5, &[]),
        (7, &["spreadsheet_error"]),
        (8, &[]),
        (9, &["required"]),
        (10, &["invalid_identity"]),
        (11, &[]),
    ];
    let right: Vec<_> = right.iter().map(|(line, codes)| (*line, codes.to_vec())).collect();
    assert_eq!(outcomes(&upsert(), &blocks), right);
    assert_eq!(found.entries, 9);
    let at = |index: usize| entries(&blocks)[index].2.clone();
    assert_eq!(at(1), "b@x.org,\"Lyon");
    assert_eq!(at(4), r#"{"identities":[{"email":"e@x.org"}]}"#);
    // The neighbours of what failed are there.
    assert!(at(8).contains("f@x.org") && at(3).contains("d@x.org"));
    let indexes: Vec<u32> = entries(&blocks).iter().map(|entry| entry.0).collect();
    assert_eq!(indexes, (0..9).collect::<Vec<_>>());
}

#[test]
fn columns_and_cells_are_taken_as_asked() {
    let options = ReadOptions {
        columns: vec![
            ("Mail of person".to_owned(), Some("email".to_owned())),
            ("#2".to_owned(), None),
            ("Town".to_owned(), Some("last_city".to_owned())),
        ],
        separator: "/".to_owned(),
        null: Some("NULL".to_owned()),
        ..upsert()
    };
    let table = "Mail of person,X,Town,tags,,\na@x.org,1,NULL,a/b,,\n";
    let (blocks, found) = read(&options, table).unwrap();
    let entry = r#"{"identities":[{"email":"a@x.org"}],"last_city":null,"tags":["a","b"]}"#;
    assert_eq!(entries(&blocks), [(0, 2, entry.to_owned())]);
    let fields: Vec<_> = found.columns.iter().map(|(_, field)| field.as_deref()).collect();
    assert_eq!(fields, [Some("email"), None, Some("last_city"), Some("tags"), None, None]);
    let table = "email,Shoe size\na@x.org,44\n";
    for (others, right) in [
        (OtherColumns::Ignore, r#"{"identities":[{"email":"a@x.org"}]}"#),
        (
            OtherColumns::Custom,
            r#"{"identities":[{"email":"a@x.org"}],"custom_fields":{"Shoe size":"44"}}"#,
        ),
    ] {
        let (blocks, _) = read(&ReadOptions { others, ..upsert() }, table).unwrap();
        assert_eq!(entries(&blocks)[0].2, right);
    }
}

#[test]
fn a_file_is_refused_as_a_whole_with_the_reason() {
    let upsert = upsert();
    let ids = ["10000000000000N0\n"; 6].concat().replace('N', "7");
    for (bytes, code, said) in [
        ("".into(), ErrorCode::EmptyPayload, "the file is empty"),
        (" \n ".into(), ErrorCode::EmptyPayload, "no entries"),
        ("[]".into(), ErrorCode::EmptyPayload, "no entries"),
        (gzip(b""), ErrorCode::EmptyPayload, "the file is empty"),
        ("email,city\n\n , \n".into(), ErrorCode::EmptyPayload, "no row below it"),
        ("email,\"city\nx,y\n".into(), ErrorCode::InvalidPayload, "line 1, column 7"),
        (format!("uid\n{ids}").into(), ErrorCode::RoundedIds, "all 6 ids"),
        (b"%PDF-1.7".to_vec(), ErrorCode::InvalidPayload, "a PDF document"),
        (gzip(&gzip(b"x")), ErrorCode::InvalidPayload, "a gzip file inside another one"),
        (b"PK\x03\x04____".to_vec(), ErrorCode::InvalidPayload, "a zip file"),
        (
            [&b"PK\x03\x04"[..], &[0; 26], b"xl/"].concat(),
            ErrorCode::InvalidPayload,
            "damaged or cut",
        ),
    ] {
        let fault = refused(&upsert, &bytes);
        assert!(fault.code == code && fault.detail.contains(said), "{fault:?}");
    }
    let issues = options(Action::ImportIssues);
    for (options, table, right) in [
        (&upsert, "emial,first_name,cty\nx,y,z\n", &[(Some(0), "email?"), (Some(2), "cty")][..]),
        (&upsert, "city\nx\n", &[(None, "no column is an identity")]),
        (&issues, "title,body\na,b\n", &[(None, "no column is created_at")]),
    ] {
        let fault = refused(options, table);
        assert_eq!((fault.code, fault.line), (ErrorCode::InvalidPayload, Some(1)));
        assert_eq!(fault.columns.len(), right.len(), "{fault:?}");
        for (found, (column, said)) in fault.columns.iter().zip(right) {
            assert!(found.column == *column && found.detail.contains(said), "{found:?}");
        }
    }
    let small = ReadOptions { bytes_max: 20, ..upsert };
    assert_eq!(refused(&small, gzip(&[b' '; 21])).code, ErrorCode::TooLarge);
    assert_eq!(refused(&small, [b' '; 20]).code, ErrorCode::EmptyPayload);
}

#[test]
fn profiles_are_deleted_and_app_profiles_are_written_from_tables() {
    for (action, table, right) in [
        (Action::DeleteCoreProfiles, "uid\nu\n", r#"{"identities":[{"uid":"u"}]}"#),
        (Action::DeleteCoreProfiles, "core-profile-id\n5\n", r#"{"core-profile-id":"5"}"#),
        (Action::DeleteAppProfiles, "pid\np\n", r#"{"pid":"p"}"#),
        (Action::UpdateAppProfiles, "pid,user_level\np,3\n", r#"{"pid":"p","user_level":3}"#),
        (Action::CreateCoreProfiles, "uid\nu\n", r#"{"identities":[{"uid":"u"}]}"#),
        (Action::UpdateCoreProfiles, "uid\nu\n", r#"{"identities":[{"uid":"u"}]}"#),
    ] {
        let options = options(action);
        let (blocks, _) = read(&options, table).unwrap();
        assert_eq!(entries(&blocks), [(0, 2, right.to_owned())]);
        assert_eq!(outcomes(&options, &blocks), [(2, vec![])]);
    }
    assert!(refused(&options(Action::DeleteAppProfiles), "uid\nu\n").detail.contains("uid"));
}

/// Pieces of a text that many files have.
const PARTS: [&str; 17] = [
    "email,city,age\n",
    "a@x.org",
    ",",
    ";",
    "\"",
    "\"\"",
    "\n",
    "\r",
    "\r\n",
    " ",
    "x",
    "7",
    "é",
    "{\"identities\":[]}\n",
    "[",
    "]",
    "\u{feff}",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn however_a_file_is_cut_its_blocks_are_the_same(
        parts in prop::collection::vec(prop::sample::select(PARTS.to_vec()), 1..40),
        is_table in any::<bool>(),
        packed in 0..4,
        seed in any::<u64>(),
    ) {
        let head = if is_table { PARTS[0] } else { "" };
        let text = format!("{head}{}", parts.concat());
        let bytes = match packed {
            0 => text.into_bytes(),
            1 => gzip(text.as_bytes()),
            2 => zstd(text.as_bytes()),
            _ => utf_16(&text, false),
        };
        let whole = read(&upsert(), &bytes);
        let single = read_pieces(&upsert(), bytes.chunks(1));
        prop_assert_eq!(&single, &whole);
        let mut random = SplitMix::from_bytes(&seed.to_le_bytes());
        let (first, rest) = bytes.split_at(random.below(bytes.len() + 1));
        let (second, third) = rest.split_at(random.below(rest.len() + 1));
        prop_assert_eq!(&read_pieces(&upsert(), [first, second, third]), &whole);
        if let Ok((blocks, found)) = whole {
            let places: Vec<u32> = each_entry(&blocks).map(|(_, entry)| entry.index).collect();
            prop_assert_eq!(places, (0..found.entries).collect::<Vec<_>>());
        }
    }

    #[test]
    fn indexes_and_lines_are_those_of_a_naive_reader(
        rows in prop::collection::vec(
            prop::sample::select(vec!["a", "", " ", "b,c", "\"d\""]), 1..60,
        ),
    ) {
        let table = format!("uid\n{}\n", rows.join("\n"));
        let mut right = Vec::new();
        for (line, row) in (2_u32..).zip(rows) {
            if !row.trim().is_empty() {
                right.push((right.len() as u32, line));
            }
        }
        match read(&upsert(), table) {
            Ok((blocks, _)) => {
                let found: Vec<_> = each_entry(&blocks).map(|(_, e)| (e.index, e.line)).collect();
                prop_assert_eq!(found, right);
            }
            Err(fault) => {
                prop_assert!(right.is_empty(), "{:?}", fault);
            }
        }
    }
}

#[test]
fn a_preview_ends_at_its_bytes_however_long_the_file_is() {
    let options = ReadOptions { is_preview: true, bytes_max: 100_000, ..upsert() };
    let rows: Vec<_> = (0..20_000).map(|n| format!("u{n}@example.org")).collect();
    let table = format!("email\n{}", rows.join("\n"));
    let packed = gzip(table.as_bytes());
    for file in [table.as_bytes(), &packed, &packed[..packed.len() / 2]] {
        let (_, read) = read_pieces(&options, file.chunks(4096)).unwrap();
        assert_eq!(read.content_length, 100_000);
        assert!(read.entries > 4000, "{}", read.entries);
    }
}
